"""Laws of everything registered: budgets, headers, counts, answers that are refused, nonresponse."""

from __future__ import annotations

import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.laws._reports import _reports
from tests.refusals import refused
from tests.registry import ALL, BAD_EPSILONS, MECHANISMS, SEVERAL, SILENT, smallest
from warner import Categorical, Integers, Interval, SquareWave
from warner._core import sampling
from warner._core.sampling import Source
from warner.errors import (
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    MismatchError,
    ReportError,
    ValuesError,
    WarnerError,
)
from warner.mechanisms import Mechanism, WithNonresponse, from_header, with_nonresponse
from warner.mechanisms.numeric import nonresponse_thresholds

# What every mechanism must do for itself: the largest budgets that it can represent differ.
OF_THE_LAW: list[Any] = [float("inf"), 1e308, 50.0]


# Refused by what all mechanisms share.
SHARED = [e for e in BAD_EPSILONS if e not in OF_THE_LAW]


# A range of several steps, or a table of as many digits as it takes, represents a budget of 50.
REPRESENTS_50 = ["Laplace", "Laplace between cells", "Gaussian", "Exponential"]


BUDGETED = [n for n in MECHANISMS if n != "MatrixMechanism"]


BAD_BUDGETS = [
    *((name, epsilon) for name in BUDGETED for epsilon in ("1", *OF_THE_LAW)),
    *(("RandomizedResponse", epsilon) for epsilon in SHARED if epsilon != "1"),
]


ACCEPTED = [("RandomizedResponse", float("inf")), *((name, 50.0) for name in REPRESENTS_50)]


@pytest.mark.parametrize(
    "name, epsilon", [pair for pair in BAD_BUDGETS if pair not in ACCEPTED], ids=repr
)
def test_bad_budgets_are_refused(name: str, epsilon: Any) -> None:
    refused((BudgetError, ArgumentTypeError), "epsilon", MECHANISMS[name], Integers(0, 3), epsilon)


@pytest.mark.parametrize("name, epsilon", ACCEPTED)
def test_large_budgets_that_can_be_represented_are_accepted(name: str, epsilon: float) -> None:
    assert MECHANISMS[name](Integers(0, 3), epsilon).requested == epsilon


NAMES = list(SEVERAL)


@pytest.mark.parametrize("name", NAMES)
def test_the_header_rebuilds_the_parts_to_the_last_bit(name: str) -> None:
    mechanism = SEVERAL[name](1.0)
    again = from_header(mechanism.header)
    assert type(again) is type(mechanism)
    assert again.header == mechanism.header
    assert again.guarantee == mechanism.guarantee
    assert [part.header for part in again.parts.values()] == [
        part.header for part in mechanism.parts.values()
    ]


COUNTED = ALL


def test_reports_of_every_other_mechanism_are_refused() -> None:
    instances = [smallest(name, epsilon) for name in COUNTED for epsilon in (1.0, 2.0)]
    instances.append(warner.RandomizedResponse(warner.Integers(1, 4), 1.0))
    made = [(m, m.randomize(m.domain.labels, np.random.default_rng(0))) for m in instances]
    counted = [(m, reports, m.tally(reports)) for m, reports in made]
    for ours, _, our_tally in counted:
        for theirs, reports, their_tally in counted:
            if ours is not theirs:
                refused(MismatchError, "do not belong together", ours.tally, reports)
                with pytest.raises(MismatchError):
                    our_tally + their_tally


@pytest.mark.parametrize("name", COUNTED)
def test_foreign_outputs_come_in_checked(name: str) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, 50)
    again = mechanism.reports(reports.columns)
    assert again.records() == reports.records() and not again.simulated
    for column in reports.columns:
        for wrong in (-1, 2**40, 0.5, float("nan"), "1", None):
            bad = {
                k: np.array(
                    v, dtype=object if wrong is None or isinstance(wrong, str) else type(wrong)
                )
                for k, v in reports.columns.items()
            }
            bad[column].flat[0] = wrong
            refused(ReportError, "", mechanism.reports, bad)
    with pytest.raises((ReportError, EmptyError)):
        mechanism.reports({k: v[:0] for k, v in reports.columns.items()})


def test_padding_and_set_sizes_are_checked() -> None:
    unary, subset = smallest("UnaryEncoding symmetric"), smallest("SubsetSelection of two")
    refused(ReportError, "padding", unary.reports, {"bits": np.array([[0b10000001]])})
    refused(ReportError, "2 bits set", subset.reports, {"bits": np.array([[0b11100000]])})
    assert unary.reports(np.array([[1, 0, 0, 1]])).columns["bits"].tolist() == [[0b10010000]]


