"""The survey document: what devices are told, what cannot be served, and sealed known answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tests.vectors.surveys import ANSWERS, SURVEY
from warner._core.text import canonical
from warner.collector.submissions import SubmissionFormat
from warner.collector.survey_document import survey_bytes, survey_digest, survey_document
from warner.errors import StudyError
from warner.studies.study import Study

VECTORS = Path(__file__).parents[2] / "vectors"
EVERY = Path(__file__).parents[3] / "docs" / "every_mechanism.toml"
SMOKES = (
    '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
)


def served(text: str) -> dict[str, object]:
    return survey_document(Study.parse(text))


def test_a_document_is_canonical_and_has_one_digest() -> None:
    study = Study.parse(SURVEY)
    bytes_ = survey_bytes(study)
    assert bytes_ == canonical(json.loads(bytes_)).encode()
    assert survey_digest(bytes_) == hashlib.sha256(bytes_).hexdigest()
    assert bytes_ == survey_bytes(Study.parse(SURVEY))


def test_a_document_holds_what_a_page_shows_and_a_device_needs() -> None:
    document = survey_document(Study.parse(SURVEY))
    assert document["languages"] == ["en", "de"]
    assert document["title"] == {"en": "Health", "de": "Gesundheit"}
    assert (document["access"], document["closes"]) == ("invited", None)
    assert document["opens"] == "2026-01-01T08:00:00+01:00"
    smokes, drinks, hours, *_ = document["questions"]
    assert smokes["label"]["de"] == "Rauchen Sie?"
    assert smokes["answers"]["de"] == ["nie", "im Café", "oft"]
    assert smokes["answers"]["en"] == smokes["domain"]["values"] == ["nie", "café", "oft"]
    assert (drinks["unit"], drinks["silence"]) == ("glasses", True)
    # The domain is that of those who answer, and the program has nonresponse as one more value.
    assert drinks["domain"]["kind"] == "integers" and drinks["program"]["size"] == 22
    assert hours["answers"] == {"en": [], "de": []}
    assert hours["program"]["sampler"] == "silence"
    ward, visit = document["public"]
    assert ward["label"]["de"] == "Bezirk" and visit["domain"] == {"kind": "dates", "unit": "week"}


def test_a_plain_study_has_one_language() -> None:
    document = served(SMOKES)
    assert document["languages"] == ["en"] and document["title"] == {"en": ""}
    (question,) = document["questions"]  # type: ignore[misc]
    assert question["label"] == {"en": "smokes"} and question["answers"] == {"en": ["no", "yes"]}


REFUSED = {
    "groups": (
        SMOKES + '[[groups]]\nname = "a"\n[[groups]]\nname = "b"\n',
        "groups: cannot be served",
    ),
    "rows": ("rows_per_person = 2\n" + SMOKES, "rows_per_person: cannot be served"),
    "joint": (
        '[attributes.a]\nvalues = ["x", "y"]\n[attributes.b]\nvalues = ["x", "y"]\n[[joint]]\n'
        'attributes = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n',
        "a x b: cannot be served",
    ),
    "keys": (
        '[attributes.a]\nkeys = ["x", "y"]\ninterval = { low = 0, high = 1, bins = 4 }\n'
        'mechanism = "KeyValue"\nepsilon = 1.0\n',
        "attributes.a: cannot be served: pages ask for neither keys",
    ),
    "tags": (
        '[attributes.a]\nvalues = ["x", "y"]\ntags = ["home"]\nmechanism = "UtilityOptimizedRR"\n'
        'sensitive = ["x"]\nepsilon = 1.0\n',
        "attributes.a: cannot be served: pages ask for neither keys nor placeholders",
    ),
    "drop": (SMOKES + 'missing = "drop"\n', 'attributes.smokes: missing = "drop" cannot be served'),
    "no protection": (SMOKES.replace("1.0", "inf"), "attributes.smokes: cannot be served: mech"),
    "hardly any": (
        SMOKES.replace("1.0", "10.5"),
        "attributes.smokes: cannot be served: epsilon must be at most 10 between any two answers; "
        "got 10.50. Lower epsilon to 10; or write weak_protection = true in [collect]",
    ),
    "neighbours": (
        '[attributes.a]\ngrid = { rows = 2, columns = 2, side = 4 }\nmechanism = "PlanarGeometric"\n'
        "epsilon = 3.0\n",
        "got 16.98 (3 for each unit of distance, over 5.657). Lower epsilon to 1.76;",
    ),
    "per unit": (
        '[attributes.income]\nintegers = [0, 1000]\nmechanism = "Geometric"\nepsilon = 10\n',
        "got 10,000 (10 for each unit of distance, over 1,000). Lower epsilon to 0.01;",
    ),
    "several reports": (
        '[attributes.a]\nintegers = [0, 20]\nmechanism = "Laplace"\nepsilon = 12\nreports = 2\n',
        "got 12. Lower epsilon to 10;",
    ),
    "sensitive answers": (
        SMOKES.replace("1.0", "11").replace('"RandomizedResponse"', '"UtilityOptimizedRR"')
        + 'sensitive = ["yes"]\n',
        "must be at most 10 between any two answers; got 11",
    ),
    "no protection, and said so": (
        SMOKES.replace("1.0", "inf") + "[collect]\nweak_protection = true\n",
        "attributes.smokes: cannot be served: mech",
    ),
    "delta": (
        "[attributes.a]\ninterval = { low = 0, high = 1, bins = 4 }\n"
        'mechanism = "Gaussian"\ndelta = 0.01\nepsilon = 1.0\n',
        "browsers refuse a delta above 0.001",
    ),
    "long integers": (
        "[attributes.a]\nintegers = [9007199254740992, 9007199254740999]\n"
        'mechanism = "RandomizedResponse"\nepsilon = 1.0\n',
        "attributes.a: cannot be served: has integers beyond 2^53",
    ),
    "public integers": (
        SMOKES + "[public.ward]\nvalues = [1, 9007199254740993]\n",
        "public.ward: cannot be served: has integers beyond 2^53",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_served_is_refused_with_a_remedy(name: str) -> None:
    text, told = REFUSED[name]
    with pytest.raises(StudyError) as found:
        served(text)
    assert told in str(found.value)
    assert str(found.value).count(". ") >= 1  # the rule, and a remedy


def test_each_attribute_has_one_message() -> None:
    text = SMOKES + 'missing = "drop"\n' + SMOKES.replace("smokes", "drinks").replace("1.0", "40.0")
    with pytest.raises(StudyError) as found:
        served("rows_per_person = 3\n" + text)
    lines = str(found.value).splitlines()
    places = [line.split(": ")[0] for line in lines]
    assert places == ["rows_per_person", "attributes.smokes", "attributes.drinks"]


def test_every_mechanism_of_one_question_can_be_served() -> None:
    """Of the mechanisms of the documents, only keys, tags and joint answers are refused."""
    text = EVERY.read_text() + "\n[collect]\nweak_protection = true\n"
    with pytest.raises(StudyError) as found:
        served(text)
    places = {line.split(": ")[0] for line in str(found.value).splitlines()}
    assert places == {
        "attributes.utility_optimized_randomized_response",
        "attributes.pay_by_department",
        "sex x smokes",
    }


def test_sealed_known_answers_are_what_the_collector_reads() -> None:
    study = Study.parse(SURVEY)
    form = SubmissionFormat(study)
    cases = json.loads((VECTORS / "submissions.json").read_text())["cases"]
    assert [case["answers"] for case in cases] == ANSWERS
    for case in cases:
        batch = form.parse(bytes.fromhex(case["body"]))
        assert len(batch) == 1 and len(case["submission"]) == 2 * form.length
        assert batch.ids.tobytes().hex() == case["id"]
        for name, domain in study.public.items():
            place = domain.encode([case["public"][name]])
            np.testing.assert_array_equal(batch.public[name], place)
        records = [batch.reports[name].records()[0].hex() for name in study.mechanisms]
        assert records == case["records"]
