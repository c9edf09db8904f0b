"""The device in Python, against a collector behind a real server."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import warner
from tests.refusals import refused
from tests.spec.collector._tokens import DRAWN
from tests.spec.collector._web import SERVED, TEXT, served, site
from tests.vectors.surveys import FINITE, FINITE_ANSWERS
from warner.collector import device as device_module
from warner.collector.access import invited_ids, new_codes
from warner.collector.refusals import Refused
from warner.collector.remote import Later, Remote
from warner.collector.tokens import block_of_code
from warner.errors import ArgumentError, FileError, MemoFullError, StudyError
from warner.reports.block_schema import BLOCK

ROOT = Path(__file__).parents[3]
ANSWERS = {"smokes": "yes", "drinks": 7}
ROUND = """
[repeat]
rounds = 4
round = 1
forever = 2.0
[attributes.theme]
values = ["light", "dark"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
access = "open"
"""
ITEMS = """
[attributes.settings]
items = ["dark", "wrap", "tips"]
each = "one"
epsilon = 1.0
[collect]
access = "open"
"""

WEEK = '[public.week]\nvalues = ["2026-W49", "2026-W50"]\n'
DRAWN_OPEN = f'{DRAWN}[collect]\naccess = "open"\n'
DRAWN_FOR_GOOD = f"[repeat]\nrounds = 4\nround = 1\nforever = 2.0\n{DRAWN_OPEN}"


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def kept_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_answers_are_sent_once(tmp_path: Path) -> None:
    folder = tmp_path / "me"
    with site(tmp_path / "store", text=SERVED) as made, served(made.application) as port:
        device = warner.Device(made.study, address(port), folder)
        assert device.questions() == ["smokes", "drinks"]
        assert device.send(ANSWERS) == "sent"
        assert device.send({"smokes": "no", "drinks": 0}) == "already"
        again = warner.Device(made.study, address(port), folder)
        assert again.send(ANSWERS) == "already" and made.collector.n == 1
        assert warner.Device(made.study, address(port), tmp_path / "her").send(ANSWERS) == "sent"
        assert made.collector.n == 2
    assert repr(device) == f"Device({address(port)})"
    # Neither answers nor the report: the lock, and what may be known of the report.
    note = kept_files(folder)[f"outbox-{made.study.digest}"]
    assert len(kept_files(folder)) == 2 and kept_files(folder)["lock"] == b""
    assert [*json.loads(note)] == ["title", "public", "epsilon"] and note.endswith(b"}\n")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What devices send, to a collector that takes everything."""
    bodies: list[bytes] = []
    monkeypatch.setattr(Remote, "send", lambda remote, body: bodies.append(body))
    return bodies


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The warnings of devices."""
    logged: list[str] = []
    # A server that another test started may keep the logger's lines to itself.
    monkeypatch.setattr(device_module._LOG, "warning", logged.append)
    return logged


def device_of(text: str, folder: Path) -> warner.Device:
    return warner.Device(warner.Study.parse(text), "https://a.example.org", folder)


def test_a_study_with_only_another_title_is_said_to_be_the_same(
    tmp_path: Path, bodies: list[bytes], logged: list[str]
) -> None:
    """Rejects a new week in which devices send nothing, and nobody is told why."""

    def send(text: str, **public: str) -> str:
        return device_of(text, tmp_path).send(ANSWERS, public)

    next_week = SERVED.replace("Habits", "Habits, week 2")
    assert send(SERVED) == "sent" and send(SERVED) == "already" and not logged
    assert send(next_week) == "already" and len(bodies) == 1
    (line,) = logged
    assert "To ask the same people again, such as every week, see docs/recipes/weekly.md" in line
    assert send(next_week + WEEK, week="2026-W49") == "sent" and len(bodies) == 2


@pytest.mark.parametrize(
    ("text", "answers", "remedy"),
    [
        (
            SERVED,
            ANSWERS,
            "such as every week, see docs/recipes/weekly.md. Asking again spends more epsilon",
        ),
        (DRAWN_OPEN, {}, "such as every week, see docs/recipes/weekly.md. Asking again spends"),
        (
            ROUND,
            {"theme": "dark"},
            "For the next round, write round = 2 in [repeat] of the study file",
        ),
    ],
)
def test_another_public_value_is_said_to_make_no_new_study(
    tmp_path: Path,
    bodies: list[bytes],
    logged: list[str],
    text: str,
    answers: dict[str, Any],
    remedy: str,
) -> None:
    """Rejects a second week that is lost, because the list of the first one names it already."""
    device = device_of(text + WEEK, tmp_path)
    answers = answers or dict.fromkeys(device.questions(), "yes")
    assert device.send(answers, {"week": "2026-W49"}) == "sent"
    assert device.send(answers, {"week": "2026-W49"}) == "already" and not logged
    assert device.send(answers, {"week": "2026-W50"}) == "already" and len(bodies) == 1
    (line,) = logged
    assert line.startswith("Nothing was sent") and "other values in the public columns" in line
    assert remedy in line and ("[repeat]" in remedy) == ("[repeat]" in line)
    # What a new device refuses is refused by a device that has sent, too.
    before = kept_files(tmp_path)
    with pytest.raises(
        ArgumentError, match="week: must be one of '2026-W49', '2026-W50'; got another string"
    ):
        device.send(answers, {"week": "2026-W51"})
    with pytest.raises(
        ArgumentError, match="public: must have a value of the public column 'week'"
    ):
        device.send(answers)
    assert kept_files(tmp_path) == before


def test_a_pending_report_keeps_its_own_public_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    """Rejects a note that names the week in which a report arrived, not the week it is about."""

    def lose(remote: Remote, body: bytes) -> None:
        raise Later("unreachable", remote.url, "cannot be reached")

    device = device_of(SERVED + WEEK, tmp_path)
    monkeypatch.setattr(Remote, "send", lose)
    with pytest.raises(Later):
        device.send(ANSWERS, {"week": "2026-W49"})
    monkeypatch.setattr(Remote, "send", lambda remote, body: 1)
    assert device.send(ANSWERS, {"week": "2026-W50"}) == "sent" and not logged
    assert device.send(ANSWERS, {"week": "2026-W50"}) == "already" and len(logged) == 1


def test_folders_of_older_versions_send_nothing_twice(
    tmp_path: Path, bodies: list[bytes], logged: list[str]
) -> None:
    device = device_of(SERVED, tmp_path)
    assert device.send(ANSWERS) == "sent"
    (note,) = tmp_path.glob("outbox-*")
    title = json.loads(note.read_bytes())["title"]
    for content in (b"", f"sent {title}".encode()):
        note.write_bytes(content)
        assert device.send(ANSWERS) == "already" and not logged and math.isnan(device.spent)
    note.write_bytes(f"sent {'0' * 64}".encode())
    assert device.send(ANSWERS) == "already" and "A new title" in logged[0]
    note.write_bytes(bodies[0])
    assert device.send(ANSWERS) == "sent" and bodies == [bodies[0]] * 2
    assert device.send(ANSWERS) == "already" and len(logged) == 1
    note.write_bytes(b'{"epsilon": ')
    with pytest.raises(FileError, match="was altered"):
        device.send(ANSWERS)


def test_wrong_answers_are_refused_whatever_is_drawn(tmp_path: Path, bodies: list[bytes]) -> None:
    """Rejects a mistake that only the few people notice who are asked that question."""
    for i in range(8):
        device = device_of(DRAWN_OPEN, tmp_path / str(i))
        right = dict.fromkeys(["smokes", "drinks", "bets"], "yes")
        for question in right:
            with pytest.raises(ArgumentError) as refused:
                device.send(right | {question: "secret"})
            assert str(refused.value).startswith(f"{question}: must be one of 'no', 'yes'; got")
            assert "secret" not in str(refused.value)
        assert [*kept_files(tmp_path / str(i))] == ["lock"]
    assert not bodies


def test_a_folder_says_what_all_its_studies_spent(tmp_path: Path, bodies: list[bytes]) -> None:
    """Rejects two studies of epsilon 2 from one device that look like epsilon 2."""
    text = SERVED.replace("epsilon = 1.0", "epsilon = 1.5")
    first, second = (device_of(one, tmp_path / "me") for one in (SERVED, text))
    each = [warner.Study.parse(one).epsilon for one in (SERVED, text)]
    assert first.spent == 0.0
    for _ in range(2):
        first.send(ANSWERS)
        assert first.spent == second.spent == each[0]
    second.send(ANSWERS)
    assert first.spent == second.spent == sum(each)
    assert device_of(SERVED, tmp_path / "her").spent == 0.0


def test_permanent_reports_spend_what_their_rounds_tell(
    tmp_path: Path, bodies: list[bytes]
) -> None:
    mechanism = warner.Study.parse(ROUND).mechanisms["theme"]
    for week in (1, 2, 3):
        device = device_of(ROUND.replace("round = 1", f"round = {week}"), tmp_path)
        device.send({"theme": "dark"})
        assert device.spent == mechanism.of_rounds(week).epsilon


def test_a_lost_reply_leads_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[bytes] = []
    arrive = Remote.send

    def lose(remote: Remote, body: bytes) -> int | None:
        bodies.append(body)
        if len(bodies) < 3:
            raise Later("unreachable", remote.url, "cannot be reached")
        return arrive(remote, body)

    monkeypatch.setattr(Remote, "send", lose)
    with site(tmp_path / "store", text=SERVED) as made, served(made.application) as port:
        for _ in range(2):
            with pytest.raises(Later, match="cannot be reached"):
                warner.Device(made.study, address(port), tmp_path / "me").send(ANSWERS)
        device = warner.Device(made.study, address(port), tmp_path / "me")
        assert device.send({"smokes": "no", "drinks": 0}) == "sent" and made.collector.n == 1
    assert len(set(bodies)) == 1


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (
            {"smokes": "yes"},
            "drinks: has no answer. Pass the answer, or None if the person gave no answer.",
        ),
        (ANSWERS | {"typo": 1}, "answers: can have only these names: smokes, drinks; got"),
        (ANSWERS | {"smokes": "secret"}, "smokes: must be one of 'no', 'yes'; got another string."),
        (ANSWERS | {"drinks": 4217}, "drinks: must be"),
    ],
)
def test_a_mistake_sends_and_keeps_nothing(
    tmp_path: Path, answers: dict[str, Any], words: str
) -> None:
    device = warner.Device(warner.Study.parse(SERVED), "http://127.0.0.1:9", tmp_path / "me")
    with pytest.raises(ArgumentError) as refused:
        device.send(answers)
    assert str(refused.value).startswith(words)
    assert not any(word in str(refused.value) for word in ("secret", "4217"))
    assert [*kept_files(tmp_path / "me")] == ["lock"]


def test_refusals_have_the_words_of_the_collector(tmp_path: Path) -> None:
    with site(tmp_path / "store", text=SERVED) as made, served(made.application) as port:
        other = warner.Study.parse(SERVED.replace("epsilon = 1.0", "epsilon = 1.5"))
        with pytest.raises(Refused, match="study file with which") as refused:
            warner.Device(other, address(port), tmp_path / "other").send(ANSWERS)
        assert refused.value.name == "other_study" and "study.json" not in str(refused.value)
        made.collector.close_survey()
        with pytest.raises(Refused, match="closed") as refused:
            warner.Device(made.study, address(port), tmp_path / "me").send(ANSWERS)
        assert refused.value.name == "closed" and made.collector.n == 0


def test_invited_people_are_asked_once_on_all_devices(tmp_path: Path) -> None:
    with site(tmp_path / "store", text=FINITE) as made, served(made.application) as port:
        codes = new_codes(2)
        made.collector.invite(invited_ids(made.study.digest, codes))
        device = warner.Device(made.study, address(port), tmp_path / "me")
        answers, public = FINITE_ANSWERS[0], {"ward": "south"}
        with pytest.raises(
            ArgumentError, match="public: must have a value of the public column 'ward'"
        ):
            device.send(answers, {}, codes[0])
        with pytest.raises(ArgumentError, match="code: is missing"):
            device.send(answers, public)
        assert device.send(answers, public, codes[0]) == "sent"
        assert device.send(answers, public, codes[0].lower()) == "already"
        with pytest.raises(Refused, match="used before") as refused:
            warner.Device(made.study, address(port), tmp_path / "b").send(answers, public, codes[0])
        assert refused.value.name == "spent"
        with pytest.raises(Refused, match="only people with an invitation code") as refused:
            device.send(answers, public, new_codes(1)[0])
        assert refused.value.name == "not_invited"
        assert device.send(answers, public, codes[1]) == "sent" and made.collector.n == 2


def test_questions_are_drawn_once(tmp_path: Path) -> None:
    with site(tmp_path / "store", text=DRAWN_OPEN) as made, served(made.application) as port:
        drawn = set()
        for i in range(12):
            device = warner.Device(made.study, address(port), tmp_path / str(i))
            (question,) = device.questions()
            again = warner.Device(made.study, address(port), tmp_path / str(i))
            assert again.questions() == [question]
            drawn.add(question)
            with pytest.raises(ArgumentError, match="smokes: has no answer"):
                device.send({})
            other = "smokes" if question != "smokes" else "drinks"
            with pytest.raises(ArgumentError, match=f"{question}: has no answer"):
                device.send({other: "yes"})
            assert device.send({question: "yes"}) == "sent"
        assert len(drawn) > 1 and made.collector.n == 12


@pytest.mark.parametrize("text", [DRAWN_OPEN, DRAWN_FOR_GOOD, SERVED])
def test_a_forgotten_question_is_refused_on_each_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Rejects a program that misses an answer only where its question is drawn, or not yet sent."""
    bodies: list[bytes] = []
    monkeypatch.setattr(Remote, "send", lambda remote, body: bodies.append(body))
    study = warner.Study.parse(text)
    answers = ANSWERS if text == SERVED else dict.fromkeys(["smokes", "drinks", "bets"], "yes")
    for i in range(8):
        device = warner.Device(study, address(9), tmp_path / str(i))
        for name in [*answers] * 2:  # before and after the answers are sent
            left = {other: answer for other, answer in answers.items() if other != name}
            with pytest.raises(ArgumentError, match=f"^{name}: has no answer"):
                device.send(left)
            if name == [*answers][-1]:
                device.send(answers)
    assert len(bodies) == 8


def test_items_are_answered_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[bytes] = []
    monkeypatch.setattr(Remote, "send", lambda remote, body: bodies.append(body))
    study = warner.Study.parse(ITEMS)
    for i in range(60):
        device = warner.Device(study, "https://settings.example.org", tmp_path / str(i))
        (item,) = device.questions()
        device.send({"dark": "yes", "wrap": "no", "tips": "yes"})
        columns = device._form.parse(bodies[-1]).columns("settings")
        assert study.mechanisms["settings"].blocks[int(columns[BLOCK][0])] == (item,)
    assert len(set(bodies)) == 60


def test_permanent_reports_last_over_the_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Remote, "send", lambda remote, body: 1)
    url, folder = "https://settings.example.org", tmp_path / "me"
    memos = []
    for week in (1, 2, 3):
        study = warner.Study.parse(ROUND.replace("round = 1", f"round = {week}"))
        device = warner.Device(study, url, folder)
        assert (
            device.send({"theme": "dark"}) == "sent" and device.send({"theme": "dark"}) == "already"
        )
        (memo,) = folder.glob("memo-*")
        memos.append(json.loads(json.loads(memo.read_text())["state"])["memos"])
    assert [entry[0][2] for entry in memos] == [1, 2, 3]
    assert len({tuple(entry[0][:2]) for entry in memos}) == 1
    last = warner.Study.parse(ROUND.replace("round = 1", "round = 4"))
    before = kept_files(folder)
    with pytest.raises(MemoFullError):
        warner.Device(last, url, folder).send({"theme": "light"})
    assert kept_files(folder) == before
    memo.write_text(memo.read_text().replace('"key": "', '"key": "00'))
    with pytest.raises(warner.errors.WarnerError):
        warner.Device(last, url, folder).send({"theme": "dark"})
    memo.write_text("{")
    with pytest.raises(FileError, match="was altered"):
        warner.Device(last, url, folder).send({"theme": "dark"})


