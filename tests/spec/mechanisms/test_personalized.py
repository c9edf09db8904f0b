"""What personalised mechanisms promise: nobody else learns the map [P2]."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Integers, PersonalizedULDP, UtilityOptimizedRappor, UtilityOptimizedRR
from warner.mechanisms import from_header

DOMAIN = Integers(0, 9)


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
            reports.save(tmp_path / "reports", keep_order=True)
            tally = city.tally(reports)
            tally.save(tmp_path / "tally.json")
            texts.append(
                (tmp_path / "reports").read_bytes()
                + (tmp_path / "tally.json").read_bytes()
                + repr(city).encode()
            )
            for write in (pickle.dumps, json.dumps, copy.deepcopy, lambda d: d.__getstate__()):
                with pytest.raises((warner.errors.ArgumentTypeError, TypeError)) as error:
                    write(device)
                assert secret not in str(error.value)
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
    with pytest.raises(warner.errors.ArgumentTypeError, match=r"go through a device.*city\.device"):
        survey.randomize([{"place": 3, "smokes": "no"}])


def test_real_answers_of_a_personalized_mechanism_go_through_a_device() -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match=r"go through a device.*city\.device"):
        CITY.randomize([3])


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
        with pytest.raises(warner.WarnerError, match=rule) as error:
            CITY.device(secret)  # type: ignore[arg-type]
        assert (
            "4" not in str(error.value).replace("0.4", "") and error.value.__context__ is None
        ) or rule in ("", "dict")
    for tags in ([], ["a", "a"], "home", [3], [""], ["@home"], ["a=b"], ["a.b"], ["a "], ["a\nb"]):
        with pytest.raises(warner.WarnerError):
            PersonalizedULDP(CITY.common, tags)  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentTypeError, match="common"):
        PersonalizedULDP(warner.RandomizedResponse(DOMAIN, 1.0), ["home"])  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentError, match="look like"):
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
    assert (
        city.common is None
        and city.guarantee.sensitive == ("@home", "@work")
        and city.epsilon <= 1.0
    )
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
    assert (
        eval(repr(city), {name: getattr(warner, name) for name in warner.__all__}).mechanism.header
        == city.mechanism.header
    )
    with pytest.raises(warner.errors.ArgumentError, match="sensitive"):
        kind(DOMAIN, 1.0, sensitive=[])
    with pytest.raises(warner.errors.ArgumentTypeError, match="mechanism"):
        PersonalizedULDP.of(warner.RandomizedResponse, DOMAIN, 1.0, ["home"])  # type: ignore[arg-type]
