"""``warner collect invite`` while the collector runs: the running server keeps the hashes of the codes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.services import postgres_address
from tests.spec.app.test_serving import run
from tests.spec.collector._web import KIND, TEXT, Client, Site, ask, served, site
from tests.spec.collector.web.test_application import refused
from warner.collector import access, collector as module, remote, stores
from warner.collector.access import COOKIE, invitations_body, invited_id, invited_ids, new_codes
from warner.collector.refusals import Refused
from warner.collector.remote import Remote
from warner.collector.stores import PostgresStore

INVITED = 'access = "invited"\n'


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str]]:
    """A collector that is served, and its address."""
    monkeypatch.setattr(module, "PACE", 0.0)
    monkeypatch.setattr(stores, "_PATIENCE", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT + INVITED)
    with site(Path("study.counts.sqlite"), INVITED) as made, served(made.application) as port:
        Path("token").write_text(f"{made.token}\n")
        yield made, f"http://127.0.0.1:{port}"


def test_codes_are_made_while_it_serves_and_count_once(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_INVITED", 7)  # three requests
    made, url = web
    done = run(
        "collect",
        "invite",
        "study.toml",
        "-n",
        20,
        "-o",
        "a.csv",
        "--url",
        url,
        "--token-file",
        "token",
    )
    assert done.exit_code == 0 and "20 people are invited in all" in done.stderr, done.stderr
    public = ("--url", "https://survey.example.org", "--server", url, "--token-file", "token")
    more = run("collect", "invite", "study.toml", "-n", 5, "-o", "b.csv", *public)
    assert more.exit_code == 0 and "25 people are invited in all" in more.stderr
    rows = list(csv.DictReader(Path("b.csv").read_text().splitlines()))
    assert rows[0]["link"] == f"https://survey.example.org/#code={rows[0]['code']}"
    ids = np.frombuffer(invited_id(made.study.digest, rows[0]["code"]), np.uint8)
    port = int(url.rpartition(":")[2])
    for _ in range(2):
        assert ask(port, "POST", "/reports", made.body(1, ids.reshape(1, 16)), KIND)[0] == 202
    assert made.collector.invitations == (25, 1)
    # The running server never sees a code, and the store holds none.
    made.collector.check()
    kept = b"".join(path.read_bytes() for path in Path().glob("study.counts*"))
    assert not any(row["code"].replace("-", "").encode() in kept for row in rows)


def test_codes_are_made_while_it_serves_with_postgresql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACE", 0.0)
    monkeypatch.setattr(stores, "_PATIENCE", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT + INVITED)
    address = postgres_address()
    with (
        site(Path("none"), INVITED, store=PostgresStore(address)) as made,
        served(made.application) as port,
    ):
        Path("token").write_text(made.token)
        url = f"http://127.0.0.1:{port}"
        locked = run("collect", "invite", "study.toml", "-n", 2, "-o", "no.csv", "--store", address)
        assert (
            locked.exit_code == 1 and "--server" in locked.stderr and address not in locked.stderr
        )
        done = run(
            "collect",
            "invite",
            "study.toml",
            "-n",
            3,
            "-o",
            "a.csv",
            "--url",
            url,
            "--token-file",
            "token",
        )
        assert done.exit_code == 0 and made.collector.invitations == (3, 0), done.stderr


def test_what_goes_wrong_is_said_and_no_codes_are_written(web: tuple[Site, str]) -> None:
    made, url = web
    Path("wrong").write_text("wrong")
    token = ("--token-file", "token")
    for words, more in {
        "Invite through the server that runs: --server": (),
        "--server: needs the owner's token": ("--server", url),
        "goes with the address": token,
        "401, no_owner": ("--server", url, "--token-file", "wrong"),
        "are known to the running collector": ("--server", url, *token, "--store", "x.sqlite"),
        "must begin with https://": ("--server", "localhost", *token),
    }.items():
        done = run("collect", "invite", "study.toml", "-n", 2, "-o", "codes.csv", *more)
        assert done.exit_code == 1 and words in done.stderr, (words, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1 and not Path("codes.csv").exists()
    Path("study.toml").write_text((TEXT + INVITED).replace("epsilon = 1.0", "epsilon = 1.5"))
    other = run(
        "collect", "invite", "study.toml", "-n", 2, "-o", "codes.csv", "--server", url, *token
    )
    assert other.exit_code == 1 and "409, other_study" in other.stderr
    assert made.collector.invitations == (0, 0)


def test_a_lost_reply_invites_nobody_twice(web: tuple[Site, str]) -> None:
    made, url = web
    found = Remote(url, made.token, sleep=lambda seconds: None)
    lost, ask_once = [True, True, False], Remote._ask

    def losing(self: Remote, path: str, body: bytes | None = None) -> bytes:
        answer = ask_once(self, path, body)
        if lost.pop(0):
            raise remote.Later("unreachable", url, "lost its reply")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Remote, "_ask", losing)
        ids = invited_ids(made.study.digest, new_codes(9))
        assert found.invite(made.study.digest, ids) == 9


def test_only_the_owners_token_invites_and_only_with_whole_ids(tmp_path: Path) -> None:
    with site(tmp_path / "a", INVITED) as web, Client(web.application) as client:
        digest = web.study.digest
        body = invitations_body(digest, invited_ids(digest, new_codes(2)))
        asked = {"content": body, "headers": {**KIND, **web.bearer}}
        refused(client.post("/live/invite", content=body, headers=KIND), "no_owner")
        # A cookie is sent unasked, also for the form of another site.
        cookie = {**KIND, "cookie": f"{COOKIE}={web.token}"}
        refused(client.post("/live/invite", content=body, headers=cookie), "forbidden")
        refused(client.post("/live/invite", content=body, headers=web.bearer), "type")
        for wrong, name in {
            body[:-1]: "malformed",
            body[:36]: "malformed",
            b"WRN1" + body[4:]: "malformed",
            b"": "malformed",
            body + bytes(16 * access.MOST_INVITED + 160): "too_large",
            body[:4] + bytes(32) + body[36:]: "other_study",
        }.items():
            refused(client.post("/live/invite", content=wrong, headers=asked["headers"]), name)
        assert web.collector.invitations == (0, 0)
        for _ in range(2):
            answer = client.post("/live/invite", **asked)  # type: ignore[arg-type]
            assert (answer.status_code, answer.json()) == (202, {"invited": 2})
        web.collector.close_survey()
        refused(client.post("/live/invite", **asked), "closed")  # type: ignore[arg-type]
        with pytest.raises(Refused, match="closed for good"):
            web.collector.invite(invited_ids(digest, new_codes(1)))
    with site(tmp_path / "b") as web, Client(web.application) as client:
        headers = {**KIND, **web.bearer}
        refused(client.post("/live/invite", content=body, headers=headers), "not_by_invitation")
