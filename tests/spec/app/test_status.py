"""warner collect status: what those who operate a collector ask of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click.testing
import pytest

from tests.services import postgres_address
from tests.spec.collector._web import KIND, TEXT, Client, Site, ask, served, site
from tests.spec.collector.web.test_application import refused
from warner.app.cli import main
from warner.collector import collector as module, stores
from warner.collector.access import METRICS, token_hash
from warner.collector.collector import Collector
from warner.collector.status import Status
from warner.collector.stores import PostgresStore
from warner.studies.study import Study

KEYS = {
    "survey", "changed", "people", "published", "refused", "last_report", "copied", "engine",
    "store_bytes", "free_bytes", "servers", "version", "planned", "simulated", "is_estimating",
}  # fmt: skip
MINUTE = r"20\d\d-\d\d-\d\d \d\d:\d\d"
KEPT = 'keep_ids = "always"\n'


def run(*arguments: object) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, [str(a) for a in arguments])


def lines(*more: object) -> dict[str, str]:
    """{the first word: the rest} of what the command prints."""
    done = run("collect", "status", "study.toml", *more)
    assert done.exit_code == 0 and done.stderr == "", done.output
    assert not [line for line in done.stdout.splitlines() if len(line) > 80]
    return {line[:13].strip(): line[13:] for line in done.stdout.splitlines()}


def state(*more: object) -> dict[str, object]:
    read: dict[str, object] = json.loads(
        run("collect", "status", "study.toml", "--json", *more).stdout
    )
    assert read.keys() == KEYS
    return read


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(module, "PACE", 0.0)
    monkeypatch.setattr(stores, "_PATIENCE", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT + KEPT)
    with site(tmp_path / "study.counts.sqlite", KEPT) as made:
        Path("token").write_text(made.token)
        yield made


def test_a_running_server_says_it_to_the_owner_and_a_stopped_store_to_who_has_it(web: Site) -> None:
    in_use = run("collect", "status", "study.toml")
    assert in_use.exit_code == 1
    assert "is open in another process. Ask the running server: add --server" in in_use.stderr
    with served(web.application) as port:
        where = ("--server", f"http://127.0.0.1:{port}", "--token-file", "token")
        first = lines(*where)
        assert first["Survey"] == "open" and first["Backup"] == "none was made"
        assert first["Last report"].startswith("not known")
        assert ask(port, "POST", "/reports", web.body(12), KIND)[0] == 202
        assert ask(port, "POST", "/reports", b"x", KIND)[0] == 400
        assert ask(port, "POST", "/live/backup", b"", web.bearer)[0] == 200
        web.collector.keep_owner("anna", token_hash("of anna"))
        anna = {"authorization": "Bearer of anna"}
        assert ask(port, "POST", "/live/close", b"", anna)[0] == 303
        web.live.look()
        second = lines(*where)
        assert re.fullmatch(f"closed {MINUTE} UTC, by the token of anna", second["Survey"])
        assert second["People"] == "12 counted, 12 in published results, 100 planned"
        assert re.fullmatch(f"{MINUTE} UTC", second["Last report"])
        assert second["Refused"] == "1 malformed (the last minute may be missing)"
        assert re.fullmatch(f"{MINUTE} UTC, by the owner's token", second["Backup"])
        assert re.fullmatch(r"SQLite, [\d.]+ kB; [\d.]+ [MGT]B free on its disk", second["Store"])
        assert second["Open in"] == "1 process"
        running = state(*where)
    web.live.stop()
    web.collector.stop()
    stopped = state()
    # A store keeps no time of a report.
    assert running["last_report"] is not None and stopped["last_report"] is None
    assert (running["servers"], stopped["servers"]) == (1, 0)
    sizes = ("last_report", "servers", "store_bytes", "free_bytes")
    assert [{k: v for k, v in each.items() if k not in sizes} for each in (running, stopped)] == [
        {k: v for k, v in running.items() if k not in sizes}
    ] * 2


def test_people_are_those_of_the_live_page(web: Site) -> None:
    """Rejects a status that says more of people than the page: those since its last number, or the
    minute of a report before the page has counted it.
    """
    form = web.collector.format
    with Client(web.application) as client:

        def read() -> dict[str, object]:
            answer = client.get("/live/status.json", headers=web.bearer)
            assert answer.headers["cache-control"] == "no-store"
            found: dict[str, object] = answer.json()
            return found

        web.live.look()
        web.collector.submit(form.parse(web.body(10))).result()
        before = read()
        assert (before["people"], before["published"], before["last_report"]) == (0, 0, None)
        web.live.look()
        web.collector.submit(form.parse(web.body(3))).result()
        web.live.look()
        after = read()
        assert (after["people"], after["published"]) == (13, 10)
        assert re.fullmatch(MINUTE, str(after["last_report"]))
        web.collector.keep_owner(METRICS, token_hash("prometheus"))
        refused(client.get("/live/status.json"), "no_owner")
        bearer = {"authorization": "Bearer prometheus"}
        assert client.get("/live/status.json", headers=bearer).status_code in (401, 403)


def test_a_database_is_read_beside_its_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres_address()
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    nothing = run("collect", "status", "study.toml", "--store", address)
    assert nothing.exit_code == 1 and "postgresql://...: holds no counts yet" in nothing.stderr
    assert not PostgresStore(address).exists()  # and it was not made
    servers = [Collector(Study.parse(TEXT), PostgresStore(address)) for _ in range(2)]
    try:
        said = lines("--store", address)
        assert said["Open in"] == "2 processes" and said["Store"].startswith("PostgreSQL, ")
        assert "pg_dump" in said["Backup"]
    finally:
        for each in servers:
            each.stop()
    assert state("--store", address)["servers"] == 0


def test_there_must_be_a_store_and_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    done = run("collect", "status", "study.toml")
    assert done.exit_code == 1 and "study.counts.sqlite: holds no counts yet" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_what_a_stranger_says_is_a_state_or_refused(web: Site) -> None:
    whole = {
        "survey": "open\x1b[2J", "changed": {"when": "\x07", "what": "opened", "by": "\x1b"},
        "people": 1, "published": 0, "refused": {"\x1b": 1}, "last_report": "\x1b", "copied": None,
        "engine": "\x1b", "store_bytes": 1, "free_bytes": None, "servers": 1, "version": "\x1b",
    }  # fmt: skip
    text = "\n".join(Status.from_json(json.dumps(whole).encode()).lines())
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)
    for wrong in (b"", b"[]", b"{}", b"null", json.dumps({**whole, "changed": 7}).encode()):
        with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
            Status.from_json(wrong)
