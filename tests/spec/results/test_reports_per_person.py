"""What an estimate says of people who sent several reports each."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import warner
from tests.refusals import refused
from warner import Categorical, Integers, LogSpline, Product, RandomizedResponse, estimate
from warner.errors import ArgumentError
from warner.estimators import Inversion, MaximumLikelihood, SampleMean

SIZE, TIMES = 5, 10
MECHANISM = RandomizedResponse(Integers(0, SIZE - 1), 3.0)
RNG = np.random.default_rng(8)
VALUES = RNG.choice(SIZE, 4000, p=[0.1, 0.3, 0.3, 0.2, 0.1])
ONE = MECHANISM.tally(MECHANISM.randomize(VALUES, RNG))
SEVERAL = ONE.per_person(TIMES)


def test_the_estimate_is_the_same_and_says_how_many_people_there_are() -> None:
    for method in (Inversion(), MaximumLikelihood(), LogSpline(), None):
        one, several = estimate(ONE, method), estimate(SEVERAL, method)
        assert (one.probabilities == several.probabilities).all()
        assert several.n == 4000 and several.reports_per_person == TIMES
        assert "n=4000 of 400 people or more" in repr(several)
        assert "people" not in repr(one)
    assert estimate(ONE.per_person(3)).data.least_people == 1334


def test_the_variance_for_the_population_is_the_noise_of_reports_and_the_values_of_people() -> None:
    """Twice the width at t = 4 without noise, and less than that with noise."""
    one, several = estimate(ONE, Inversion()), estimate(SEVERAL, Inversion())
    theta = one.probabilities
    variance = MECHANISM.channel().variance(theta)
    noise = variance - theta * (1 - theta)
    wide = np.diff(several.interval(kind="wald"), axis=1)[:, 0]
    z = 1.959963984540054
    expected = 2 * z * np.sqrt((noise + TIMES * theta * (1 - theta)) / one.n)
    assert wide == pytest.approx(expected, rel=1e-9)
    respondents = [e.interval(target="respondents") for e in (one, several)]
    assert (respondents[0] == respondents[1]).all()


@pytest.mark.parametrize("kind", ["score", "wald", "fisher"])
def test_intervals_widen_with_the_reports_of_one_person(kind: str) -> None:
    widths = [
        np.diff(estimate(ONE.per_person(t), MaximumLikelihood()).interval(kind=kind), axis=1)
        for t in (1, 2, 10, 100)
    ]
    assert all((narrow < wide).all() for narrow, wide in pairwise(widths))


def test_the_bootstrap_draws_people() -> None:
    """Numbers of reports that t does not divide are those of a last person with fewer."""
    widths = [
        np.diff(
            estimate(ONE.per_person(t), Inversion()).interval(
                kind="bootstrap", rng=np.random.default_rng(1)
            ),
            axis=1,
        ).mean()
        for t in (1, 30)
    ]
    assert widths[1] > 2 * widths[0]


def test_a_posterior_takes_reports_as_those_of_different_people_so_score_intervals_are_usual() -> (
    None
):
    one, several = estimate(ONE, LogSpline()), estimate(SEVERAL, LogSpline())
    assert one.interval_kind() == "posterior" and several.interval_kind() == "score"
    refused(ArgumentError, "a different person", several.interval, kind="posterior")
    assert several.to_json()["interval"]["kind"] == "score"
    low, high = several.mean().interval(replicates=20, rng=RNG)  # type: ignore[union-attr]
    assert low < 1.9 < high


def test_several_mechanisms_take_the_most_reports_of_any_tally() -> None:
    other = RandomizedResponse(Integers(0, SIZE - 1), 1.0)
    more = other.tally(other.randomize(VALUES, RNG))
    results = [
        estimate([SEVERAL, more], Inversion()),
        estimate([ONE, more.per_person(TIMES)], Inversion()),
    ]
    assert results[0].reports_per_person == TIMES
    assert (results[0].interval() == results[1].interval()).all()
    assert (results[0].probabilities == estimate([ONE, more], Inversion()).probabilities).all()
    with pytest.raises(ArgumentError, match="where a person sent reports of several mechanisms"):
        estimate([SEVERAL, more], MaximumLikelihood()).interval(kind="fisher")
    wide = estimate([SEVERAL, more], Inversion()).interval(kind="bootstrap", rng=RNG)
    slim = estimate([ONE, more], Inversion()).interval(kind="bootstrap", rng=RNG)
    assert np.diff(wide).mean() > 1.5 * np.diff(slim).mean()


def test_means_and_possible_values_count_people_too() -> None:
    one, several = (estimate(t, SampleMean()).mean() for t in (ONE, SEVERAL))
    assert np.diff(several.interval()) > 1.5 * np.diff(one.interval())  # type: ignore[union-attr]
    respondents = [m.interval(target="respondents") for m in (one, several)]  # type: ignore[union-attr]
    assert (respondents[0] == respondents[1]).all()
    some = [estimate(t, Inversion(), values=[1, 2, 3]) for t in (ONE, SEVERAL)]
    assert some[1].reports_per_person == TIMES
    assert (np.diff(some[1].interval()) > np.diff(some[0].interval())).all()
    wide = some[1].interval(kind="bootstrap", rng=RNG)
    assert np.diff(wide).mean() > 1.5 * np.diff(some[0].interval()).mean()


def test_associations_are_refused_and_marginals_carry_the_number() -> None:
    pairs = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    both = RandomizedResponse(pairs, 3.0)
    answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 200
    tally = both.tally(both.randomize(answers, RNG))
    result = estimate(tally.per_person(4))
    assert result.marginal("a").reports_per_person == 4
    refused(ArgumentError, "needs one report of each person", result.cramers_v, "a", "b")
    one = estimate(tally)
    for found, less in (
        (result.marginal("a").interval(), one.marginal("a").interval()),
        (result.conditional("x").interval(), one.conditional("x").interval()),
    ):
        assert (np.diff(found) >= np.diff(less)).all() and (np.diff(found) > np.diff(less)).any()


def test_tables_and_json_name_the_number_where_it_is_not_one() -> None:
    assert estimate(SEVERAL).to_json()["reports_per_person"] == TIMES
    assert "reports_per_person" not in estimate(ONE).to_json()
    again = pickle.loads(pickle.dumps(estimate(SEVERAL)))
    assert again.reports_per_person == TIMES


def test_a_share_of_nobody_is_bounded_by_the_number_of_people() -> None:
    """Without noise: nobody of 10 people, who sent 100 reports each, is Wilson's of 10."""
    sure = RandomizedResponse(Categorical(["no", "yes"]), float("inf"))
    tally = sure.tally(sure.randomize(["no"] * 1000, RNG)).per_person(100)
    high = estimate(tally, Inversion()).interval()[1, 1]
    z2 = 1.959963984540054**2
    assert high == pytest.approx(z2 / (10 + z2), rel=1e-6)
    assert warner.estimate(tally, Inversion()).interval(target="respondents")[1, 1] < 0.01


@pytest.mark.parametrize("times", [1, 4])
def test_of_a_value_that_nobody_has_the_upper_limit_is_wilsons_for_people(times: int) -> None:
    """Without noise, z^2 / (m + z^2) for m people. Rejects m reports, of which some are of one
    person.
    """
    certain = RandomizedResponse(Integers(0, 1), float("inf"))
    tally = certain.tally(certain.reports([0] * 400)).per_person(times)
    square = 1.959963984540054**2
    for kind in ("wald", "score"):
        upper = estimate(tally, Inversion()).interval(kind=kind)[1, 1]
        assert upper == pytest.approx(square / (400 / times + square))
