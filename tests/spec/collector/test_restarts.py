"""Submissions, and what a collector keeps over restarts."""

from __future__ import annotations

from pathlib import Path

import click.testing
import numpy as np
import pytest

from tests.refusals import refused
from tests.spec.collector._web import SERVED
from warner import errors
from warner.app.cli import main
from warner.collector.access import ID_BYTES
from warner.collector.collector import Collector
from warner.collector.refusals import NAMES, Refused
from warner.collector.restarts import FACT, Start, changed_texts
from warner.collector.stores import SQLiteStore
from warner.collector.submissions import HEAD_BYTES, MOST, SubmissionFormat, new_ids
from warner.collector.web import server
from warner.errors import ArgumentError
from warner.studies.study import Study

TEXTS = """
title = { en = "Habits", de = "Sitten" }
languages = ["en", "de"]
[public.ward]
values = ["n", "s"]
label = { en = "Ward", de = "Bezirk" }
[attributes.smokes]
label = { en = "Do you smoke?", de = "Rauchen Sie?" }
help = { en = "In the last 30 days", de = "In 30 Tagen" }
values = ["no", "yes"]
answers = { de = ["nein", "ja"] }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
label = { en = "Drinks", de = "Getraenke" }
integers = [0, 9]
unit = "glasses"
mechanism = "UnaryEncoding"
epsilon = 1.0
[collect]
people = 1000
step = 50
"""


class Memory:
    """What a start asks of a collector."""

    def __init__(self, n: int = 3) -> None:
        self.facts: dict[str, bytes] = {}
        self.n = n

    def remembered(self, name: str) -> bytes | None:
        return self.facts.get(name)

    def remember(self, name: str, content: bytes) -> None:
        self.facts[name] = content


def start(memory: Memory, study: str, new_texts: bool = False) -> None:
    """A start that is kept if it is not refused."""
    one = Start(memory, Study.parse(study), "habits.toml")
    one.check(new_texts)
    one.keep()


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"Do you smoke?"', '"Did you ever smoke?"', "attributes.smokes.label.en"),
        ('"Rauchen Sie?"', '"Rauchten Sie je?"', "attributes.smokes.label.de"),
        ('"In the last 30 days"', '"Ever"', "attributes.smokes.help.en"),
        ("help = {", "# help = {", "attributes.smokes.help.en"),
        ('["nein", "ja"]', '["ja", "nein"]', "attributes.smokes.answers.de"),
        ('"glasses"', '"litres"', "attributes.drinks.unit"),
        ('en = "Ward"', 'en = "Ward of birth"', "public.ward.label.en"),
    ],
)
def test_other_words_are_refused_by_their_place_and_can_be_meant(
    old: str, new: str, place: str
) -> None:
    other = TEXTS.replace(old, new)
    assert Study.parse(other).digest == Study.parse(TEXTS).digest  # which does not cover words
    memory = Memory()
    start(memory, TEXTS)
    refused(ArgumentError, f"{place}.*--new-texts", start, memory, other)
    start(memory, other, new_texts=True)
    start(memory, other)  # it is the text now
    refused(ArgumentError, place, start, memory, TEXTS)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"texts": 3, "step": 1}', b'{"texts": {}}'])
def test_texts_that_cannot_be_read_are_refused(content: bytes) -> None:
    memory = Memory()
    memory.facts[FACT] = content
    refused(Refused, "the texts of its questions cannot be read", start, memory, TEXTS)


def test_what_does_not_change_the_questions_may_change() -> None:
    memory = Memory()
    start(memory, TEXTS)
    for old, new in (
        ('"Habits"', '"Health"'),
        ("people = 1000", 'people = 2000\ncontact = "a@b.c"'),
        ("step = 50", "step = 60"),
    ):
        start(memory, TEXTS.replace(old, new))


def test_languages_come_and_go_and_are_remembered() -> None:
    memory = Memory()
    start(memory, TEXTS)
    english = (
        TEXTS.replace('["en", "de"]', '["en"]')
        .replace(', de = "Bezirk"', "")
        .replace(', de = "Rauchen Sie?"', "")
        .replace(', de = "Sitten"', "")
        .replace(', de = "In 30 Tagen"', "")
        .replace(', de = "Getraenke"', "")
        .replace('answers = { de = ["nein", "ja"] }\n', "")
    )
    start(memory, english)
    with pytest.raises(ArgumentError, match=r"attributes\.smokes\.label\.de"):
        start(memory, TEXTS.replace("Rauchen Sie?", "Trinken Sie?"))
    start(memory, TEXTS)


