"""Every (thing registered) x (bad input) cell ends in a named error that does not show the answer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import BAD_EPSILONS, DOMAINS, MECHANISMS, smallest
from warner import Domain, Integers
from warner.domains import from_spec
from warner.io import tally_file, write_reports
from warner.reports.tally import Tally, load_tallies
from warner.reports.tally_kinds import BitSums, Histogram

SECRET = "a-secret-answer-7391"


# What every mechanism must do for itself: the largest budgets that it can represent differ.
OF_THE_LAW: list[Any] = [float("inf"), 1e308, 50.0]
# Refused by what all mechanisms share.
SHARED = [e for e in BAD_EPSILONS if e not in OF_THE_LAW]
# A range of several steps, or a table of as many digits as it takes, represents a budget of 50.
REPRESENTS_50 = ["Laplace", "Laplace between cells", "Gaussian", "Exponential"]
BUDGETED = [n for n in MECHANISMS if n != "ChannelMechanism"]
BAD_BUDGETS = [
    *((name, epsilon) for name in BUDGETED for epsilon in ("1", *OF_THE_LAW)),
    *(("RandomizedResponse", epsilon) for epsilon in SHARED if epsilon != "1"),
]
ACCEPTED = [("RandomizedResponse", float("inf")), *((name, 50.0) for name in REPRESENTS_50)]


@pytest.mark.parametrize(
    "name, epsilon", [pair for pair in BAD_BUDGETS if pair not in ACCEPTED], ids=repr
)
def test_bad_budgets_are_refused(name: str, epsilon: Any) -> None:
    with pytest.raises(
        (warner.errors.BudgetError, warner.errors.ArgumentTypeError), match="epsilon"
    ):
        MECHANISMS[name](Integers(0, 3), epsilon)


@pytest.mark.parametrize("name, epsilon", ACCEPTED)
def test_large_budgets_that_can_be_represented_are_accepted(name: str, epsilon: float) -> None:
    assert MECHANISMS[name](Integers(0, 3), epsilon).requested == epsilon


@pytest.mark.parametrize("domain, bad", [(d, b) for d, values in DOMAINS for b in values], ids=repr)
def test_bad_answers_are_refused_wherever_they_stand(domain: Domain, bad: Any) -> None:
    good = domain.labels
    for values, position in (([bad], 0), ([*good, bad], len(good)), ([bad, *good], 0)):
        with pytest.raises((warner.errors.ValuesError, warner.errors.ArgumentTypeError)) as caught:
            domain.encode(values)
        if isinstance(caught.value, warner.errors.ValuesError):
            assert caught.value.position == position


# A mechanism's ``encode`` decides which answers are refused, and most mechanisms share one.
BAD_ANSWERS: list[Any] = [
    -1,
    4,
    99,
    2**70,
    1.0,
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
    [], (), np.array([]), np.zeros((2, 2), int), np.array([0.0, 1.0]), 1, None, "123", {"a": 1}, np.array(3)
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
        with pytest.raises((warner.errors.ValuesError, warner.errors.ArgumentTypeError)):
            mechanism.randomize(values)
    with pytest.raises((warner.errors.ValuesError, warner.errors.ArgumentTypeError)):
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
    with pytest.raises(
        (warner.errors.EmptyError, warner.errors.ArgumentTypeError, warner.errors.ValuesError)
    ):
        smallest(name).randomize(values)


@pytest.mark.parametrize("domain", [d for d, _ in DOMAINS], ids=repr)
def test_domains_are_bijections_with_a_spec(domain: Domain) -> None:
    index = np.arange(domain.size)
    assert domain.encode(domain.decode(index)).tolist() == index.tolist()
    assert domain.encode(domain.labels).dtype == np.int64
    again = from_spec(domain.spec())
    assert again == domain and hash(again) == hash(domain) and again.labels == domain.labels
    assert domain.points is None or len(domain.points) == domain.size


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
            except warner.WarnerError as error:
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
    with pytest.raises(warner.errors.ArgumentTypeError, match="rng"):
        smallest("RandomizedResponse").randomize([0], rng=rng)


@pytest.mark.parametrize("suffix", ["warner", "json", "parquet", "csv"])
def test_every_truncation_and_alteration_is_noticed(suffix: str, tmp_path: Path) -> None:
    """Cut at, and flip one bit at, places all over the file: each byte of its two ends, and a
    sample of the bytes between.
    """
    mechanism = warner.UnaryEncoding(Integers(0, 11), 1.0)
    reports = mechanism.randomize(np.arange(60) % 12, np.random.default_rng(3))
    whole = mechanism.tally(reports)
    path = tmp_path / f"file.{suffix}"

    def load() -> Tally:
        if suffix == "warner":
            return mechanism.tally(warner.Reports.load(path))
        return Tally.load(path) if suffix == "json" else tally_file(str(path))["value"]

    if suffix == "warner":
        reports.save(path)
    elif suffix == "json":
        whole.save(path)
    else:
        write_reports(reports, str(path))
    data = path.read_bytes()
    assert load() == whole
    last = len(data) - 1
    for place in sorted(
        {*range(6), *range(6, last, max(1, len(data) // 30)), *range(last - 5, last + 1)}
    ):
        for changed in (
            data[:place],
            data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :],
        ):
            path.write_bytes(changed)
            with pytest.raises(warner.WarnerError):
                load()


def test_an_altered_law_is_refused(tmp_path: Path) -> None:
    import json

    mechanism = smallest("RandomizedResponse")
    mechanism.tally(mechanism.randomize([0, 1])).save(tmp_path / "t.json")
    for key, value in (
        ("requested", 3.0),
        ("mechanism", "Unknown"),
        ("version", 2),
        ("thresholds", {"other": "0x1"}),
        ("parameters", {"no": 1}),
    ):
        data = json.loads((tmp_path / "t.json").read_text())
        entry = data["attributes"]["value"]
        entry["header"][key] = value
        forged = Tally(
            entry["header"], Histogram(), np.array(entry["counts"]), entry["n"]
        )  # with a digest that fits
        with pytest.raises(warner.errors.MismatchError):
            warner.estimate(forged)
        data["attributes"]["value"] = entry
        (tmp_path / "u.json").write_text(json.dumps(data))
        with pytest.raises(warner.errors.FileError, match="checksum"):
            load_tallies(tmp_path / "u.json")


def test_a_tally_that_does_not_fit_its_mechanism_is_refused() -> None:
    mechanism = smallest("RandomizedResponse")
    for counts, n in (
        (np.array([1, 2, 3]), 6),
        (np.array([1, -1, 1, 1]), 2),
        (np.array([1, 1, 1, 1]), 5),
    ):
        with pytest.raises(warner.errors.MismatchError, match="does not fit"):
            warner.estimate(Tally(mechanism.header, Histogram(), counts, n))
    with pytest.raises(warner.errors.EmptyError):
        warner.estimate(Tally(mechanism.header, Histogram(), np.zeros(4, int), 0))


@pytest.mark.parametrize(
    "header",
    [None, "x", 5, [], {}, {"mechanism": ["a"]}, {"mechanism": "RandomizedResponse", "version": 1}],
    ids=repr,
)
def test_forged_headers_are_refused(header: Any) -> None:
    with pytest.raises((warner.errors.MismatchError, warner.errors.ArgumentTypeError)):
        warner.estimate(Tally(header, Histogram(), np.array([1, 2]), 3))


@pytest.mark.parametrize(
    "key, value",
    [
        ("requested", 10**400),
        ("requested", None),
        ("domain", {"kind": "integers", "low": 10**400, "high": 3}),
        ("domain", {"kind": "nothing"}),
        ("domain", 3),
        ("domain", {"kind": "integers", "low": 0, "high": 2**60}),
        ("parameters", []),
        ("parameters", {"keep": [1]}),
        ("extra", 1),
    ],
    ids=repr,
)
def test_forged_laws_are_refused(key: str, value: Any) -> None:
    mechanism = smallest("UnaryEncoding symmetric")
    with pytest.raises(warner.errors.MismatchError):
        warner.estimate(
            Tally({**mechanism.header, key: value}, BitSums(), np.array([1, 2, 1, 0]), 3)
        )


@pytest.mark.parametrize(
    "kind, counts, n",
    [
        ("histogram", [1], 1),
        (Histogram(), [1.5], 1),
        (Histogram(), None, 1),
        (Histogram(), [1], 1.0),
        (BitSums(), [1], 10**30),
        (Histogram(), [1], -1),
    ],
    ids=repr,
)
def test_forged_tallies_are_refused(kind: Any, counts: Any, n: Any) -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match="tally"):
        Tally(
            smallest("RandomizedResponse").header,
            kind,
            None if counts is None else np.array(counts),
            n,
        )


def test_a_wire_with_a_good_checksum_and_bad_content_is_refused() -> None:
    import hashlib
    import json

    good = smallest("RandomizedResponse").randomize([0, 1, 2])
    data = good.to_bytes()[:-32]
    start = data.index(b"\n") + 1
    length = int.from_bytes(data[start : start + 4], "little")
    head, body = json.loads(data[start + 4 : start + 4 + length]), data[start + 4 + length :]
    for forged in (
        {**head, "schema": 2},
        {**head, "n": 4},
        {**head, "n": -1},
        {**head, "n": 10**30},
        {**head, "columns": 5},
        {**head, "columns": [["report", "|O", []]]},
        {**head, "columns": []},
        {**head, "header": 3},
        [],
        5,
    ):
        text = json.dumps(forged).encode()
        raw = data[:start] + len(text).to_bytes(4, "little") + text + body
        with pytest.raises(
            (warner.errors.FileError, warner.errors.ReportError, warner.errors.ArgumentTypeError)
        ):
            warner.Reports.from_bytes(raw + hashlib.sha256(raw).digest())
    with pytest.raises(warner.errors.FileError):
        warner.Reports.from_bytes(data[: start + 2] + hashlib.sha256(data[: start + 2]).digest())


def test_reports_carry_no_column_of_their_own() -> None:
    mechanism = smallest("RandomizedResponse")
    reports = mechanism.randomize([0, 1])
    smuggled = warner.Reports(reports.header, {**reports.columns, "answer": np.array([0, 1])})
    with pytest.raises(warner.errors.ReportError, match="and no others"):
        mechanism.tally(smuggled)


def test_numbers_beyond_every_float_and_narrow_floats() -> None:
    builds = (
        lambda: warner.RandomizedResponse(Integers(0, 1), 10**400),
        lambda: warner.Interval(0, 10**400, 3),
        lambda: warner.Interval(-1e308, 1e308, 4),
        lambda: warner.MaximumLikelihood(10**400),
        lambda: warner.Interval(0.0, 1.0, 4).encode([10**400]),
        lambda: warner.Interval(0, 1e5, 4).encode(np.array([np.inf], np.float16)),
        lambda: warner.LDP(-1.0),
        lambda: warner.LDP(float("nan")),
        lambda: warner.LDP("1"),
        lambda: warner.compose(5),
        lambda: warner.compose([]),
        lambda: warner.compose([1.0]),
        lambda: Integers(0, 3).decode([4]),
        lambda: warner.Categorical(["a", "b"]).decode([-1]),
        lambda: warner.Categorical(["a", "b"]).decode([0.5]),
        lambda: warner.Categorical({"a", "b"}),
        lambda: warner.Categorical(["a", "b"]).encode(np.ma.masked_array(["a", "b"], [0, 1])),
        lambda: warner.Tally.load("no such file"),
        lambda: warner.Reports.load("no such file"),
        lambda: warner.metrics.wasserstein1([1], [1], spacing=-3),
        lambda: warner.ChannelMechanism(Integers(0, 3), np.full((2, 4), 0.5)),
        lambda: warner.estimate(5),
        lambda: warner.estimate(smallest("RandomizedResponse").randomize([0])),
    )
    for i, build in enumerate(builds):
        with pytest.raises(warner.WarnerError):
            pytest.fail(f"case {i} gave {build()!r}")
    assert warner.Interval(0.0, 1.0, 2**20).encode(np.array([0.25], np.float16)).tolist() == [2**18]
    assert warner.Categorical([2**63, 2**63 + 1]).encode(
        np.array([2**63 + 1], np.uint64)
    ).tolist() == [1]


def test_what_came_out_cannot_be_changed() -> None:
    mechanism = smallest("RandomizedResponse")
    reports = mechanism.randomize([0, 1])
    tally = mechanism.tally(reports)
    result = warner.estimate(tally)
    for array in (reports.columns["report"], tally.counts, result.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        mechanism.epsilon = 9.0


@pytest.mark.parametrize(
    "domain, width",
    [(warner.Grid(2, 3), 2), (warner.Points([[0, 1], [2, 3]]), 2), (warner.Points([[0], [1]]), 1)],
    ids=repr,
)
def test_answers_of_several_numbers_in_any_wrong_shape_are_refused_by_name(
    domain: Domain, width: int
) -> None:
    good = domain.labels[0]
    wrong = [
        ((1, 2), 3),
        (3, (1, 2)),
        ([1], [2]),
        np.array(1),
        np.array([[1, 2]]),
        np.array([]),
        (),
        [[]],
        {},
        {"a": 1, "b": 2},
        "ab",
        np.float64(1),
        [None] * width,
        [{}] * width,
    ]
    for bad in wrong:
        for values, position in (([bad], 0), ([good, bad], 1)):
            with pytest.raises(warner.errors.ValuesError) as caught:
                domain.encode(values)
            assert caught.value.position == position
    for whole in (np.array(1), np.array([1, 2]), np.zeros((2, 2, 2), int), np.array(None)):
        with pytest.raises((warner.errors.ArgumentTypeError, warner.errors.ValuesError)):
            domain.encode(whole)
