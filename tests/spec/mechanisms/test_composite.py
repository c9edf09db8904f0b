"""Mechanisms that combine others: several attributes, and several reports of one value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey
from warner import (
    Categorical,
    Integers,
    Interval,
    PerAttribute,
    Product,
    RandomizedResponse,
    UnaryEncoding,
    estimate,
)
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, MismatchError, ValuesError
from warner.io import write_reports
from warner.mechanisms import Repeated
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize(
    "mechanisms, match",
    [
        ({"sex": RandomizedResponse(SEX, 1.0)}, "has none for 'age'"),
        (
            {
                "sex": RandomizedResponse(SEX, 1.0),
                "age": RandomizedResponse(AGE, 1.0),
                "place": RandomizedResponse(AGE, 1.0),
            },
            "'place'",
        ),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": RandomizedResponse(SEX, 1.0)}, "own domain"),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": 3}, "must be a mechanism"),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": lambda d: d}, "must be a mechanism"),
        (
            {"sex": RandomizedResponse(SEX, 1.0), "age": Repeated(UnaryEncoding(AGE, 1.0), 2)},
            "several reports of bits",
        ),
        ([RandomizedResponse(SEX, 1.0)], "must be a dict"),
        (None, "must be a dict"),
    ],
)
def test_mechanisms_that_do_not_fit_the_attributes_are_refused(mechanisms: Any, match: str) -> None:
    with pytest.raises(
        (ArgumentError, ArgumentTypeError, MismatchError),
        match=match,
    ):
        PerAttribute(BOTH, mechanisms)


def test_only_a_product_has_attributes() -> None:
    with pytest.raises(ArgumentTypeError, match="Product"):
        PerAttribute(SEX, {"sex": RandomizedResponse(SEX, 1.0)})  # type: ignore[arg-type]


def test_names_that_make_one_column_twice_are_refused() -> None:
    inner = Repeated(RandomizedResponse(AGE, 1.0), 2)
    product = Product(**{"a": AGE, "a.1": AGE})
    with pytest.raises(ArgumentError, match="two columns of one name"):
        PerAttribute(product, {"a": inner, "a.1": RandomizedResponse(AGE, 1.0)})
    either_case = PerAttribute(
        Product(a=AGE, A=AGE), dict.fromkeys(("a", "A"), RandomizedResponse(AGE, 1.0))
    )
    with pytest.raises(ArgumentError, match="upper and lower case"):
        write_reports(either_case.randomize([{"a": 1, "A": 2}]), "never.parquet")


@pytest.mark.parametrize(
    "values",
    [
        [{"sex": "f"}],
        [{"sex": "f", "age": 1}, {"sex": "m"}],
        [{"sex": "f", "age": None}],
        [{"sex": "f", "age": 4}],
        [{"sex": "f", "age": 1, "more": 0}],
        {"sex": ["f", "m"]},
        {"sex": ["f", "m"], "age": [1]},
        {"sex": [], "age": []},
        [],
        ["f"],
        "f",
        None,
        3,
    ],
    ids=repr,
)
def test_answers_that_are_not_whole_are_refused_and_nothing_is_sent(values: Any) -> None:
    refused((ArgumentError, ArgumentTypeError, EmptyError), "", _survey().randomize, values)


def test_a_refused_answer_is_named_by_attribute_and_position_never_by_value() -> None:
    with pytest.raises(ValuesError, match="sex: position 1") as caught:
        _survey().randomize([{"sex": "f", "age": 1}, {"sex": "a-secret-7391", "age": 1}])
    assert (
        "7391"
        not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__} {vars(caught.value)}"
    )


def test_lists_dicts_and_frames_are_the_same_answers() -> None:
    import polars as pl
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"sex": ["f", "m", "f"], "age": [0, 3, 2]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    survey = _survey()
    given = (columns, rows, pl.DataFrame(columns), pa.table(columns))
    found = {survey.randomize(v, np.random.default_rng(1)).to_bytes(keep_order=True) for v in given}
    assert len(found) == 1


def test_numbers_reach_their_mechanism_and_not_their_bins() -> None:
    """The mutant that encodes first would make all numbers of a bin alike: then windows start at
    the same cells.
    """
    domain = Interval(0.0, 1.0, 2)
    survey = PerAttribute(
        Product(sex=SEX, x=domain),
        {"sex": RandomizedResponse(SEX, 1.0), "x": warner.SquareWave(domain, 4.0, cells=64)},
    )
    n = 4000
    means = [
        survey.randomize({"sex": ["f"] * n, "x": [x] * n}, np.random.default_rng(0))
        .columns["x.report"]
        .mean()
        for x in (0.01, 0.49)
    ]  # one bin
    assert means[1] - means[0] > 5
    twice = Repeated(warner.SquareWave(domain, 4.0, cells=64), 2)
    means = [
        twice.randomize([x] * n, np.random.default_rng(0)).columns["2.report"].mean()
        for x in (0.01, 0.49)
    ]
    assert means[1] - means[0] > 5


@pytest.mark.parametrize(
    "change",
    [
        {"parts": []},
        {"parts": [["sex", {}]]},
        {"parts": 3},
        {},
        {"parts": [["sex", "x"], ["age", "y"]]},
    ],
    ids=repr,
)
def test_forged_parts_are_refused(change: Any) -> None:
    for mechanism in (_survey(), Repeated(RandomizedResponse(AGE, 1.0), 2)):
        with pytest.raises(MismatchError):
            warner.mechanisms.from_header({**mechanism.header, "parameters": change})


def test_pairs_that_a_device_draws_do_not_go_into_tuples_or_repetitions() -> None:
    """Padding and the draw among a person's pairs happen in KeyValue.randomize alone; without them
    frequencies came out l times too high.
    """
    key = warner.KeyValue(
        warner.Categorical(["a", "b"]), warner.Integers(0, 3), 2.0, key="direct", pairs=3
    )
    with pytest.raises(ArgumentError, match="pairs=3"):
        warner.PerAttribute(warner.Product(job=key.domain), {"job": key})
    refused(ArgumentError, "pairs=3", warner.mechanisms.Repeated, key, 2)


def test_attributes_that_are_no_names_are_refused_by_name() -> None:
    survey = PerAttribute(Product(a=Integers(0, 1)), {"a": lambda d: RandomizedResponse(d, 1.0)})
    tally = survey.tally(survey.randomize({"a": [0, 1]}, np.random.default_rng(1)))
    with pytest.raises(ArgumentError, match="attributes"):
        estimate(tally, attributes=[["a"]])  # type: ignore[list-item]


SEX, AGE = Categorical(["f", "m"]), Integers(0, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        (RandomizedResponse(AGE, 1.0),),
        (RandomizedResponse(AGE, 1.0), 0),
        (RandomizedResponse(AGE, 1.0), 1.5),
        (RandomizedResponse(AGE, 1.0), True),
        ([RandomizedResponse(AGE, 1.0)], 2),
        ([],),
        ([RandomizedResponse(AGE, 1.0), RandomizedResponse(SEX, 1.0)],),
        ([RandomizedResponse(AGE, 1.0), 3],),
        (3, 2),
        ("ab", 2),
        (Repeated(RandomizedResponse(AGE, 1.0), 2), 2),
        ([warner.UtilityOptimizedRR(AGE, 1.0, [0]), warner.UtilityOptimizedRR(AGE, 1.0, [1])],),
    ],
    ids=repr,
)
def test_reports_that_cannot_be_repeated_are_refused(arguments: tuple[Any, ...]) -> None:
    refused((ArgumentError, ArgumentTypeError, MismatchError), "", Repeated, *arguments)


def test_equal_mechanisms_in_any_order_are_one_mechanism() -> None:
    a, b = RandomizedResponse(AGE, 1.0), UnaryEncoding(AGE, 1.0)
    assert Repeated([a, b, a]).header == Repeated([a, a, b]).header
    assert Repeated(a, 2).header == Repeated([a, a]).header != Repeated([a, b]).header


@pytest.mark.parametrize(
    "mechanism",
    [
        Repeated(RandomizedResponse(Integers(0, 6), 0.7), 25),
        Repeated(UnaryEncoding(Integers(0, 6), 0.7), 25),
        Repeated(
            [RandomizedResponse(Integers(0, 6), 0.7)] * 10
            + [warner.mechanisms.TruncatedGeometric(Integers(0, 6), 0.3)] * 15
        ),
    ],
    ids=["RR", "unary", "RR and geometric"],
)
def test_one_persons_maximum_is_the_likeliest_value(mechanism: Repeated) -> None:
    """[P4 sec VI, theorem 7]: every distribution on argmax_x Pr(z | x) is a maximum, and no other."""
    for seed in range(8):
        tally = mechanism.tally(mechanism.randomize([seed % 7], np.random.default_rng(seed)))
        data = likelihood_data(tally)
        row = data.channel.dense()[0]
        best = row > row.max() * (1 - 1e-12)
        found = estimate(tally, warner.MaximumLikelihood())
        assert found.probabilities[best].sum() == pytest.approx(1, abs=1e-6)
        assert str(found.unique).startswith("unique") == (best.sum() == 1)


def test_a_person_of_many_reports_is_recognised() -> None:
    """[P4 sec VI-C]: the probability of error goes to 0 with the number of reports."""
    right = {}
    for times in (1, 20, 400):
        mechanism = Repeated(RandomizedResponse(Integers(0, 6), 0.7), times)
        rng = np.random.default_rng(0)
        right[times] = sum(
            int(
                estimate(
                    mechanism.tally(mechanism.randomize([3], rng)), warner.MaximumLikelihood()
                ).probabilities.argmax()
                == 3
            )
            for _ in range(30)
        )
    assert right[1] < right[20] < right[400] == 30


def test_reports_of_one_person_are_not_those_of_several() -> None:
    """The wrong way, all reports as of independent people, has the same maximum for one report each
    and another for several.
    """
    domain, rng = Integers(0, 4), np.random.default_rng(0)
    part = RandomizedResponse(domain, 1.0)
    for times in (1, 4):
        mechanism = Repeated(part, times)
        reports = mechanism.randomize(rng.choice(5, 2000, p=[0.5, 0.3, 0.2, 0, 0]), rng)
        whole = estimate(mechanism.tally(reports), warner.MaximumLikelihood()).probabilities
        each = [part.tally(part.reports(reports.columns[f"{i + 1}.report"])) for i in range(times)]
        apart = estimate(sum(each), warner.MaximumLikelihood()).probabilities
        assert (np.abs(whole - apart).max() < 1e-6) == (times == 1)
        # The mean of the inversions is the same either way.
        same = estimate(mechanism.tally(reports), warner.Inversion()).probabilities
        assert same == pytest.approx(
            estimate(sum(each), warner.Inversion()).probabilities, abs=1e-12
        )


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse(SEX, 1.0), UnaryEncoding(AGE, 1.0)], ids=["values", "bits"]
)
def test_as_many_reports_as_there_may_be_are_audited(
    mechanism: warner.mechanisms.Mechanism,
) -> None:
    """Rejects a message that makes a float of 2^10000 tuples."""
    many = Repeated(mechanism, 10_000)
    refused(ArgumentError, r"too many tuples .* got \d\.\d\de\+\d+", many.channel)
    assert warner.audit(many).influence is None
