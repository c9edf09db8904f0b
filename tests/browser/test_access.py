"""The page can be used by everybody: axe-core in every state, the keyboard alone, 320 px."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser._page import choose, kept, opened, review, send, shown, violations
from tests.browser._studies import INVITED, WHOLE

# All panels at once: their texts and controls stand in the page from the start.
ALL_PANELS = """
() => {
  document.querySelectorAll("[hidden]").forEach((part) => { part.hidden = false; });
}
"""


def _too_wide(page: Any, width: int) -> list[str]:
    """What is wider than the screen, so that people would have to scroll to the side."""
    found: list[str] = page.evaluate(
        """(width) => [...document.querySelectorAll("body *")]
          .filter((part) => part.getBoundingClientRect().right > width + 1)
          .map((part) => part.tagName + "." + part.className + " " + part.id)""",
        width,
    )
    return found


def _fill(page: Any) -> None:
    """Answer everything, by nonresponse where there is one."""
    page.check("#q0-1")
    page.fill("#q1-0", "7.5")
    page.check("#q2-silence")
    page.select_option("#q3-0", index=2)
    page.select_option("#q3-1", index=2)
    page.check("#q4-5")
    page.select_option("#q5-0", value="silence")
    page.check("#p0-0")
    page.fill("#p1-0", "2026-03-04")


@pytest.mark.parametrize(
    ("language", "width", "scheme"),
    [("en", 320, "light"), ("de", 1280, "light"), ("de", 320, "dark"), ("en", 1280, "dark")],
)
def test_no_state_of_the_page_has_a_violation(
    people: Any, relayed: Any, language: str, width: int, scheme: str
) -> None:
    relay, _ = relayed(WHOLE)
    context = people.person(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = opened(context, f"{relay.url}?lang={language}")
    assert page.get_attribute("html", "lang") == language
    found = {"questions": violations(page)}
    wide = {"questions": _too_wide(page, width)}
    page.click("#continue")
    page.wait_for_selector("#errors:not([hidden])")
    found["errors"], wide["errors"] = violations(page), _too_wide(page, width)
    _fill(page)
    review(page)
    found["review"], wide["review"] = violations(page), _too_wide(page, width)
    page.click("#review summary")
    found["sent exactly"], wide["sent exactly"] = violations(page), _too_wide(page, width)
    send(page)
    found["sent"], wide["sent"] = violations(page), _too_wide(page, width)
    page.evaluate(ALL_PANELS)
    found["all"], wide["all"] = violations(page), _too_wide(page, width)
    assert {state: rules for state, rules in found.items() if rules} == {}
    assert {state: parts for state, parts in wide.items() if parts} == {}


def test_back_on_a_phone_leads_to_the_questions_and_loses_no_answer(
    people: Any, relayed: Any
) -> None:
    """Rejects: a review that is no entry of the history, so that the key for going back leaves the
    survey, and a bar with Send that covers the odds and what sending means."""
    relay, served = relayed(WHOLE)
    page = opened(people.person(viewport={"width": 360, "height": 740}), relay.url)
    _fill(page)
    for _ in range(2):
        review(page)
        listed = page.locator("[data-review]").all_text_contents()
        end, send_button = page.evaluate(
            """[document.querySelector(".before").getBoundingClientRect().bottom,
                document.querySelector("#send").getBoundingClientRect().top]"""
        )
        assert end <= send_button < end + 200
        page.go_back()
        page.wait_for_selector("#questions:not([hidden])")
        assert page.is_checked("#q0-1") and page.input_value("#q1-0") == "7.5"
        page.go_forward()
        page.wait_for_selector("#review:not([hidden])")
        assert page.locator("[data-review]").all_text_contents() == listed
        page.click("#review [data-action=back]")
        page.wait_for_selector("#questions:not([hidden])")
    # Whoever leaves a form with answers is asked first, and stays.
    seen: list[str] = []

    def stay(dialog: Any) -> None:
        seen.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.evaluate("setTimeout(() => location.assign('card.json'), 10)")
    page.wait_for_timeout(300)
    assert seen == ["beforeunload"] and page.input_value("#q1-0") == "7.5"
    review(page)
    send(page)
    assert served.people() == 1


TEN = """
title = { en = "Ten questions", de = "Zehn Fragen" }
languages = ["en", "de"]
[collect]
access = "invited"
""" + "".join(
    f"""