@pytest.mark.parametrize(("size", "members"), [(300, 80), (300, 5), (300, 290), (257, 1)])
def test_true_values_change_places_with_the_last_value_only(size: int, members: int) -> None:
    """With the same words, the subset of a value is that of the last value, with the two exchanged.

    So the words do not depend on the value, in either method, nor does their number.
    """
    mechanism = warner.SubsetSelection(warner.Integers(1, size), 1.0, size=members)
    n, last = 50, size - 1
    words, found = [], []
    for value in (last, 0, 7, 8, 131, last - 1):
        rng = np.random.default_rng(9)
        packed = mechanism._sample(np.full(n, value), Source(rng))["bits"]
        bits = np.unpackbits(packed, axis=1, count=size)
        bits[:, [value, last]] = bits[:, [last, value]]
        found.append(bits)
        words.append(rng.bit_generator.state)
    assert (found[0].sum(axis=1) == members).all()
    for bits, state in zip(found, words, strict=True):
        assert np.array_equal(bits, found[0])
        assert state == words[0]


def test_batches_are_independent_draws_of_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports do not repeat from one batch to the next, and all batches are filled."""
    mechanism = warner.SubsetSelection(warner.Integers(1, 300), 1.0)
    monkeypatch.setattr(sampling, "_SET_BYTES", 1)
    monkeypatch.setattr(sampling, "_SETS", (7, 7))
    packed = mechanism._sample(np.arange(100) * 3, Source(np.random.default_rng(1)))["bits"]
    assert (np.bitwise_count(packed).sum(axis=1) == mechanism.subset).all()
    assert len(np.unique(packed, axis=0)) == 100


# What a device refuses, for every mechanism; and no message, log or file holds an answer.


SECRET = "a-secret-answer-7391"


# A mechanism's ``encode`` decides which answers are refused, and most mechanisms share one.
BAD_ANSWERS: list[Any] = [
    -1,
    4,
    99,
    2**70,
    0.5,
    float("nan"),
    float("inf"),
    None,
    "1",
    True,
    b"1",
    [1],
]


BAD_CONTAINERS: list[Any] = [
    [], (), np.array([]), np.zeros((2, 2), int), np.array([0.5, 1.5]), 1, None, "123", {"a": 1}, np.array(3)
]  # fmt: skip


ENCODERS = list({type(smallest(name)).encode: name for name in MECHANISMS}.values())


@pytest.mark.parametrize(
    "name, bad",
    [
        *((name, bad) for name in MECHANISMS for bad in (-1, 4)),
        *((name, bad) for name in ENCODERS for bad in BAD_ANSWERS[2:]),
    ],
    ids=repr,
)
def test_bad_answers_never_reach_a_report(name: str, bad: Any) -> None:
    mechanism = smallest(name)
    for values in ([0, bad], [bad]):
        refused((ValuesError, ArgumentTypeError), "", mechanism.randomize, values)
    with pytest.raises((ValuesError, ArgumentTypeError)):
        mechanism.randomize(np.array([bad, 0], dtype=object))


@pytest.mark.parametrize(
    "name, values",
    [
        *((name, []) for name in MECHANISMS),
        *((name, values) for name in ENCODERS for values in BAD_CONTAINERS[1:]),
    ],
    ids=repr,
)
def test_wrong_containers_are_refused(name: str, values: Any) -> None:
    refused((EmptyError, ArgumentTypeError, ValuesError), "", smallest(name).randomize, values)


def test_no_message_log_or_file_holds_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    domain = warner.Categorical(["x", "y"])
    caplog.set_level(logging.DEBUG)
    seen = []
    for mechanism in (
        warner.RandomizedResponse(domain, 1.0),
        warner.UnaryEncoding(domain, 1.0),
        warner.Product(a=domain),
    ):
        for values in (
            [SECRET],
            ["x", SECRET],
            np.array(["x", SECRET]),
            np.array([SECRET, None], dtype=object),
            [{"a": SECRET}],
        ):
            try:
                mechanism.randomize(values) if isinstance(
                    mechanism, warner.mechanisms.Mechanism
                ) else mechanism.encode(values)
            except WarnerError as error:
                seen.append(
                    f"{error} {error.args} {vars(error)} {error.__cause__} {error.__context__}"
                )
    assert len(seen) >= 13
    out, err = capfd.readouterr()
    assert SECRET not in " ".join(seen) + caplog.text + out + err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "rng", [0, 42, "seed", np.random.RandomState(0), np.random], ids=lambda v: type(v).__name__
)
def test_only_a_generator_or_nothing_is_a_source(rng: Any) -> None:
    refused(ArgumentTypeError, "rng", smallest("RandomizedResponse").randomize, [0], rng=rng)


# Numbers with nonresponse beside them: the exact law and its channel against code of a few lines.


_EPSILONS = (0.01, 0.1, 1.0, 3.0, 9.0)


def _worst(table: np.ndarray) -> Fraction:
    """The largest ratio of two probabilities of one report, from all of them."""
    return max(max(row) / min(row) for row in table)


@pytest.mark.parametrize("name", SILENT)
def test_the_law_is_as_private_as_it_says_and_no_less(name: str) -> None:
    """By enumeration of all reports; of points, so that every ratio of the law is one of theirs."""
    for epsilon in (0.5, 2.0):
        mechanism = smallest(name, epsilon)
        table = mechanism.probabilities()
        assert (table.sum(axis=0) == 1).all()
        assert _worst(table) <= mechanism.law.ratio()
        assert epsilon - 1e-9 <= mechanism.epsilon <= epsilon
        # Rounding to cells may miss an end of the numbers' own law, never that of nonresponse.
        nonresponse = table[:, [0, -1]]
        assert float(_worst(nonresponse)) == pytest.approx(np.exp(epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", _EPSILONS)
def test_the_dummies_of_windows_and_of_noise_have_the_ratios_they_state(epsilon: float) -> None:
    for inner in (
        SquareWave(Integers(0, 4), epsilon, cells=20),
        warner.mechanisms.Piecewise(Integers(0, 4), epsilon, cells=20),
        warner.Laplace(Integers(0, 4), epsilon, reach=3),
    ):
        found, table = inner.dummies(), inner.probabilities()
        assert found is not None
        dummy = found.exact()
        assert dummy.sum() == 1
        assert max((table / dummy[:, None]).ravel()) == found.above
        assert max((dummy[:, None] / table).ravel()) == found.below
        assert found.above * found.below <= inner.law.ratio()
        assert found.shares() == pytest.approx(dummy.astype(float), rel=1e-9)


@pytest.mark.parametrize("epsilon", _EPSILONS)
def test_the_thresholds_use_all_of_epsilon_and_never_more(epsilon: float) -> None:
    above = SquareWave(Integers(0, 4), epsilon).dummies().above
    dropped, silent = (Fraction(t, 2**64) for t in nonresponse_thresholds(epsilon, above))
    bound = Fraction(np.exp(epsilon))
    named, others = silent / dropped, (1 - dropped) / (1 - silent) * above
    for ratio in (named, others):
        assert float(ratio) == pytest.approx(float(bound), rel=1e-9)
    assert WithNonresponse(SquareWave(Integers(0, 4), epsilon)).epsilon <= epsilon


@pytest.mark.parametrize("name", SILENT)
def test_its_channel_has_fewer_rows_with_the_same_likelihood(name: str) -> None:
    channel = smallest(name).channel()
    merged = channel.merge_proportional_rows()
    rows = np.arange(channel.shape[0]) if merged is None else merged[1]
    small = channel.dense() if merged is None else merged[0].dense()
    summed = np.zeros_like(small)
    np.add.at(summed, rows, channel.dense())
    assert small == pytest.approx(summed, abs=1e-15)
    # Rows that are added are proportional.
    ratio = channel.dense() / channel.dense().sum(axis=1)[:, None]
    assert ratio == pytest.approx((small / small.sum(axis=1)[:, None])[rows], rel=1e-9)


def test_nonresponse_is_encoded_beside_positions_in_every_form() -> None:
    mechanism = WithNonresponse(SquareWave(Interval(0, 10, bins=4), 1.0), ["", "NA", "-9"])
    for values in ([5.0, None, "NA", 10], np.array([5.0, np.nan, -9.0, 10.0]), ["5", "", "NA", ""]):
        if isinstance(values[0], str):
            refused(ValuesError, "", mechanism.encode, values)
            continue
        found = mechanism.encode(values)
        assert found[[0, 3]].tolist() == [0.5, 1.0] and np.isnan(found[1:3]).all()
    refused(ValuesError, "2", mechanism.encode, [1.0, None, 11.0])


def test_everybody_draws_the_same_words() -> None:
    """So that neither time nor the generator's state tells who was silent."""
    mechanism = WithNonresponse(SquareWave(Integers(0, 9), 1.0))
    left = []
    for values in ([3] * 500, [None] * 500, [3, None] * 250):
        rng = np.random.default_rng(5)
        mechanism.randomize(values, rng)
        left.append(rng.integers(2**62))
    assert len(set(left)) == 1


