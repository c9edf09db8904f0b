"""The web application: what each address answers, and that each refusal has a name and no echo."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.spec.collector._web import KIND, TEXT, Client, Site, site
from warner.collector.access import invited_id, invited_ids, new_codes
from warner.collector.refusals import NAMES, Refused
from warner.collector.submissions import HEAD_BYTES
from warner.collector.web.application import Settings
from warner.collector.web.intake import Intake
from warner.collector.web.limits import Limits
from warner.collector.web.responses import REASONS, SECURITY
from warner.errors import StudyError
from warner.studies.study import Study

CANARY = "CANARY5f1c"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "a.sqlite") as made:
        yield made


@pytest.fixture
def client(web: Site) -> Iterator[Client]:
    with Client(web.application) as made:
        yield made


PAGES = ("/", "/healthz", "/study.json", "/warner.js", "/survey.js", "/survey.css", "/sw.js")
OWNERS = ("", "/events", "/tally.json", "/estimates.json", "/estimates.csv", "/picture.png")
OWNERS += ("/card.json", "/card.html")
EVERY = (*PAGES, "/live.js", "/live.css", "/reports", "/spent", "/live/close", "/live/open")
EVERY += tuple(f"/live{name}" for name in OWNERS)


def refused(answer: Any, name: str) -> dict[str, Any]:
    """The content of an answer that refuses by this name, without echo."""
    assert answer.status_code == REASONS[name].status, answer.text
    content: dict[str, Any] = answer.json()
    assert content["error"] == name
    assert content.keys() <= {"error", "message", "position"}
    assert CANARY.lower() not in answer.text.lower()
    assert CANARY not in str(answer.headers)
    for header in SECURITY:
        assert header in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    return content


def test_pages_have_the_security_headers_and_no_cookie(client: Client) -> None:
    for path in (*PAGES, "/live.js", "/live.css"):
        answer = client.get(path)
        assert answer.status_code == 200
        for header in SECURITY:
            assert answer.headers[header]
        assert "set-cookie" not in answer.headers
        assert "form-action 'none'" in answer.headers["content-security-policy"]
        assert client.head(path).status_code == 200 and not client.head(path).content


def test_a_file_that_is_known_is_not_sent_again(client: Client) -> None:
    for path in ("/warner.js", "/study.json", "/survey.css"):
        tag = client.get(path).headers["etag"]
        for stated in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            answer = client.get(path, headers={"if-none-match": stated})
            assert (answer.status_code, answer.content) == (304, b"")
        assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_the_study_document_is_the_one_whose_digest_the_page_shows(client: Client) -> None:
    import hashlib

    digest = hashlib.sha256(client.get("/study.json").content).hexdigest()
    assert digest in client.get("/").text


def test_reports_are_counted_once_and_a_repeat_gets_the_same_answer(
    web: Site, client: Client
) -> None:
    body = web.body(3)
    answers = [client.post("/reports", content=body, headers=KIND) for _ in range(3)]
    assert {a.status_code for a in answers} == {202}
    assert {a.text for a in answers} == {'{"accepted":3}'}
    assert len({str(sorted(a.headers.items())) for a in answers}) == 1
    assert web.collector.n == 3
    # The owner is told what anybody can ask of an id, of many reports at once.
    of_owner = KIND | web.bearer
    assert client.post("/reports", content=body, headers=of_owner).json() == {
        "accepted": 3,
        "new": 0,
    }
    more = client.post("/reports", content=web.body(2), headers=of_owner).json()
    assert more == {"accepted": 2, "new": 2} and web.collector.n == 5


def test_simulated_reports_come_from_the_owner_alone(web: Site, client: Client) -> None:
    """Rejects a stranger who makes a survey a trial, which takes no reports of people."""
    path, body = "/reports/simulated", web.body(3)
    refused(client.post(path, content=body, headers=KIND), "no_owner")
    assert web.collector.n == 0
    counted = client.post(path, content=body, headers=KIND | web.bearer)
    assert counted.json() == {"accepted": 3, "new": 3} and web.collector.is_simulated
    refused(client.post("/reports", content=web.body(), headers=KIND), "simulated")
    assert web.collector.n == 3


@pytest.mark.parametrize("path", EVERY)
def test_wrong_methods_are_refused_and_overriding_headers_are_ignored(
    web: Site, client: Client, path: str
) -> None:
    posts = path in ("/reports", "/spent", "/live/close", "/live/open")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GET" if posts else "POST"):
        headers = {"x-http-method-override": "POST" if posts else "GET", **KIND, **web.bearer}
        answer = client.request(method, path, content=CANARY.encode(), headers=headers)
        refused(answer, "wrong_method")
        assert set(answer.headers["allow"].split(", ")) <= {"GET", "HEAD", "POST"}
    assert web.collector.n == 0 and web.collector.status() == "open"


@pytest.mark.parametrize(
    "path", ["/reports/", "/live/", "/Reports", f"/{CANARY}", "/static/survey.js"]
)
def test_other_addresses_are_nothing(web: Site, client: Client, path: str) -> None:
    refused(client.get(path), "not_found")
    refused(client.post(path, content=web.body(), headers=KIND), "not_found")
    assert web.collector.n == 0


@pytest.mark.parametrize(
    ("preferred", "path", "language"),
    [
        (None, "/", "en"),
        ("de-AT,de;q=0.9,en;q=0.8", "/", "de"),
        ("fr, en;q=0.5, de;q=0.7", "/", "de"),
        ("de;q=0, en", "/", "en"),
        ("ja;q=x,*", "/", "en"),
        ("de", "/?lang=en", "en"),
        ("de", "/?lang=xx", "en"),
    ],
)
def test_the_page_opens_in_the_language_of_the_browser_unless_another_was_chosen(
    tmp_path: Path, preferred: str | None, path: str, language: str
) -> None:
    """Rejects: a cache that gives a page to readers of another language, a click that is undone."""
    text = TEXT.replace('title = "Habits"', 'languages = ["en", "de"]')
    with site(tmp_path / "b.sqlite", text=text) as web, Client(web.application) as client:
        answer = client.get(path, headers={"accept-language": preferred or ""})
    assert f'<html lang="{language}"' in answer.text
    assert answer.headers["vary"] == "accept-encoding, accept-language"


def test_a_long_address_is_refused(client: Client) -> None:
    refused(client.get("/?lang=" + CANARY * 1000), "long_address")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ({}, "type"),
        ({"content-type": "application/json"}, "type"),
        ({"content-type": "application/x-www-form-urlencoded"}, "type"),
        ({**KIND, "content-encoding": "gzip"}, "type"),
        ({"content-type": f"text/{CANARY}"}, "type"),
        ({**KIND, "content-length": "x1"}, "bad_request"),
        ({**KIND, "content-length": "9" * 30}, "bad_request"),
        ({**KIND, "authorization": f"Bearer {CANARY}"}, "no_owner"),
        ({**KIND, "authorization": "Basic YTpi"}, "no_owner"),
        ({**KIND, "authorization": ""}, "no_owner"),
        ({**KIND, "authorization": "Bearer \xe9"}, "no_owner"),
    ],
)
def test_uploads_with_wrong_headers_are_refused(
    web: Site, client: Client, kind: dict[str, str], name: str
) -> None:
    headers = [(k.encode(), v.encode("latin-1")) for k, v in kind.items()]
    refused(client.post("/reports", content=web.body(), headers=headers), name)
    assert web.collector.n == 0


@pytest.mark.parametrize("name", ["content-type", "host", "authorization", "content-length"])
def test_a_header_that_stands_twice_is_refused(web: Site, client: Client, name: str) -> None:
    given = [*KIND.items(), ("host", "testserver"), ("content-length", "5"), *web.bearer.items()]
    doubled = [*given, *(pair for pair in given if pair[0] == name)]
    refused(client.post("/reports", content=web.body(), headers=doubled), "duplicate_header")
    assert web.collector.n == 0


def test_a_program_that_sends_wrongly_is_told_what_to_send(web: Site, client: Client) -> None:
    """Rejects a refusal that leaves a developer to guess: a form, a packed body, another path."""
    body = web.body()
    cut = body[:-1]  # as curl -d leaves it, which drops line ends
    for method, path, content, headers, words in (
        ("POST", "/reports", body, {"content-type": "application/x-www-form-urlencoded"}, "Type:"),
        ("POST", "/reports", body, {**KIND, "content-encoding": "gzip"}, 'no "Content-Encoding"'),
        ("POST", "/reports", gzip.compress(body), KIND, "all and unchanged (with curl: --data-bi"),
        ("POST", "/reports", cut, KIND, "all and unchanged (with curl: --data-binary)"),
        ("POST", "/reports/", body, KIND, "Send reports by POST to /reports."),
        ("POST", "/", body, KIND, "Send reports by POST to /reports."),
        ("GET", "/reports", b"", {}, "makes a GET of a POST"),
        ("GET", "/live/tally.json", b"", {}, '"Authorization: Bearer TOKEN"'),
    ):
        answer = client.request(method, path, content=content, headers=headers)
        assert words in answer.json()["message"] and answer.status_code >= 400
    other = bytearray(body)
    other[HEAD_BYTES - 1] ^= 1
    said = client.post("/reports", content=bytes(other), headers=KIND).json()["message"]
    assert "Read study.json from this collector again" in said and "page" not in said
    assert web.collector.n == 0


def test_bodies_that_are_no_reports_are_refused_by_position(web: Site, client: Client) -> None:
    good = web.body(3)
    length = web.collector.format.length
    for wrong in (
        b"",
        b"WRN1",
        CANARY.encode(),
        good[:-1],
        good + b"x",
        good[:36],
        b"X" + good[1:],
    ):
        found = refused(client.post("/reports", content=wrong, headers=KIND), "malformed")
        assert "position" not in found
    bad = bytearray(good)
    bad[36 + length + 16] = 255  # the second person's report on the first question
    found = refused(client.post("/reports", content=bytes(bad), headers=KIND), "malformed")
    assert found["position"] == 1 and "smokes" in found["message"]
    other = bytearray(good)
    other[4] ^= 1
    refused(client.post("/reports", content=bytes(other), headers=KIND), "other_study")
    too_many = good[:36] + good[36 : 36 + length] * 10_001
    refused(client.post("/reports", content=too_many, headers=KIND), "malformed")
    assert web.collector.n == 0


def test_a_body_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    taken = 0

    def pieces() -> Iterator[bytes]:
        nonlocal taken
        for _ in range(100):
            taken += 1
            yield b"x" * 1000

    settings = Settings(Limits(body=2000, rate=0))
    with site(tmp_path / "a", settings=settings) as web, Client(web.application) as client:
        headers = {**KIND, "content-length": "100000000"}
        refused(client.post("/reports", content=b"x", headers=headers), "too_large")
        refused(client.post("/reports", content=pieces(), headers=KIND), "too_large")
        assert web.collector.n == 0
        assert client.post("/reports", content=web.body(2), headers=KIND).status_code == 202


def test_hosts_that_are_not_served_are_refused(tmp_path: Path) -> None:
    settings = Settings(hosts=("survey.example.org", "[::1]"))
    with site(tmp_path / "a", settings=settings) as web, Client(web.application) as client:
        for host in ("survey.example.org", "Survey.Example.org:8000", "[::1]:8000", "[::1]"):
            assert client.get("/healthz", headers={"host": host}).status_code == 200
        for host in (CANARY, "survey.example.org.evil.net", "", "evil@survey.example.org", "[::2]"):
            for path in ("/", "/healthz", "/live"):
                refused(client.get(path, headers={"host": host}), "other_host")
            answer = client.post("/reports", content=web.body(), headers={**KIND, "host": host})
            refused(answer, "other_host")
        forged = {"x-forwarded-host": CANARY, "host": "survey.example.org"}
        assert CANARY not in client.get("/", headers=forged).text
        assert web.collector.n == 0


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("opens = 2999-01-01T00:00:00Z\n", "not_open"),
        ("closes = 2001-01-01T00:00:00Z\n", "closed"),
    ],
)
def test_the_clock_opens_and_closes(tmp_path: Path, more: str, name: str) -> None:
    with site(tmp_path / "a", more) as web, Client(web.application) as client:
        refused(client.post("/reports", content=web.body(), headers=KIND), name)
        assert client.get("/healthz").json() == {"status": name}
        assert web.collector.n == 0


def test_only_invited_people_are_counted_and_once(tmp_path: Path) -> None:
    with site(tmp_path / "a", 'access = "invited"\n') as web, Client(web.application) as client:
        codes, digest = new_codes(3), web.study.digest
        web.collector.invite(invited_ids(digest, codes))
        ids = np.frombuffer(b"".join(invited_id(digest, c) for c in codes), np.uint8).reshape(3, 16)
        stranger = web.body(2, np.vstack([ids[:1], np.zeros((1, 16), np.uint8)]))
        found = refused(client.post("/reports", content=stranger, headers=KIND), "not_invited")
        assert "position" not in found and "number" not in found["message"]
        for _ in range(2):
            answer = client.post("/reports", content=web.body(1, ids[:1]), headers=KIND)
            assert answer.json() == {"accepted": 1}
        assert web.collector.n == 1 and web.collector.invitations == (3, 1)


def test_who_has_a_code_learns_before_sealing_whether_it_was_used(tmp_path: Path) -> None:
    """Rejects: a second report of a person, sealed because nobody could say that there is one."""
    with site(tmp_path / "a", 'access = "invited"\n') as web, Client(web.application) as client:
        codes, digest, form = new_codes(2), web.study.digest, web.collector.format
        web.collector.invite(invited_ids(digest, codes))
        used, other = (invited_id(digest, code) for code in codes)

        def said(submission_id: bytes) -> Any:
            return client.post("/spent", content=form.head + submission_id, headers=KIND)

        assert said(used).json() == said(other).json() == {"spent": 0}
        ids = np.frombuffer(used, np.uint8).reshape(1, 16)
        assert client.post("/reports", content=web.body(1, ids), headers=KIND).status_code == 202
        assert said(used).json() == {"spent": 1} and said(other).json() == {"spent": 0}
        assert dict(said(used).headers) == dict(said(other).headers)
        assert web.collector.n == 1 and web.collector.invitations == (2, 1)
        refused(said(bytes(16)), "not_invited")
        for wrong in (b"", used, form.head, form.head + used[:-1], form.head + used + b"x"):
            refused(client.post("/spent", content=wrong, headers=KIND), "malformed")
        refused(client.post("/spent", content=web.body(1, ids), headers=KIND), "malformed")
        strange = form.head[:-1] + bytes([form.head[-1] ^ 1]) + used
        refused(client.post("/spent", content=strange, headers=KIND), "other_study")
        refused(client.post("/spent", content=form.head + used), "type")
        web.collector.close_survey()
        refused(said(used), "closed")


def test_questions_before_reports_have_the_limits_of_reports(tmp_path: Path) -> None:
    settings = Settings(Limits(rate=0.001, burst=2))
    with site(tmp_path / "a", settings=settings) as web, Client(web.application) as client:
        asked = {"content": web.collector.format.head + bytes(16), "headers": KIND}
        assert client.post("/spent", **asked).json() == {"spent": 0}
        assert client.post("/reports", content=web.body(), headers=KIND).status_code == 202
        refused(client.post("/spent", **asked), "too_many")


def test_rejects_are_counted_by_reason(web: Site, client: Client) -> None:
    client.post("/reports", content=CANARY.encode(), headers=KIND)
    client.post("/reports", content=CANARY.encode(), headers={"content-type": "text/plain"})
    client.post("/reports", content=CANARY.encode(), headers={"content-type": "text/plain"})
    client.get("/reports")  # a request without reports is no reject
    client.post("/reports", content=web.body(), headers=KIND)
    for _ in range(100):
        web.collector.remember("nothing", b"")
        if web.collector.state().rejects:
            break
    assert dict(web.collector.state().rejects) == {"malformed": 1, "type": 2}


def test_rates_are_limited_by_address_and_not_for_the_owner(tmp_path: Path) -> None:
    settings = Settings(Limits(rate=0.001, burst=5))
    with site(tmp_path / "a", settings=settings) as web, Client(web.application) as client:
        assert client.post("/reports", content=web.body(4), headers=KIND).status_code == 202
        found = client.post("/reports", content=web.body(2), headers=KIND)
        refused(found, "too_many")
        assert int(found.headers["retry-after"]) > 0
        assert client.post("/reports", content=web.body(1), headers=KIND).status_code == 202
        refused(client.post("/reports", content=web.body(), headers=KIND), "too_many")
        owner = client.post("/reports", content=web.body(50), headers={**KIND, **web.bearer})
        assert owner.status_code == 202
        assert web.collector.n == 55


def test_a_store_that_fails_is_said_by_name_and_an_error_shows_nothing(
    web: Site, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full() -> None:
        raise Refused("store_full", f"/secret/{CANARY}", "has no space left")

    monkeypatch.setattr(web.collector, "check", full)
    refused(client.get("/healthz"), "unavailable")

    def broken() -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr(web.collector, "check", broken)
    refused(client.get("/healthz"), "error")
    with monkeypatch.context() as patch:
        patch.setattr(Intake, "_count", lambda intake, body: broken())
        refused(client.post("/reports", content=web.body(), headers=KIND), "error")
    assert "ValueError" in caplog.text and CANARY not in caplog.text


def test_every_name_of_the_collector_is_answered_with_a_status(web: Site) -> None:
    from warner.collector.web.responses import HttpRefused

    for name in NAMES:
        sent = HttpRefused.of(Refused(name, CANARY, CANARY))
        if name not in ("malformed", "other_study", "simulated", "ids_dropped"):
            assert CANARY not in json.dumps(sent.content)
        assert 400 <= sent.reason.status < 600
    import pickle

    again = pickle.loads(pickle.dumps(HttpRefused("closed", {"a": "b"})))
    assert (again.name, again.headers, str(again)) == (
        "closed",
        {"a": "b"},
        str(HttpRefused("closed")),
    )


# -----------------------------------------------------------------------------------------------
# Files are compressed, and pages of named origins may send.


FIRST_VISIT = (
    "/",
    "/survey.css",
    "/survey.js",
    "/form.js",
    "/steps.js",
    "/outbox.js",
    "/warner.js",
    "/study.json",
    "/healthz",
    "/sw.js",
)


def test_a_first_visit_is_at_most_60_kilobytes(client: Client) -> None:
    """Rejects files that are sent as they are: 250 kB of scripts on a phone in a village."""
    total = 0
    for path in FIRST_VISIT:
        whole = client.get(path, headers={"accept-encoding": "identity"})
        forms = [client.get(path, headers={"accept-encoding": c}) for c in ("gzip", "br")]
        total += int(forms[-1].headers["content-length"])
        if path == "/healthz":
            continue
        assert "content-encoding" not in whole.headers
        assert [a.headers["content-encoding"] for a in forms] == ["gzip", "br"]
        assert all(answer.content == whole.content for answer in forms)  # which httpx decodes
        assert len({answer.headers["etag"] for answer in (whole, *forms)}) == 3
        for answer in (whole, *forms):
            assert "accept-encoding" in answer.headers["vary"]
            coding = answer.headers.get("content-encoding", "identity")
            known = {"if-none-match": answer.headers["etag"], "accept-encoding": coding}
            assert client.get(path, headers=known).status_code == 304
    assert total <= 60_000


ORIGIN = "https://app.example.org"
PREFLIGHT = {"access-control-request-method": "POST"}


def test_pages_of_a_named_origin_may_send_and_no_other(tmp_path: Path) -> None:
    """Rejects a collector that answers every origin, or lets one read the owner's pages."""
    more = f'access = "open"\norigins = ["{ORIGIN}"]\n'
    with site(tmp_path / "a.sqlite", more) as made, Client(made.application) as client:
        asked = client.request("OPTIONS", "/reports", headers={**PREFLIGHT, "origin": ORIGIN})
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-origin"] == ORIGIN
        assert "access-control-allow-credentials" not in asked.headers
        for path in ("/study.json", "/send.js", "/"):
            answer = client.get(path, headers={"origin": ORIGIN})
            assert answer.headers["access-control-allow-origin"] == ORIGIN
            assert "origin" in answer.headers["vary"]
            assert "origin" in client.get(path).headers["vary"]
        posted = client.post("/reports", content=b"x", headers={**KIND, "origin": ORIGIN})
        assert posted.headers["access-control-allow-origin"] == ORIGIN  # a page reads refusals
        owner = client.get("/live", headers={**made.bearer, "origin": ORIGIN})
        assert "access-control-allow-origin" not in owner.headers
        for other in ("https://app.example.org.evil.example", "null", "", ORIGIN.upper()):
            answer = client.request("OPTIONS", "/reports", headers={**PREFLIGHT, "origin": other})
            assert 'to "origins" in [collect]' in refused(answer, "other_origin")["message"]
            assert "access-control-allow-origin" not in answer.headers
        policy = client.get("/").headers
        assert f"frame-ancestors {ORIGIN};" in policy["content-security-policy"]
        assert "x-frame-options" not in policy


