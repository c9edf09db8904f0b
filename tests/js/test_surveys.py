"""From a study to reports that Python counts: the served document, answers sealed by node, a tally."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.js._node import HERE, node
from tests.vectors.surveys import ANSWERS, PUBLIC, SURVEY
from warner.collector.submissions import Batch, SubmissionFormat
from warner.collector.survey_document import survey_bytes, survey_digest, survey_document
from warner.domains import Domain
from warner.studies.study import Study

EVERY = Path(__file__).parents[2] / "docs" / "every_mechanism.toml"
# What no page asks: a placeholder, keys, and attributes together; and a law that has to be typed.
_LEFT_OUT = ("pay_by_department", "sex", "smokes", "utility_optimized_randomized_response")


def sealed(study: Study, people: list[dict[str, Any]]) -> Batch:
    """The submissions of people, sealed by node from the served document and read by Python."""
    served = survey_bytes(study)
    asked = {"served": served.decode(), "sha256": survey_digest(served), "people": people}
    told = node(str(HERE / "seal.mjs"), text=json.dumps(asked))
    return SubmissionFormat(study).parse(bytes.fromhex(told))


def an_answer(domain: Domain) -> Any:
    """An answer as JSON data: of the last value."""
    (value,) = domain.answered.decode([domain.answered.size - 1])
    return list(value) if isinstance(value, tuple) else value


def test_every_mechanism_is_read_and_sealed() -> None:
    data = json.loads(Study.load(EVERY).to_json())["study"]
    for name in _LEFT_OUT:
        del data["attributes"][name]
    del data["joint"]
    data["collect"] = {"weak_protection": True}  # some are for values that are far apart
    study = Study.parse(json.dumps(data))
    answers = {name: an_answer(domain) for name, domain in study.domains.items()}
    batch = sealed(study, [{"answers": answers}] * 100)
    for name, mechanism in study.mechanisms.items():
        assert mechanism.tally(batch.reports[name]).n == 100, name
    assert len({row.tobytes() for row in batch.ids}) == 100


def test_answers_of_people_are_estimated_from_what_the_browser_sealed() -> None:
    """Rejects: answers or questions in another order, and reports of another answer.

    400 people say "café" at epsilon 1, of whom 0.58 send it, with a standard error of 0.025. The
    limit of 0.15 is six errors. Of people with another answer 0.21 would send it, 15 errors away.
    """
    study = Study.parse(SURVEY.replace('access = "invited"', 'access = "open"'))
    people = [{"answers": ANSWERS[0], "public": PUBLIC[i % 2]} for i in range(400)]
    batch = sealed(study, people)
    reports = batch.reports["smokes"].columns["report"]
    assert abs((reports == 1).mean() - np.e / (np.e + 2)) < 0.15
    assert (batch.public["ward"] == np.arange(400) % 2 * -1 + 1).all()
    estimate = warner.estimate(study.mechanisms["drinks"].tally(batch.reports["drinks"]))
    assert estimate.probabilities.argmax() == 7


def test_a_document_that_is_changed_on_its_way_is_refused() -> None:
    study = Study.parse(SURVEY)
    served = survey_bytes(study)
    changed = served.decode().replace("Do you smoke?", "Do you drink?")
    asked = {"served": changed, "sha256": survey_digest(served), "people": []}
    with pytest.raises(AssertionError, match="must have its digest"):
        node(str(HERE / "seal.mjs"), text=json.dumps(asked))


_ROUNDS = """
[attributes.smokes]
values = ["no", "yes", "silent"]
mechanism = "SubsetSelection"
epsilon = 0.5
[repeat]
rounds = 4
round = 2
forever = 2.0
values = 2
"""


# A device draws one of two questions for all rounds.
_DRAWN_ROUNDS = f"""{_ROUNDS}
[attributes.bets]
values = ["no", "yes"]
[ask]
each = "one"
epsilon = 0.5
"""


@pytest.mark.parametrize(
    ("forever", "values", "promised"),
    [
        (1.4, 2, ["rounds", "strong"]),
        (math.log(19) / 2, 2, ["rounds", "strong"]),
        (1.5, 2, ["rounds", "weak"]),
        (20, 1, "unprotected"),
        (6, 2, "unprotected"),
    ],
)
@pytest.mark.parametrize("is_drawn", [False, True])
def test_the_device_promises_what_all_rounds_together_hide(
    forever: float, values: int, promised: list[str] | str, is_drawn: bool
) -> None:
    """Rejects: a device that judges a survey in rounds by the epsilon of one of them."""
    text = _DRAWN_ROUNDS if is_drawn else _ROUNDS
    text = text.replace("forever = 2.0", f"forever = {forever}").replace(
        "values = 2", f"values = {values}"
    )
    document = survey_document(Study.parse(text + "[collect]\nweak_protection = true\n"))
    if promised == "unprotected":
        del document["weak_protection"]
    said = json.loads(node(str(HERE / "check.mjs"), text=json.dumps([document])))
    assert said == [[*promised, "drawn"] if is_drawn and promised != "unprotected" else promised]


@pytest.mark.parametrize("text", [_ROUNDS, _DRAWN_ROUNDS])
@pytest.mark.parametrize(
    "change, words",
    [
        ({"repeat": None}, "must go with permanent reports of all questions"),
        ({"epsilon": 3.9}, "must be the epsilon of all permanent reports"),
        ({"values": 3}, "must be the epsilon of all permanent reports"),
        ({"round": 5}, "must be of one round"),
    ],
)
def test_a_survey_that_understates_what_its_rounds_spend_is_refused(
    text: str, change: dict[str, Any], words: str
) -> None:
    """Rejects a page that would promise 3.9 nats for ever where two permanent reports spend 4."""
    served = json.loads(survey_bytes(Study.parse(text)))
    if change == {"repeat": None}:
        del served["repeat"]
    else:
        served["repeat"] |= change
    asked = {"served": json.dumps(served), "people": []}
    with pytest.raises(AssertionError, match=words):
        node(str(HERE / "seal.mjs"), text=json.dumps(asked))


def test_a_draw_for_all_rounds_has_a_name_in_them() -> None:
    """Rejects a survey under which each round draws another question."""
    served = json.loads(survey_bytes(Study.parse(_DRAWN_ROUNDS)))
    del served["repeat"]["draw"]
    asked = {"served": json.dumps(served), "people": []}
    with pytest.raises(AssertionError, match="must be a digest where questions are drawn"):
        node(str(HERE / "seal.mjs"), text=json.dumps(asked))


@pytest.mark.parametrize("text", [_ROUNDS, _DRAWN_ROUNDS])
def test_answers_of_a_round_are_not_sealed_without_permanent_reports(text: str) -> None:
    """Rejects a module that draws a permanent report anew in each round."""
    served = survey_bytes(Study.parse(text)).decode()
    asked = {"served": served, "people": [{"answers": {"smokes": "no"}, "block": 0}]}
    with pytest.raises(
        AssertionError, match="smokes: needs the permanent report on its answer, as memos in seal"
    ):
        node(str(HERE / "seal.mjs"), text=json.dumps(asked))
