"""Tables of tuples against a loop over people, and what is estimated from them against the dense
law.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import warner
from tests.registry import COMBINED, PER_ATTRIBUTE
from warner.channels import KroneckerChannel, SupportRows
from warner.reports.counting import unique_rows
from warner.reports.marginal_tables import marginal_tables, n_cells, table_of
from warner.reports.schema import BitVector, IntegerColumns
from warner.results.from_tally import likelihood_data

PARTS = {
    "a": IntegerColumns(("seed", "bucket"), (3, 2)),
    "b": BitVector(3),
    "c": IntegerColumns(("report",), (4,)),
    "d": BitVector(9),
}


def _columns(n: int) -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(n)
    return {
        "a": {
            "seed": rng.integers(0, 3, n).astype(np.uint8),
            "bucket": rng.integers(0, 2, n).astype(np.uint8),
        },
        "b": {"bits": np.packbits(rng.random((n, 3)) < 0.4, axis=1)},
        "c": {"report": rng.integers(0, 4, n).astype(np.uint8)},
        "d": {"bits": np.packbits(rng.random((n, 9)) < 0.4, axis=1)},
    }


def _rows_of(name: str, columns: dict[str, np.ndarray], i: int) -> list[int]:
    """The rows that person i's report of one attribute counts for."""
    schema = PARTS[name]
    if isinstance(schema, BitVector):
        bits = np.unpackbits(columns["bits"][i])[: schema.width]
        return [k if bit else schema.width + k for k, bit in enumerate(bits)]
    return [int(np.ravel_multi_index([columns[c][i] for c in schema.names], schema.sizes))]


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 60])
def test_tables_are_those_of_a_loop_over_people(ways: int, n: int) -> None:
    columns, seen = _columns(n), np.random.default_rng(0).integers(1, 5, n)
    for weight in (None, seen):
        slow = []
        for names in combinations(PARTS, ways):
            table = np.zeros([PARTS[name].rows for name in names], dtype=np.int64)
            for i in range(n):
                table[np.ix_(*(_rows_of(name, columns[name], i) for name in names))] += (
                    1 if weight is None else weight[i]
                )
            slow.append(table.ravel())
        fast = marginal_tables(PARTS, columns, ways, weight)
        assert fast.tolist() == np.concatenate(slow).tolist() and fast.size == n_cells(PARTS, ways)


@pytest.mark.parametrize("ways", [2, 3, 4])
def test_a_table_of_fewer_is_summed_from_one_of_more(ways: int) -> None:
    columns = _columns(40)
    counts = marginal_tables(PARTS, columns, ways)
    for wanted in (["a"], ["d"], ["c", "a"], ["d", "b"], ["b", "c"]):
        table = table_of(PARTS, counts, ways, wanted)
        direct = table_of(
            {name: PARTS[name] for name in wanted},
            marginal_tables({name: PARTS[name] for name in wanted}, columns, len(wanted)),
            len(wanted),
            wanted,
        )
        assert table is not None and direct is not None and table.tolist() == direct.tolist()
    assert (
        table_of(PARTS, counts[:-1], ways, ["a"]) is None
        and table_of(PARTS, counts, 5, ["a"]) is None
    )


@pytest.mark.parametrize("name", [n for n in PER_ATTRIBUTE if n != "Gaussian x RR"])
def test_estimates_of_tuples_are_those_of_the_dense_law(name: str) -> None:
    mechanism = COMBINED[name](2.0)
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(mechanism.domain.size))
    tally = mechanism.tally(
        mechanism.randomize(mechanism.domain.decode(rng.choice(theta.size, 3000, p=theta)), rng)
    )
    data = likelihood_data(tally)
    dense = np.ones((1, 1))
    for part in mechanism.parts.values():
        dense = np.kron(dense, part.channel().dense())
    inverse = np.ones((1, 1))
    for part in mechanism.parts.values():
        inverse = np.kron(
            inverse,
            np.stack(
                [part.channel().invert(unit) for unit in np.eye(part.channel().shape[0])], axis=1
            ),
        )
    assert data.channel.dense() == pytest.approx(dense, abs=1e-13)
    assert warner.estimate(tally, warner.Inversion()).probabilities == pytest.approx(
        inverse @ data.weights, abs=1e-9
    )
    t = np.full(theta.size, 1 / theta.size)
    found = warner.estimate(tally, warner.ExpectationMaximization(1)).probabilities
    # A report counts for ``copies`` rows, and its step is as many times as long unless the
    # quasi-likelihood would fall.
    longest = found / t - 1
    step = dense.T @ (data.weights / (dense @ t)) - 1
    pace = float(longest @ step / (step @ step))
    assert (
        longest == pytest.approx(pace * step, abs=1e-10)
        and 1 <= pace <= data.channel.rows_per_report + 1e-9
    )
    if data.channel.rows_per_report == 1:
        for _ in range(5):
            t = t * (dense.T @ (data.weights / (dense @ t)))
        assert warner.estimate(
            tally, warner.ExpectationMaximization(5)
        ).probabilities == pytest.approx(t, abs=1e-10)


