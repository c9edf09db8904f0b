"""The live page: it can be read without script, and holds nothing that is not escaped."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

import warner.collector
from tests.spec.collector._html import Parsed
from tests.spec.collector._live import ONE_IS_SMALL, STUDY, STUDY_TEXT, Memory, published
from warner.collector.live import state as live_state
from warner.collector.live.publisher import ALIVE, LivePublisher, live_events
from warner.collector.live.state import LiveView, Step
from warner.collector.live.tables import (
    Wording,
    event_of,
    hidden_groups,
    progress,
    reject_rows,
    shares_table,
)
from warner.collector.pages.live import live_page
from warner.errors import IdentifiabilityError
from warner.results.estimate import estimate
from warner.studies.study import Study

STATIC = Path(warner.collector.__file__).parent / "static"


def test_the_page_has_everything_without_script() -> None:
    publisher = published(412)
    text = live_page(publisher.view(), STUDY, "secret-value")
    page = Parsed(text)
    assert "412 of 1,000; intervals about" in text and "points now." in text
    assert "Open: answers are counted." in text and STUDY.digest in text
    assert text.count("<caption>") == len(page.every("table")) == 4
    assert all(facts.get("scope") in ("col", "row") for facts in page.every("th"))
    assert len(page.every("svg")) == 12 and all(
        s["aria-hidden"] == "true" for s in page.every("svg")
    )
    assert "A forged report moves the unbiased count of an answer by up to 2.164 people." in text
    assert "warner estimate tally.json --interval=anytime:1000 --summary=alcohol=mean," in text
    shares = re.search(r">no</th><td>([0-9.]+) %</td><td>([0-9.]+) %</td><td>([0-9.]+) %", text)
    assert shares is not None
    (share, low, high) = (float(figure) / 100 for figure in shares.groups())
    row = json.loads(publisher.file("estimates.json"))[0]["shares"][0]
    assert abs(share - row["estimate"]) < 6e-5 and low < share < high


def test_nothing_of_the_page_needs_an_inline_script_or_style() -> None:
    view = published(412).view()
    for text in (live_page(view, STUDY, "x"), live_page(view, STUDY, "x", "ward", None)):
        page = Parsed(text)
        assert [facts["src"] for facts in page.every("script")] == ["live.js"]
        for tag, facts in page.elements:
            assert "style" not in facts and not any(name.startswith("on") for name in facts)
            assert tag not in ("style", "iframe", "object", "base")
        assert "<b>yes" not in text and "<health>" not in text


def test_forms_carry_the_anti_forgery_value_and_fit_the_status() -> None:
    value = 'a"><script>'
    for status, shown in (
        ("open", ["close"]),
        ("closed", ["open"]),
        ("not_open", ["close", "open"]),
    ):
        view = LiveView(1, 1000, 100, status)
        page = Parsed(live_page(view, STUDY, value))
        forms = page.every("form")
        assert [facts["action"] for facts in forms] == ["live/close", "live/open"]
        assert all(facts["method"] == "post" for facts in forms)
        assert [facts["id"] for facts in forms if "hidden" not in facts] == shown
        hidden = [facts for facts in page.every("input") if facts["type"] == "hidden"]
        assert [facts["value"] for facts in hidden] == [value] * 2
        assert all(facts["name"] == "anti_forgery" for facts in hidden)


def test_groups_are_shown_on_demand_and_small_ones_hidden() -> None:
    publisher = published(150, wards=ONE_IS_SMALL, now="closed")
    view, groups = publisher.view(), publisher.groups("ward")
    text = live_page(view, STUDY, "x", "ward", groups)
    assert "north:" in text and "west:" not in text and "small groups with" in text
    assert "north:" not in live_page(view, STUDY, "x")
    assert '<a href="live?by=ward#groups">' in text


def test_hidden_groups_cannot_be_had_by_subtraction() -> None:
    """With one small group hidden, all people less the others would be that group."""
    assert hidden_groups({"a": 100, "b": 50, "c": 3}) == {"b", "c"}
    assert hidden_groups({"a": 100, "b": 6, "c": 5}) == {"b", "c"}
    assert hidden_groups({"a": 9}) == {"a"} and hidden_groups({"a": 10, "b": 10}) == set()


def test_progress_says_why_there_is_no_estimate() -> None:
    assert progress(LiveView(1, 500, 50, "closed")) == "No estimate: no report was counted."
    assert "after 50 reports" in progress(LiveView(1, 500, 50, "open"))
    assert progress(LiveView(1, 500, 50, "open", step=Step(1, 60, {}))) == "60 of 500."


def test_reasons_of_rejects_are_plain_words() -> None:
    rows = reject_rows({"closed": 2, "malformed": 9, "type": 0, "a_new_one": 1})
    assert [count for _, count in rows] == [9, 2, 1]
    assert rows[1][0] == "sent after the survey closed" and rows[2][0] == "a new one"


def test_a_survey_that_closed_for_good_is_not_offered_to_be_opened() -> None:
    page = Parsed(live_page(LiveView(1, 1000, 100, "closed", is_final=True), STUDY, "value"))
    assert all("hidden" in facts for facts in page.every("form"))
    final = [facts for facts in page.every("p") if facts.get("id") == "final"]
    assert final and "hidden" not in final[0]


def test_one_click_closes_only_what_can_be_opened_again() -> None:
    again = Study.parse(STUDY_TEXT.replace("[collect]", '[collect]\nkeep_ids = "always"'))
    for study, boxes in ((STUDY, 1), (again, 0)):
        page = Parsed(live_page(LiveView(1, 1000, 100, "open"), study, "value"))
        asked = [facts for facts in page.every("input") if facts["type"] == "checkbox"]
        assert len(asked) == boxes and all("required" in facts for facts in asked)


def test_the_files_of_a_step_are_shown_when_there_is_one() -> None:
    for view, shown in ((LiveView(1, 1000, 100, "open", 3), False), (published(130).view(), True)):
        page = Parsed(live_page(view, STUDY, "value"))
        [files] = [facts for facts in page.every("div") if facts.get("id") == "files"]
        assert ("hidden" not in files) == shown
        [without] = [facts for facts in page.every("p") if facts.get("id") == "no-files"]
        assert ("hidden" in without) == shown


def test_few_forged_reports_among_few_are_not_counted_in_points() -> None:
    small = Study.parse(STUDY_TEXT.replace("step = 100", "step = 1"))
    assert "of them move its unbiased share to anything now" in live_page(
        published(3, small).view(), small, "value"
    )
    assert "points now" in live_page(published(1000).view(), STUDY, "value")


def test_a_stream_sends_each_step_once_comments_in_between_and_ends() -> None:
    memory = Memory(STUDY)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()

    async def read() -> list[bytes]:
        found: list[bytes] = []
        async for part in live_events(publisher, keep_alive=0.05):
            found.append(part)
            if part == ALIVE and found.count(ALIVE) == 1:
                memory.send(120)
                await asyncio.to_thread(publisher.look)
            elif part == ALIVE and found.count(ALIVE) == 2:
                memory.send(1)  # between two steps, and too early for the number of reports
                await asyncio.to_thread(publisher.look, True, False)
            elif part == ALIVE:
                publisher.stop()
        return found

    found = asyncio.run(asyncio.wait_for(read(), 20))
    steps = [part for part in found if b"event: step" in part]
    data = [json.loads(part.split(b"data: ")[1]) for part in steps]
    assert [event["n"] for event in data if not event["step"]] == [0] * (len(data) - 1)
    assert data[-1]["n"] == 120 and data[-1]["step"] == 1 and found.count(ALIVE) == 3
    assert all(part.endswith(b"\n\n") and part.count(b"\n\n") == 1 for part in found)
    assert publisher._listeners == set()


def test_an_event_says_what_the_page_says() -> None:
    view = published(412).view()
    event, text = event_of(view), live_page(view, STUDY, "x")
    for section in json.loads(json.dumps(event))["sections"]:
        for table in section["tables"]:
            for row in table["rows"]:
                for cell in row["cells"]:
                    assert cell.replace("<", "&lt;").replace(">", "&gt;") in text
    assert event["progress"] in text and event["about_step"] in text


def test_the_script_is_short_and_parses_no_html() -> None:
    script = (STATIC / "live.js").read_text()
    assert script.count("\n") < 160
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert sink not in script
    assert "https:" not in script and "import " not in script


def test_numbers_without_an_interval_of_every_look_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where reports do not determine the shares, an interval for one look would be wrong here."""

    def unknown(*_: object) -> None:
        raise IdentifiabilityError("the channel has no inverse")

    monkeypatch.setattr(live_state, "summary_rows", unknown)
    memory = Memory(STUDY)
    memory.send(150)
    result = estimate(memory.tallies["alcohol"].total())
    question = live_state.question_of("alcohol", result, 1000)
    assert question.summaries == () and question.numbers[0]["estimate"] == float(result.mean())
    _, numbers = Wording(STUDY).section(question, 1000).tables
    assert numbers.head == ("number", "estimate") and len(numbers.rows[0].cells) == 2


def test_of_very_many_values_the_largest_are_shown_and_folded() -> None:
    rows = [{"estimate": i / 1000, "low": 0.0, "high": 1.0} for i in range(300)]
    table = shares_table("Shares", [str(i) for i in range(300)], rows, has_intervals=True)
    assert [row.cells[0] for row in table.rows] == [str(i) for i in range(299, 99, -1)]
    assert "the 200 largest of 300" in table.caption and table.is_long