def test_before_anybody_answers_everything_may_change() -> None:
    memory = Memory(n=0)
    start(memory, TEXTS)
    other = TEXTS.replace("Do you smoke?", "Do you vape?").replace("step = 50", "step = 20")
    start(memory, other)
    memory.n = 1
    start(memory, other)
    refused(ArgumentError, r"label\.en", start, memory, TEXTS)


def test_the_step_may_grow_and_not_shrink() -> None:
    memory = Memory()
    start(memory, TEXTS)
    start(memory, TEXTS.replace("step = 50", "step = 100"))
    refused(ArgumentError, r"step: must be at least 100.*got 50.*--step 100", start, memory, TEXTS)


def test_many_changes_are_a_short_message() -> None:
    before = {f"attributes.a{i}.label.en": "x" for i in range(9)}
    assert len(changed_texts(before, dict.fromkeys(before, "y"))) == 9
    many = TEXTS + "".join(
        f'[attributes.a{i}]\nvalues = ["a", "b"]\nlabel = {{ en = "Q{i}", de = "F" }}\n'
        "mechanism = "
        '"RandomizedResponse"\nepsilon = 0.1\n'
        for i in range(9)
    )
    memory = Memory()
    start(memory, many)
    refused(ArgumentError, r"a4\.label\.en and 4 more\.", start, memory, many.replace('"Q', '"R'))


def run(*arguments: object) -> click.testing.Result:
    return click.testing.CliRunner().invoke(
        main, ["collect", "serve", *(str(a) for a in arguments)]
    )


def test_serve_refuses_them_and_says_at_the_end_what_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    Path("study.toml").write_text(SERVED)
    first = run("study.toml")
    assert first.exit_code == 0
    assert "0 people have answered. The counts are in study.counts.sqlite." in first.stderr
    assert first.stderr.endswith(
        "To continue the survey, run:\n  warner collect serve study.toml\n"
    )
    study = Study.load("study.toml")
    collector = Collector(study, SQLiteStore("study.counts.sqlite"))
    made = {"smokes": ["yes"], "drinks": [3]}
    reports = {name: m.randomize(made[name]) for name, m in study.mechanisms.items()}
    ids = np.ones((1, 16), np.uint8)
    collector.submit(collector.format.parse(collector.format.seal(reports, {}, ids))).result()
    collector.stop()
    Path("study.toml").write_text(
        SERVED.replace("[attributes.drinks]", '[attributes.drinks]\nunit = "l"')
    )
    refused = run("study.toml")
    assert refused.exit_code == 1 and "attributes.drinks.unit" in refused.stderr
    assert "Stopped" not in refused.stderr and len(refused.stderr.strip().splitlines()) == 1
    meant = run("study.toml", "--new-texts")
    assert meant.exit_code == 0 and "1 person has answered" in meant.stderr
    assert run("study.toml").exit_code == 0
    smaller = run("study.toml", "--step", 9)
    assert smaller.exit_code == 1 and "step: must be at least 10" in smaller.stderr
    other = run("study.toml", "--step", 1, "--store", "trial.sqlite")
    assert "warner collect serve study.toml --store trial.sqlite" in other.stderr
    collector = Collector(study, SQLiteStore("study.counts.sqlite"))
    collector.close_survey()
    collector.stop()
    closed = run("study.toml")
    assert "warner collect pull http://127.0.0.1:8000 --token-file token.txt" in closed.stderr
    assert "put the owner's token into token.txt, start the server" in closed.stderr
    stopped = run("study.toml", "--token-file", "owner.txt", "--new-token").stderr
    assert "--token-file owner.txt" in stopped and "token.txt" not in stopped


# Sealed submissions: their bytes, and what is refused by position.


TEXT = """
[public.ward]
values = ["north", "south"]
[public.visit]
dates = "week"
[attributes.smokes]
values = ["never", "sometimes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [18, 99]
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.town]
integers = [0, 999]
mechanism = "LocalHashing"
epsilon = 1.0
"""
STUDY = Study.parse(TEXT)
FORM = SubmissionFormat(STUDY)
WARDS = ["south", "north", "south"]
WEEKS = ["2026-01-05", "2026-01-13", "2026-02-01"]


def reports(n: int = 3) -> dict[str, object]:
    answers = {"smokes": ["often"] * n, "age": [40] * n, "town": [7] * n}
    return {name: m.randomize(answers[name]) for name, m in STUDY.mechanisms.items()}


def body(**changes: object) -> bytes:
    given = {"reports": reports(), "public": {"ward": WARDS, "visit": WEEKS}, **changes}
    return FORM.seal(**given)  # type: ignore[arg-type]


