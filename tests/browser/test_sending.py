"""From an answer to one counted report, whatever happens in between."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Request

from tests.browser._page import (
    answer,
    answered,
    choose,
    draws,
    held_requests,
    kept,
    opened,
    press,
    review,
    send,
    shown,
    shown_bytes,
    stored,
    violations,
    waits,
)
from tests.browser._studies import INVITED, OTHER, SMALL

_AGE = """
[attributes.age]
label = { en = "How old are you?", de = "Wie alt sind Sie?" }
integers = [0, 120]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


def test_an_answer_is_counted_once_and_the_page_shows_what_it_sent(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(SMALL)
    page = answered(people.person(), relay.url)
    assert stored(page) == [] and relay.posts == []
    send(page)
    assert [sent.body for sent in relay.posts] == [shown_bytes(page)]
    assert [sealed["state"] for sealed in stored(page)] == ["sent"]
    assert stored(page)[0]["body"] is None
    page.reload()
    shown(page, "sent")
    assert page.locator('[data-when="no-bytes"]').is_visible()
    assert len(relay.posts) == 1 and relay.replies == [202]
    assert served.people() == 1


def test_a_question_may_have_any_name(people: Any, relayed: Any) -> None:
    """Rejects the page whose answers are an object with a prototype: it could not be sent."""
    relay, served = relayed(SMALL.replace("[attributes.pills]", "[attributes.__proto__]"))
    page = answered(people.person(), relay.url)
    send(page)
    assert served.people() == 1


def test_without_a_connection_it_is_saved_and_sent_once_when_there_is_one(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(SMALL)
    context = people.person()
    page = answered(context, relay.url)
    relay.down = True
    context.set_offline(True)
    send(page, "pending")
    assert page.locator('[data-reason="offline"]').first.is_visible()
    (sealed,) = stored(page)
    assert sealed["state"] == "pending" and not sealed["tried"]
    drawn = draws(page)
    relay.down = False
    context.set_offline(False)
    shown(page, "sent")
    assert draws(page) == drawn, "a second randomisation"
    assert [sent.body.hex() for sent in relay.posts] == [sealed["body"]]
    assert served.people() == 1


def test_a_page_that_is_reloaded_in_the_middle_sends_the_same_bytes(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(SMALL)
    page = answered(people.person(), relay.url)
    kept(page)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    relay.down = True
    send(page, "pending")
    waits(page, "pending", "unavailable")
    (sealed,) = stored(page)
    page.reload()  # from the cache of the service worker
    shown(page, "pending")
    assert stored(page)[0]["body"] == sealed["body"]
    assert draws(page) == 0
    relay.down = False
    press(page, "pending", "try")
    shown(page, "sent")
    assert {sent.body.hex() for sent in relay.posts} == {sealed["body"]}
    assert served.people() == 1


def test_a_page_of_which_half_arrives_is_taken_as_it_was_kept(people: Any, relayed: Any) -> None:
    """Rejects a worker that passes on a reply as soon as its head is there."""
    relay, _ = relayed(SMALL)
    page = answered(people.person(), relay.url)
    kept(page)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    relay.stalls = "/"
    page.reload()
    page.wait_for_selector("#review:not([hidden])")
    relay.stalls = ""


@pytest.mark.parametrize(("text", "codes"), [(SMALL, 0), (INVITED, 1)])
def test_two_tabs_of_a_browser_send_one_report(
    people: Any, relayed: Any, text: str, codes: int
) -> None:
    relay, served = relayed(text, codes)
    context = people.person()
    address = "".join([relay.url, *(f"#code={code}" for code in served.codes)])
    first, second = answered(context, address, 0), answered(context, address, 2)
    press = "() => { document.getElementById('send').click(); }"
    first.evaluate(press)
    second.evaluate(press)
    shown(first, "sent")
    shown(second, "sent")
    assert draws(first) * draws(second) == 0, "both tabs have randomised"
    assert len({sent.body for sent in relay.posts}) == 1
    assert len(stored(first)) == 1
    third = context.new_page()
    third.goto(address)
    shown(third, "sent")
    assert served.people() == 1


def test_without_a_connection_an_invited_person_waits_and_nothing_is_made(
    people: Any, relayed: Any
) -> None:
    """Rejects: a report that is made before anybody could say whether the code was used."""
    relay, served = relayed(INVITED, 1)
    context, address = people.person(), f"{relay.url}#code={served.codes[0]}"
    page = opened(context, address)
    kept(page)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    relay.down = True
    page.reload()  # from the cache of the service worker
    page.wait_for_selector("#continue:not([disabled])")
    answer(page, 1)
    send(page, "waiting")
    assert page.locator('[data-state="waiting"] [data-reason="unavailable"]').is_visible()
    press(page, "waiting", "back")
    context.set_offline(True)
    answer(page, 2)
    send(page, "waiting")
    assert page.locator('[data-state="waiting"] [data-reason="offline"]').is_visible()
    assert draws(page) == 0 and stored(page) == [] and relay.posts == []
    relay.down = False
    context.set_offline(False)
    shown(page, "sent")
    assert [sent.body for sent in relay.posts] == [shown_bytes(page)]
    assert served.people() == 1


def test_an_answer_to_a_question_that_was_taken_back_makes_no_report(
    people: Any, relayed: Any
) -> None:
    """Rejects: a report of answers that the person is just changing."""
    relay, served = relayed(INVITED, 1)
    context = people.person(service_workers="block")
    page = answered(context, f"{relay.url}#code={served.codes[0]}")
    next_request = held_requests(page, "**/spent")
    relay.down = True
    page.click("#send")
    next_request().abort()
    shown(page, "waiting")
    press(page, "waiting", "send")
    second = next_request()
    press(page, "waiting", "clear")
    page.wait_for_selector("#cleared:not([hidden])")
    with page.expect_request_finished():
        second.fulfill(status=200, body='{"spent":0}')
    page.wait_for_timeout(300)
    assert page.locator("#questions").is_visible() and draws(page) == 0
    assert stored(page) == [] and relay.posts == []


@pytest.mark.parametrize("action", ["back", "clear"])
def test_answers_that_a_person_changes_while_they_wait_are_sent_by_send_alone(
    people: Any, relayed: Any, action: str
) -> None:
    """Rejects a page that sends the answers that a person is just reading once more."""
    relay, served = relayed(INVITED, 1)
    context = people.person(service_workers="block")
    page = answered(context, f"{relay.url}#code={served.codes[0]}")
    relay.down = True
    send(page, "waiting")
    press(page, "waiting", action)
    relay.down = False
    answer(page, 2)
    page.wait_for_timeout(4_000)  # longer than the first wait between two tries
    assert page.locator("#review").is_visible()
    assert draws(page) == 0 and relay.posts == []
    send(page)
    assert served.people() == 1


def test_people_can_answer_where_nobody_says_whether_the_survey_is_open(
    people: Any, relayed: Any
) -> None:
    """Rejects a page that waits for a word that does not come."""
    relay, _ = relayed(SMALL)
    page = people.person(service_workers="block").new_page()
    asked = held_requests(page, "**/healthz")
    page.goto(relay.url)
    asked()  # is never answered
    page.wait_for_selector("#continue:not([disabled])")


def test_a_tab_that_waits_drops_its_answers_when_another_has_sent(
    people: Any, relayed: Any
) -> None:
    relay, _ = relayed(SMALL)
    context = people.person()
    first, second = answered(context, relay.url), opened(context, relay.url)
    choose(second, "q0", 2)
    send(first)
    shown(second, "sent")
    assert second.locator("input:checked").count() == 0
    assert len(relay.posts) == 1


def test_a_lost_reply_leads_to_the_same_bytes_and_one_count(people: Any, relayed: Any) -> None:
    relay, served = relayed(SMALL)
    page = answered(people.person(), relay.url)
    relay.lost_replies = 1000  # until the page has said so, however soon the worker tries again
    send(page, "pending")
    drawn = draws(page)
    page.wait_for_selector('[data-when="tried"]:not([hidden])')
    relay.lost_replies = 0
    shown(page, "sent")  # by itself, after a few seconds
    assert draws(page) == drawn
    assert len(relay.posts) >= 2 and len({sent.body for sent in relay.posts}) == 1
    assert relay.replies == [202]
    assert served.people() == 1


def test_full_storage_is_said_and_the_report_can_be_sent_from_memory(
    people: Any, relayed: Any
) -> None:
    relay, served = relayed(SMALL)
    context = people.person()
    # The browser's own error of a full disk, at the moment of saving.
    context.add_init_script(
        "IDBObjectStore.prototype.add = () => { throw new DOMException('full', 'QuotaExceededError'); };"
    )
    page = answered(context, relay.url)
    send(page, "memory")
    assert relay.posts == [] and stored(page) == []
    assert page.locator("input:checked").count() == 0
    drawn = draws(page)
    relay.lost_replies = 1
    press(page, "memory", "try")
    shown(page, "sent")
    assert draws(page) == drawn
    assert len({sent.body for sent in relay.posts}) == 1 and len(relay.posts) == 2
    assert served.people() == 1


def test_a_report_in_memory_that_is_deleted_on_its_way_is_not_sent_or_asked_again(
    people: Any, relayed: Any
) -> None:
    """Rejects: a second randomisation while the first is on its way, and a deleted report sent."""
    relay, _ = relayed(SMALL)
    context = people.person(service_workers="block")
    context.add_init_script(
        "IDBObjectStore.prototype.add = () => { throw new DOMException('full', 'QuotaExceededError'); };"
    )
    page = answered(context, relay.url)
    next_request = held_requests(page, "**/reports")
    send(page, "memory")
    press(page, "memory", "try")
    first = next_request()
    press(page, "memory", "stop")
    shown(page, "deleted")
    with page.expect_request_finished():
        first.fulfill(status=503, body="{}")
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    page.wait_for_timeout(3_500)  # longer than the first wait between two tries
    assert page.locator("#state-deleted").is_visible()
    assert asked == [] and relay.posts == []


@pytest.mark.parametrize(
    "broken",
    [
        "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };",
        "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };",
    ],
)
def test_a_browser_that_saves_nothing_sends_one_body_and_says_so_before_it_asks(
    people: Any, relayed: Any, broken: str
) -> None:
    """Rejects: another report after each lost reply, and a page that asks again without a word."""
    relay, served = relayed(SMALL)
    context = people.person()
    context.add_init_script(broken)
    page = opened(context, relay.url)
    notice = "#questions [data-when=keeps-nothing]"
    assert page.locator(notice).is_visible()
    answer(page, 1)
    relay.lost_replies = 3
    send(page, "memory")
    drawn = draws(page)
    for _ in range(3):
        page.evaluate("dispatchEvent(new Event('online'))")  # instead of a wait that doubles
        page.wait_for_timeout(300)
    shown(page, "sent")
    assert len(relay.posts) == 4 and {sent.body for sent in relay.posts} == {shown_bytes(page)}
    assert draws(page) == drawn
    page.reload()
    page.wait_for_selector(notice)
    assert served.people() == 1


def test_a_question_of_an_earlier_survey_is_named_with_what_all_its_reports_spend(
    people: Any, relayed: Any, serve: Any
) -> None:
    """Rejects: a page whose ledger begins anew with each version of a study."""
    relay, served = relayed(SMALL)
    context = people.person(service_workers="block")
    send(answered(context, relay.url))
    pills, age = "How often do you take pills?", "How old are you?"
    for epsilon, repeated, in_all in (
        (0.5, pills, "1.5"),
        (0.255, f"{pills}; {age}", "3.76"),  # 1.755 and 2, rounded up
    ):
        text = SMALL.replace("epsilon = 1.0", f"epsilon = {epsilon}")
        relay.target = serve(text.replace("[collect]", f"{_AGE}[collect]")).url
        page = opened(context, relay.url)
        for place in ("#questions", "#review"):
            said = page.locator(f"{place} [data-when=repeated].notice")
            assert said.is_visible()
            assert (
                f"for all your reports on these questions together, ε is then at most {in_all}."
                in said.inner_text()
            )
            assert f": “{repeated}”. If that was you" in said.inner_text()
            if place == "#questions":
                choose(page, "q0", 1)
                page.fill("#q1-0", "40")
                review(page)
        assert page.inner_text("#send") == "Send anyway"
        assert violations(page) == []
        send(page)
        page.close()
    # A tag that browsers do not know, and a label with signs that a replacement could take.
    odd = SMALL.replace("de", "de-ab12").replace("Wie oft", "$& {epsilon}").replace("1.0", "2.0")
    relay.target = serve(odd).url
    page = opened(context, f"{relay.url}?lang=de-ab12")
    said = page.locator("#questions [data-when=repeated].notice").inner_text()
    assert "„$& {epsilon} nehmen Sie Tabletten?“" in said and "ε von höchstens 3,76" in said
    other = _AGE.replace("120", "99") + '[collect]\naccess = "open"\n'
    relay.target = serve('languages = ["en", "de"]' + other).url
    page = opened(context, relay.url)  # another question of the same name
    assert page.locator("[data-when=repeated]:visible").count() == 0
    # Somebody else's device knows of nothing, and no report says what a device knows.
    relay.target = served.url
    assert opened(people.person(), relay.url).locator("[data-when=repeated]:visible").count() == 0
    assert [len(sent.body) for sent in relay.posts] == [53, 54, 54]  # as ever


def test_what_another_tab_has_spent_is_said_before_anything_is_randomised(
    people: Any, relayed: Any, serve: Any
) -> None:
    relay, _ = relayed(SMALL)
    context = people.person(service_workers="block")
    page = answered(context, relay.url)
    first, relay.target = relay.target, serve(OTHER).url
    send(answered(context, f"{relay.url}?lang=de"))
    relay.target = first
    page.click("#send")
    page.wait_for_selector("#review [data-when=repeated].notice:not([hidden])")
    assert page.locator("#review").is_visible() and draws(page) == 0 and len(relay.posts) == 1
    send(page)
    assert len(relay.posts) == 2


def test_what_was_never_tried_is_deleted_without_a_trace(people: Any, relayed: Any) -> None:
    relay, served = relayed(SMALL)
    # Without the worker, which would try as soon as the browser has any connection.
    context = people.person(service_workers="block")
    page = answered(context, relay.url)
    context.set_offline(True)
    send(page, "pending")
    assert page.locator('[data-when="untried"]').is_visible()
    press(page, "pending", "stop")
    page.wait_for_selector("#cleared:not([hidden])")
    assert stored(page) == [] and page.locator("input:checked").count() == 0
    context.set_offline(False)
    answer(page, 0)
    send(page)
    assert len(relay.posts) == 1
    assert served.people() == 1


def test_what_was_tried_is_deleted_and_not_asked_again(people: Any, relayed: Any) -> None:
    relay, served = relayed(SMALL)
    page = answered(people.person(), relay.url)
    relay.lost_replies = 100
    send(page, "pending")
    page.wait_for_selector('[data-when="tried"]:not([hidden])')
    waits(page, "pending", "unavailable")
    press(page, "pending", "stop")
    shown(page, "deleted")
    (note,) = stored(page)
    assert note["state"] == "deleted" and note["body"] is None
    page.reload()
    shown(page, "deleted")
    assert served.people() == 1


def test_the_note_can_be_deleted_and_the_page_then_asks_again(people: Any, relayed: Any) -> None:
    relay, _ = relayed(SMALL)
    page = answered(people.person(), relay.url)
    send(page)
    page.locator('[data-action="forget"]').click()
    page.wait_for_selector("#continue:not([disabled])")
    assert stored(page) == []
    answer(page, 0)
    send(page)
    assert len({sent.body for sent in relay.posts}) == 2
