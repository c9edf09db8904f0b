"""The commands of the collector: serve, invite, pull, push and close."""

from __future__ import annotations

import csv
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click.testing
import numpy as np
import pytest

from tests.services import postgres_address
from tests.spec.collector._web import KIND, SERVED, TEXT, Client, Site, ask, served, site
from tests.spec.collector.web.test_application import refused
from warner import io as files
from warner._core.progress import Notices, Stage, Tell, progress, stage
from warner.app.cli import main
from warner.app.commands import collectors, serving
from warner.collector import access, remote, stores
from warner.collector.access import (
    COOKIE,
    invitations_body,
    invited_id,
    invited_ids,
    new_codes,
    token_hash,
)
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.remote import Remote
from warner.collector.status import Status
from warner.collector.stores import PostgresStore, SQLiteStore
from warner.collector.survey_document import fingerprint
from warner.collector.web import server
from warner.collector.web.application import Settings
from warner.collector.web.limits import Limits
from warner.reports.tally import Tally, load_tallies, save_tallies
from warner.studies.study import Study

PEOPLE = 2300


def run(*arguments: object, text: str | None = None) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, [str(a) for a in arguments], input=text)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do not wait for the number that a server shows."""
    monkeypatch.setattr(remote.time, "sleep", lambda seconds: None)


@pytest.fixture
def web(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> Iterator[tuple[Site, str]]:
    """A collector that is served, and its address."""
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
    assert sent.exit_code == 0 and "2,300 reports were accepted. Each" in sent.stderr
    command = sent.stderr.rpartition("run: warner ")[2].split()
    assert command == f"collect status STUDY --server {url} --token-file token.txt".split()
    Path("token.txt").write_text(made.token)
    assert run(*("study.toml" if word == "STUDY" else word for word in command)).exit_code == 0
    # Without the token the rate is used up; with it the same file is taken again and not counted.
    limited = run("collect", "push", "reports.parquet", url)
    assert (
        limited.exit_code == 1
        and "which comes after too many others. With" in limited.stderr
        and "token" in limited.stderr
    )
    assert "0 of 2,300 reports were accepted. To go on, run the same command again" in (
        limited.stderr
    )
    for more in ([], ["--start", "2000"]):
        again = run("collect", "push", "reports.parquet", url, "--token-file", "token", *more)
        assert again.exit_code == 0, again.output
        assert "accepted: 0 new, and " in again.stderr
    assert (
        "300 reports were accepted: 0 new, and 300 that were counted before and are not counted again"
        in again.stderr
    )
    assert made.collector.n == PEOPLE
    made.live.look()
    pulled = run("collect", "pull", url, "-o", "pulled.json", "--token-file", "token")
    assert pulled.exit_code == 0 and "2,300 reports" in pulled.stderr
    assert "Replaced" not in pulled.stderr
    pulled = run("collect", "pull", url, "-o", "pulled.json", "--token-file", "token")
    assert "Replaced: pulled.json" in pulled.stderr
    assert "2,300 people are counted now, and the study planned 100." in pulled.stderr
    run("tally", "reports.parquet", "-o", "tally.json")
    read = {name: json.loads(Path(name).read_text()) for name in ("pulled.json", "tally.json")}
    assert read["pulled.json"]["attributes"] == read["tally.json"]["attributes"]
    assert run("merge", "pulled.json", "tally.json").exit_code == 1
    assert run("estimate", "pulled.json").exit_code == 0
    assert run("collect", "close", url, "--token-file", "token").exit_code == 0
    late = run("collect", "push", "reports.parquet", url, "--token-file", "token")
    assert late.exit_code == 1 and "closed" in late.stderr
    assert "0 of 2,300 reports were accepted.\n" in late.stderr


def test_the_rest_of_an_upload_is_estimated_from_what_this_run_sends(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a rate to which the rows before --start belong, as if this run had sent them."""
    stages: list[tuple[Stage, ...]] = []

    @contextmanager
    def watched(name: str, total: int) -> Iterator[Tell]:
        with progress(stages.append), stage(name, total) as tell:
            yield tell

    monkeypatch.setattr(serving, "stage", watched)
    report_file()
    sent = run(
        "collect", "push", "reports.parquet", web[1], "--token-file", "token", "--start", 100
    )
    assert "2,200 reports were accepted, all of them new" in sent.stderr
    assert [(one.done, one.total) for (one,) in stages[:-1]] == [
        (0, 2200),
        (1000, 2200),
        (2000, 2200),
        (2200, 2200),
    ]
    times = iter([0.0, 50.0])  # a limit of 20 a second, met at once
    notices = Notices(lambda: next(times))
    assert notices.line(stages[0]) is None
    assert notices.line(stages[1]) == "sending: 1,000 of 2,200. The rest takes about 60 s."
    for start in (2300, 9999):
        run("collect", "push", "reports.parquet", web[1], "--token-file", "token", "--start", start)
        assert stages[-2][0].total == 0