[attributes.q{i}]
label = {{ en = "Question {i}?", de = "Frage {i}?" }}
values = ["no", "yes"]
answers = {{ de = ["nein", "ja"] }}
mechanism = "RandomizedResponse"
epsilon = 0.2
"""
    for i in range(10)
)


def test_back_forward_language_and_reload_lose_nothing_at_any_step(
    people: Any, relayed: Any
) -> None:
    """Rejects: a language or a reload that empties the form, answers in a storage of the browser, a
    code that stays in the address, and a worker that gives answers to another tab."""
    relay, served = relayed(TEN, 1)
    person = people.person(viewport={"width": 360, "height": 740})
    page = opened(person, f"{relay.url}#code={served.codes[0]}")
    page.on("dialog", lambda dialog: dialog.accept())
    assert "code" not in page.url and page.input_value("#code-0") == served.codes[0]
    kept(page)
    for i in range(10):
        choose(page, f"q{i}", i % 2)
        page.click(f".languages a[lang={['de', 'en'][i % 2]}]")
        page.wait_for_selector(f"html[lang={['de', 'en'][i % 2]}]", state="attached")
        if i % 3 == 2:
            page.reload()
            page.wait_for_selector("#continue:not([disabled])")
        assert all(page.is_checked(f"#q{j}-{j % 2}") for j in range(i + 1))
    review(page)
    listed = page.locator("[data-review]").all_text_contents()
    page.click(".languages a[lang=de]")
    page.locator('[data-review="q0"]', has_text="nein").wait_for()
    assert "Antworten" in page.inner_text("#review-title") and len(listed) == 10
    page.reload()
    page.wait_for_selector("#review:not([hidden])")
    assert page.locator("[data-review]").all_text_contents() == ["nein", "ja"] * 5
    page.go_back()
    page.wait_for_selector("#questions:not([hidden])")
    page.go_forward()
    page.wait_for_selector("#review:not([hidden])")
    assert violations(page) == [] and _too_wide(page, 360) == []
    # Nothing of it is in a storage, nor in another tab.
    kept_here = (
        "JSON.stringify([...Object.entries(sessionStorage), ...Object.entries(localStorage)])"
    )
    assert served.codes[0] not in page.evaluate(kept_here)
    assert "q0-0" not in page.evaluate(kept_here)
    other = opened(person, relay.url)
    assert not other.is_checked("#q0-0") and other.input_value("#code-0") == ""
    other.close()
    send(page)
    page.reload()
    shown(page, "sent")
    assert served.people() == 1


def test_an_invited_page_has_no_violation(people: Any, relayed: Any) -> None:
    relay, _ = relayed(INVITED, 1)
    page = opened(people.person(viewport={"width": 320, "height": 800}), relay.url)
    page.evaluate(ALL_PANELS)
    assert violations(page) == [] and _too_wide(page, 320) == []


def test_the_keyboard_alone_suffices(people: Any, relayed: Any) -> None:
    relay, served = relayed(WHOLE)
    page = opened(people.person(), relay.url)
    press = page.keyboard.press

    def go_to(place: str) -> None:
        for _ in range(60):
            if page.evaluate("document.activeElement.id") == place:
                return
            press("Tab")
        raise AssertionError(f"no way to {place} by the keyboard")

    # Send with nothing answered: the summary takes the focus, and its first link leads to a field.
    go_to("continue")
    press("Enter")
    page.wait_for_selector("#errors:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "errors"
    assert page.title().startswith("Error: ")
    assert page.locator("#errors a").count() == 8
    press("Tab")
    press("Enter")
    assert page.evaluate("document.activeElement.id") == "q0-0"
    press("Space")
    press("ArrowDown")
    go_to("q1-0")
    page.keyboard.type("7.5")
    go_to("q2-silence")
    press("Space")
    go_to("q3-0")
    press("ArrowDown")
    go_to("q3-1")
    press("ArrowDown")
    press("Tab")
    press("Space")
    go_to("q5-0")
    press("ArrowDown")
    press("Tab")
    press("Space")
    go_to("p1-0")
    page.keyboard.type("03042026")
    go_to("continue")
    press("Enter")
    page.wait_for_selector("#review:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "review"
    listed = page.locator("[data-review]").all_text_contents()
    assert listed[:3] == ["yes", "7.5 h", "I prefer not to answer"]
    go_to("send")
    press("Enter")
    shown(page, "sent")
    assert page.evaluate("document.activeElement.id") == "state-sent"
    assert served.people() == 1


def test_a_number_and_no_answer_exclude_each_other(people: Any, relayed: Any) -> None:
    relay, _ = relayed(WHOLE)
    page = opened(people.person(), relay.url)
    page.fill("#q2-0", "5")
    page.check("#q2-silence")
    assert page.input_value("#q2-0") == ""
    page.fill("#q2-0", "6")
    assert not page.is_checked("#q2-silence")
    page.fill("#q2-0", "61")
    page.fill("#q1-0", "16.5")
    page.click("#continue")
    for place in ("q1", "q2"):
        page.wait_for_selector(f"#{place}-error:not([hidden])")


def test_a_link_with_a_code_opens_an_empty_form(people: Any, relayed: Any) -> None:
    """Rejects answers of one person that the next one finds in the same tab."""
    relay, served = relayed(TEN, 2)
    page = opened(people.person(), f"{relay.url}#code={served.codes[0]}")
    page.on("dialog", lambda dialog: dialog.accept())
    kept(page)
    choose(page, "q0", 1)
    page.goto(f"{relay.url}?lang=de#code={served.codes[1]}")
    page.wait_for_selector("#continue:not([disabled])")
    assert page.input_value("#code-0") == served.codes[1]
    assert page.locator("input:checked").count() == 0


SCALE = """
title = { en = "A scale", de = "Eine Skala" }
languages = ["en", "de"]
consent = { en = "The results are published.", de = "Die Ergebnisse werden veröffentlicht." }
thanks = { en = "Thank you very much!", de = "Vielen Dank!" }
[collect]
access = "open"
link = "https://example.org/study"
[attributes.pain]
label = { en = "How much pain, from 0 to 10?", de = "Wie viel Schmerz, von 0 bis 10?" }
integers = [0, 10]
mechanism = "SubsetSelection"
missing = "answer"
epsilon = 1.0
"""


def test_consent_a_scale_in_a_row_and_thanks(people: Any, relayed: Any) -> None:
    """Rejects: a report without consent, a scale that does not fit a phone, and no thanks."""
    relay, served = relayed(SCALE)
    page = opened(people.person(viewport={"width": 320, "height": 740}), relay.url)
    choose(page, "q0", 10)
    boxes = [page.locator(f'label[for="q0-{i}"]').bounding_box() for i in range(11)]
    assert len({round(box["y"]) for box in boxes if box is not None}) == 1
    assert _too_wide(page, 320) == [] and violations(page) == []
    page.click("#continue")
    page.wait_for_selector("#consent-error:visible")
    assert "Tick the box" in page.inner_text("#errors") and violations(page) == []
    page.check("#consent-0")
    review(page)
    send(page)
    said = page.inner_text("#state-sent")
    assert "Thank you very much!" in said
    assert page.get_attribute("#state-sent a.button", "href") == "https://example.org/study"
    assert violations(page) == [] and _too_wide(page, 320) == []
    assert served.people() == 1