def test_one_question_is_drawn_for_all_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a question that is drawn anew each week, which spends epsilon on one after another."""
    bodies: list[bytes] = []
    monkeypatch.setattr(Remote, "send", lambda remote, body: bodies.append(body))
    answers, drawn = dict.fromkeys(("smokes", "drinks", "bets"), "yes"), set()
    for person in map(str, range(12)):
        blocks = set()
        for week in (1, 2, 3):
            # A value that is added to a public column draws no other question either.
            text = WEEK.replace('"]', f'", "week {week}"]')
            text += DRAWN_FOR_GOOD.replace("round = 1", f"round = {week}")
            device = device_of(text, tmp_path / person)
            (question,) = device.questions()
            assert device.send(answers, {"week": "2026-W49"}) == "sent"
            assert device.send(answers, {"week": "2026-W49"}) == "already"
            columns = device._form.parse(bodies[-1]).columns("questions")
            blocks.add((question, int(columns[BLOCK][0])))
        (memo,) = (tmp_path / person).glob("memo-*")
        ((_, _, rounds),) = json.loads(json.loads(memo.read_text())["state"])["memos"]
        assert rounds == 3 and len(blocks) == 1 and device.spent <= 2.0
        drawn |= blocks
    assert len(drawn) > 1 and len(bodies) == 36
    # A person who is invited is asked the question of the code, on all devices and in all rounds.
    invited = DRAWN_FOR_GOOD.replace('"open"', '"invited"')
    codes = new_codes(20)
    weeks = [
        [block_of_code(warner.Study.parse(text), code) for code in codes]
        for text in (invited, invited.replace("round = 1", "round = 2"))
    ]
    assert weeks[0] == weeks[1] and len(set(weeks[0])) > 1


def test_a_code_that_asks_another_question_than_in_earlier_rounds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a device that reports on a second question where a round has codes of its own."""
    bodies: list[bytes] = []
    monkeypatch.setattr(Remote, "send", lambda remote, body: bodies.append(body))
    monkeypatch.setattr(Remote, "is_spent", lambda remote, head: False)
    answers = dict.fromkeys(("smokes", "drinks", "bets"), "yes")
    first, second = (DRAWN_FOR_GOOD.replace("round = 1", f"round = {week}") for week in (1, 2))
    invited = [text.replace('"open"', '"invited"') for text in (first, second)]
    codes = {block_of_code(warner.Study.parse(invited[0]), code): code for code in new_codes(60)}
    assert len(codes) == 3
    assert device_of(invited[0], tmp_path).send(answers, code=codes[0]) == "sent"
    later = device_of(invited[1], tmp_path)
    for block in (1, 2):
        said = refused(
            ArgumentError, "leads to another question than", later.send, answers, None, codes[block]
        )
        assert "Use the code of the earlier rounds" in said
    assert later.send(answers, code=codes[0]) == "sent"
    # An open survey asks the question of the code, too, and the other way round.
    assert device_of(second, tmp_path).questions() == later.questions(codes[0])
    assert len(list(tmp_path.glob("memo-*"))) == 1 and len(bodies) == 2 and later.spent < 2.0


