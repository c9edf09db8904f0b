"""Secrets that differ from person to person, and the devices that know them."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from warner import Integers, UtilityOptimizedRR, audit, estimate
from warner.errors import ArgumentError, ArgumentTypeError, WarnerError
from warner.mechanisms import Device, PersonalizedULDP, UtilityOptimizedRappor, from_header
from warner.privacy import ULDP

DOMAIN = Integers(0, 9)
# What a person imports who writes a mechanism again from its repr.
NAMES = {
    name: getattr(package, name)
    for package in (warner.domains, warner.mechanisms)
    for name in package.__all__
}

CITY = PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home", "work"])


def test_a_secret_map_sends_the_stand_in_and_nothing_else() -> None:
    """At a large budget the common mechanism says what it was given: the bot for secret values, the
    value for others.
    """
    loud = PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 20.0, [3]), ["home", "work"])
    device = loud.device({"home": [4], "work": [5, 6]})
    reports = device.randomize([4, 5, 6, 7, 3], np.random.default_rng(0))
    assert reports.columns["report"].tolist() == [10, 11, 11, 7, 3]
    assert loud.device().randomize([4], np.random.default_rng(0)).columns["report"].tolist() == [4]


def test_no_one_else_learns_the_map(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is written (reports, tallies, headers, reprs, logs, errors) is the same for devices
    with different maps.
    """
    labels = [f"place-{i:04d}" for i in range(50)]
    city = PersonalizedULDP(
        UtilityOptimizedRR(warner.Categorical(labels), 1.0, labels[:1]), ["home"]
    )
    with caplog.at_level(logging.DEBUG):
        texts = []
        for secret in ("place-0007", "place-0031"):
            device = city.device({"home": [secret]})
            reports = device.randomize([secret] * 30, np.random.default_rng(5))
            shown = [
                repr(device),
                str(device),
                repr(inspect.getmembers(device, lambda v: not callable(v))),
            ]
            assert not any(secret in text or "array" in text for text in shown) and not hasattr(
                device, "__dict__"
            )
            (tmp_path / "reports").unlink(missing_ok=True)  # which reports never replace
            reports.save(tmp_path / "reports", keep_order=True)
            tally = city.tally(reports)
            tally.save(tmp_path / "tally.json")
            texts.append(
                (tmp_path / "reports").read_bytes()
                + (tmp_path / "tally.json").read_bytes()
                + repr(city).encode()
            )
            for write in (pickle.dumps, json.dumps, copy.deepcopy, lambda d: d.__getstate__()):
                said = refused((ArgumentTypeError, TypeError), "", write, device)
                assert secret not in said
    assert texts[0] == texts[1]
    assert not caplog.text and capsys.readouterr() == ("", "")
    assert city.mechanism.header == from_header_again(city)


def test_a_personalized_mechanism_is_a_mechanism_like_any_other() -> None:
    size = CITY.domain.size
    assert isinstance(CITY, warner.mechanisms.Mechanism) and size == DOMAIN.size + 2
    found = warner.audit(CITY)
    assert found.holds and found.epsilon == warner.audit(CITY.mechanism).epsilon
    assert warner.audit(CITY, claim=CITY.guarantee).holds
    p = np.full(size, 1 / size)
    loss = warner.theory.expected_loss(CITY, p, 100)
    assert loss == warner.theory.expected_loss(CITY.mechanism, p, 100)
    ranking = warner.plan(CITY.domain, CITY.requested, 100, CITY.sensitive)
    assert "UtilityOptimizedRR" in [result.name for result in ranking.results]


def test_a_personalized_mechanism_is_one_attribute_of_several() -> None:
    smokes = warner.Categorical(["no", "yes"])
    survey = warner.PerAttribute(
        warner.Product(place=CITY.domain, smokes=smokes),
        {"place": CITY, "smokes": lambda d: warner.RandomizedResponse(d, 1.0)},
    )
    assert survey.parts["place"] is CITY and warner.audit(survey).holds
    again = warner.mechanisms.from_header(survey.header)
    assert again.header == survey.header
    with pytest.raises(ArgumentTypeError, match=r"go through a device.*city\.device"):
        survey.randomize([{"place": 3, "smokes": "no"}])


def test_real_answers_of_a_personalized_mechanism_go_through_a_device() -> None:
    refused(ArgumentTypeError, r"go through a device.*city\.device", CITY.randomize, [3])


def from_header_again(city: PersonalizedULDP) -> dict[str, object]:
    return warner.mechanisms.from_header(city.mechanism.header).header


