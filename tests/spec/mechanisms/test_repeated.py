"""Several reports of one value by one person [P4 sec V-VII]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import Categorical, Integers, RandomizedResponse, Repeated, UnaryEncoding, estimate
from warner.results.from_tally import likelihood_data

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
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError, warner.errors.MismatchError)
    ):
        Repeated(*arguments)


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
    with pytest.raises(warner.errors.ArgumentError, match=r"too many tuples .* got \d\.\d\de\+\d+"):
        many.channel()
    assert warner.audit(many).weight is None