@pytest.mark.parametrize(
    "origin",
    ["*", "app.example.org", "https://app.example.org/", "http://app.example.org", "https://A.org"],
)
def test_what_is_no_origin_is_refused_by_name(origin: str) -> None:
    with pytest.raises(
        StudyError,
        match=r"collect\.origins: must be https:// and the name of a server in small letters, or "
        r"http:// and this machine \(localhost or 127\.0\.0\.1\), and no path",
    ):
        Study.parse(f'{TEXT}access = "open"\norigins = ["{origin}"]\n')


def test_a_preview_says_that_nothing_is_counted(tmp_path: Path) -> None:
    settings = Settings(Limits(rate=0), preview=True)
    with site(tmp_path / "a.sqlite", "", settings) as made, Client(made.application) as client:
        assert "Preview: nothing that you send here is counted." in client.get("/").text


@pytest.mark.parametrize(
    "link", ["http://example.org", "https://example.org/?id=5", "javascript:x"]
)
def test_a_link_that_could_name_a_person_is_refused(link: str) -> None:
    with pytest.raises(StudyError, match=r"collect\.link: must be https://, the name of a server"):
        Study.parse(f'{TEXT}access = "open"\nlink = "{link}"\n')


def test_a_body_of_another_study_is_refused_beside_one_of_this(tmp_path: Path) -> None:
    """Bodies that come at one moment are checked as one. Rejects a program that reads the rows of
    both by the head of the first.
    """
    with site(tmp_path / "a") as web, Client(web.application) as client:
        other = bytearray(web.body(2))
        other[HEAD_BYTES - 1] ^= 1
        bodies = [web.body(1), bytes(other), web.body(3)]
        answers = client.together(
            *(("POST", "/reports", {"content": body, "headers": KIND}) for body in bodies)
        )
        assert [answer.status_code for answer in answers[::2]] == [202, 202]
        refused(answers[1], "other_study")
        assert web.collector.n == 4


@pytest.mark.parametrize("number", [2, 3])
def test_who_was_invited_is_counted_beside_who_was_not(tmp_path: Path, number: int) -> None:
    """Rejects a program that refuses all who come at one moment because of one of them."""
    with site(tmp_path / "a", 'access = "invited"\n') as web, Client(web.application) as client:
        codes, digest = new_codes(number), web.study.digest
        web.collector.invite(invited_ids(digest, codes[1:]))
        bodies = [
            web.body(1, np.frombuffer(invited_id(digest, code), np.uint8).reshape(1, 16))
            for code in codes
        ]
        answers = client.together(
            *(("POST", "/reports", {"content": body, "headers": KIND}) for body in bodies)
        )
        refused(answers[0], "not_invited")
        assert [answer.status_code for answer in answers[1:]] == [202] * (number - 1)
        assert web.collector.n == number - 1
