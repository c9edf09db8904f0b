"""The issuer over HTTP: a token for each code, and the commands that run it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.spec.app._command import run
from tests.spec.collector._tokens import invited, key_of, keys, request_of, study_of
from tests.spec.collector._web import KIND, Client, served
from warner.collector.access import (
    Owner,
    invitations_body,
    invited_id,
    invited_ids,
    new_codes,
    new_token,
    token_hash,
)
from warner.collector.collector import Collector
from warner.collector.live.publisher import LivePublisher
from warner.collector.refusals import Refused
from warner.collector.remote import Remote
from warner.collector.stores import SQLiteStore
from warner.collector.web import server
from warner.collector.web.application import Application
from warner.collector.web.issuing import Issuing
from warner.collector.web.limits import Limits
from warner.studies.study import Study

TEXT = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
access = "invited"
"""


@dataclass
class Issuer:
    """An issuer in memory."""

    study: Study
    collector: Collector
    client: Client
    application: Issuing
    bearer: dict[str, str]


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    study, token = study_of(), new_token()
    collector = Collector(study, SQLiteStore(tmp_path / "codes.sqlite"), issues=True)
    collector.keep_owner("", token_hash(token))
    application = Issuing(
        study, collector, Owner(lambda: collector.owners), keys(1), Limits(rate=0)
    )
    with Client(application) as client:  # type: ignore[arg-type]
        yield Issuer(study, collector, client, application, {"authorization": f"Bearer {token}"})
    collector.stop()


def test_a_code_is_exchanged_from_a_page_of_any_origin(issuer: Issuer) -> None:
    study, (code,) = issuer.study, invited(issuer.study, issuer.collector, 1)
    blinding, request = request_of(study, code)
    origin = {"origin": "https://survey.example.org"}
    asked = {**origin, "access-control-request-method": "POST"}
    allowed = issuer.client.request("OPTIONS", "/token", headers=asked)
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-headers"] == "content-type"
    reply = issuer.client.request("POST", "/token", content=request, headers={**KIND, **origin})
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-origin"] == origin["origin"]
    assert "access-control-allow-credentials" not in reply.headers
    token = blinding.token(key_of(study, code), study, bytes.fromhex(reply.json()["signature"]))
    assert len(token) == 288


def test_what_no_device_sends_is_refused_by_name_and_spends_no_code(issuer: Issuer) -> None:
    study, (code,) = issuer.study, invited(issuer.study, issuer.collector, 1)
    _, request = request_of(study, code)
    other = bytearray(request)
    other[10] ^= 1
    too_large = request[:52] + b"\xff" * 256
    for body, status, name in (
        (b"", 400, "malformed"),
        (request[:-1], 400, "malformed"),
        (request + b"x", 400, "malformed"),
        (b"WRN1" + request[4:], 400, "malformed"),
        (request[:36] + b"0" * 16 + request[52:], 400, "malformed"),
        (too_large, 400, "malformed"),
        (bytes(other), 409, "other_study"),
        (request_of(study, new_codes(1)[0])[1], 403, "not_invited"),
    ):
        reply = issuer.client.request("POST", "/token", content=body, headers=KIND)
        assert (reply.status_code, reply.json()["error"]) == (status, name)
        assert code.replace("-", "") not in reply.text
    assert not issuer.collector.is_spent(invited_id(study.digest, code))
    for _ in range(2):
        reply = issuer.client.request("POST", "/token", content=request, headers=KIND)
        assert reply.status_code == 200
    again = request_of(study, code)[1]
    reply = issuer.client.request("POST", "/token", content=again, headers=KIND)
    assert (reply.status_code, reply.json()["error"]) == (409, "exchanged")


def test_only_the_owner_learns_which_codes_were_exchanged(issuer: Issuer) -> None:
    study, codes = issuer.study, new_codes(2)
    ids = invited_ids(study.digest, codes)
    body = invitations_body(study.digest, ids)
    stranger = issuer.client.request("POST", "/live/invite", content=body, headers=KIND)
    assert stranger.status_code == 401
    owner = {**KIND, **issuer.bearer}
    assert issuer.client.request("POST", "/live/invite", content=body, headers=owner).json() == {
        "invited": 2
    }
    head = b"WRNT" + bytes.fromhex(study.layout) + invited_id(study.digest, codes[0])
    assert issuer.client.request("POST", "/spent", content=head, headers=KIND).status_code == 401
    request = request_of(study, codes[0])[1]
    for spent in (0, 1):
        reply = issuer.client.request("POST", "/spent", content=head, headers=owner)
        assert reply.json() == {"spent": spent}
        issuer.client.request("POST", "/token", content=request, headers=KIND)
    assert issuer.client.request("POST", "/live/close", headers=issuer.bearer).status_code == 303
    reply = issuer.client.request("POST", "/token", content=request, headers=KIND)
    assert (reply.status_code, reply.json()["error"]) == (410, "closed")
    assert issuer.client.request("GET", "/healthz").json() == {"status": "closed"}
    assert issuer.client.request("GET", "/").status_code == 404
    assert issuer.client.request("POST", "/reports", content=b"x", headers=KIND).status_code == 404


