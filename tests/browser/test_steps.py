"""A long survey page by page: nothing is lost, and only what stands on a page is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser._page import AXE, VIOLATIONS, choose, kept, opened, send

QUESTION = """
[attributes.q{0}]
label = {{ en = "Question {0}?", de = "Frage {0}?" }}
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
STUDY = """
title = {{ en = "Ten", de = "Zehn" }}
languages = ["en", "de"]
consent = {{ en = "I agree.", de = "Ich bin einverstanden." }}
{questions}
[public.ward]
values = ["a", "b"]
[collect]
access = "open"
per_page = 4
""".format(questions="".join(map(QUESTION.format, range(1, 11))))
SMALL = {"viewport": {"width": 360, "height": 740}}


def _shown(page: Any) -> list[str]:
    fields = page.locator("#questions fieldset")
    return [one.get_attribute("id") for one in fields.all() if one.is_visible()]


def test_pages_hold_some_questions_each_and_lose_nothing(people: Any, serve: Any) -> None:
    """Rejects: errors of pages that nobody has seen, a Back key that leaves the survey, lost answers."""
    served = serve(STUDY)
    page = opened(people.person(**SMALL), served.url)
    assert _shown(page) == ["consent", "q0", "q1", "q2", "q3"]
    assert page.inner_text("#steps") == "Page 1 of 3" and not page.is_visible("#previous")
    page.click("#continue")
    assert page.locator("#errors li").count() == 5  # what stands on this page alone
    page.check("#consent-0")
    for k in range(4):
        choose(page, f"q{k}", 1)
    page.click("#continue")
    page.locator("#steps", has_text="Page 2 of 3").wait_for()
    assert _shown(page) == ["q4", "q5", "q6", "q7"] and not page.is_visible("#errors")
    for k in range(4, 8):
        choose(page, f"q{k}", 0)
    page.click('.languages a[lang="de"]')
    page.locator("#steps", has_text="Seite 2 von 3").wait_for()
    page.go_back()
    page.locator("#steps", has_text="Seite 1 von 3").wait_for()
    assert page.is_checked('input[name="q3"][value="1"]')
    page.go_forward()
    page.locator("#steps", has_text="Seite 2 von 3").wait_for()
    page.click("#continue")
    page.locator("#steps", has_text="Seite 3 von 3").wait_for()
    assert _shown(page) == ["q8", "q9", "p0"]
    for name in ("q8", "q9", "p0"):
        choose(page, name, 1)
    page.click("#continue")
    page.wait_for_selector("#review:not([hidden])")
    page.go_back()
    page.locator("#steps", has_text="Seite 3 von 3").wait_for()
    page.click("#previous")
    page.locator("#steps", has_text="Seite 2 von 3").wait_for()
    page.reload()
    page.wait_for_selector("#continue:not([disabled])")
    assert _shown(page) == ["q4", "q5", "q6", "q7"]  # what was answered is there again
    for _ in range(2):
        page.click("#continue")
    page.wait_for_selector("#review:not([hidden])")
    assert page.locator(".answers dd").all_inner_texts().count("yes") == 6
    send(page)
    assert served.people() == 1


@pytest.mark.parametrize("number", [1, 2])
def test_each_page_is_accessible(number: int, people: Any, serve: Any) -> None:
    page = opened(people.person(bypass_csp=True, **SMALL), serve(STUDY).url)
    page.check("#consent-0")
    for k in range(4):
        choose(page, f"q{k}", 1)
    if number == 2:
        page.click("#continue")
        page.locator("#steps", has_text="Page 2 of 3").wait_for()
    page.add_script_tag(path=str(AXE))
    assert page.evaluate(VIOLATIONS) == []


CONDITION = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 3.0
[attributes.packs]
integers = [0, 9]
missing = "answer"
only_if = {smokes = ["yes"]}
mechanism = "RandomizedResponse"
epsilon = 3.0
[attributes.last]
values = ["a", "b"]
mechanism = "RandomizedResponse"
epsilon = 3.0
[collect]
access = "open"
per_page = 2
"""


def test_whom_a_question_does_not_apply_sends_as_much_as_everybody(
    people: Any, relayed: Any
) -> None:
    """Rejects: a report that is missing, and an answer that was given before it stopped to apply."""
    relay, served = relayed(CONDITION)
    for smokes, shown in ((0, ["q0", "q2"]), (1, ["q0", "q1"])):
        page = opened(people.person(**SMALL), relay.url)
        assert _shown(page) == ["q0", "q2"]
        choose(page, "q0", 1)
        choose(page, "q1", 4)
        choose(page, "q0", smokes)
        assert _shown(page) == shown
        if smokes:
            assert (
                "it is hidden whether you were asked, just as an answer is hidden"
                in page.inner_text("#q1")
            )
            page.click("#continue")
            page.wait_for_selector("#q2:visible")
        choose(page, "q2", 0)
        page.click("#continue")
        page.wait_for_selector("#review:not([hidden])")
        listed = page.locator(".answers dd").all_inner_texts()
        assert listed == [["no", "does not apply", "a"], ["yes", "4", "a"]][smokes]
        send(page)
    assert len({len(sent.body) for sent in relay.posts}) == 1
    assert served.people() == 2


def test_the_page_opens_in_the_language_of_the_browser_and_a_click_wins(
    people: Any, serve: Any
) -> None:
    """Rejects: a reload, or the page without a connection, in another language than was chosen."""
    page = opened(people.person(locale="de-AT", **SMALL), serve(STUDY).url)
    assert page.get_attribute("html", "lang") == "de"
    page.click('.languages a[lang="en"]')
    page.wait_for_selector("html[lang=en]", state="attached")
    kept(page)
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector("#continue:not([disabled])")
    assert page.get_attribute("html", "lang") == "en"
    page.context.set_offline(False)