def test_a_body_holds_ids_then_public_indices_then_reports() -> None:
    given, ids = reports(), new_ids(3)
    sealed = FORM.seal(given, {"ward": WARDS, "visit": WEEKS}, ids)  # type: ignore[arg-type]
    assert sealed[:4] == b"WRN1"
    assert sealed[4:36].hex() == STUDY.layout
    records = b"".join(
        ids[i].tobytes()
        + np.array([[1, 0, 1][i], STUDY.public["visit"].encode([WEEKS[i]])[0]], "<i4").tobytes()
        + b"".join(r.record_array()[i].tobytes() for r in given.values())  # type: ignore[attr-defined]
        for i in range(3)
    )
    assert sealed[36:] == records
    assert len(records) == 3 * FORM.length


def test_parsing_gives_what_was_sealed() -> None:
    given, ids = reports(), new_ids(3)
    batch = FORM.parse(FORM.seal(given, {"ward": WARDS, "visit": WEEKS}, ids))  # type: ignore[arg-type]
    assert len(batch) == 3
    assert batch.reports == given
    np.testing.assert_array_equal(batch.ids, ids)
    assert STUDY.public["ward"].decode(batch.public["ward"]) == WARDS
    np.testing.assert_array_equal(batch.public["visit"], STUDY.public["visit"].encode(WEEKS))
    assert "3" in repr(batch)
    assert batch.take(np.array([False, True, False])).reports["age"] == given["age"][1:2]  # type: ignore[index]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("byte", [0, 4, 8, 19])
def test_the_first_wrong_submission_is_named_by_its_position(place: int, byte: int) -> None:
    # Bytes after the id: the ward, the week, the report on smoking, the last padding of 82 bits.
    rows = np.frombuffer(body(), np.uint8)[HEAD_BYTES:].reshape(3, FORM.length).copy()
    rows[place:, ID_BYTES + byte + 3 * (byte < 8)] |= 255
    with pytest.raises(Refused) as refused:
        FORM.parse(body()[:HEAD_BYTES] + rows.tobytes())
    assert refused.value.name == "malformed"
    assert refused.value.position == place
    assert f"number {place + 1} of 3" in str(refused.value)
    assert "255" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda b: b"", "malformed"),
        (lambda b: b[:20], "malformed"),
        (lambda b: b"WRN2" + b[4:], "malformed"),
        (lambda b: b[:HEAD_BYTES], "malformed"),
        (lambda b: b[:-1], "malformed"),
        (lambda b: b + b"\0", "malformed"),
        (lambda b: b[:HEAD_BYTES] + b[-FORM.length :] * (MOST + 1), "malformed"),
        (lambda b: b[:5] + bytes([b[5] ^ 1]) + b[6:], "other_study"),
    ],
)
def test_other_bytes_are_refused_by_name(change: object, name: str) -> None:
    with pytest.raises(Refused) as refused:
        FORM.parse(change(body()))  # type: ignore[operator]
    assert refused.value.name == name
    assert refused.value.name in NAMES
    assert refused.value.position is None


def test_as_many_as_a_body_may_hold_are_taken() -> None:
    sealed = body()
    full = sealed[:HEAD_BYTES] + sealed[-FORM.length :] * MOST
    assert len(FORM.parse(full)) == MOST


def test_sealing_refuses_what_does_not_belong_together() -> None:
    with pytest.raises(
        errors.ArgumentError, match="exactly these questions: smokes, age, town; and have"
    ):
        body(reports={"smokes": reports()["smokes"]})
    refused(errors.ArgumentError, "and have these public columns: ward, visit", body, public={})
    refused(errors.ArgumentError, "as many rows", body, ids=new_ids(2))
    refused(errors.ValuesError, "", body, public={"ward": ["west"] * 3, "visit": WEEKS})
    refused(errors.MismatchError, "", body, reports={**reports(), "smokes": reports()["age"]})


@pytest.mark.parametrize(
    "more", ["rows_per_person = 2\n", '[[groups]]\nname = "a"\n[[groups]]\nname = "b"\n']
)
def test_studies_of_other_people_are_refused(more: str) -> None:
    plain = TEXT[TEXT.index("[attributes.smokes]") :]
    text = plain + more if "groups" in more else more + plain
    refused(errors.ArgumentError, "cannot be collected", SubmissionFormat, Study.parse(text))


def test_a_refusal_survives_pickling() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(Refused("closed", "survey", "is closed", position=3)))
    assert (error.name, error.position, str(error)) == ("closed", 3, "survey: is closed.")
