"""What the page says where the collector takes no report, and where no script runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser._page import (
    answer,
    answered,
    choose,
    draws,
    opened,
    press,
    review,
    send,
    shown,
    shown_bytes,
    stored,
    waits,
)
from tests.browser._studies import CLOSED, INVITED, NOT_OPEN, OTHER, SMALL, WEAK


def test_a_closed_survey_and_one_that_is_not_open_ask_nothing(people: Any, relayed: Any) -> None:
    for text, state in ((CLOSED, "closed"), (NOT_OPEN, "not-open")):
        relay, _ = relayed(text)
        page = people.person().new_page()
        page.goto(relay.url)
        shown(page, state)
        assert page.locator("#questions").is_hidden()


def test_a_survey_that_changed_meanwhile_is_said_and_nothing_is_counted(
    people: Any, relayed: Any, serve: Any
) -> None:
    relay, served = relayed(SMALL)
    other = serve(OTHER)
    page = answered(people.person(), relay.url)
    relay.target = other.url
    send(page, "other-study")
    assert relay.replies == [409]
    page.reload()
    page.wait_for_selector("#left-over:not([hidden])")
    page.locator('[data-action="drop-left-over"]').click()
    page.wait_for_selector("#left-over[hidden]", state="attached")
    (note,) = stored(page)
    assert note["state"] == "deleted" and note["body"] is None
    assert served.people() == other.people() == 0


def test_a_collector_that_denies_its_own_study_gets_no_second_randomisation(
    people: Any, relayed: Any
) -> None:
    """Rejects: a device that asks again because a collector says it serves another survey."""
    relay, _ = relayed(SMALL)
    page = answered(people.person(service_workers="block"), relay.url)
    refusal = '{"error": "other_study", "message": "belong to another study"}'
    page.route("**/reports", lambda route: route.fulfill(status=409, body=refusal))
    send(page, "other-study")
    press(page, "other-study", "stop")
    shown(page, "deleted")
    page.reload()
    shown(page, "deleted")
    assert draws(page) == 0 and stored(page)[0]["state"] == "deleted"


def test_a_page_and_a_survey_that_do_not_belong_together_are_refused(
    people: Any, relayed: Any, serve: Any
) -> None:
    relay, _ = relayed(SMALL)
    other = serve(OTHER)
    page = people.person().new_page()
    page.route(
        "**/study.json",
        lambda route: route.fulfill(response=route.fetch(url=f"{other.url}study.json")),
    )
    page.goto(relay.url)
    shown(page, "refused")
    assert page.locator('[data-state="refused"] .reason').text_content() == "altered"
    assert page.locator("#continue").is_disabled()


@pytest.mark.parametrize("name", ["survey.js", "outbox.js", "warner.js"])
def test_a_script_that_was_replaced_on_its_way_does_not_run(
    people: Any, relayed: Any, name: str
) -> None:
    relay, _ = relayed(SMALL)
    page = people.person(service_workers="block").new_page()

    def replace(route: Any) -> None:
        reply = route.fetch()
        body = f"globalThis.replaced = true;\n{reply.text()}"
        route.fulfill(response=reply, body=body)

    page.route(f"**/{name}", replace)
    page.goto(relay.url)
    page.wait_for_timeout(1000)
    assert page.evaluate("globalThis.replaced") is None
    assert page.locator("#continue").is_disabled()
    people.problems.clear()  # the browser has said so, too


def test_a_promise_that_the_integers_do_not_keep_is_refused(people: Any, relayed: Any) -> None:
    """Rejects: a page that says more than the survey, whose odds the device has computed, does."""
    relay, _ = relayed(WEAK)
    page = people.person(service_workers="block").new_page()
    page.route(
        relay.url,
        lambda route: route.fulfill(
            response=(reply := route.fetch()),
            body=reply.text().replace('data-promises="none weak"', 'data-promises="strong"'),
        ),
    )
    page.goto(relay.url)
    shown(page, "refused")
    assert page.locator('[data-state="refused"] .reason').text_content() == "promise"
    assert page.locator("#continue").is_disabled()


def test_answers_that_are_hardly_hidden_are_said_to_be_so_before_they_are_given(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(WEAK)
    page = opened(people.person(), f"{relay.url}?lang=de")
    said = page.locator("#promise").inner_text()
    assert "WARNUNG: Ihre Antwort wird kaum verborgen." in said
    assert "Das betrifft: Was verdienen Sie?" in said and "Das betrifft: Wo wohnen Sie?" in said
    assert "Niemand" not in said
    choose(page, "q0", 1)
    page.fill("#q1-0", "470")
    page.select_option("#q2-0", index=1)
    page.select_option("#q2-1", index=1)
    review(page)
    send(page)
    assert served.people() == 1


def test_a_wrong_code_is_corrected_before_anything_is_randomised(people: Any, relayed: Any) -> None:
    relay, served = relayed(INVITED, 2)
    page = opened(people.person(), f"{relay.url}#code=2222-3333-4444-5555")
    assert page.input_value("#code-0") == "2222-3333-4444-5555"
    answer(page, 1)
    send(page, "not-invited")
    assert draws(page) == 0 and stored(page) == []
    press(page, "not-invited", "back")
    page.fill("#code-0", served.codes[0].lower())
    review(page)
    send(page)
    assert [sent.body for sent in relay.posts] == [shown_bytes(page)]
    assert served.people() == 1


def test_a_code_counts_once_and_is_not_in_any_address_that_is_sent(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(INVITED, 1)
    code = served.codes[0]
    for state in ("sent", "spent"):  # two devices, one code, the same answer
        page = answered(people.person(), f"{relay.url}#code={code}")
        send(page, state)
    assert len(relay.posts) == 1, "two reports with one id: twice the epsilon"
    assert draws(page) == 0 and stored(page) == []
    assert page.locator("input:checked").count() == 0
    plain = code.replace("-", "")
    for sent in relay.requests:
        seen = f"{sent.path} {sent.headers}"
        assert code not in seen and plain not in seen and plain.encode() not in sent.body
    assert served.people() == 1


def test_a_second_code_in_one_browser_is_warned_of_before_a_second_randomisation(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(INVITED, 2)
    person = people.person()
    page = answered(person, f"{relay.url}#code={served.codes[0]}")
    assert page.locator("[data-when=already]:visible").count() == 0
    send(page)
    page.close()
    again = opened(person, f"{relay.url}#code={served.codes[1]}")
    assert again.locator("#questions [data-when=already]").is_visible()
    answer(again, 1)
    assert again.locator("#review [data-when=already]").is_visible()
    assert len(stored(again)) == 1  # nothing is made yet
    # Somebody else who uses the device may go on.
    send(again)
    assert again.locator("[data-when=already]:visible").count() == 0
    # Another device knows of nothing.
    other = opened(people.person(), f"{relay.url}#code={served.codes[1]}")
    assert other.locator("[data-when=already]:visible").count() == 0
    assert served.people() == 2


def test_without_a_code_nothing_is_sealed(people: Any, relayed: Any) -> None:
    relay, _ = relayed(INVITED, 1)
    page = opened(people.person(), relay.url)
    choose(page, "q0", 1)
    page.click("#continue")
    page.wait_for_selector("#errors:not([hidden])")
    assert page.locator("#errors a").count() == 1
    page.locator("#errors a").click()
    assert page.evaluate("document.activeElement.id") == "code-0"
    assert stored(page) == [] and relay.posts == []


def test_a_busy_collector_is_asked_again(people: Any, relayed: Any) -> None:
    relay, served = relayed(SMALL)
    page = answered(people.person(service_workers="block"), relay.url)
    left = [503, 429]

    def reply(route: Any) -> None:
        if not left:
            route.continue_()
            return
        status = left.pop()
        route.fulfill(status=status, content_type="application/json", body='{"error": "too_many"}')

    page.route("**/reports", reply)
    send(page, "pending")
    waits(page, "pending", "busy")
    shown(page, "sent")
    assert left == [] and served.people() == 1


def test_what_a_portal_of_a_network_says_is_no_reply(people: Any, relayed: Any) -> None:
    relay, _ = relayed(SMALL)
    page = answered(people.person(service_workers="block"), relay.url)
    page.route(
        "**/reports",
        lambda route: route.fulfill(status=202, content_type="text/html", body="<p>Log in</p>"),
    )
    send(page, "pending")
    waits(page, "pending", "busy")
    assert stored(page)[0]["state"] == "pending"


def test_only_the_collector_says_that_a_code_is_unused(people: Any, relayed: Any) -> None:
    """Rejects: a report that is made because a portal, or a busy collector, has answered."""
    relay, served = relayed(INVITED, 1)
    page = answered(people.person(service_workers="block"), f"{relay.url}#code={served.codes[0]}")
    left = [(503, '{"error": "unavailable"}'), (200, "<p>Log in</p>"), (202, '{"accepted": 1}')]

    def reply(route: Any) -> None:
        if not left:
            route.continue_()
            return
        status, body = left.pop()
        route.fulfill(status=status, content_type="application/json", body=body)

    page.route("**/spent", reply)
    send(page, "waiting")
    waits(page, "waiting", "busy")
    assert draws(page) == 0 and page.is_checked("#q0-1")
    for _ in range(2):
        press(page, "waiting", "send")
    shown(page, "sent")
    assert left == [] and len(relay.posts) == 1 and served.people() == 1


@pytest.mark.parametrize(("name", "state"), [("closed", "closed"), ("other_study", "refused")])
def test_a_survey_that_closed_meanwhile_gets_no_report_of_an_invited_person(
    people: Any, relayed: Any, name: str, state: str
) -> None:
    relay, served = relayed(INVITED, 1)
    page = answered(people.person(service_workers="block"), f"{relay.url}#code={served.codes[0]}")
    refusal = json.dumps({"error": name, "message": ""})
    page.route("**/spent", lambda route: route.fulfill(status=410, body=refusal))
    send(page, state)
    assert page.locator("input:checked").count() == 0
    assert draws(page) == 0 and relay.posts == [] and stored(page) == []


def test_a_page_without_a_script_submits_nothing(people: Any, relayed: Any) -> None:
    relay, served = relayed(SMALL)
    page = people.person(java_script_enabled=False).new_page()
    page.goto(relay.url)
    assert page.locator("noscript").is_visible()
    page.check('input[name="q0"][value="1"]')
    page.keyboard.press("Enter")
    assert page.locator("#continue").is_disabled()
    page.wait_for_timeout(300)
    assert {sent.method for sent in relay.requests} == {"GET"}
    assert {sent.path for sent in relay.requests} <= {"/", "/survey.css", "/survey.js"}
    assert page.url == relay.url
    assert served.people() == 0


def test_a_script_that_does_not_load_leaves_a_form_that_submits_nothing(
    people: Any, relayed: Any
) -> None:
    relay, _ = relayed(SMALL)
    page = people.person().new_page()
    page.route("**/survey.js", lambda route: route.abort())
    page.goto(relay.url)
    page.check('input[name="q0"][value="1"]')
    # Even a button that works, and a method that would carry the answer in the address.
    page.evaluate("""() => {
      document.getElementById("continue").disabled = false;
      document.getElementById("questions").method = "get";
      document.getElementById("continue").click();
    }""")
    page.wait_for_timeout(300)
    assert page.url == relay.url
    assert all("q0" not in sent.path and not sent.body for sent in relay.requests)
    violated = page.evaluate("globalThis.violations.splice(0)")
    assert [v.split()[0] for v in violated] == ["form-action"]
    people.problems.clear()  # the browser has said so, too