def test_a_pulled_tally_of_groups_says_who_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a tally that lacks a small group without a word, as a cluster of a survey."""
    monkeypatch.chdir(tmp_path)
    with_wards = '[public.ward]\nvalues = ["north", "south", "west"]\n'
    with site(tmp_path / "a.sqlite", with_wards) as made, served(made.application) as port:
        Path("token").write_text(made.token)
        url, form = f"http://127.0.0.1:{port}", made.collector.format
        answers = {"smokes": ["no"] * 103, "drinks": [1] * 103}
        wards = {"ward": ["north"] * 60 + ["west"] * 40 + ["south"] * 3}
        mechanisms = made.study.mechanisms
        reports = {name: mechanisms[name].randomize(values) for name, values in answers.items()}
        batch = form.parse(form.seal(reports, wards))
        made.collector.submit(batch).result()
        assert run("collect", "close", url, "--token-file", "token").exit_code == 0
        made.live.look()
        by_ward = run(
            "collect", "pull", url, "--token-file", "token", "-o", "w.json", "--by", "ward"
        )
        assert by_ward.exit_code == 0, by_ward.output
        assert load_tallies("w.json")["smokes"].n == 60
        assert "Left out: 43 people" in by_ward.stderr
        whole = run("collect", "pull", url, "--token-file", "token", "-o", "all.json")
        assert load_tallies("all.json")["smokes"].n == 103 and "Left out" not in whole.stderr
        wrong = {"wards": "Is 'ward' meant?", "age": "Leave out --by."}
        for name, remedy in wrong.items():
            refused = run("collect", "pull", url, "--token-file", "token", "--by", name)
            rule = f"--by: must be one of the public columns of the study: ward; got '{name}'. {remedy}"
            assert refused.exit_code == 1 and rule in " ".join(refused.stderr.split())


def test_groups_that_are_all_hidden_are_refused_with_the_number_and_the_way_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects groups that are called too small, of which one has 24 people, without a way on."""
    monkeypatch.chdir(tmp_path)
    with_wards = '[public.ward]\nvalues = ["north", "south"]\n'
    with site(tmp_path / "a.sqlite", with_wards) as made, served(made.application) as port:
        Path("token").write_text(made.token)
        url, form = f"http://127.0.0.1:{port}", made.collector.format
        answers = {"smokes": ["no"] * 30, "drinks": [1] * 30}
        wards = {"ward": ["north"] * 24 + ["south"] * 6}
        mechanisms = made.study.mechanisms
        reports = {name: mechanisms[name].randomize(values) for name, values in answers.items()}
        made.collector.submit(form.parse(form.seal(reports, wards))).result()
        assert run("collect", "close", url, "--token-file", "token").exit_code == 0
        made.live.look()
        refused = run("collect", "pull", url, "--token-file", "token", "--by", "ward")
        assert refused.exit_code == 1
        assert (
            "asks for groups that are not shown, so that nobody in a group of fewer than 10 people "
            "is recognised" in " ".join(refused.stderr.split())
        )
        assert "To count all people together, leave out --by." in " ".join(refused.stderr.split())


def test_the_owner_closes_the_survey(web: tuple[Site, str]) -> None:
    made, url = web
    closed = run("collect", "close", url, "--token-file", "token")
    assert closed.exit_code == 0 and made.collector.status() == "closed", closed.output
    report_file()
    late = run("collect", "push", "reports.parquet", url, "--token-file", "token")
    assert late.exit_code == 1 and "closed" in late.stderr


