"""Each person is asked one block of the questions: it is drawn once, whatever happens."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from itertools import accumulate
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser._page import (
    choose,
    draws,
    kept,
    opened,
    review,
    send,
    shown,
    shown_bytes,
    violations,
    waits,
)
from tests.browser._studies import DRAWN_INVITED, DRAWN_OPEN, DRAWN_PAIRS
from warner.collector.submissions import SubmissionFormat
from warner.reports.block_schema import BLOCK
from warner.studies.study import Study

ONE = "You are asked one of ten questions, chosen by chance."
SILENCE = "silence"


def asked(page: Page) -> list[str]:
    """The questions that the page shows."""
    found = page.locator("fieldset[id^=q]:visible").all()
    return [str(field.get_attribute("id")) for field in found]


def answer_asked(page: Page, index: int | str = 1) -> list[str]:
    """Answer the questions that are shown, and go on to the list."""
    names = asked(page)
    for name in names:
        choose(page, name, index)
    review(page)
    return names


def drawn_in(served: Any, body: bytes) -> list[tuple[str, ...]]:
    """The blocks that the submissions of a body are about."""
    batch = SubmissionFormat(served.study).parse(body)
    return [served.study.draw.blocks[block] for block in batch.columns("questions")[BLOCK]]


def names_of(study: Study, ids: list[str]) -> tuple[str, ...]:
    """The attributes that fieldsets ask."""
    names = list(study.draw.domain.attributes)  # type: ignore[union-attr]
    return tuple(names[int(one[1:])] for one in ids)


@pytest.mark.parametrize(("text", "size"), [(DRAWN_OPEN, 1), (DRAWN_PAIRS, 2)])
def test_reload_back_language_and_a_refusal_draw_nothing_again(
    people: Any, relayed: Any, text: str, size: int
) -> None:
    """Rejects: a draw that a person can repeat, which would make it depend on the answer."""
    relay, served = relayed(text)
    context = people.person()
    page = opened(context, relay.url)
    first = asked(page)
    assert len(first) == size
    said = page.locator(".chosen p:visible").text_content() or ""
    assert said.startswith(ONE if size == 1 else "You are asked two of ten questions")
    for step in (
        lambda: page.reload(),
        lambda: page.click(".languages a[lang=de]"),
        lambda: page.goto("about:blank"),
        lambda: page.go_back(),
        lambda: page.click("#clear"),
        lambda: page.click("#continue"),  # left open
    ):
        step()
        if page.url != "about:blank":
            page.wait_for_selector("#continue:not([disabled])")
            page.wait_for_selector("fieldset[id^=q]:visible")
            assert asked(page) == first
    page.wait_for_selector("#errors:not([hidden])")
    assert asked(opened(context, relay.url)) == first  # in another tab
    answer_asked(page)
    page.locator("#review [data-action=clear]").click()
    page.wait_for_selector("#cleared:not([hidden])")
    assert asked(page) == first
    answer_asked(page)
    send(page)
    (sent,) = relay.posts
    assert sent.body == shown_bytes(page)
    labels = [page.locator(f"#{name} .label").text_content() or "" for name in first]
    assert page.locator("#state-sent [data-fill=asked]").text_content() == "; ".join(labels)
    assert drawn_in(served, sent.body) == [names_of(served.study, first)]
    page.reload()
    shown(page, "sent")
    assert served.people() == 1


def test_a_lost_reply_leads_to_the_same_bytes_about_the_same_question(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(DRAWN_OPEN)
    page = opened(people.person(), relay.url)
    kept(page)
    first = answer_asked(page)
    relay.lost_replies = 1000  # until the page has said so, however soon the worker tries again
    send(page, "pending")
    waits(page, "pending", "unavailable")
    relay.lost_replies = 0
    page.reload()
    page.wait_for_selector("[data-state=pending]:not([hidden]), [data-state=sent]:not([hidden])")
    # Pressed at once where it is shown: the page tries by itself, too, and then shows "sent".
    page.evaluate(
        "document.querySelector('[data-state=pending]:not([hidden]) [data-action=try]')?.click()"
    )
    shown(page, "sent")
    assert draws(page) == 0
    assert len(relay.posts) >= 2 and len({sent.body for sent in relay.posts}) == 1
    assert drawn_in(served, relay.posts[0].body) == [names_of(served.study, first)]
    label = page.locator(f"#{first[0]} .label").text_content()
    # Where the service worker was faster, the page has no bytes to show.
    if page.locator("#state-sent [data-when=bytes]").is_visible():
        assert page.locator("#state-sent [data-fill=asked]").text_content() == label
    assert served.people() == 1


def test_one_invitation_asks_the_same_on_two_devices_and_counts_once(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(DRAWN_INVITED, 3)
    for code in served.codes:
        plain = code.replace("-", "")
        text = f"warner block\n{served.study.digest}\n{plain}"
        word = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        block = bisect_right(list(accumulate(served.study.draw.odds)), word)
        address = f"{relay.url}#code={code}"
        phone, laptop = opened(people.person(), address), opened(people.person(), address)
        assert asked(phone) == asked(laptop) == [f"q{block}"]
        answer_asked(phone, 0)
        answer_asked(laptop, 2)
        send(phone)
        send(laptop, "spent")
        laptop.reload()
        laptop.wait_for_selector("#continue:not([disabled])")
        assert asked(laptop) == [] and "code" not in laptop.url
        laptop.fill("#code-0", code)
        laptop.wait_for_selector("fieldset[id^=q]:visible")
        assert asked(laptop) == [f"q{block}"]
    assert len(relay.posts) == 3
    assert served.people() == 3


def test_the_questions_appear_when_the_code_is_entered(people: Any, relayed: Any) -> None:
    """Rejects: a page that shows questions before it is known which ones, and answers to those of
    another code that stay in the form.
    """
    relay, served = relayed(DRAWN_INVITED, 20)
    page = opened(people.person(), relay.url)
    assert asked(page) == [] and page.locator("#chosen-code").is_visible()
    page.click("#continue")
    page.wait_for_selector("#code-error", state="visible")
    assert page.locator("#review").is_hidden()
    blocks = {}
    for code in served.codes:
        page.fill("#code-0", code)
        page.wait_for_selector("fieldset[id^=q]:visible")
        blocks.setdefault(tuple(asked(page)), code)
    (first, one), (second, other) = list(blocks.items())[:2]
    page.fill("#code-0", one)
    page.wait_for_selector(f"#{first[0]}:visible")
    choose(page, first[0], 1)
    page.fill("#code-0", one[:-1])
    assert asked(page) == []
    page.fill("#code-0", other)
    page.wait_for_selector(f"#{second[0]}:visible")
    page.fill("#code-0", one)
    page.wait_for_selector(f"#{first[0]}:visible")
    assert page.locator("input:checked").count() == 0
    answer_asked(page)
    send(page)
    assert drawn_in(served, relay.posts[0].body) == [names_of(served.study, list(first))]
    assert served.people() == 1


def test_no_answer_to_a_drawn_question_is_the_silence_of_its_block(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(DRAWN_OPEN)
    page = opened(people.person(), relay.url)
    first = asked(page)
    page.click("#continue")
    page.wait_for_selector(f"#{first[0]}-error", state="visible")
    assert asked(page) == first
    page.reload()
    page.wait_for_selector("fieldset[id^=q]:visible")
    assert answer_asked(page, SILENCE) == first
    assert page.locator(f'[data-review="{first[0]}"]').text_content() == "I prefer not to answer"
    assert page.locator("#review dl.answers > div:visible").count() == 1
    send(page)
    assert drawn_in(served, relay.posts[0].body) == [names_of(served.study, first)]
    assert served.people() == 1


def test_a_browser_that_keeps_nothing_says_that_it_can_draw_again(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(DRAWN_OPEN)
    context = people.person()
    context.add_init_script(
        "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };"
    )
    page = opened(context, relay.url)
    first = asked(page)
    notice = page.locator("#questions [data-when=keeps-nothing]")
    assert "other questions can be chosen" in (notice.text_content() or "") and notice.is_visible()
    page.click("#clear")
    assert asked(page) == first  # as long as the page is open
    answer_asked(page)
    send(page)
    assert drawn_in(served, relay.posts[0].body) == [names_of(served.study, first)]
    assert served.people() == 1


def test_questions_are_drawn_by_the_odds_of_the_study(people: Any, relayed: Any) -> None:
    """Rejects a page that asks everybody the same; ten people alike have odds of 1e-9."""
    relay, _ = relayed(DRAWN_OPEN)
    found = {asked(opened(people.person(), relay.url))[0] for _ in range(10)}
    assert len(found) > 1


def test_a_drawn_question_has_no_violation(people: Any, relayed: Any) -> None:
    relay, _ = relayed(DRAWN_PAIRS)
    page = opened(people.person(viewport={"width": 360, "height": 740}), relay.url)
    assert violations(page) == []
    answer_asked(page)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    send(page)
    assert violations(page) == []