def test_keys_and_codes_are_made_and_the_issuer_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    study = Path("study.toml")
    study.write_text(TEXT.replace('"invited"', '"tokens"'))  # as the guide says it, or "invited"
    made = ("collect", "keys", "study.toml", "--issuer", "https://codes.example.org/")
    done = run(*made, "-o", "issuer.pem")
    assert Path("issuer.pem").stat().st_mode & 0o077 == 0
    assert "PRIVATE" not in done.output and "PRIVATE" in Path("issuer.pem").read_text()
    again = run(*made, "-o", "issuer.pem", ok=False)
    assert "cannot be made again" in again.stderr
    early = run("collect", "issue", "study.toml", "--keys", "issuer.pem", ok=False)
    assert "has no table [collect.tokens]" in early.stderr
    unready = run("collect", "serve", "study.toml", ok=False)
    assert "print the table [collect.tokens]" in unready.stderr
    study.write_text(study.read_text() + done.stdout)
    twice = run(*made, "-o", "second.pem", ok=False)
    assert "already has keys" in twice.stderr
    issued = run("collect", "issue", "study.toml", "--keys", "issuer.pem")
    assert "Token of the owner: " in issued.stdout and "0 people are invited" in issued.stderr
    run("collect", "invite", "study.toml", "-n", "3", "-o", "codes.csv")
    assert Path("study.codes.sqlite").exists() and not Path("study.counts.sqlite").exists()
    unused = run("collect", "unused", "study.toml", "--codes", "codes.csv", "-o", "unused.csv")
    assert "3 of 3 codes were not used yet" in unused.stderr
    Path("other.toml").write_text(TEXT)
    run("collect", "keys", "other.toml", *made[3:], "-o", "wrong.pem")
    wrong = run("collect", "issue", "study.toml", "--keys", "wrong.pem", ok=False)
    assert "has other keys than study.toml" in wrong.stderr
    run("collect", "serve", "study.toml")
    swapped = run(
        "collect",
        "issue",
        "study.toml",
        "--keys",
        "issuer.pem",
        "--store",
        "study.counts.sqlite",
        ok=False,
    )
    assert "must never be kept together" in swapped.stderr
    checked = run("study", "check", "study.toml")
    assert "exchange for a token" in checked.stdout, checked.output


def test_an_issuer_that_is_asked_for_counts_sends_to_the_survey_page(issuer: Issuer) -> None:
    """Rejects: a bare 404, where the address is that of the issuer."""
    with served(issuer.application) as port:
        asked = Remote(f"http://127.0.0.1:{port}", issuer.bearer["authorization"].split()[1])
        for counts in (asked.status, asked.tally):
            with pytest.raises(Refused, match="a server that issues tokens has no counts"):
                counts()


def test_an_issuer_that_devices_do_not_reach_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects: phones that send their codes to themselves, and an issuer at another port,
    and a refusal that names an option nobody gave."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8001))
    study, here = Path("study.toml"), "http://127.0.0.1:8001"
    study.write_text(TEXT.replace('"invited"', '"tokens"'))
    table = run("collect", "keys", "study.toml", "--issuer", here, "-o", "issuer.pem").stdout
    study.write_text(study.read_text() + table)
    issue = ("collect", "issue", "study.toml", "--keys", "issuer.pem")
    for options, said in [
        ((), f"sends devices to {here}, but the issuer would answer at http://127.0.0.1:8000."),
        (
            ("--host", "0.0.0.0", "--port", "8002"),
            f"Give --port 8001. If a proxy is at that address, add --url {here} instead",
        ),
        (("--host", "10.0.0.1"), f"10.0.0.1:8000. If a proxy is at that address, add --url {here}"),
        (("--url", "https://codes.example.org"), "--url: must be the address"),
    ]:
        assert said in run(*issue, *options, ok=False).stderr
    run(*issue, "--port", "8001")
    run("collect", "serve", "study.toml")
    for more in (["--lan"], ["--url", "https://survey.example.org"]):
        assert (
            f"got {here}. Make keys"
            in run("collect", "serve", "study.toml", *more, ok=False).stderr
        )


def test_a_collector_sends_who_invites_to_the_issuer(tmp_path: Path) -> None:
    """Rejects the answer that the survey is open to everyone: its remedy would end the tokens."""
    study = study_of()
    collector = Collector(study, SQLiteStore(tmp_path / "counts.sqlite"))
    live, token = LivePublisher(collector, study), new_token()
    collector.keep_owner("", token_hash(token))
    application = Application(study, collector, live, Owner(lambda: collector.owners))
    body = invitations_body(study.digest, invited_ids(study.digest, new_codes(1)))
    headers = {**KIND, "authorization": f"Bearer {token}"}
    with Client(application) as client:
        reply = client.request("POST", "/live/invite", content=body, headers=headers)
    assert (reply.status_code, reply.json()["error"]) == (409, "codes_of_issuer")
    live.stop()
    collector.stop()
