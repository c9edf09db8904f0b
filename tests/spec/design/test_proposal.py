"""Proposals for a draft, also where some people give no answer."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner import (
    Categorical,
    Grid,
    Integers,
    Interval,
    RandomizedResponse,
    SquareWave,
    UnaryEncoding,
    UtilityOptimizedRR,
    estimate,
)
from warner.app.show_designs import in_odds
from warner.design.planning import (
    can_simulate,
    candidates,
    distance_of_values,
    made_shares,
    options_of,
)
from warner.design.privacy_words import odds_of
from warner.design.proposal import EPSILON_STEPS, propose, scenarios_of
from warner.domains import Optional
from warner.errors import ArgumentError, ArgumentTypeError
from warner.mechanisms.gaussian import Gaussian

COIN = Categorical(["no", "yes"])


def test_a_yes_or_no_question_gets_randomised_response() -> None:
    found = propose(COIN, 2000, 1.0)
    assert found.mechanism.header == RandomizedResponse(COIN, 1.0).header
    assert found.epsilon == 1.0 and len(found.offers) == 1
    # 2 z sqrt((t (1 - t) + p (1 - p) / (2 p - 1)^2) / n) with p = e / (1 + e)
    p = math.e / (1 + math.e)
    variance = 0.09 + p * (1 - p) / (2 * p - 1) ** 2
    assert found.best.expected.share == pytest.approx(
        2 * 1.96 * math.sqrt(variance / 2000), rel=0.01
    )


def test_numbers_get_the_square_wave_at_its_estimate_and_not_at_the_unbiased_one() -> None:
    among = {"SquareWave": SquareWave, "GRR": RandomizedResponse}
    found = propose(Integers(0, 19), 1000, 1.0, among=among, width=0.2)
    assert isinstance(found.mechanism, SquareWave)
    assert found.best.expected.mean is not None and 0.7 < found.best.expected.mean < 4
    assert min(found.best.others, key=lambda name: found.best.others[name]) == "SquareWave"


def test_the_least_epsilon_that_meets_the_width_is_proposed() -> None:
    asked = partial(propose, COIN, among={"RandomizedResponse": RandomizedResponse})
    few, many = asked(500), asked(50_000)
    assert [offer.epsilon for offer in few.offers] == list(EPSILON_STEPS)
    assert many.epsilon == EPSILON_STEPS[0] < few.epsilon and many.meets
    for proposal in (few, many):
        for offer in proposal.offers:
            width = offer.expected.share
            assert width is not None
            assert (width <= proposal.width) == (offer.epsilon >= proposal.epsilon)
    hopeless = asked(20)
    assert not hopeless.meets and hopeless.epsilon == EPSILON_STEPS[-1]


def test_the_people_of_a_width_have_that_width() -> None:
    found = propose(COIN, 2000, 1.0)
    needed = found.people(0.05)
    assert needed is not None
    assert found.widths(needed).share == pytest.approx(0.05, rel=0.02)


def test_sensitive_values_alone_are_protected_where_others_need_not_be() -> None:
    found = propose(Categorical(list("abcdef")), 2000, 1.0, sensitive=["a", "b"])
    assert found.best.name == "UtilityOptimizedRR"
    assert found.best.options == {"sensitive": ["a", "b"]}
    assert found.best.odds.answer in ("a", "b")


def test_odds_are_those_of_the_realised_law() -> None:
    coin = RandomizedResponse(COIN, 1.0)
    odds = odds_of(coin)
    assert odds.sent is not None and odds.sent_by_other is not None
    assert odds.sent / odds.sent_by_other == pytest.approx(math.exp(coin.epsilon))
    assert odds.surer() == pytest.approx(odds.sent / 100)
    # Nothing is surer than e^epsilon, whatever was thought before.
    before = np.array([0.01, 0.3, 0.99])
    after = np.array([odds.surer(float(b)) for b in before])
    assert after / (1 - after) == pytest.approx(math.e * before / (1 - before))


def test_odds_say_whom_they_protect_and_how_surely() -> None:
    some = odds_of(UtilityOptimizedRR(Categorical(["a", "b", "c"]), 1.0, ["a"]))
    assert some.of_sensitive and some.of_all(2).of_sensitive and some.delta == 0
    assert "who answer a, 100 send the report" in in_odds(some)[2]
    assert "sure of a sensitive one" in in_odds(some)[0] and "can be shown" in in_odds(some)[1]
    rare = odds_of(Gaussian(Integers(0, 3), 1.0, 0.01))
    assert 0 < rare.delta <= 0.01 and rare.answer is None and not rare.of_sensitive
    assert rare.surer() == pytest.approx((math.e + rare.delta) / (1 + math.e))
    assert rare.of_all(2).delta == 2 * rare.delta
    assert "guesses between them, is right in 73.4 %" in in_odds(rare)[0]


def test_places_get_a_proposal_from_mechanisms_that_are_named() -> None:
    among = {"grr": RandomizedResponse, "bits": UnaryEncoding}
    found = propose(Grid(2, 2), 2000, 2.0, among=among)
    assert set(found.best.others) == set(among)
    assert found.best.expected.error > 0 and found.best.expected.kind == "score"


def test_what_is_no_question_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="must be a Domain"):
        propose(["no", "yes"], 100)  # type: ignore[arg-type]
    for wrong in ({"share": 0.0}, {"width": 1.0}):
        with pytest.raises(ArgumentError, match="must lie in"):
            propose(COIN, 100, 1.0, **wrong)


def test_numbers_beside_nonresponse_get_a_proposal_of_the_same_kind() -> None:
    """A draft with missing = "answer" and numbers; the widths are those of an estimate."""
    domain = Optional(Interval(0, 60, bins=12))
    found = propose(domain, 2000, 1.7)
    assert not isinstance(found.mechanism, SquareWave)
    scenario = found.scenarios[0]
    tail, mean = scenario.functions
    assert tail @ scenario.theta == pytest.approx(0.1)  # the largest numbers, among all people
    assert tail[domain.nonresponse] == mean[domain.nonresponse] == 0
    # The weights are the derivative of the mean of those who answered.
    points, step = np.linspace(2.5, 57.5, 12), 1e-6
    moved = scenario.theta + step * np.eye(13)[3]
    before, after = (points @ t[:12] / t[:12].sum() for t in (scenario.theta, moved))
    assert mean[3] == pytest.approx((after - before) / step, rel=1e-3)
    rng = np.random.default_rng(1)
    reports = found.mechanism.randomize(domain.decode(rng.choice(13, 2000, p=scenario.theta)), rng)
    low, high = estimate(found.mechanism.tally(reports)).mean().interval()
    expected = found.best.expected
    assert expected.mean == pytest.approx(high - low, rel=0.5)
    assert expected.share is not None and found.best.people is not None


_SILENT = Optional(Interval(0.0, 10.0, bins=8))


def test_a_made_distribution_has_one_silent_person_in_ten() -> None:
    for scenario in scenarios_of(_SILENT, None, 0.1, 0.95):
        assert scenario.theta.sum() == pytest.approx(1) and scenario.theta[-1] == pytest.approx(0.1)
    shares = made_shares(_SILENT)
    assert shares[:-1] / 0.9 == pytest.approx(made_shares(_SILENT.answered))
    assert can_simulate(_SILENT) and not can_simulate(Optional(warner.Grid(2, 2)))


def test_the_distance_is_that_of_those_who_answered() -> None:
    p, q = np.array([0.2, 0.0, 0.8]), np.array([0.0, 0.5, 0.5])
    assert distance_of_values(p, q, Optional(Integers(3, 4))) == 1.0


def test_candidates_for_numbers_have_nonresponse_beside_them() -> None:
    makers = dict(candidates(_SILENT, None, None, None, True))
    for name in ("SquareWave", "Piecewise", "Laplace"):
        made = makers[name](_SILENT, 1.0)
        assert isinstance(made, warner.mechanisms.WithNonresponse) and made.domain == _SILENT
        assert options_of(makers[name]) == {}  # a study names the mechanism of numbers alone


def test_a_draft_with_nonresponse_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draft = """
[attributes.units]
interval = { low = 0, high = 10, bins = 20 }
missing = "answer"
epsilon = 2.0
"""
    Path("draft.toml").write_text(draft)
    shown = run("plan", "draft.toml", "--people", "2000", "--write", "study.toml").output
    assert "mechanism = SquareWave" in shown and "of the mean" in shown
    (mechanism,) = warner.Study.load("study.toml").mechanisms.values()
    assert isinstance(mechanism, warner.mechanisms.WithNonresponse)
    assert warner.audit(mechanism).holds
