"""The deployment card: every field is of the study, and every number of its integers."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from tests.spec.collector._live import STUDY, published
from warner.collector.deployment_card import deployment_card
from warner.collector.pages.live import card_page
from warner.studies.study import Study
from warner.theory.inversion import max_influence

_FRACTION = ("numerator", "denominator")
OTHERS = """
[collect]
access = "invited"
keep_ids = "always"
[attributes.place]
values = ["clinic", "park", "school"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]
epsilon = 1.0
[attributes.steps]
integers = [0, 30]
mechanism = "Geometric"
epsilon = 0.5
[attributes.weight]
interval = { low = 40, high = 160, bins = 16 }
mechanism = "Gaussian"
delta = 1e-6
epsilon = 1.0
[attributes.pills]
integers = [0, 5]
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 2.0
"""


def test_a_card_has_the_fields_that_registries_ask_for() -> None:
    card = deployment_card(STUDY, published(150).view())
    assert json.loads(json.dumps(card)) == card
    assert card["deployment"]["title"] == STUDY.title
    assert card["deployment"]["curator"] == "survey@example.org"
    privacy = card["privacy"]
    assert (privacy["model"], privacy["flavour"]) == ("local", "pure differential privacy")
    assert (
        privacy["epsilon_per_person"] == STUDY.epsilon <= 2.5 and privacy["delta_per_person"] == 0
    )
    assert card["study"]["sha256"] == STUDY.digest
    assert card["publication"]["step"] == 100 and card["publication"]["published_reports"] == 150
    assert {"device", "network", "collector_process", "collector_store", "owner", "public"} == set(
        card["who_sees_what"]
    )
    assert any("ward (3 values)" in line for line in card["unprotected"])


def test_numbers_of_questions_are_those_of_the_law() -> None:
    card = deployment_card(STUDY)
    for question in card["questions"]:
        mechanism = STUDY.mechanisms[question["name"]]
        assert question["epsilon_per_report"] == mechanism.guarantee.epsilon
        assert question["epsilon_per_report"] <= question["epsilon_requested"]
        assert question["report_weight"] == max_influence(mechanism)
        exactly = question["odds_exactly"]
        ratio = Fraction(int(exactly["numerator"], 16), int(exactly["denominator"], 16))
        assert ratio <= Fraction(*(int(exactly["at_most"][k], 16) for k in _FRACTION))
        assert math.log(ratio) == pytest.approx(mechanism.guarantee.epsilon, rel=1e-12)
    law = STUDY.mechanisms["smokes"].probabilities()
    said = card["questions"][0]["in_words"][0]
    sent, other = (100 * float(law[1, x]) for x in (1, 0))
    assert f"{sent:.0f} send the report" in said and f"{other:.0f} send the same" in said
    assert f"{math.e:.2f} times" in card["questions"][0]["in_words"][1]


def test_other_kinds_of_privacy_are_called_by_their_names() -> None:
    study = Study.parse(OTHERS)
    card = deployment_card(study)
    place, steps, weight, pills = card["questions"]
    assert "sensitive answers only" in place["flavour"] and place["sensitive"] == ["clinic"]
    assert "metric" in steps["flavour"] or "pure" in steps["flavour"]
    assert "approximate" in weight["flavour"] and weight["delta"] <= 1e-6
    assert "as protected as the others" in pills["silence"]
    assert any("Invitation codes" in line for line in card["unprotected"])
    hardly = [line for line in card["unprotected"] if "hardly hidden" in line]
    assert hardly == [
        "The answers to steps are hardly hidden: epsilon is 15 between two answers."
    ]  # 0.5 for each of 30
    assert "after the survey closes" in card["retention"]["ids_of_submissions"]
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    assert "Approximate" not in card_page(card)


@pytest.mark.parametrize("study", [STUDY, Study.parse(OTHERS)])
def test_the_card_as_a_page_says_the_same(study: Study) -> None:
    card = deployment_card(study)
    page = card_page(card)
    assert study.digest in page and "<script" not in page and "style=" not in page
    for question in card["questions"]:
        assert question["mechanism"] in page
        for sentence in question["in_words"]:
            assert sentence.replace("<", "&lt;").replace(">", "&gt;") in page
    assert "<health>" not in page and "<b>" not in page
