"""One person's device keeps its promise, and its audit tells nothing of the person's secrets."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

import warner
from warner import (
    Integers,
    PersonalizedULDP,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
    audit,
    estimate,
)
from warner.mechanisms import Device
from warner.privacy import ULDP

DOMAIN = Integers(0, 9)
CITIES = [
    PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home", "work"]),
    PersonalizedULDP(UtilityOptimizedRR, ["home", "work"], DOMAIN, 1.0),
    PersonalizedULDP(UtilityOptimizedRappor, ["home"], Integers(0, 5), 1.0, variant=0.8),
    PersonalizedULDP(UtilityOptimizedRR, ["home"], Integers(0, 4_999), 1.0, sensitive=[3]),
]
SECRETS: list[dict[str, list[int]]] = [{}, {"home": []}, {"home": [4]}, {"home": [0, 5]}]


@pytest.mark.parametrize("city", CITIES, ids=repr)
def test_the_audit_of_a_device_is_the_same_whatever_its_secrets_are(city: PersonalizedULDP) -> None:
    found = {astuple(audit(city.device(secret))) for secret in SECRETS}
    assert len(found) == 1
    result = audit(city.device(SECRETS[2]))
    assert result.holds and result.epsilon == audit(city).epsilon
    assert result.mechanism == "Device(secret)"


def _with_map(city: PersonalizedULDP, sent: np.ndarray) -> Device:
    """A device with another map than its owner's: the wrong programs below."""
    device = city.device({"home": [4]})
    object.__setattr__(device, "_Device__encode", lambda answers: sent[np.asarray(answers)])
    return device


@pytest.mark.parametrize("city", CITIES, ids=repr)
def test_a_device_that_sends_a_secret_as_another_value_is_caught(city: PersonalizedULDP) -> None:
    # The map that forgets the secret, one that sends it as another value, and one that hides
    # another value instead.
    for answer, other in ((4, 4), (4, 2), (2, city.plain_domain.size)):
        sent = np.arange(city.plain_domain.size)
        sent[answer] = other
        result = audit(_with_map(city, sent))
        assert not result.holds
        assert result.violation == "a secret value is sent as a value that is not sensitive"


def test_a_common_mechanism_that_names_secrets_is_caught_without_naming_them() -> None:
    """Wrong program: the placeholder is reported by values too, so that reports name two values."""
    city = CITIES[1]
    device = city.device({"home": [4]})

    class Wrong(UtilityOptimizedRR):
        def protected(self) -> np.ndarray:
            return np.zeros(self.domain.size, dtype=bool)

    wrong = Wrong(city.domain, 1.0, ["@home", "@work"])
    object.__setattr__(device, "_mechanism", wrong)
    violation = device.violation()
    assert violation == "an unprotected report does not name one value that is not sensitive"


def test_samples_and_claims_about_a_device_are_refused() -> None:
    device = CITIES[0].device({"home": [4]})
    options: list[dict[str, Any]] = [{"samples": 100}, {"claim": ULDP(1.0, (3, 4))}]
    for more in options:
        with pytest.raises(warner.errors.ArgumentTypeError, match="Audit the common mechanism"):
            audit(device, **more)


def test_the_constructor_takes_a_class_where_nothing_is_sensitive_for_everyone() -> None:
    city = PersonalizedULDP(UtilityOptimizedRR, ["home"], DOMAIN, 1.0)
    assert city.common is None
    assert (
        city.header
        == PersonalizedULDP.of(UtilityOptimizedRR, DOMAIN, 1.0, ["home"]).header
        == eval(repr(city), {name: getattr(warner, name) for name in warner.__all__}).header
    )
    both = PersonalizedULDP(UtilityOptimizedRR, ["home"], DOMAIN, 1.0, sensitive=[3])
    assert both.header == PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home"]).header
    for arguments in ({}, {"domain": DOMAIN}, {"epsilon": 1.0}):
        with pytest.raises(warner.errors.ArgumentTypeError, match="needs a domain and an epsilon"):
            PersonalizedULDP(UtilityOptimizedRR, ["home"], **arguments)  # type: ignore[arg-type]
    for more in ({"domain": DOMAIN}, {"sensitive": [3]}, {"keep": 0.5}):
        with pytest.raises(warner.errors.ArgumentTypeError, match="Pass the class"):
            PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home"], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("sensitive", [[], [3]])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_shares_of_tags_from_several_budgets_are_given_back(
    kind: type[UtilityOptimizedRR], keep: bool, sensitive: list[int]
) -> None:
    rng = np.random.default_rng(5)
    tallies = []
    for epsilon, people in ((0.5, 2_000), (2.0, 4_000)):
        city = PersonalizedULDP(kind, ["home"], DOMAIN, epsilon, sensitive=sensitive)
        reports = city.device({"home": [4]}).randomize([4, 7, 8] * (people // 3), rng)
        tallies.append(city.tally(reports, keep_reports=keep))
    result = estimate(tallies, warner.MaximumLikelihood())
    known = np.eye(10)[4]
    given = result.redistribute({"home": known})
    assert given.probabilities[[4, 7, 8]] == pytest.approx([1 / 3] * 3, abs=0.05)
    unknown = result.redistribute()
    assert unknown.probabilities.sum() == pytest.approx(1)
    assert unknown.tag_shares["home"] == pytest.approx(1 / 3, abs=0.05)
    if not keep:
        low, high = given.interval(replicates=20, rng=rng).T
        assert 0.27 < low[4] < given.probabilities[4] < high[4] < 0.4


def test_a_value_that_one_group_does_not_protect_can_stand_behind_a_tag() -> None:
    rng = np.random.default_rng(6)
    tallies = []
    for sensitive in ([3], [3, 7]):
        city = PersonalizedULDP(UtilityOptimizedRR, ["home"], DOMAIN, 3.0, sensitive=sensitive)
        reports = city.device({"home": [4]}).randomize([4, 7, 3] * 300, rng)
        tallies.append(city.tally(reports))
    matrix = estimate(tallies, warner.MaximumLikelihood()).redistribute().matrix
    assert matrix[7, -1] > 0.9 and matrix[3, -1] == 0