def test_devices_that_are_refused(tmp_path: Path) -> None:
    study = warner.Study.parse(SERVED)
    with pytest.raises(ArgumentError, match="must begin with https"):
        warner.Device(study, "http://survey.example.org", tmp_path)
    with pytest.raises(warner.errors.ArgumentTypeError, match=r"Study\.load"):
        warner.Device(TEXT, "https://survey.example.org", tmp_path)  # type: ignore[arg-type]
    silent = SERVED.replace("values = [", 'missing = "drop"\nvalues = [')
    with pytest.raises(StudyError, match="cannot be served"):
        warner.Device(warner.Study.parse(silent), "https://survey.example.org", tmp_path)
    with pytest.raises(ArgumentError, match="code: must be left out"):
        warner.Device(study, "https://survey.example.org", tmp_path).send(ANSWERS, code="ABCD")


def test_the_example_of_the_documents_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "recipes" / "settings_over_a_year.md").read_text()
    text = page.partition('TEXT = """')[2].partition('"""')[0]
    code = page.partition("```python\n# client.py\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(text)
    with site(tmp_path / "store", text=text) as made, served(made.application) as port:
        for _ in range(2):
            exec(code.replace("https://settings.example.org", address(port)), {})
        assert capsys.readouterr().out == "sent\nalready\n" and made.collector.n == 1


def test_the_weeks_of_the_documents_are_both_sent(
    tmp_path: Path, bodies: list[bytes], logged: list[str]
) -> None:
    page = (ROOT / "docs" / "recipes" / "weekly.md").read_text()
    first, second = (block.partition("```")[0] for block in page.split("```toml\n")[1:])
    assert device_of(SERVED + first, tmp_path).send(ANSWERS, {"week": "2026-W49"}) == "sent"
    assert device_of(SERVED + second, tmp_path).send(ANSWERS, {"week": "2026-W50"}) == "sent"
    assert device_of(SERVED + first, tmp_path).send(ANSWERS, {"week": "2026-W50"}) == "already"
    assert len(bodies) == 2 and len(logged) == 1


def test_a_public_column_that_names_the_week_makes_another_study(tmp_path: Path) -> None:
    weeks = ("2026-W48", "2026-W49", "2026-W50")
    for week, following in pairwise(weeks):
        text = SERVED + f'[public.week]\nvalues = ["{week}", "{following}"]\n'
        with site(tmp_path / week, text=text) as made, served(made.application) as port:
            device = warner.Device(made.study, address(port), tmp_path / "me")
            assert device.send(ANSWERS, {"week": week}) == "sent"
            assert device.send(ANSWERS, {"week": week}) == "already" and made.collector.n == 1
