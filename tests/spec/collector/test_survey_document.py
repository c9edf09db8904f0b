"""What a collector says of itself: deployment card, survey document, traces."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import weakref
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from tests.services import postgres_address, postgres_files
from tests.spec.collector._live import STUDY, published
from tests.vectors.surveys import ANSWERS, DRAWN as DRAWN_SURVEY, DRAWN_ROUNDS, SURVEY
from warner import OneOf, estimate
from warner._core.text import canonical
from warner.collector.access import ID_BYTES
from warner.collector.collector import Collector
from warner.collector.deployment_card import deployment_card
from warner.collector.pages.live import card_page
from warner.collector.pages.survey import survey_page
from warner.collector.refusals import Refused
from warner.collector.stores import PostgresStore, SQLiteStore, Store
from warner.collector.submissions import HEAD_BYTES, SubmissionFormat
from warner.collector.survey_document import survey_bytes, survey_digest, survey_document
from warner.collector.tokens import block_of_code
from warner.design.shuffling import shuffled
from warner.errors import ArgumentError, StudyError
from warner.studies.study import Study
from warner.theory.inversion import max_influence

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
        "attributes.a: cannot be served: a survey page cannot ask for pairs of key",
    ),
    "tags": (
        '[attributes.a]\nvalues = ["x", "y"]\ntags = ["home"]\nmechanism = "UtilityOptimizedRR"\n'
        'sensitive = ["x"]\nepsilon = 1.0\n',
        "attributes.a: cannot be served: a survey page cannot ask for pairs of key",
    ),
    "hidden questions": (
        '[ask]\neach = "one"\nhide = true\nepsilon = 1.0\n[attributes.a]\nvalues = ["x", "y"]\n'
        '[attributes.b]\nvalues = ["x", "y"]\n',
        "ask.hide: cannot be served: a survey page does not hide which questions",
    ),
    "drop": (SMOKES + 'missing = "drop"\n', 'attributes.smokes: missing = "drop" cannot be served'),
    "no protection": (SMOKES.replace("1.0", "inf"), "attributes.smokes: cannot be served: mech"),
    "hardly any": (
        SMOKES.replace("1.0", "10.5"),
        "attributes.smokes: cannot be served: epsilon must be at most 10 between any two answers; "
        "got 10.50. Lower epsilon to 10. Or write weak_protection = true in [collect]",
    ),
    "hardly any in all rounds": (
        SMOKES + "[repeat]\nrounds = 52\nround = 1\nforever = 20\n",
        "attributes.smokes: cannot be served: epsilon must be at most 10 between any two answers in "
        "all rounds together; got 20. Set forever = 10 in [repeat]. Or write weak_protection",
    ),
    "several answers in all rounds": (
        SMOKES + "[repeat]\nrounds = 52\nround = 1\nforever = 8\nvalues = 3\n",
        "got 16 (forever = 8, for each of 2 answers). Set forever = 5 in [repeat].",
    ),
    "several answers in rounds that spend much": (
        SMOKES.replace("1.0", "6.0") + "[repeat]\nrounds = 2\nround = 1\nforever = 8\nvalues = 2\n",
        "got 16 (forever = 8, for each of 2 answers). Set values = 1 in [repeat].",
    ),
    "a round that spends too much": (
        SMOKES.replace("1.0", "11.0") + "[repeat]\nrounds = 2\nround = 1\nforever = 20\n",
        "got 20. Set forever = 10 in [repeat], and choose a smaller epsilon than 10.",
    ),
    "neighbours": (
        '[attributes.a]\ngrid = { rows = 2, columns = 2, side = 4 }\nmechanism = "PlanarGeometric"\n'
        "epsilon = 3.0\n",
        "got 16.98 (3 for each unit of distance, times 5.657 units). Lower epsilon to 1.76.",
    ),
    "per unit": (
        '[attributes.income]\nintegers = [0, 1000]\nmechanism = "Geometric"\nepsilon = 10\n',
        "got 10,000 (10 for each unit of distance, times 1,000 units). Lower epsilon to 0.01.",
    ),
    "several reports": (
        '[attributes.a]\nintegers = [0, 20]\nmechanism = "Laplace"\nepsilon = 12\nreports = 2\n',
        "got 12. Lower epsilon to 10.",
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
        "delta must be at most 0.001",
    ),
    "long integers": (
        "[attributes.a]\nintegers = [9007199254740992, 9007199254740999]\n"
        'mechanism = "RandomizedResponse"\nepsilon = 1.0\n',
        "attributes.a: cannot be served: browsers cannot hold integers beyond 2^53",
    ),
    "public integers": (
        SMOKES + "[public.ward]\nvalues = [1, 9007199254740993]\n",
        "public.ward: cannot be served: browsers cannot hold integers beyond 2^53",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_served_is_refused_with_a_remedy(name: str) -> None:
    text, told = REFUSED[name]
    said = refused(StudyError, "", served, text)
    assert told in said
    assert said.count(". ") >= 1  # the rule, and a remedy


def test_each_attribute_has_one_message() -> None:
    """Rejects, too, advice on reports of one answer to somebody who wants several answers."""
    text = SMOKES + 'missing = "drop"\n' + SMOKES.replace("smokes", "drinks").replace("1.0", "40.0")
    said = refused(StudyError, "", served, "rows_per_person = 3\n" + text)
    lines = said.splitlines()
    places = [line.split(": ")[0] for line in lines]
    assert places == ["rows_per_person", "attributes.smokes", "attributes.drinks"]
    assert lines[0].endswith("such as every day, see docs/recipes/weekly.md.")


def test_every_mechanism_of_one_question_can_be_served() -> None:
    """Of the mechanisms of the documents, only keys, tags and joint answers are refused."""
    text = EVERY.read_text() + "\n[collect]\nweak_protection = true\n"
    said = refused(StudyError, "", served, text)
    places = {line.split(": ")[0] for line in said.splitlines()}
    assert places == {
        "attributes.utility_optimized_randomized_response",
        "attributes.pay_by_department",
        "sex x smokes",
    }


DRAWN = """
[collect]
access = "open"
[ask]
each = "one"
epsilon = 2.0
[attributes.smokes]
values = ["no", "yes"]
[attributes.drinks]
integers = [0, 12]
missing = "answer"
[attributes.town]
values = ["north", "south", "west"]
"""


@pytest.mark.parametrize(("each", "epsilons"), [('"one"', 2.0), ('"pair"', 2.0), ("2", 1.0)])
def test_questions_that_are_drawn_share_a_program(each: str, epsilons: float) -> None:
    study = Study.parse(DRAWN.replace('"one"', each))
    document = survey_document(study)
    program = document["program"]
    assert program["sampler"] == "one_of" and document["epsilon"] == 2.0
    assert [q["name"] for q in document["questions"]] == ["smokes", "drinks", "town"]
    assert [q["silence"] for q in document["questions"]] == [False, True, False]
    assert all("program" not in q and q["epsilon"] == epsilons for q in document["questions"])
    assert sum(int(str(width), 0) for width in program["draw"]) == 2**64


def test_a_card_states_the_draw_and_that_it_is_not_hidden() -> None:
    """Rejects a card that adds the epsilons of questions of which a person is asked one."""
    study = Study.parse(DRAWN)
    card = deployment_card(study)
    assert card["privacy"]["epsilon_per_person"] == 2.0
    assert sum(int(block["odds"], 16) for block in card["design"]["blocks"]) == 2**64
    assert card["design"]["in_words"][0].startswith("Each person is asked 1 of 3 questions")
    assert any(
        "It is not hidden which questions a person was asked" in s for s in card["unprotected"]
    )
    assert "only some questions does not make epsilon smaller" in card["accounting"]["composition"]
    assert [question["name"] for question in card["questions"]] == ["smokes", "drinks", "town"]
    assert isinstance(study.draw, OneOf)
    weight = max_influence(study.draw.parts["smokes"])
    assert weight is not None
    weight /= study.draw.odds[0] / 2**64  # a report stands for people who are asked others
    assert card["questions"][0]["report_weight"] == weight
    page = card_page(card)
    assert "Which questions are asked" in page and "smokes" in page
    assert deployment_card(STUDY)["design"] is None


def test_the_card_of_a_question_drawn_for_all_rounds_says_what_browsers_keep() -> None:
    """Rejects a browser that chooses again at each load: one that keeps nothing is not asked."""
    repeat = "\n[repeat]\nrounds = 4\nround = 2\nforever = 2.0\n"
    questions = "".join(f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in "abc")
    text = f'[ask]\neach = "one"\nepsilon = 0.5\n{repeat}{questions}[collect]\naccess = "open"\n'
    for drawn, browser in (
        (text, "stores nothing cannot take part"),
        (text.replace(repeat, ""), "chooses again"),
    ):
        card = deployment_card(Study.parse(drawn))
        assert browser in card["design"]["in_words"][1]
        assert ("chooses again" in str(card)) == (drawn != text)
    said = deployment_card(Study.parse(text))["accounting"]["rounds"]
    assert "a permanent report on each answer to the person's one question" in said
    assert "at most 2.000 for any number of rounds" in said


@pytest.mark.parametrize(("values", "epsilon", "sure"), [(1, 3.0, "95.3"), (2, 6.0, "99.76")])
def test_the_card_is_headed_by_what_all_rounds_tell(values: int, epsilon: float, sure: str) -> None:
    """Rejects a card that states the epsilon of one round as that of the person."""
    repeat = f"[repeat]\nrounds = 52\nround = 7\nforever = 3.0\nvalues = {values}\n"
    questions = "".join(f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in "abc")
    text = f'[ask]\neach = "one"\nepsilon = 2.0\n{repeat}{questions}[collect]\naccess = "open"\n'
    card = deployment_card(study := Study.parse(text))
    privacy, said = card["privacy"], " ".join(card["privacy"]["in_words"])
    assert privacy["epsilon_per_person"] == pytest.approx(epsilon, rel=1e-9)
    assert privacy["epsilon_per_round"] == study.epsilon <= 2.0
    assert privacy["epsilon_of_rounds_if_answers_stay"] == study.epsilon_of_rounds <= 3.0
    assert privacy["certainty_per_person"] == f"{sure}\N{NO-BREAK SPACE}%"
    assert f"in all rounds, can be at most {sure}\N{NO-BREAK SPACE}% sure" in said
    assert ("in the same rounds" in said) == (values > 1)
    assert "all answers of all rounds" in privacy["unit"]
    assert "one report in each round, on the same question" in card["accounting"]["composition"]
    # What a step hides is of one round alone.
    assert "no stronger guarantee is claimed" in card["accounting"]["amplification"]


def test_drawn_questions_are_counted_once_and_by_block(tmp_path: Path) -> None:
    study = Study.parse(DRAWN)
    form = SubmissionFormat(study)
    people = [{"smokes": "no", "drinks": None, "town": "west"}] * 300
    body = form.seal({"questions": study.draw.randomize(people)})  # type: ignore[union-attr]
    for _ in range(2):  # the second one goes on with the counts of the first
        collector = Collector(study, SQLiteStore(tmp_path / "counts.sqlite"))
        assert [collector.submit(form.parse(body)).result().accepted for _ in "ab"] == [300, 300]
        tally = collector.state().tallies["questions"]
        assert tally.n == collector.n == 300
        of_blocks = study.draw.block_tallies(tally)  # type: ignore[union-attr]
        assert sum(one.n for one in of_blocks.values()) == 300
        collector.stop()


ITEMS = """
languages = ["en", "de"]
title = { en = "Services", de = "Dienste" }
[collect]
access = "open"
[attributes.services]
label = { en = "Which of these did you use?", de = "Was davon haben Sie benutzt?" }
items = ["bank", "dentist", "post"]
answers = { de = ["Bank", "Zahnarzt", "Post"] }
each = "EACH"
epsilon = 2.0
"""


@pytest.mark.parametrize("each", ["one", "pair"])
def test_items_are_asked_one_by_one(tmp_path: Path, each: str) -> None:
    study = Study.parse(ITEMS.replace("EACH", each))
    document = survey_document(study)
    first = document["questions"][0]
    assert first["label"]["en"] == "Which of these did you use? – bank"
    assert first["label"]["de"] == "Was davon haben Sie benutzt? – Bank"
    assert first["answers"] == {"en": ["no", "yes"], "de": ["nein", "ja"]}
    assert document["program"]["sampler"] == "one_of"
    page = survey_page(study, "de")
    assert "drawn" in page and "Zahnarzt" in page
    form, survey = SubmissionFormat(study), study.mechanisms["services"]
    body = form.seal({"services": survey.randomize([["bank"], []] * 150)})
    collector = Collector(study, SQLiteStore(tmp_path / "counts.sqlite"))
    assert collector.submit(form.parse(body)).result().accepted == 300
    tally = collector.state().tallies["services"]
    assert estimate(tally, attributes=["bank"]).n <= tally.n == 300
    collector.stop()
    assert [q["name"] for q in deployment_card(study)["questions"]] == ["bank", "dentist", "post"]


def test_items_beside_other_questions_are_not_served() -> None:
    other = '[attributes.a]\nvalues = ["x", "y"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    study = Study.parse(ITEMS.replace("EACH", "pair") + other)
    refused(StudyError, "served with other questions", survey_document, study)
    shared = ITEMS.replace("EACH", "pair") + '[public.bank]\nvalues = ["x", "y"]\n'
    refused(StudyError, "the same name as this public column", survey_document, Study.parse(shared))


def test_tables_of_drawn_questions_are_those_of_the_draw(tmp_path: Path) -> None:
    told = refused(
        ArgumentError, "ways", Collector, Study.parse(DRAWN), SQLiteStore(tmp_path / "a.sqlite"), 2
    )
    assert "this study asks each person only some questions" in told


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


@pytest.mark.parametrize(
    "text, file, blocks", [(DRAWN_SURVEY, "draws.json", 3), (DRAWN_ROUNDS, "drawn_rounds.json", 4)]
)
def test_the_draws_of_known_codes_are_what_the_collector_reads(
    text: str, file: str, blocks: int
) -> None:
    """Rejects a device in Python that draws otherwise than the clients, or anew in each round."""
    study = Study.parse(text)
    form = SubmissionFormat(study)
    cases = json.loads((VECTORS / file).read_text())["cases"]
    sealed = [case for case in cases if "code" in case]
    assert {case["block"] for case in sealed} == {*range(blocks)}
    for case in sealed:
        assert block_of_code(study, case["code"]) == case["block"]
        batch = form.parse(bytes.fromhex(case["body"]))
        assert batch.columns("questions")["block"].tolist() == [case["block"]]


# The deployment card: every field is of the study, and every number of its integers.


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
    assert privacy["epsilon_per_person"] == STUDY.epsilon <= 2.5
    assert privacy["delta_per_person"] == 0
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
    assert f"{sent:.0f} send \N{LEFT DOUBLE QUOTATION MARK}<b>yes" in said
    assert f"{other:.0f} do the same." in said
    # As sure as e^1 / (1 + e^1), rounded up.
    assert "at most 73.2\N{NO-BREAK SPACE}% sure" in card["questions"][0]["in_words"][1]


def test_published_steps_hide_people_among_others() -> None:
    text = """
        [attributes.smokes]
        values = ["no", "yes"]
        mechanism = "RandomizedResponse"
        epsilon = 1.0
        [collect]
        people = 100000
        """
    alike = Study.parse(text)
    said = deployment_card(alike)["accounting"]["amplification"]
    crowd = shuffled(alike.mechanisms["smokes"], 1000)
    assert "holds against the collector itself" in said and "in steps of 1,000 reports" in said
    assert f"at most {crowd.epsilon:.3g}, with delta 0.000001." in said
    # The closing can publish one report: its person hides among nobody.
    assert "For people in this last step, only the guarantee above holds" in said
    # Rejects "better protected" with the same epsilon and a delta, and an error at steps of one.
    for step in (1, 30):
        few = text.replace("people = 100000", f"people = 30\n        step = {step}")
        said = deployment_card(Study.parse(few))["accounting"]["amplification"]
        assert "better protected against" not in said and "delta" not in said
    # Public columns are published beside the counts, and some values are not protected at all.
    for study in (STUDY, Study.parse(OTHERS)):
        said = deployment_card(study)["accounting"]["amplification"]
        assert (
            said
            == "The guarantee above holds against the collector itself. Against others, no stronger "
            "guarantee is claimed."
        )


def test_other_kinds_of_privacy_are_called_by_their_names() -> None:
    study = Study.parse(OTHERS)
    card = deployment_card(study)
    place, steps, weight, pills = card["questions"]
    assert "sensitive answers only" in place["flavour"] and place["sensitive"] == ["clinic"]
    assert "metric" in steps["flavour"] or "pure" in steps["flavour"]
    assert "approximate" in weight["flavour"] and weight["delta"] <= 1e-6
    assert "protected like an answer" in pills["silence"]
    assert any("Invitation codes" in line for line in card["unprotected"])
    hardly = [line for line in card["unprotected"] if "hardly hidden" in line]
    assert hardly == [
        'The answers to "steps" are hardly hidden: epsilon between two answers is 15.'
    ]  # 0.5 for each of 30
    assert "after the survey closes" in card["retention"]["ids_of_submissions"]
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    assert "Approximate" not in card_page(card)


def test_the_card_says_which_answers_all_rounds_together_hardly_hide() -> None:
    """Rejects: a card of the epsilon of one round, which hides the answers well."""
    rounds = "[repeat]\nrounds = 52\nround = 1\nforever = 20\n[collect]\nweak_protection = true\n"
    card = deployment_card(Study.parse(SMOKES + rounds))
    assert [line for line in card["unprotected"] if "hardly hidden" in line] == [
        'The answers to "smokes" are hardly hidden: epsilon between two answers is 20 in all rounds '
        "together."
    ]


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


# What submissions leave behind: no report in files, and nothing that refers to one in memory.


PEOPLE, BITS = 40, 2048
TRACED = Study.parse(f"""
[attributes.canary]
integers = [0, {BITS - 1}]
mechanism = "UnaryEncoding"
epsilon = 1.0
[collect]
keep_ids = "always"
""")


def _collected(store: Store) -> tuple[Collector, list[bytes]]:
    """A collector that has counted people one by one; their submissions."""
    collector = Collector(TRACED, store)
    rows = []
    for _ in range(PEOPLE):
        report = TRACED.mechanisms["canary"].randomize([7])
        body = collector.format.seal({"canary": report})
        collector.submit(collector.format.parse(body)).result(10)
        rows.append(body[HEAD_BYTES:])
    return collector, rows


def _pieces(rows: list[bytes]) -> set[bytes]:
    """Windows of reports of 12 bytes, which no chance makes twice."""
    return {row[at : at + 12] for row in rows for at in range(ID_BYTES, len(row) - 12, 48)}


def _found(pieces: set[bytes], content: bytes) -> int:
    return sum(piece in content for piece in pieces)


def test_no_report_is_in_the_files_of_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SQLiteStore, "tidy", lambda self: None)  # the log is not emptied
    collector, rows = _collected(SQLiteStore(tmp_path / "survey.db"))
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files["survey.db-wal"]) > 100_000
    assert not any(_found(_pieces(rows), content) for content in files.values())
    # The search finds what is there: the ids, until the survey closes.
    assert any(rows[-1][:ID_BYTES] in content for content in files.values())
    collector.stop()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not _found(_pieces(rows), content)
    assert _found(_pieces(rows), content + rows[3]) >= 5


def test_no_report_is_in_the_files_of_postgresql() -> None:
    collector, rows = _collected(PostgresStore(postgres_address()))
    collector.stop()
    content = postgres_files()
    assert rows[-1][:ID_BYTES] in content
    assert not _found({row[40:56] for row in rows[::8]}, content)


def test_nothing_refers_to_a_submission_after_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = Collector(TRACED, SQLiteStore(tmp_path / "survey.db"))
    study = collector.format.study

    def sent(failing: bool) -> weakref.ref[object]:
        report = study.mechanisms["canary"].randomize([7, 9])
        batch = collector.format.parse(collector.format.seal({"canary": report}))
        known = weakref.ref(batch)
        future = collector.submit(batch)
        if failing:
            assert isinstance(future.exception(10), Refused)
        else:
            assert future.result(10).new == 2
        futures.append(future)
        return known

    futures: list[object] = []
    known = [sent(False)]
    monkeypatch.setattr(collector._counts, "added", lambda batch: 1 // 0)
    known.append(sent(True))
    monkeypatch.undo()
    collector.remember("nothing", b"")  # the writer is through with them
    gc.collect()
    assert [one() for one in known] == [None, None]
    collector.stop()


def test_the_order_of_ids_is_not_in_a_file_after_closing(tmp_path: Path) -> None:
    collector, rows = _collected(SQLiteStore(tmp_path / "survey.db"))
    collector.close_survey()
    content = (tmp_path / "survey.db").read_bytes()
    places = [content.index(row[:ID_BYTES]) for row in rows]
    assert all(content.count(row[:ID_BYTES]) == 1 for row in rows)
    order = np.argsort(places).tolist()
    # SQLite fills a page from its end.
    assert order == sorted(range(PEOPLE), key=lambda i: rows[i][:ID_BYTES], reverse=True)
    assert (tmp_path / "survey.db-wal").stat().st_size == 0
    collector.stop()
