"""warner collect serve, invite, pull and push, from the command line."""

from __future__ import annotations

import csv
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import click.testing
import numpy as np
import pytest

from tests.spec.collector._web import SERVED, TEXT, Site, served, site
from warner.app.cli import main
from warner.app.commands import serving
from warner.collector import collector as module, remote
from warner.collector.access import invited_id
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.remote import Remote
from warner.collector.stores import SQLiteStore
from warner.collector.web import server
from warner.collector.web.application import Settings
from warner.collector.web.limits import Limits
from warner.reports.tally import Tally, load_tallies, save_tallies
from warner.studies.study import Study

PEOPLE = 2300


def run(*arguments: object) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str]]:
    """A collector that is served, and its address."""
    monkeypatch.setattr(module, "PACE", 0.0)
    monkeypatch.setattr(remote.time, "sleep", lambda seconds: None)
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    settings = Settings(Limits(rate=0.001, burst=PEOPLE))
    with site(tmp_path / "a.sqlite", settings=settings) as made, served(made.application) as port:
        Path("token").write_text(f"http://x/live?token={made.token}\n")
        yield made, f"http://127.0.0.1:{port}"


def report_file(name: str = "reports.parquet", seed: int | None = None) -> None:
    """A file of reports of the study."""
    rng = np.random.default_rng(1)
    lines = [f"{'yes' if rng.random() < 0.3 else 'no'},{rng.integers(10)}" for _ in range(PEOPLE)]
    Path("answers.csv").write_text("\n".join(["smokes,drinks", *lines, ""]))
    more = [] if seed is None else ["--seed", seed]
    assert run("randomize", "study.toml", "answers.csv", "-o", name, *more).exit_code == 0


def test_a_report_file_is_sent_once_and_its_tally_comes_back(web: tuple[Site, str]) -> None:
    made, url = web
    report_file()
    sent = run("collect", "push", "reports.parquet", url + "/")
    assert sent.exit_code == 0 and "2,300 reports were accepted" in sent.stderr
    # Without the token the rate is used up; with it the same file is taken again and not counted.
    limited = run("collect", "push", "reports.parquet", url)
    assert limited.exit_code == 1 and "too_many" in limited.stderr and "token" in limited.stderr
    assert "0 of 2,300 reports were accepted" in limited.stderr
    for more in ([], ["--start", "2000"]):
        again = run("collect", "push", "reports.parquet", url, "--token-file", "token", *more)
        assert again.exit_code == 0, again.output
    assert "300 reports were accepted" in again.stderr
    assert made.collector.n == PEOPLE
    made.live.look()
    pulled = run("collect", "pull", url, "-o", "pulled.json", "--token-file", "token")
    assert pulled.exit_code == 0 and "2,300 reports" in pulled.stderr
    run("tally", "reports.parquet", "-o", "tally.json")
    read = {name: json.loads(Path(name).read_text()) for name in ("pulled.json", "tally.json")}
    assert read["pulled.json"]["attributes"] == read["tally.json"]["attributes"]
    assert run("merge", "pulled.json", "tally.json").exit_code == 1
    assert run("estimate", "pulled.json").exit_code == 0


def test_the_owner_closes_the_survey(web: tuple[Site, str]) -> None:
    made, url = web
    closed = run("collect", "close", url, "--token-file", "token")
    assert closed.exit_code == 0 and made.collector.status() == "closed", closed.output
    report_file()
    late = run("collect", "push", "reports.parquet", url, "--token-file", "token")
    assert late.exit_code == 1 and "closed" in late.stderr


def test_tallies_of_one_collector_are_never_added(web: tuple[Site, str]) -> None:
    made, url = web
    for name in ("monday.json", "tuesday.json"):
        body = made.body(20)
        made.collector.submit(made.collector.format.parse(body)).result()
        made.live.look()
        assert run("collect", "pull", url, "-o", name, "--token-file", "token").exit_code == 0
    assert load_tallies("tuesday.json")["smokes"].n == 40
    refused = run("merge", "monday.json", "tuesday.json", "--allow-equal")
    assert refused.exit_code == 1 and "must not be added twice" in refused.stderr
    # What others counted is added, and the sum remembers of whom it is.
    report_file()
    run("tally", "reports.parquet", "-o", "others.json")
    assert run("merge", "others.json", "tuesday.json", "-o", "sum.json").exit_code == 0
    assert run("merge", "sum.json", "monday.json").exit_code == 1
    with site(Path("north.sqlite")) as north:
        north.collector.submit(north.collector.format.parse(north.body(30))).result()
        save_tallies(north.collector.state().tallies, "north.json")
    assert run("merge", "north.json", "tuesday.json", "-o", "both.json").exit_code == 0
    both = load_tallies("both.json")["smokes"]
    assert both.n == 70 and len(json.loads(Path("both.json").read_text())["collectors"]) == 2
    assert Tally.from_json(both.to_json()) == both