def test_a_backup_is_made_while_it_serves_and_goes_on_where_the_owner_says_so(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, url = web
    made.collector.submit(made.collector.format.parse(made.body(20))).result()
    assert run("collect", "backup", url).exit_code == 1  # without the token
    for _ in range(2):
        backup = run("collect", "backup", url, "--token-file", "token")
        assert backup.exit_code == 0 and backup.stdout == "", backup.output
        assert backup.stderr.startswith(
            "Written: a.sqlite-backup, on the collector's machine, beside the file with"
        )
    # Who has a page of another site open is not made to make copies.
    request = {"cookie": f"{COOKIE}={made.token}", "origin": url}
    port = int(url.rpartition(":")[2])
    assert ask(port, "POST", "/live/backup", b"", request)[0] == 403
    again = run("collect", "restore", "a.sqlite-backup", "a.sqlite")
    assert again.exit_code == 1 and "already exists" in again.stderr
    restored = run("collect", "restore", "a.sqlite-backup", "b.sqlite")
    assert restored.exit_code == 0 and "serve STUDY --restored" in restored.stderr
    database = run("collect", "restore", "a.sqlite-backup", "postgresql://host/database")
    assert database.exit_code == 1 and "pg_restore" in database.stderr
    Path("served.toml").write_text(SERVED)
    monkeypatch.setattr(server, "run", lambda application, listen, ready, stop: ready(8000))
    serve = ["collect", "serve", "served.toml", "--port", "0", "--store", "b.sqlite"]
    unaware = run(*serve)
    assert unaware.exit_code == 1 and "20 ids of reports" in unaware.stderr, unaware.output
    aware = run(*serve, "--restored")
    assert aware.exit_code == 0 and "20 people have answered" in aware.stderr, aware.output
    assert "--restored" not in aware.stderr.rpartition("To go on")[2]
    assert run(*serve).exit_code == 0


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
    Path("study.toml").write_text(TEXT.replace("epsilon = 1.0", "epsilon = 1.5"))
    report_file("other.parquet")
    other = run("collect", "push", "other.parquet", url)
    assert other.exit_code == 1 and "another study" in other.stderr
    assert made.collector.n == 0


def test_a_trial_with_simulated_reports_says_so_to_the_end(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects simulated reports that a collector hands back as those of people."""
    made, url = web
    report_file("simulated.parquet", seed=3)
    report_file("real.parquet")
    token, trial = ("--token-file", "token"), ("push", "simulated.parquet", url)
    refused = run("collect", *trial, *token)
    assert refused.exit_code == 1 and "--allow-simulated" in refused.stderr
    refused = run("collect", *trial, "--allow-simulated")
    assert refused.exit_code == 1 and "needs the owner's token" in refused.stderr
    assert made.collector.n == 0
    for new in ("all of them new", ": 0 new"):  # the same file again is still the same trial
        sent = run("collect", *trial, "--allow-simulated", *token)
        assert sent.exit_code == 0 and new in sent.stderr, sent.output
        assert "Start the real survey with a new store" in sent.stderr
    real = run("collect", "push", "real.parquet", url, *token)
    assert real.exit_code == 1 and "are real, but this survey is a trial" in real.stderr
    assert "--store NAME" in real.stderr and made.collector.n == PEOPLE
    status = run("collect", "status", "study.toml", "--server", url, *token)
    assert "0 counted (simulated)" in status.stdout, status.output
    made.live.look()
    notes = [note for section in made.live.view().sections for note in section.notes]
    assert "These reports are simulated: a program made them, and nobody sent them." in notes
    pulled = run("collect", "pull", url, *token, "-o", "tally.json")
    assert f"{url}: these reports are simulated" in pulled.stderr
    assert all(tally.simulated for tally in load_tallies("tally.json").values())
    assert "smokes: 2,300 simulated reports" in " ".join(
        run("estimate", "tally.json").stdout.split()
    )
    run("tally", "real.parquet", "-o", "real.json")
    mixed = run("merge", "tally.json", "real.json")
    assert mixed.exit_code == 1 and "--allow-simulated" in mixed.stderr
    Path("served.toml").write_text(SERVED)
    made.live.stop()
    made.collector.stop()
    monkeypatch.setattr(server, "run", lambda application, listen, ready, stop: ready(8000))
    again = run("collect", "serve", "served.toml", "--port", "0", "--store", "a.sqlite")
    assert (
        "WARNING: This collector counts simulated reports, and refuses real ones." in again.stderr
    ), again.output


@pytest.mark.parametrize("ask", ["", '[ask]\neach = "one"\nepsilon = 1.0\n'])
def test_one_round_is_rehearsed_with_its_own_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: None, ask: str
) -> None:
    """Rejects a push that takes the very study of the collector for another one."""
    monkeypatch.chdir(tmp_path)
    protected = "" if ask else 'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    questions = [f'[attributes.{name}]\nvalues = ["off", "on"]\n{protected}' for name in "ab"]
    text = "".join([ask, "[repeat]\nrounds = 52\nforever = 2.0\nround = 2\n", *questions])
    Path("study.toml").write_text(text)
    Path("answers.csv").write_text("a,b\n" + "on,off\n" * 40)
    made_up = run("randomize", "study.toml", "answers.csv", "--seed", 1, "-o", "r.parquet")
    assert made_up.exit_code == 0, made_up.output
    with site(tmp_path / "a.sqlite", text=text) as made, served(made.application) as port:
        Path("token").write_text(made.token)
        url = f"http://127.0.0.1:{port}"
        push = "collect", "push", "r.parquet", url, "--allow-simulated", "--token-file", "token"
        assert "all of them new" in run(*push).stderr and made.collector.n == 40
        tallies = made.collector.state().tallies.values()
        assert {tally.simulated for tally in tallies} == {True}
        Path("study.toml").write_text(text.replace("forever = 2.0", "forever = 3.0"))
        again = run("randomize", "study.toml", "answers.csv", "--seed", 1, "-o", "r2.parquet")
        assert again.exit_code == 0, again.output
        other = run(*(word.replace("r.parquet", "r2.parquet") for word in push))
        assert other.exit_code == 1 and "another study" in other.stderr
        assert made.collector.n == 40


def test_simulated_reports_are_not_sent_to_a_survey_of_people(web: tuple[Site, str]) -> None:
    made, url = web
    made.collector.submit(made.collector.format.parse(made.body(7))).result()
    report_file("simulated.parquet", seed=3)
    options = "--allow-simulated", "--token-file", "token"
    refused = run("collect", "push", "simulated.parquet", url, *options)
    assert refused.exit_code == 1 and "are simulated, but this survey has counted" in refused.stderr
    assert made.collector.n == 7 and not made.collector.is_simulated
    assert not any(tally.simulated for tally in made.collector.state().tallies.values())


def test_a_file_of_another_week_is_not_sent_and_is_noticed_when_it_is_counted(
    web: tuple[Site, str],
) -> None:
    """Rejects reports of week 1 in the counts of week 2, from which nothing can take them out."""
    made, url = web
    Path("study.toml").write_text(TEXT.replace("Habits", "Habits, week 1"))
    report_file("week1.parquet")
    whose = "reports for the study 'Habits, week 1', not for 'Habits'"
    other = run("collect", "push", "week1.parquet", url)
    assert other.exit_code == 1 and whose in other.stderr and "--allow-other-title" in other.stderr
    assert made.collector.n == 0
    Path("study.toml").write_text(TEXT)
    counted = run("tally", "week1.parquet", "--study", "study.toml", "-o", "tally.json")
    assert counted.exit_code == 0
    assert f"WARNING: week1.parquet: these are {whose}" in counted.stderr
    sent = run("collect", "push", "week1.parquet", url, "--allow-other-title")
    assert sent.exit_code == 0 and made.collector.n == PEOPLE


def test_with_the_token_push_says_how_many_are_new_and_warns_of_more_than_planned(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a file of another survey without a word, and the count before the last refresh."""
    made, url = web
    pushed = ("collect", "push", "reports.parquet", url, "--token-file", "token")
    report_file()
    made.collector.submit(made.collector.format.parse(made.body(7))).result()
    monkeypatch.setattr(remote.time, "sleep", lambda seconds: made.live.look())
    first = run(*pushed)
    assert "2,300 reports were accepted, all of them new" in first.stderr
    assert "WARNING: 2,307 people are counted now, and the study planned 100." in first.stderr
    again = run(*pushed)
    assert "2,300 reports were accepted: 0 new, and 2,300 that were" in again.stderr
    assert "WARNING: 2,307 people are counted now" in again.stderr
    state = Status.from_json(
        run(
            "collect", "status", "study.toml", "--json", *pushed[4:], "--server", url
        ).stdout.encode()
    )
    assert (state.people, state.planned) == (2307, 100)
    monkeypatch.setattr(Remote, "status", lambda self: replace(state, planned=2307))
    assert "\n2,307 people are counted now, and the study planned 2,307." in run(*pushed).stderr
    monkeypatch.setattr(Remote, "status", lambda self: replace(state, planned=None))
    assert "\n2,307 people are counted now.\n" in run(*pushed).stderr


def test_only_titles_in_one_language_are_compared(tmp_path: Path) -> None:
    """Rejects a refusal because a language, or a title at all, was added or left out."""
    study = Study.parse(TEXT)
    answers = {"smokes": ["no"] * 3, "drinks": [1] * 3}
    for name, titles in (("none", {}), ("both", {"en": "Habits", "de": "Gewohnheiten"})):
        with files.ReportWriter(
            str(tmp_path / f"{name}.csv"), study.mechanisms, titles=titles
        ) as writer:
            writer.write({a: m.randomize(answers[a]) for a, m in study.mechanisms.items()})
    silent = files.open_reports(str(tmp_path / "none.csv"))
    stated = files.open_reports(str(tmp_path / "both.csv"))
    assert silent.other_title({"en": "Habits"}) is None
    assert stated.other_title({"fr": "Usages", "en": ""}) is None
    assert stated.other_title({"fr": "Usages", "de": "Gewohnheiten"}) is None
    assert (
        stated.other_title({"en": "Habits", "de": "Anderes"})
        == "reports for the study 'Gewohnheiten', not for 'Anderes'"
    )


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
    # Reports whose reply was lost look counted before, so nothing is said of them.
    assert "Each report counts once" in sent.stderr and " new, " not in sent.stderr
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
        (
            "collect",
            "pull",
            url,
            "--token-file",
            "wrong",
        ): "refused the request, which needs the owner's token. This is not the owner's token",
        ("collect", "pull", url, "--token-file", "empty"): "contains no token",
        (
            "collect",
            "pull",
            url,
            "--token-file",
            "RIGHT=s3cret",
        ): "--token-file: must be the name of a file that holds the owner's token, and there is",
        ("collect", "pull", url, "--token-env", "NOTHING"): "contains no token",
        ("collect", "pull", url, "--token-env", "A", "--token-file", "wrong"): "together",
        (
            "collect",
            "pull",
            url,
            "--token-env",
            "RIGHT",
        ): "refused the request, which asks for a result that is not published yet.",
        ("collect", "pull", f"{url}/live", "--token-env", "RIGHT"): "address of the survey page",
        ("collect", "pull", url, "--token-env", "RIGHT", "--by", "hue"): "there are none",
        (
            "collect",
            "pull",
            "ftp://x",
            "--token-file",
            "token",
        ): "URL: must begin with https:// or http://",
        (
            "collect",
            "pull",
            f"{url}/?token=1",
            "--token-file",
            "token",
        ): "must not have ?, # or @",
        ("collect", "pull", "http://127.0.0.1:9", "--token-file", "token"): "cannot be reached",
    }.items():
        done = run(*arguments)
        assert done.exit_code == 1 and words in done.stderr, (arguments, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1
        assert "Traceback" not in done.output and "RIGHT=" not in done.output
    assert Remote("http://survey.example.org").is_open_to_listeners
    assert not Remote("https://survey.example.org").is_open_to_listeners


def test_new_codes_in_a_later_round_of_drawn_questions_are_for_new_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects silence where a new code asks people another question, which devices refuse."""
    monkeypatch.chdir(tmp_path)
    study = (
        '[ask]\neach = "one"\nepsilon = 0.5\n[collect]\naccess = "invited"\n'
        "[repeat]\nrounds = 4\nforever = 2.0\nround = 1\n"
        '[attributes.a]\nvalues = ["off", "on"]\n[attributes.b]\nvalues = ["off", "on"]\n'
    )
    Path("1.toml").write_text(study)
    Path("2.toml").write_text(study.replace("round = 1", "round = 2"))
    warning = "only to people who took no part in an earlier round"
    first = run("collect", "invite", "1.toml", "-n", 2, "-o", "1.csv")
    again = run("collect", "invite", "2.toml", "--codes", "1.csv", "-o", "2.csv")
    more = run("collect", "invite", "2.toml", "-n", 1, "-o", "more.csv")
    assert first.exit_code == again.exit_code == more.exit_code == 0
    assert [warning in done.stderr for done in (first, again, more)] == [False, False, True]


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
    assert locked.exit_code == 1 and "stop that server first" in locked.stderr
    collector.stop()
    done = run("collect", "unused", "study.toml", "--codes", "codes.csv", "-o", "left.csv")
    assert "499 of 500 codes were not used yet" in done.stderr
    left = list(csv.DictReader(Path("left.csv").read_text().splitlines()))
    assert [row["code"] for row in left] == [row["code"] for row in [*rows[:7], *rows[8:]]]
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
        (
            "--certificate",
            "a.pem",
        ): "--certificate: can be used only together with --key. Add --key FILE",
        ("--url", "survey.example.org"): "https://",
        ("--store", "nowhere/a.sqlite"): "cannot be opened",
        ("--host", "no such host"): "cannot use this address",
    }.items():
        done = run("collect", "serve", "study.toml", "--port", 0, *more)
        assert done.exit_code == 1 and words in done.stderr, done.output
        assert len(done.stderr.strip().splitlines()) == 1
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run("collect", "serve", "study.toml")
    assert done.exit_code == 1 and 'pip install "warner[serve]"' in done.stderr


def test_hosts_that_are_answered() -> None:
    own = ["localhost", "127.0.0.1", "[::1]"]
    assert collectors.hosts_of([], None, "0.0.0.0") == []
    assert collectors.hosts_of([], None, "127.0.0.1") == own
    assert collectors.hosts_of([], "https://a.org:8443/x", "0.0.0.0") == ["a.org", *own]
    assert collectors.hosts_of(["b.org"], "https://a.org", "::1") == ["b.org", "a.org", *own]


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
    assert (
        refused.exit_code == 1
        and "must be at most collect.people, which is 100" in refused.stderr
        and not seen
    )


def test_a_token_is_kept_only_when_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is taken made a token that nobody knew, and the next start printed none."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("collect", "serve", "study.toml", "--port", taken.getsockname()[1])
    assert done.exit_code == 1 and "cannot use this address" in done.stderr
    collector = Collector(Study.load("study.toml"), SQLiteStore("study.counts.sqlite"))
    try:
        assert collector.owners == {}
    finally:
        collector.stop()


def test_others_have_tokens_by_name_which_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    serve = ("collect", "serve", "study.toml")
    first = run(*serve, "--token-for", "anna", "--token-for", "metrics")
    assert "Live result: http" in first.stdout and "Live result of anna: http" in first.stdout
    assert "Token for the metrics at http://127.0.0.1:8000/live/metrics: " in first.stdout
    assert "--token-for" not in first.stderr.rpartition("To go on")[2]
    again = run(*serve, "--end-token", "anna", "--token-for", "metrics")
    assert again.exit_code == 0 and "token=" not in again.stdout
    collector = Collector(Study.load("study.toml"), SQLiteStore("study.counts.sqlite"))
    assert sorted(collector.owners) == ["", "metrics"]
    done = [(what, who) for _, what, who in collector.record]
    assert done[-2:] == [("token made", "metrics"), ("token ended", "anna")]
    collector.stop()
    for option, name, said in (
        ("--end-token", "anna", "must be one of the names that have a token: metrics; got 'anna'."),
        ("--end-token", "", "must be one of the names that have a token: metrics; got ''."),
        ("--token-for", "a\nb", "letters, digits, spaces and .@-; got 'a\\nb'."),
    ):
        assert said in run(*serve, option, name).output


def test_who_may_only_look_has_a_token_of_a_viewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    serve = ("collect", "serve", "study.toml")
    first = run(*serve, "--viewer", "anna", "--token-for", "ben")
    assert "Live result of anna (viewer): http" in first.stdout
    assert "--viewer" not in first.stderr.rpartition("To go on")[2]
    assert "must be a name of at most" in run(*serve, "--viewer", "anna (viewer)").output
    assert run(*serve, "--end-token", "anna (viewer)").exit_code == 0
    collector = Collector(Study.load("study.toml"), SQLiteStore("study.counts.sqlite"))
    assert sorted(collector.owners) == ["", "ben"]
    collector.stop()


def test_one_file_holds_the_token_of_the_collectors_of_every_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a token of last week that no longer opens the live page, and one that is guessed."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    hashes, viewers = [], []
    for week in ("1", "2", "2"):
        serve = ("collect", "serve", "study.toml", "--store", f"{week}.sqlite")
        done = run(*serve, "--token-file", "token.txt", "--viewer", "anna", "--token-for", "ben")
        assert done.exit_code == 0, done.output
        assert ("of anna (viewer): " in done.stdout) is (len(hashes) < 2)  # once in each store
        assert ("Written: token.txt" in done.stderr) is (not hashes)
        collector = Collector(Study.load("study.toml"), SQLiteStore(f"{week}.sqlite"))
        hashes.append(collector.owners[""])
        viewers.append((collector.owners["anna (viewer)"], collector.owners["ben"]))
        collector.stop()
    assert len({*viewers}) == 1 and len({*viewers[0], hashes[0]}) == 3  # their links go on
    assert "/live (with the token in token.txt)" in done.stdout
    assert hashes == [token_hash(Path("token.txt").read_text().strip())] * 3
    assert Path("token.txt").stat().st_mode & 0o77 == 0
    serve = (*serve, "--token-file", "token.txt")
    assert "Written: token.txt" in run(*serve, "--new-token", "--viewer", "anna").stderr
    assert run(*serve, "--end-token", "ben").exit_code == 0
    collector = Collector(Study.load("study.toml"), SQLiteStore("2.sqlite"))
    assert collector.owners["anna (viewer)"] != viewers[0][0] and "ben" not in collector.owners
    assert collector.owners[""] == token_hash(Path("token.txt").read_text().strip()) != hashes[0]
    collector.stop()
    Path("token.txt").write_text("hunter2")
    said = run(*serve).output
    assert "token.txt: must hold a token that a collector made." in said and "hunter2" not in said


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
        "live?token=" in first.stdout
        and "Use such small steps only for trials: the page shows a new result after 1 report"
        in first.stderr
    )
    assert "token of the first start" in second.stdout and "trials" not in second.stderr
    Path("study.toml").write_text(SERVED + "opens = 2120-05-31T18:00:00+02:00\n")
    early = run("collect", "serve", "study.toml")
    page_shows = fingerprint(Study.load("study.toml"))
    assert page_shows in early.stderr and page_shows in run("audit", "study.toml").stdout
    assert (
        "not open" in early.stderr and "The survey opens at 2120-05-31 18:00+02:00." in early.stderr
    )


def test_a_survey_is_served_only_where_it_says_who_may_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects: a survey that was open to several reports of a person because nobody had decided."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    several = "a person can send several reports"
    Path("study.toml").write_text(TEXT)
    silent = run("collect", "serve", "study.toml")
    assert silent.exit_code == 1 and not list(tmp_path.glob("*.sqlite"))
    first, *remedy = silent.stderr.strip().splitlines()
    assert "study.toml: collect.access: must say who may answer." in first
    lines = [line.partition("#")[0].strip() for line in remedy]
    assert lines == ['access = "invited"', 'access = "open"', 'access = "tokens"']
    Path("paper.toml").write_text(
        '[attributes.x]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    )
    on_paper = run("collect", "serve", "paper.toml").stderr
    assert "is a design for paper" in on_paper and "who may answer" not in on_paper
    given = run("collect", "status", "https://survey.example.org").stderr
    assert "STUDY: must be the study file" in given and "with --server" in given
    unsigned = run("collect", "verify", "https://survey.example.org", "--trust", "study.toml")
    assert "study.toml: holds no certificate" in unsigned.stderr
    Path("study.toml").write_text(SERVED)
    assert several in run("collect", "serve", "study.toml").stderr
    Path("study.toml").write_text(TEXT + 'access = "invited"\n')
    invited = run("collect", "serve", "study.toml")
    assert invited.exit_code == 0 and several not in invited.stderr
    other = run("collect", "serve", "study.toml", "--access", "open")
    assert '--access: cannot change the study, which says access = "invited"; got' in other.stderr


def test_serve_asks_who_may_answer_and_how_many_are_in_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects: an error at a terminal, and a room of 30 in which nobody ever sees a result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run", lambda application, place, ready, stop: ready(8000))
    Path("study.toml").write_text(TEXT.partition("[collect]")[0])
    serve = ("collect", "serve", "study.toml")
    option = run(*serve, "--lan", "--access", "open").stderr
    assert "first result after 50 answers. For a room of 30 people, add --people 30" in option
    assert "For a room" not in run(*serve, "--access", "open").stderr
    assert "after 30 answers." in run(*serve, "--access", "open", "--people", "30").stderr
    monkeypatch.setattr("warner.app.commands.serving._is_terminal", lambda: True)
    asked = run(*serve, "--lan", "--store", "room.sqlite", text="y\n30\n").stderr
    assert "May everyone with the address answer?" in asked and "people are in the room" in asked
    assert "after 30 answers." in asked and "--access open --people 30" in asked
    refused = run(*serve, text="n\n")
    assert refused.exit_code == 1 and "must say who may answer" in refused.stderr


def test_answers_of_strangers_are_named_errors(tmp_path: Path) -> None:
    found = Remote("http://127.0.0.1:9", sleep=lambda seconds: None)
    with pytest.raises(Refused, match="cannot be reached"):
        found.send(b"x")


def test_pull_waits_for_the_result_of_a_survey_that_was_just_closed(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, url = web
    waits: list[float] = []
    found = Remote(url, made.token, sleep=waits.append)
    refusals = 2

    def asked(self: Remote, path: str, *more: object) -> bytes:
        if path.startswith("/live/status"):
            return b'{"survey": "closed", "people": 20}'
        if path.startswith("/live/tally") and len(waits) < refusals:
            raise Refused("no_estimate_yet", url, "refused with 404, no_estimate_yet")
        return b"tally"

    monkeypatch.setattr(Remote, "_ask", asked)
    monkeypatch.setattr(Status, "from_json", lambda text: SimpleNamespace(**json.loads(text)))
    assert found.tally() == b"tally" and waits == [0.5, 1.0]
    refusals = 99
    with pytest.raises(Refused, match="is being computed"):
        found.tally()


def test_pull_says_who_waits_for_the_next_step_and_waits_for_the_last_one(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a tally of 60 people that says nothing of 5 others, and one before the last step."""
    made, url = web
    form, mechanisms = made.collector.format, made.study.mechanisms
    for n in (60, 5):
        answers = {"smokes": ["no"] * n, "drinks": [1] * n}
        reports = {name: mechanisms[name].randomize(values) for name, values in answers.items()}
        made.collector.submit(form.parse(form.seal(reports))).result()
        made.live.look()
    pulled = run("collect", "pull", url, "--token-file", "token", "-o", "t.json")
    assert pulled.exit_code == 0 and load_tallies("t.json")["smokes"].n == 60
    assert "Not in this tally: 5 people counted after the last published result." in " ".join(
        pulled.stderr.split()
    )
    assert run("collect", "close", url, "--token-file", "token").exit_code == 0
    ask = Remote.status

    def estimated_afterwards(self: Remote) -> Status:
        status = ask(self)
        made.live.look()
        return status

    monkeypatch.setattr(Remote, "status", estimated_afterwards)
    pulled = run("collect", "pull", url, "--token-file", "token", "-o", "t.json")
    assert pulled.exit_code == 0 and load_tallies("t.json")["smokes"].n == 65
    assert "Not in this tally" not in pulled.stderr


def test_pull_says_that_the_next_result_is_being_computed(
    web: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects the advice to close a survey, for good, where a minute brings the next result."""
    made, url = web
    form, mechanisms = made.collector.format, made.study.mechanisms
    for n in (60, 120):
        answers = {"smokes": ["no"] * n, "drinks": [1] * n}
        reports = {name: mechanisms[name].randomize(values) for name, values in answers.items()}
        made.collector.submit(form.parse(form.seal(reports))).result()
        made.live.look()
        monkeypatch.setattr(made.live, "_show", lambda step: None)  # as while it is estimated
    pulled = run("collect", "pull", url, "--token-file", "token", "-o", "t.json")
    said = " ".join(pulled.stderr.split())
    assert pulled.exit_code == 0 and load_tallies("t.json")["smokes"].n == 60
    assert "120 people counted after the last published result. The next result is being" in said
    assert "run the command again in a minute" in said and "collect close" not in said


def test_pull_of_a_closed_survey_without_reports_does_not_wait_long(
    web: tuple[Site, str],
) -> None:
    """Rejects two minutes of waiting for a result that never comes, and the advice to go on so.

    Also rejects no wait at all: the number of people that a collector shows is seconds old.
    """
    made, url = web
    assert run("collect", "close", url, "--token-file", "token").exit_code == 0
    waits: list[float] = []
    with pytest.raises(Refused, match="closed before any report came, so it has no result"):
        Remote(url, made.token, sleep=waits.append).tally()
    assert sum(waits) == 7.5
    done = run("collect", "pull", url, "--token-file", "token", "-o", "t.json")
    assert done.exit_code == 1 and "before any report came" in done.stderr
    assert "minute" not in done.stderr


def test_messages_of_pull_say_what_to_do(web: tuple[Site, str]) -> None:
    _, url = web
    Path("wrong").write_text("wrong")
    for words, more in {
        "must begin with https:// or http://": (url.partition("//")[2], "token"),
        "This is not the owner's token of this server": (url, "wrong"),
        "live page says when the result comes": (url, "token"),
        "write http:// instead of https://": (url.replace("http:", "https:"), "token"),
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
    assert done.exit_code == 1 and "study.counts.sqlite: belongs to another study" in done.stderr


INVITED = 'access = "invited"\n'


@pytest.fixture
def web_of_inviting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str]]:
    """A collector that is served, and its address."""
    monkeypatch.setattr(stores, "_PATIENCE", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT + INVITED)
    with site(Path("study.counts.sqlite"), INVITED) as made, served(made.application) as port:
        Path("token").write_text(f"{made.token}\n")
        yield made, f"http://127.0.0.1:{port}"


def test_codes_are_made_while_it_serves_and_count_once(
    web_of_inviting: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_INVITED", 7)  # three requests
    made, url = web_of_inviting
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
    assert fingerprint(Study.load("study.toml")) in done.stderr
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
    listed = ("collect", "unused", "study.toml", "--codes", "b.csv", "-o", "left.csv", *public)
    said = run(*listed).stderr
    assert "4 of 5 codes were not used yet" in said
    left = list(csv.DictReader(Path("left.csv").read_text().splitlines()))
    assert left == rows[1:] and rows[0]["code"] not in said
    # The running server never sees a code, and the store holds none.
    made.collector.check()
    kept = b"".join(path.read_bytes() for path in Path().glob("study.counts*"))
    assert not any(row["code"].replace("-", "").encode() in kept for row in rows)


def test_codes_are_made_while_it_serves_with_postgresql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        # Several processes may have it open: codes can be made beside the server.
        beside = run("collect", "invite", "study.toml", "-n", 2, "-o", "b.csv", "--store", address)
        assert beside.exit_code == 0 and "2 people are invited in all" in beside.stderr
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
        assert done.exit_code == 0 and made.collector.invitations == (5, 0), done.stderr


def test_what_goes_wrong_is_said_and_no_codes_are_written(
    web_of_inviting: tuple[Site, str],
) -> None:
    made, url = web_of_inviting
    Path("wrong").write_text("wrong")
    token = ("--token-file", "token")
    for words, more in {
        "Send the codes to the running server, with --server": (),
        "--server: needs the owner's token": ("--server", url),
        "--token-file: can be used only with a running collector": token,
        "refused the request, which needs the owner's token. This is not the owner's token": (
            "--server",
            url,
            "--token-file",
            "wrong",
        ),
        "--store: cannot be used with --server, because the collector runs already": (
            "--server",
            url,
            *token,
            "--store",
            "x.sqlite",
        ),
        "must begin with https://": ("--server", "localhost", *token),
    }.items():
        done = run("collect", "invite", "study.toml", "-n", 2, "-o", "codes.csv", *more)
        assert done.exit_code == 1 and words in done.stderr, (words, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1 and not Path("codes.csv").exists()
    Path("study.toml").write_text((TEXT + INVITED).replace("epsilon = 1.0", "epsilon = 1.5"))
    other = run(
        "collect", "invite", "study.toml", "-n", 2, "-o", "codes.csv", "--server", url, *token
    )
    assert other.exit_code == 1 and "invitations belong to another study." in other.stderr
    assert made.collector.invitations == (0, 0)


def test_a_lost_reply_invites_nobody_twice(web_of_inviting: tuple[Site, str]) -> None:
    made, url = web_of_inviting
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
    with (
        site(tmp_path / "a", INVITED) as web_of_inviting,
        Client(web_of_inviting.application) as client,
    ):
        digest = web_of_inviting.study.digest
        body = invitations_body(digest, invited_ids(digest, new_codes(2)))
        asked = {"content": body, "headers": {**KIND, **web_of_inviting.bearer}}
        refused(client.post("/live/invite", content=body, headers=KIND), "no_owner")
        # A cookie is sent unasked, also for the form of another site.
        cookie = {**KIND, "cookie": f"{COOKIE}={web_of_inviting.token}"}
        refused(client.post("/live/invite", content=body, headers=cookie), "forbidden")
        refused(client.post("/live/invite", content=body, headers=web_of_inviting.bearer), "type")
        for wrong, name in {
            body[:-1]: "malformed",
            body[:36]: "malformed",
            b"WRN1" + body[4:]: "malformed",
            b"": "malformed",
            body + bytes(16 * access.MOST_INVITED + 160): "too_large",
            body[:4] + bytes(32) + body[36:]: "other_study",
        }.items():
            refused(client.post("/live/invite", content=wrong, headers=asked["headers"]), name)
        assert web_of_inviting.collector.invitations == (0, 0)
        for _ in range(2):
            answer = client.post("/live/invite", **asked)  # type: ignore[arg-type]
            assert (answer.status_code, answer.json()) == (202, {"invited": 2})
        web_of_inviting.collector.close_survey()
        refused(client.post("/live/invite", **asked), "closed")  # type: ignore[arg-type]
        with pytest.raises(Refused, match="closed for good"):
            web_of_inviting.collector.invite(invited_ids(digest, new_codes(1)))
    with site(tmp_path / "b") as web_of_inviting, Client(web_of_inviting.application) as client:
        headers = {**KIND, **web_of_inviting.bearer}
        refused(client.post("/live/invite", content=body, headers=headers), "not_by_invitation")
