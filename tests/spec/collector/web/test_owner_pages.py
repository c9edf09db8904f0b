"""The owner's pages: the token, the cookie, forms of other sites, downloads, events."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.spec.collector._web import KIND, Client, Site, site
from tests.spec.collector.web.test_application import OWNERS, refused
from warner.collector.access import (
    COOKIE,
    METRICS,
    VIEWER,
    Owner,
    is_proof,
    new_codes,
    new_token,
    plain_code,
    proof_of,
    token_hash,
)
from warner.collector.live.publisher import LivePublisher
from warner.collector.pages.live import FIELD
from warner.collector.web.application import Application
from warner.reports.tally import parse_tallies

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "a.sqlite", 'keep_ids = "always"\n') as made:
        yield made


@pytest.fixture
def client(web: Site) -> Iterator[Client]:
    with Client(web.application) as made:
        yield made


def cookie(web: Site) -> dict[str, str]:
    return {"cookie": f"other=1; {COOKIE}={web.token}"}


def proof(web: Site, client: Client) -> str:
    found = re.search(
        f'name="{FIELD}" value="([0-9a-f]+)"', client.get("/live", headers=cookie(web)).text
    )
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda token: {},
        lambda token: {"authorization": "Bearer " + token[:-1]},
        lambda token: {"cookie": f"{COOKIE}=x"},
        lambda token: {"authorization": token},
        lambda token: {"cookie": f"{COOKIE}={token_hash(token).hex()}"},
        # A token that is stated must be right.
        lambda token: {"cookie": f"{COOKIE}={token}", "authorization": "Bearer x"},
    ],
)
def test_everything_of_the_owner_needs_the_token(
    web: Site, client: Client, wrong: Callable[[str], dict[str, str]]
) -> None:
    headers = wrong(web.token)
    for name in OWNERS:
        refused(client.get(f"/live{name}", headers=headers), "no_owner")
    for name in ("close", "open"):
        refused(client.post(f"/live/{name}", headers={**headers, **FORM}), "no_owner")
    assert web.collector.status() == "open"


def test_wrong_tokens_are_counted_and_limited_and_the_owner_is_let_in(
    web: Site, client: Client
) -> None:
    """Rejects a server on which tokens can be tried without an end and without a trace, and one
    from which others can shut the owner out.
    """
    ways = [
        lambda: client.get("/live/tally.json", headers={"cookie": f"{COOKIE}=x"}),
        lambda: client.get("/live?token=x"),
        lambda: client.get("/live", headers={"authorization": "Bearer x"}),
        lambda: client.post("/reports", headers={**KIND, "authorization": "Bearer x"}),
    ]
    for i in range(14):
        refused(ways[i % 4](), "no_owner" if i < 10 else "wrong_tokens")
    refused(client.get("/live"), "no_owner")  # without a token, nobody tried
    assert client.get("/live", headers=web.bearer).status_code == 200
    sent = client.post("/reports", content=web.body(), headers={**KIND, **web.bearer})
    assert sent.status_code == 202
    web.collector.check()
    assert dict(web.collector.state().rejects) == {"no_owner": 14}


def test_the_token_in_the_address_becomes_a_cookie(web: Site, client: Client) -> None:
    answer = client.get(f"/live?token={web.token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/live")
    stated = answer.headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/live"):
        assert part in stated
    assert "secure" not in stated and "max-age" not in stated
    assert (
        "secure"
        in client.get(f"https://survey.test/live?token={web.token}").headers["set-cookie"].lower()
    )
    assert client.get("/live", headers=cookie(web)).status_code == 200
    for asked in ("token=x", "token=", f"token={web.token}&token=x"):
        refused(client.get(f"/live?{asked}"), "no_owner")


def test_a_browser_with_another_token_reads_a_page(client: Client) -> None:
    answer = client.get("/live?token=x", headers={"accept": "text/html"})
    assert answer.status_code == 401 and "--new-token" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_browser_without_the_token_reads_a_page(client: Client) -> None:
    answer = client.get("/live", headers={"accept": "text/html"})
    assert answer.status_code == 401 and '<a href="live">' in answer.text


def test_the_survey_is_closed_and_opened_by_the_owners_own_form_alone(
    web: Site, client: Client
) -> None:
    right = {FIELD: proof(web, client)}
    own = {**cookie(web), "sec-fetch-site": "same-origin", "origin": "null"}
    others = [
        ({**own, "sec-fetch-site": "cross-site"}, right),
        ({**own, "sec-fetch-site": "same-site"}, right),
        ({**own, "origin": "https://evil.test"}, right),
        ({**own, "content-type": "text/plain"}, right),
        (own, {}),
        (own, {FIELD: "0" * 64}),
        (own, {FIELD: right[FIELD], "more" * 9: "x"} | {f"f{i}": "1" for i in range(20)}),
    ]
    for headers, form in others:
        refused(client.post("/live/close", data=form, headers=headers), "forbidden")
    refused(client.post("/live/close", data={FIELD: "x" * 9999}, headers=own), "too_large")
    assert web.collector.status() == "open"
    for name, status in (("close", "closed"), ("open", "open")):
        answer = client.post(f"/live/{name}", data=right, headers=own)
        assert (answer.status_code, answer.headers["location"]) == (303, "/live")
        assert web.collector.status() == status
    answer = client.post("/live/close", headers={**web.bearer, "origin": "http://survey.test"})
    assert answer.status_code == 303 and web.collector.status() == "closed"
    refused(client.post("/reports", content=web.body(), headers=KIND), "closed")


def test_the_record_says_whose_token_closed_and_opened_the_survey(
    web: Site, client: Client
) -> None:
    tokens = {name: new_token() for name in ("anna", "Jörg <b>", METRICS)}
    for name, token in tokens.items():
        web.collector.keep_owner(name, token_hash(token))
    asked = {name: {"authorization": f"Bearer {token}"} for name, token in tokens.items()}
    assert client.post("/live/close", headers=asked["anna"]).status_code == 303
    assert client.post("/live/open", headers=asked["Jörg <b>"]).status_code == 303
    assert client.post("/live/close", headers=web.bearer).status_code == 303
    web.collector.keep_owner("anna", b"")
    refused(client.post("/live/open", headers=asked["anna"]), "no_owner")
    assert [(what, who) for _, what, who in web.collector.record] == [
        ("token made", ""),
        ("token made", "anna"),
        ("token made", "Jörg <b>"),
        ("token made", METRICS),
        ("closed", "anna"),
        ("opened", "Jörg <b>"),
        ("closed", ""),
        ("token ended", "anna"),
    ]
    times = [when for when, _, _ in web.collector.record]
    assert times == sorted(times) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", times[0])
    page = client.get("/live", headers=web.bearer).text
    assert "<td>opened</td><td>Jörg &lt;b&gt;</td>" in page and "<td>closed</td><td>-</td>" in page
    # A token of metrics reads nothing else, changes nothing, and lifts no limit.
    for name in OWNERS:
        refused(client.get(f"/live{name}", headers=asked[METRICS]), "no_owner")
    refused(client.post("/live/open", headers=asked[METRICS]), "no_owner")


def test_a_viewer_reads_what_is_published_and_changes_nothing(web: Site, client: Client) -> None:
    """Rejects colleagues who watch a survey and can close it for good."""
    web.collector.keep_owner(f"anna{VIEWER}", token_hash("hers"))
    hers = {"authorization": "Bearer hers"}
    for name in OWNERS:
        if name != "/events":  # a stream that does not end
            ours = client.get(f"/live{name}", headers=web.bearer).status_code
            assert client.get(f"/live{name}", headers=hers).status_code == ours
    for name in ("close", "open", "invite", "backup"):
        refused(client.post(f"/live/{name}", headers=hers), "no_owner")
    refused(client.get("/live/metrics", headers=hers), "no_owner")
    assert client.get("/live?token=hers").status_code == 303
    cookie_of_hers = {"cookie": f"{COOKIE}=hers", "sec-fetch-site": "same-origin", **FORM}
    form = {FIELD: proof_of("hers")}
    refused(client.post("/live/close", data=form, headers=cookie_of_hers), "no_owner")
    assert web.collector.status() == "open"
    pages = [client.get("/live", headers=of).text for of in (hers, web.bearer)]
    assert ['<section id="change" hidden>' in page for page in pages] == [True, False]


def test_who_signs_out_has_no_token_in_the_browser(web: Site, client: Client) -> None:
    """Another site cannot sign anybody out, nor use the form of one person for another."""
    own = {**cookie(web), "sec-fetch-site": "same-origin", "origin": "null"}
    for name in ("leave", "backup"):
        refused(client.post(f"/live/{name}", headers=FORM), "no_owner")
    web.collector.keep_owner("anna", token_hash("hers"))
    for form in ({}, {FIELD: proof_of("hers")}):
        refused(client.post("/live/leave", data=form, headers=own), "forbidden")
    answer = client.post("/live/leave", data={FIELD: proof(web, client)}, headers=own)
    assert (answer.status_code, answer.headers["location"]) == (303, "/live")
    stated = answer.headers["set-cookie"].lower()
    assert stated.startswith(f'{COOKIE}=""') and "max-age=0" in stated and "path=/live" in stated


def test_a_survey_whose_ids_are_dropped_stays_closed(tmp_path: Path) -> None:
    with site(tmp_path / "b") as web, Client(web.application) as client:
        assert client.post("/live/close", headers=web.bearer).status_code == 303
        assert (
            "cannot be opened"
            in refused(client.post("/live/open", headers=web.bearer), "ids_dropped")["message"]
        )


def test_downloads_are_of_the_last_published_step(web: Site, client: Client) -> None:
    for name in ("tally.json", "estimates.json", "estimates.csv", "picture.png"):
        refused(client.get(f"/live/{name}", headers=web.bearer), "no_estimate_yet")
    assert client.get("/live/card.json", headers=web.bearer).json()["privacy"]
    assert "text/html" in client.get("/live/card.html", headers=web.bearer).headers["content-type"]
    assert client.post("/reports", content=web.body(25), headers=KIND).status_code == 202
    web.live.look()
    answer = client.get("/live/tally.json", headers=web.bearer)
    assert parse_tallies(answer.content, "tally")["drinks"].n == 25
    assert answer.headers["content-disposition"] == 'attachment; filename="tally.json"'
    assert len(client.get("/live/estimates.json", headers=web.bearer).json()) == 2
    assert client.get("/live/estimates.csv", headers=web.bearer).text.count("\n") > 10
    refused(client.get("/live/tally.json?by=ward", headers=web.bearer), "not_found")
    assert "25" in client.get("/live", headers=web.bearer).text


def test_after_a_restart_the_tally_is_that_of_before_and_estimates_are_said_to_come(
    web: Site, client: Client
) -> None:
    """Rejects a job that finds a 404 every time the server was restarted before it."""
    assert client.post("/reports", content=web.body(25), headers=KIND).status_code == 202
    web.live.look()
    before = client.get("/live/tally.json", headers=web.bearer).text
    again = LivePublisher(web.collector, web.study)
    again._take_up()
    application = Application(web.study, web.collector, again, Owner(lambda: web.collector.owners))
    with Client(application) as restarted:
        assert restarted.get("/live/tally.json", headers=web.bearer).text == before
        for name in ("estimates.json", "estimates.csv", "picture.png"):
            answer = restarted.get(f"/live/{name}", headers=web.bearer)
            assert refused(answer, "estimating")["message"].endswith(
                "Send the request again later."
            )
            assert answer.headers["retry-after"] == "60"


def test_events_end_when_the_server_stops(web: Site, client: Client) -> None:
    web.live.stop()
    answer = client.get("/live/events", headers=web.bearer)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("retry:") and answer.headers["cache-control"] == "no-store"


def test_tokens_and_codes_are_long_random_and_stored_as_hashes() -> None:
    token = new_token()
    assert len(token) == 43 and token != new_token()
    owner = Owner(lambda: {"": token_hash(token), "anna": token_hash("hers")})
    assert (owner.name_of(token), owner.name_of("hers")) == ("", "anna")
    assert owner.name_of(token + "=") is owner.name_of("\udc80") is owner.name_of("") is None
    assert is_proof(proof_of(token), token) and not is_proof("\udc80", token)
    assert not is_proof(proof_of("hers"), token)
    codes = new_codes(200)
    assert len(set(codes)) == 200
    for code in codes:
        assert re.fullmatch("[2-9A-HJKMNP-TV-Z]{16}", plain_code(code.lower()))


def test_slow_estimates_keep_only_those_waiting_who_ask_for_them(
    web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a server whose health, and with it the survey page, waits for the owner's estimates."""
    slow = threading.Event()
    monkeypatch.setattr(web.live, "file", lambda name: name if slow.wait(60) else "late")

    async def ask() -> None:
        transport = httpx.ASGITransport(web.application)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://survey.test") as client:
            load = partial(client.get, "/live/estimates.csv", headers=web.bearer)
            waiting = {asyncio.create_task(load()) for _ in range(9)}
            (one,), waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            refused(one.result(), "estimating")
            assert one.result().headers["retry-after"] == "60"
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/live", headers=web.bearer)).status_code == 200
            slow.set()
            assert [answer.text for answer in await asyncio.gather(*waiting)] == [
                "estimates.csv"
            ] * 8

    asyncio.run(ask())