def test_headers_and_repeated_reports_hold_it() -> None:
    mechanism = WithNonresponse(SquareWave(Integers(0, 9), 1.0, cells=32), ["", "NA"])
    assert from_header(mechanism.header).header == mechanism.header
    twice = warner.mechanisms.Repeated(mechanism, 2)
    tally = twice.tally(twice.randomize([3, None, 8] * 20, np.random.default_rng(0)))
    assert warner.estimate(tally).domain.nonresponse == 10 and twice.epsilon <= 2.0


_NO_DUMMIES: list[Mechanism] = [
    warner.SubsetSelection(Categorical(["a", "b", "c"]), 1.0),
    warner.mechanisms.Geometric(Integers(0, 4), 0.5),
    warner.Laplace(Integers(0, 4), 1.0, sensitivity=1),
    warner.mechanisms.Gaussian(Integers(0, 4), 1.0, delta=1e-6),
    WithNonresponse(SquareWave(Integers(0, 4), 1.0)),
]


@pytest.mark.parametrize("inner", _NO_DUMMIES, ids=lambda m: type(m).__name__)
def test_mechanisms_without_dummies_are_refused(inner: Mechanism) -> None:
    refused(ArgumentTypeError, "SquareWave", WithNonresponse, inner)


def test_a_domain_without_nonresponse_leaves_the_mechanism() -> None:
    inner = SquareWave(Integers(0, 4), 1.0)
    assert with_nonresponse(inner, inner.domain) is inner
    refused(
        BudgetError, "needs a probability of 3.78e-11", nonresponse_thresholds, 24.0, Fraction(1)
    )
