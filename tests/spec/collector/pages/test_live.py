"""The live page: it can be read without script, and holds nothing that is not escaped."""

from __future__ import annotations

import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import warner.collector
from tests.spec.collector._live import STUDY, Memory, published
from warner.collector.live_events import ALIVE, live_events
from warner.collector.live_groups import hidden_groups
from warner.collector.live_publisher import LivePublisher
from warner.collector.live_state import LiveView, Step
from warner.collector.live_tables import event_of, progress, reject_rows
from warner.collector.pages.live import live_page

STATIC = Path(warner.collector.__file__).parent / "static"


class _Page(HTMLParser):
    """The elements of a page, with their attributes, and its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "path"):
            assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [facts for name, facts in self.elements if name == tag]


def test_the_page_has_everything_without_script() -> None:
    publisher = published(412)
    text = live_page(publisher.view(), STUDY, "secret-value")
    page = _Page(text)
    assert "412 of 1,000; intervals about" in text and "points now." in text
    assert "Open: answers are counted." in text and STUDY.digest in text
    assert text.count("<caption>") == len(page.of("table")) == 4
    assert all(facts.get("scope") in ("col", "row") for facts in page.of("th"))
    assert len(page.of("svg")) == 12 and all(s["aria-hidden"] == "true" for s in page.of("svg"))
    assert "A forged report moves the count of an answer by up to 2.164 people." in text
    assert "warner estimate tally.json --interval=anytime:1000 --summary=alcohol=mean," in text
    shares = re.search(r">no</th><td>([0-9.]+) %</td><td>([0-9.]+) %</td><td>([0-9.]+) %", text)
    assert shares is not None
    (share, low, high) = (float(figure) / 100 for figure in shares.groups())
    row = publisher.view().estimates[0].rows(kind="anytime:1000")[0]
    assert abs(share - row["estimate"]) < 6e-5 and low < share < high


def test_nothing_of_the_page_needs_an_inline_script_or_style() -> None:
    view = published(412).view()
    for text in (live_page(view, STUDY, "x"), live_page(view, STUDY, "x", "ward", None)):
        page = _Page(text)
        assert [facts["src"] for facts in page.of("script")] == ["live.js"]
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
        page = _Page(live_page(view, STUDY, value))
        forms = page.of("form")
        assert [facts["action"] for facts in forms] == ["live/close", "live/open"]
        assert all(facts["method"] == "post" for facts in forms)
        assert [facts["id"] for facts in forms if "hidden" not in facts] == shown
        assert [facts["value"] for facts in page.of("input")] == [value] * 2
        assert all(facts["name"] == "anti_forgery" for facts in page.of("input"))


def test_groups_are_shown_on_demand_and_small_ones_hidden() -> None:
    publisher = published(150)
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
                memory.send(1)  # between two steps
                await asyncio.to_thread(publisher.look)
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
    assert script.count("\n") < 150
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert sink not in script
    assert "https:" not in script and "import " not in script