def test_bad_maps_are_refused_without_naming_the_value() -> None:
    for secret, rule in (
        ({"home": [3]}, "sensitive for everyone"),
        ({"home": [4], "work": [4]}, "another tag"),
        ({"gym": [4]}, "not there"),
        ({"home": [4444]}, "not in the domain"),
        ({"home": 4}, "home"),
        ([4], "dict"),
    ):
        with pytest.raises(WarnerError, match=rule) as error:
            CITY.device(secret)  # type: ignore[arg-type]
        assert (
            "4" not in str(error.value).replace("0.4", "") and error.value.__context__ is None
        ) or rule in ("", "dict")
    for tags in ([], ["a", "a"], "home", [3], [""], ["@home"], ["a=b"], ["a.b"], ["a "], ["a\nb"]):
        with pytest.raises(WarnerError):
            PersonalizedULDP(CITY.common, tags)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="common"):
        PersonalizedULDP(warner.RandomizedResponse(DOMAIN, 1.0), ["home"])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="look like"):
        PersonalizedULDP(
            UtilityOptimizedRR(warner.Categorical(["a", "@home"]), 1.0, ["a"]), ["home"]
        )


@pytest.mark.parametrize(
    "kind, options", [(UtilityOptimizedRR, {}), (UtilityOptimizedRappor, {"variant": "oue"})]
)
def test_nothing_need_be_sensitive_for_everyone_where_people_have_tags(
    kind: type, options: dict[str, str]
) -> None:
    """[P2 sec 5.1]: then the bots alone are sensitive. Values without a tag may be recognised; no
    value may be protected by nothing.
    """
    city = PersonalizedULDP.of(kind, DOMAIN, 1.0, ["home", "work"], **options)
    assert city.common is None
    assert city.guarantee.sensitive == ("@home", "@work")
    assert city.epsilon <= 1.0
    check = warner.audit(city.mechanism)
    assert check.holds and check.epsilon == pytest.approx(1.0, abs=1e-9)
    rng = np.random.default_rng(0)
    device = city.device({"home": [DOMAIN.labels[1]]})
    reports = device.randomize([DOMAIN.labels[1]] * 6000, rng)
    open_ = city.device().randomize([DOMAIN.labels[0]] * 4000, rng)
    result = warner.estimate([city.tally(reports), city.tally(open_)], warner.Inversion("project"))
    known = np.eye(DOMAIN.size)[1]
    shares = result.redistribute({"home": known}).probabilities
    assert shares[:2] == pytest.approx([0.4, 0.6], abs=0.1)
    assert from_header(city.mechanism.header).header == city.mechanism.header
    assert eval(repr(city), NAMES).mechanism.header == city.mechanism.header
    refused(ArgumentError, "sensitive", kind, DOMAIN, 1.0, sensitive=[])
    with pytest.raises(ArgumentTypeError, match="mechanism"):
        PersonalizedULDP.of(warner.RandomizedResponse, DOMAIN, 1.0, ["home"])  # type: ignore[arg-type]


PLACES = Integers(0, 9)
CITIES = [
    PersonalizedULDP(UtilityOptimizedRR(PLACES, 1.0, [3]), ["home", "work"]),
    PersonalizedULDP(UtilityOptimizedRR, ["home", "work"], PLACES, 1.0),
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
        refused(ArgumentTypeError, "Audit the common mechanism", audit, device, **more)


def test_the_constructor_takes_a_class_where_nothing_is_sensitive_for_everyone() -> None:
    city = PersonalizedULDP(UtilityOptimizedRR, ["home"], PLACES, 1.0)
    assert city.common is None
    assert (
        city.header
        == PersonalizedULDP.of(UtilityOptimizedRR, PLACES, 1.0, ["home"]).header
        == eval(repr(city), NAMES).header
    )
    both = PersonalizedULDP(UtilityOptimizedRR, ["home"], PLACES, 1.0, sensitive=[3])
    assert both.header == PersonalizedULDP(UtilityOptimizedRR(PLACES, 1.0, [3]), ["home"]).header
    for arguments in ({}, {"domain": PLACES}, {"epsilon": 1.0}):
        with pytest.raises(ArgumentTypeError, match="needs a domain and an epsilon"):
            PersonalizedULDP(UtilityOptimizedRR, ["home"], **arguments)  # type: ignore[arg-type]
    for more in ({"domain": PLACES}, {"sensitive": [3]}, {"keep": 0.5}):
        with pytest.raises(ArgumentTypeError, match="Pass the class"):
            PersonalizedULDP(UtilityOptimizedRR(PLACES, 1.0, [3]), ["home"], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("sensitive", [[], [3]])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_shares_of_tags_from_several_budgets_are_given_back(
    kind: type[UtilityOptimizedRR], keep: bool, sensitive: list[int]
) -> None:
    rng = np.random.default_rng(5)
    tallies = []
    for epsilon, people in ((0.5, 2_000), (2.0, 4_000)):
        city = PersonalizedULDP(kind, ["home"], PLACES, epsilon, sensitive=sensitive)
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
        city = PersonalizedULDP(UtilityOptimizedRR, ["home"], PLACES, 3.0, sensitive=sensitive)
        reports = city.device({"home": [4]}).randomize([4, 7, 3] * 300, rng)
        tallies.append(city.tally(reports))
    matrix = estimate(tallies, warner.MaximumLikelihood()).redistribute().matrix
    assert matrix[7, -1] > 0.9 and matrix[3, -1] == 0