@pytest.mark.parametrize("name", PER_ATTRIBUTE)
def test_one_attribute_of_a_tuple_is_estimated_as_if_it_had_been_asked_alone(name: str) -> None:
    mechanism = COMBINED[name](2.0)
    rng = np.random.default_rng(0)
    reports = mechanism.randomize(
        mechanism.domain.decode(rng.integers(0, mechanism.domain.size, 500)), rng
    )
    columns = mechanism.schema.split(reports.columns)
    for attribute, part in mechanism.parts.items():
        if isinstance(part, warner.Repeated):
            # alone it keeps the tuples seen, here it has rows for all: other rows, one likelihood
            continue
        alone = likelihood_data(part.tally(part.reports(columns[attribute])))
        within = likelihood_data(mechanism.tally(reports), [attribute])
        assert within.domain == alone.domain and type(within.channel) is type(alone.channel)
        assert within.weights.tolist() == alone.weights.tolist()


def test_the_order_of_equal_reports_is_not_kept() -> None:
    mechanism = warner.Repeated(warner.RandomizedResponse(warner.Integers(0, 3), 1.0), 3)
    a = mechanism.reports({"1": [0, 3], "2": [1, 3], "3": [2, 0]})
    b = mechanism.reports({"1": [2, 0], "2": [0, 3], "3": [1, 3]})
    assert mechanism.tally(a) == mechanism.tally(b)
    assert likelihood_data(mechanism.tally(a)).channel.dense() == pytest.approx(
        likelihood_data(mechanism.tally(b)).channel.dense()
    )


def test_small_products_are_multiplied_as_large_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = COMBINED["RR twice x OUE"](1.0).channel()
    assert isinstance(channel, KroneckerChannel) and channel._small is not None
    rng = np.random.default_rng(0)
    theta, r = rng.random((channel.shape[1], 3)), rng.random((channel.shape[0], 3))
    monkeypatch.setattr("warner.channels.kronecker._SMALL", 0)
    large = KroneckerChannel(channel.channels)
    assert large._small is None
    for several in (slice(None), 0):
        assert channel.matvec(theta[:, several]) == pytest.approx(
            large.matvec(theta[:, several]), abs=1e-14
        )
        assert channel.rmatvec(r[:, several]) == pytest.approx(
            large.rmatvec(r[:, several]), abs=1e-14
        )


def test_rows_of_a_channel_are_those_of_its_matrix() -> None:
    for mechanism in (
        warner.LocalHashing(warner.Integers(0, 6), 1.0, seeds=8),
        warner.HadamardResponse(warner.Integers(0, 6), 1.0),
        warner.SquareWave(warner.Integers(0, 6), 1.0, cells=32),
    ):
        channel = mechanism.channel()
        index = np.array([3, 0, 3, 7])
        assert channel.rows(index) == pytest.approx(channel.dense()[index], abs=1e-14)


def test_rows_of_reports_of_bits_are_read_off_and_not_multiplied_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One product with all reports for every report was 28 of the 30 s that 20,000 people with four
    reports of 100 bits took.
    """
    rng = np.random.default_rng(1)
    channel = SupportRows(np.packbits(rng.integers(0, 2, (9, 11)), axis=1), 11, rng.random(9), 1.5)
    want = channel.dense()[[3, 0, 8]]
    monkeypatch.setattr(SupportRows, "rmatvec", None)
    assert channel.rows(np.array([3, 0, 8])) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 16, 21])
def test_kinds_of_rows_are_those_of_byte_strings(width: int) -> None:
    """Few different rows among many, which differ in any of their bytes."""
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 256, (12, width), dtype=np.uint8)[rng.integers(0, 12, 300)]
    rows[:, -1] ^= rng.integers(0, 2, 300, dtype=np.uint8)
    found, place = unique_rows(rows)
    strings = [row.tobytes() for row in rows]
    assert [row.tobytes() for row in found] == sorted(set(strings))
    assert [found[i].tobytes() for i in place] == strings
    assert [part.shape for part in unique_rows(rows[:0])] == [(0, width), (0,)]