def test_files_that_do_not_belong_there_are_not_sent(web: tuple[Site, str]) -> None:
    made, url = web
    report_file("simulated.parquet", seed=3)
    refused = run("collect", "push", "simulated.parquet", url)
    assert refused.exit_code == 1 and "--allow-simulated" in refused.stderr
    Path("study.toml").write_text(TEXT.replace("epsilon = 1.0", "epsilon = 1.5"))
    report_file("other.parquet")
    other = run("collect", "push", "other.parquet", url)
    assert other.exit_code == 1 and "another study" in other.stderr
    assert made.collector.n == 0


def test_replies_that_are_lost_do_not_count_twice(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, url = web
    report_file()
    lost, ask_once = [True, True, False, True, False, False], Remote._ask

    def losing(self: Remote, path: str, body: bytes | None = None) -> bytes:
        answer = ask_once(self, path, body)
        if body is not None and lost and lost.pop(0):
            raise remote.Later("unreachable", url, "lost its reply")
        return answer

    monkeypatch.setattr(Remote, "_ask", losing)
    sent = run("collect", "push", "reports.parquet", url, "--token-file", "token")
    assert sent.exit_code == 0 and not lost
    assert made.collector.n == PEOPLE


def test_what_goes_wrong_is_said_in_one_line(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = web
    monkeypatch.setenv("RIGHT", Path("token").read_text().strip())
    Path("wrong").write_text("wrong\n")
    Path("empty").write_text("")
    for arguments, words in {
        ("collect", "pull", url): "--token-file",
        ("collect", "close", url): "--token-file",
        ("collect", "pull", url, "--token-file", "wrong"): "401, no_owner",
        ("collect", "pull", url, "--token-file", "empty"): "holds no token",
        ("collect", "pull", url, "--token-env", "NOTHING"): "holds no token",
        ("collect", "pull", url, "--token-env", "A", "--token-file", "wrong"): "both",
        ("collect", "pull", url, "--token-env", "RIGHT"): "404, no_estimate_yet",
        ("collect", "pull", "ftp://x", "--token-file", "token"): "https://",
        ("collect", "pull", f"{url}/?token=1", "--token-file", "token"): "question mark",
        ("collect", "pull", "http://127.0.0.1:9", "--token-file", "token"): "cannot be reached",
    }.items():
        done = run(*arguments)
        assert done.exit_code == 1 and words in done.stderr, (arguments, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1
        assert "Traceback" not in done.output and "RIGHT=" not in done.output
    assert Remote("http://survey.example.org").is_open_to_listeners
    assert not Remote("https://survey.example.org").is_open_to_listeners


def test_invitation_codes_have_links_and_only_their_hashes_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("open.toml").write_text(TEXT)
    refused = run("collect", "invite", "open.toml", "-n", 5, "-o", "codes.csv")
    assert refused.exit_code == 1 and 'access = "invited"' in refused.stderr
    Path("study.toml").write_text(TEXT + 'access = "invited"\n')
    url = "https://survey.example.org/s"
    done = run("collect", "invite", "study.toml", "-n", 500, "-o", "codes.csv", "--url", url + "/")
    assert done.exit_code == 0 and "500 people are invited" in done.stderr
    rows = list(csv.DictReader(Path("codes.csv").read_text().splitlines()))
    assert len({row["code"] for row in rows}) == 500
    assert all(row["link"] == f"{url}/#code={row['code']}" for row in rows)
    assert Path("codes.csv").stat().st_mode & 0o077 == 0 or sys.platform == "win32"
    assert run("collect", "invite", "study.toml", "-n", 1, "-o", "more.csv").exit_code == 0
    study = Study.load("study.toml")
    collector = Collector(study, SQLiteStore("study.counts.sqlite"))
    assert collector.invitations == (501, 0)
    ids = np.frombuffer(invited_id(study.digest, rows[7]["code"].lower()), np.uint8)
    reports = {
        name: m.randomize(["no"] if name == "smokes" else [3])
        for name, m in study.mechanisms.items()
    }
    body = collector.format.seal(reports, {}, ids.reshape(1, 16))
    assert collector.submit(collector.format.parse(body)).result().new == 1
    codes = Path("codes.csv").read_bytes()
    lost = run("collect", "invite", "study.toml", "-n", 1, "-o", "codes.csv")
    assert lost.exit_code == 1 and "cannot be made again" in lost.stderr
    assert Path("codes.csv").read_bytes() == codes
    locked = run("collect", "invite", "study.toml", "-n", 1, "-o", "others.csv")
    assert locked.exit_code == 1 and "stop the other one first" in locked.stderr
    collector.stop()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("study.counts*"))
    assert not any(row["code"].encode() in kept for row in rows)
    assert not any(row["code"].replace("-", "").encode() in kept for row in rows)


def test_serving_needs_its_extra_and_a_place_for_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    Path("public_html").mkdir()
    for more, words in {
        ("--store", "public_html/a.sqlite"): "web servers publish",
        ("--certificate", "a.pem"): "must be given together",
        ("--url", "survey.example.org"): "https://",
        ("--store", "nowhere/a.sqlite"): "cannot be opened",
        ("--host", "no such host"): "cannot be listened on",
    }.items():
        done = run("collect", "serve", "study.toml", "--port", 0, *more)
        assert done.exit_code == 1 and words in done.stderr, done.output
        assert len(done.stderr.strip().splitlines()) == 1
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run("collect", "serve", "study.toml")
    assert done.exit_code == 1 and 'pip install "warner[serve]"' in done.stderr


def test_hosts_that_are_answered() -> None:
    own = ["localhost", "127.0.0.1", "[::1]"]
    assert serving._hosts([], None, "0.0.0.0") == []
    assert serving._hosts([], None, "127.0.0.1") == own
    assert serving._hosts([], "https://a.org:8443/x", "0.0.0.0") == ["a.org", *own]
    assert serving._hosts(["b.org"], "https://a.org", "::1") == ["b.org", "a.org", *own]


def test_the_planned_number_can_be_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path / "study.toml").write_text(SERVED.replace("step = 10\n", ""))
    seen: list[Study] = []
    monkeypatch.setattr(serving, "_serve", lambda path, study, asked: seen.append(study))
    run("collect", "serve", tmp_path / "study.toml", "--people", 20_000)
    run("collect", "serve", tmp_path / "study.toml")
    run("collect", "serve", tmp_path / "study.toml", "--step", 1)
    steps = [(s.collect.people, s.collect.step) for s in seen]
    assert steps == [(20_000, 200), (100, 50), (100, 1)]
    assert seen[0].digest == seen[1].digest == seen[2].digest
    seen.clear()
    refused = run("collect", "serve", tmp_path / "study.toml", "--step", 101)
    assert refused.exit_code == 1 and "must be at most people, 100" in refused.stderr and not seen


def test_a_token_is_kept_only_when_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is taken made a token that nobody knew, and the next start printed none."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("collect", "serve", "study.toml", "--port", taken.getsockname()[1])
    assert done.exit_code == 1 and "cannot be listened on" in done.stderr
    collector = Collector(Study.load("study.toml"), SQLiteStore("study.counts.sqlite"))
    try:
        assert collector.owner_hash is None
    finally:
        collector.stop()


def test_small_steps_are_said_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    first, second = (
        run("collect", "serve", "study.toml", "--step", 1),
        run("collect", "serve", "study.toml"),
    )
    assert first.exit_code == second.exit_code == 0
    assert (
        "live?token=" in first.stdout and "as few as 1 report. This is for trials" in first.stderr
    )
    assert "token of the first start" in second.stdout and "trials" not in second.stderr
    Path("study.toml").write_text(SERVED + "opens = 2120-05-31T18:00:00+02:00\n")
    early = run("collect", "serve", "study.toml")
    assert "not open" in early.stderr and "It opens at 2120-05-31 18:00+02:00." in early.stderr


def test_a_survey_is_served_only_where_it_says_who_may_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects: a survey that was open to several reports of a person because nobody had decided."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    several = "one person can send several reports"
    Path("study.toml").write_text(TEXT)
    silent = run("collect", "serve", "study.toml")
    assert silent.exit_code == 1 and not list(tmp_path.glob("*.sqlite"))
    first, *remedy = silent.stderr.strip().splitlines()
    assert "study.toml: collect.access: must say who may answer." in first
    lines = [line.partition("#")[0].strip() for line in remedy]
    assert lines == ['access = "invited"', 'access = "open"']
    Path("study.toml").write_text(SERVED)
    assert several in run("collect", "serve", "study.toml").stderr
    Path("study.toml").write_text(TEXT + 'access = "invited"\n')
    invited = run("collect", "serve", "study.toml")
    assert invited.exit_code == 0 and several not in invited.stderr


def test_answers_of_strangers_are_named_errors(tmp_path: Path) -> None:
    found = Remote("http://127.0.0.1:9", sleep=lambda seconds: None)
    with pytest.raises(Refused, match="cannot be reached"):
        found.send(b"x")


def test_messages_of_pull_say_what_to_do(web: tuple[Site, str]) -> None:
    _, url = web
    Path("wrong").write_text("wrong")
    for words, more in {
        "must begin with https:// or http://": (url.partition("//")[2], "token"),
        "The token is not that of this collector": (url, "wrong"),
        "The live page says when that is": (url, "token"),
        "Does it speak HTTPS?": (url.replace("http:", "https:"), "token"),
    }.items():
        done = run("collect", "pull", more[0], "-o", "t.json", "--token-file", more[1])
        assert done.exit_code == 1 and words in done.stderr, done.output
        assert len(done.stderr.strip().splitlines()) == 1


def test_a_store_of_another_study_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    Collector(Study.load("study.toml"), SQLiteStore("study.counts.sqlite")).stop()
    Path("study.toml").write_text(SERVED.replace("epsilon = 1.0", "epsilon = 1.5"))
    done = run("collect", "serve", "study.toml", "--port", 0)
    assert done.exit_code == 1 and "study.counts.sqlite: holds the counts of another" in done.stderr
