"""A survey in rounds: the browser keeps the permanent report on each answer, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from playwright.sync_api import Page

from tests.browser._page import choose, opened, review, send, shown, violations
from warner.collector.submissions import SubmissionFormat
from warner.collector.tokens import block_of_code
from warner.mechanisms import Permanent

_ROUNDS = """
title = { en = "Pills at work", de = "Tabletten bei der Arbeit" }
languages = ["en", "de"]
[repeat]
rounds = 4
round = 1
forever = 2.0
values = 2
[attributes.pills]
label = { en = "How often do you take pills?", de = "Wie oft nehmen Sie Tabletten?" }
values = ["never", "sometimes", "often"]
answers = { de = ["nie", "manchmal", "oft"] }
mechanism = "RandomizedResponse"
epsilon = 0.5
[collect]
access = "open"
"""
# Everything that the memo of a browser holds.
_MEMOS = """
async () => {
  const open = indexedDB.open("warner-memo", 1);
  const db = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
  if (!db.objectStoreNames.contains("memos")) { db.close(); return []; }
  const all = db.transaction("memos").objectStore("memos").getAll();
  const found = await new Promise((resolve) => { all.onsuccess = () => resolve(all.result); });
  db.close();
  return found.map(({ series, code, iv, sealed }) => (
    { series, code, iv: Array.from(iv), sealed: Array.from(sealed) }));
}
"""
_PUT = """
async (memos) => {
  const { hasRoom } = await import("./memo.js");
  const warner = await import("./warner.js");
  const survey = await warner.readSurvey(await (await fetch("study.json")).arrayBuffer());
  await hasRoom(warner, survey, survey.questions[0], "never");  // the memo exists afterwards
  const open = indexedDB.open("warner-memo", 1);
  const db = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
  const made = db.transaction("memos", "readwrite");
  for (const memo of memos) {
    made.objectStore("memos").put(
      { ...memo, iv: new Uint8Array(memo.iv), sealed: new Uint8Array(memo.sealed) });
  }
  await new Promise((resolve) => { made.oncomplete = resolve; });
  db.close();
}
"""
# The permanent report on an answer, and of how many of n rounds it is the report.
_DRAWN = """
async ([answer, n]) => {
  const warner = await import("./warner.js");
  const { permanentReports } = await import("./memo.js");
  const survey = await warner.readSurvey(await (await fetch("study.json")).arrayBuffer());
  const answers = { pills: answer };
  const memos = await permanentReports(warner, survey, answers);
  const reports = [];
  for (let i = 0; i < n; i += 1) {
    const sealed = await warner.seal(survey, { answers, memos });
    reports.push(sealed[sealed.length - 1]);
  }
  return [memos.pills[memos.pills.length - 1], reports];
}
"""


_DRAWN_ROUNDS = (
    '[ask]\neach = "one"\nepsilon = 0.5\n'
    + _ROUNDS.replace('title = { en = "Pills at work", de = "Tabletten bei der Arbeit" }\n', "")
    .replace('languages = ["en", "de"]\n', "")
    .split("[attributes.pills]")[0]
    + "".join(f'[attributes.s{n}]\nvalues = ["off", "on"]\n' for n in range(6))
    + '[collect]\naccess = "open"\n'
)


def _round(number: int) -> str:
    return _ROUNDS.replace("round = 1", f"round = {number}")


def _memos(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(_MEMOS)
    return found


def _ask_round(relay: Any, serve: Any, number: int) -> Any:
    served = serve(_round(number))
    relay.target = served.url
    return served


def test_a_changed_answer_has_a_permanent_report_of_its_own_and_a_third_is_refused(
    people: Any, relayed: Any, serve: Any
) -> None:
    """Rejects a page that draws a permanent report in every round, or on every answer."""
    relay, first = relayed(_round(1))
    person = people.person(viewport={"width": 360, "height": 740})
    page = opened(person, relay.url)
    assert page.locator("[data-when=memo-none]").first.is_hidden()
    choose(page, "q0", 0)
    review(page)
    said = page.inner_text("#review")
    law = first.study.mechanisms["pills"]
    assert isinstance(law, Permanent)
    assert "This is round 1 of 4" in said
    for guarantee in (law.guarantee, law.of_rounds(4), law.of_rounds(None), law.of_values()):
        assert f"{np.exp(guarantee.epsilon):.3g}"[:3] in said
    assert violations(page) == []
    send(page)
    kept = _memos(page)
    assert len(kept) == 1 and "never" not in str(kept)
    # Round 2, another answer; then round 4, since one may be left out.
    for number, answer in ((2, 1), (4, 2)):
        _ask_round(relay, serve, number)
        page = opened(person, relay.url)
        assert page.locator("[data-when=memo-none]").first.is_hidden()
        assert page.locator("[data-when=repeated]").first.is_hidden()
        choose(page, "q0", answer)
        if number == 2:
            review(page)
            send(page)
            assert len(_memos(page)) == 2
    posted = len(relay.posts)
    page.click("#continue")
    page.wait_for_selector("#errors:not([hidden])")
    assert "limited number of different answers" in page.inner_text("#errors")
    assert page.locator("#review").is_hidden() and violations(page) == []
    assert len(relay.posts) == posted == 2
    choose(page, "q0", 0)
    review(page)
    send(page)
    assert len(_memos(page)) == 2 and kept[0] in _memos(page)


def test_a_lost_memo_is_told_and_a_browser_that_keeps_nothing_is_not_asked(
    people: Any, relayed: Any
) -> None:
    relay, _ = relayed(_round(3))
    page = opened(people.person(), relay.url)
    assert page.locator("#questions [data-when=memo-none]").is_visible()
    other = people.person()
    other.add_init_script("Object.defineProperty(globalThis, 'indexedDB', { value: undefined });")
    page = other.new_page()
    page.goto(relay.url)
    shown(page, "no-memo")
    assert relay.posts == []


def test_a_copied_memo_opens_in_no_other_browser_and_an_altered_one_is_refused(
    people: Any, relayed: Any
) -> None:
    relay, _ = relayed(_round(1))
    page = opened(people.person(), relay.url)
    permanent = [page.evaluate(_DRAWN, [label, 0])[0] for label in ("never", "often")]
    assert permanent == [page.evaluate(_DRAWN, [label, 0])[0] for label in ("never", "often")]
    copied = _memos(page)
    # Under a copy, the same answers are others: no code of it can be made with other keys.
    copy = opened(people.person(), relay.url)
    copy.evaluate(_PUT, copied)
    choose(copy, "q0", 0)
    copy.click("#continue")
    copy.wait_for_selector("#errors:not([hidden])")
    assert "limited number of different answers" in copy.inner_text("#errors")
    altered = [{**memo, "sealed": [memo["sealed"][0] ^ 1, *memo["sealed"][1:]]} for memo in copied]
    page.evaluate(_PUT, altered)
    choose(page, "q0", 0)
    review(page)
    send(page, "refused")
    assert "memo_altered" in page.inner_text("#state-refused") and relay.posts == []


def test_one_question_is_drawn_for_all_rounds(people: Any, relayed: Any, serve: Any) -> None:
    """Rejects a page that draws another question in a later round, or after its note was deleted."""
    relay, _ = relayed(_DRAWN_ROUNDS)
    person = people.person()
    asked, blocks = set(), set()
    for number in (1, 2, 3):
        served = serve(_DRAWN_ROUNDS.replace("round = 1", f"round = {number}"))
        relay.target = served.url
        page = opened(person, relay.url)
        assert page.locator("[data-when=memo-none]").first.is_hidden()
        (field,) = page.locator("fieldset[id^=q]:visible").all()
        name, question = field.get_attribute("data-question"), field.get_attribute("id")
        asked.add(name)
        choose(page, str(question), 1)
        review(page)
        send(page)
        batch = SubmissionFormat(served.study).parse(relay.posts[-1].body)
        blocks.add(int(batch.reports["questions"].columns["block"][0]))
        assert len(_memos(page)) == 1 and violations(page) == []
        assert "other questions can then be chosen" not in page.inner_text("#state-sent")
        page.click("[data-action=forget]")
        page.wait_for_load_state()
    assert len(asked) == len(blocks) == 1 and len(relay.posts) == 3


def test_a_code_of_another_question_is_refused_in_a_later_round(
    people: Any, relayed: Any, serve: Any
) -> None:
    """Rejects a page that reports on a second question where a round has codes of its own."""
    text = _DRAWN_ROUNDS.replace('"open"', '"invited"')
    relay, first = relayed(text, 1)
    second = serve(text.replace("round = 1", "round = 2"), 20)
    person = people.person()

    def answered(code: str) -> Page:
        page = opened(person, f"{relay.url}#code={code}")
        page.wait_for_selector("fieldset[id^=q]:visible")
        (field,) = page.locator("fieldset[id^=q]:visible").all()
        choose(page, str(field.get_attribute("id")), 1)
        review(page)
        return page

    send(answered(first.codes[0]))
    asked = block_of_code(first.study, first.codes[0])
    other = next(code for code in second.codes if block_of_code(second.study, code) != asked)
    relay.target = second.url
    page = answered(other)
    send(page, "refused")
    assert "memo_other" in page.inner_text("#state-refused")
    assert len(_memos(page)) == 1 and second.people() == 0


def test_two_tabs_share_a_permanent_report_and_rounds_degrade_it_by_the_law(
    people: Any, relayed: Any
) -> None:
    """Rejects a page that sends the permanent report as it is, or draws each round anew."""
    relay, served = relayed(_round(1))
    person = people.person()
    tabs = [opened(person, relay.url) for _ in range(2)]
    for page in tabs:
        page.evaluate(f"globalThis.drawn = ({_DRAWN.strip()})(['often', 1500])")
    drawn = [page.evaluate("globalThis.drawn") for page in tabs]
    assert drawn[0][0] == drawn[1][0] and len(_memos(tabs[0])) == 1
    law = served.study.mechanisms["pills"]
    keep = int(law.parameters()["keep"], 16) / 2**64
    stays = keep + (1 - keep) / 3
    reports = np.array(drawn[0][1] + drawn[1][1])
    same = float((reports == drawn[0][0]).mean())
    assert abs(same - stays) < 5 * np.sqrt(stays * (1 - stays) / len(reports))
