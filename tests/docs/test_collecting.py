"""The guide on collecting answers: every command of the page runs, with servers of its own."""

from __future__ import annotations

import json
import re
import shlex
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

import warner
from tests.js._node import node
from tests.spec.app._command import run
from warner.collector.pages.survey import survey_page
from warner.collector.web.responses import REASONS
from warner.reports.tally import load_tallies
from warner.studies.study import Study

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = DOCS / "guides" / "collecting.md"
LESSON = DOCS / "guides" / "lesson.md"
REFERENCE = DOCS / "collector.md"
PEOPLE = 120
_HERE = "http://127.0.0.1:8000"
_NORTH = "https://north.example.org"
_SOUTH = "https://south.example.org"


class _Servers:
    """Collectors that commands of the page start, by the addresses that the page gives them."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}
        self._started: list[subprocess.Popen[str]] = []
        self._names: list[tuple[str, ...]] = []

    def start(self, command: str, *names: str) -> None:
        """Run ``warner collect serve ...`` on a free port, without waiting for it."""
        words = [sys.executable, "-m", *shlex.split(command), "--port", "0"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._started.append(process)
        self._names.append(names)

    def ready(self) -> list[str]:
        """Wait until all of them serve.

        Returns:
            The owner's token of each.
        """
        tokens = []
        for process, names in zip(self._started, self._names, strict=True):
            assert process.stdout is not None
            survey, live = (process.stdout.readline().split()[-1] for _ in range(2))
            self.addresses |= dict.fromkeys(names, survey.rstrip("/"))
            tokens.append(live.partition("token=")[2])
        return tokens

    def real(self, command: str) -> str:
        """A command with the addresses of servers that run."""
        for name, address in self.addresses.items():
            command = command.replace(name, address)
        return command

    def stop(self) -> None:
        """End all of them, gracefully."""
        for process in self._started:
            process.terminate()
        for process in self._started:
            _, said = process.communicate(timeout=30)
            assert process.returncode == 0, said
        self._started, self._names = [], []


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Servers]:
    monkeypatch.chdir(tmp_path)
    found = _Servers()
    yield found
    found.stop()


def _answers(path: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    smokes = rng.choice(["never", "sometimes", "daily"], PEOPLE, p=[0.6, 0.2, 0.2])
    drinks = rng.integers(0, 31, PEOPLE)
    rows = [f"{s},{d}" for s, d in zip(smokes, drinks, strict=True)]
    Path(path).write_text("\n".join(["smokes,drinks", *rows, ""]))


def _wait_for(address: str, token: str, n: int) -> None:
    """Wait until a collector has published so many reports."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, verify=False) as client:
        for _ in range(1200):
            found = client.get(f"{address}/live/estimates.json")
            if found.status_code == 200 and f'"n": {n}' in found.text:
                return
            time.sleep(0.1)
    pytest.fail(f"{n} reports were never published")


def _answered(address: str, token: str, seed: int) -> None:
    """People answer: their reports are sent to a collector."""
    _answers("people.csv", seed)
    Path("people.parquet").unlink(missing_ok=True)
    run("randomize", "habits.toml", "people.csv", "-o", "people.parquet")
    Path("people.txt").write_text(token)
    run("collect", "push", "people.parquet", address, "--token-file", "people.txt")
    _wait_for(address, token, PEOPLE)


def test_every_command_of_the_guide_runs(servers: _Servers) -> None:
    text = GUIDE.read_text()
    commands = re.findall(r"^\$ (.*)$", text, flags=re.M)
    assert len(commands) >= 15
    study, _ = re.findall(r"```toml\n(.*?)```", text, re.S)
    Path("habits.toml").write_text(study)
    _answers("paper.csv", 3)
    counted = []
    for command in commands:
        real = servers.real(command)
        if command.startswith("pip"):
            continue
        if command == "warner collect serve habits.toml":
            servers.start(command, _HERE, _NORTH)
            servers.start(f"{command} --store south.sqlite", _SOUTH)
            here, south = servers.ready()
            for name, token in (("token", here), ("north", here), ("south", south)):
                Path(f"{name}.txt").write_text(f"{token}\n")
            _answered(servers.addresses[_HERE], here, 1)
            _answered(servers.addresses[_SOUTH], south, 2)
        elif command.startswith("warner collect invite") and "--server" in command:
            servers.start("warner collect serve habits.toml", _HERE)
            Path("token.txt").write_text(servers.ready()[0])
            run(*shlex.split(servers.real(command))[1:])
        elif command.startswith("warner collect invite") and "issuer_token" not in command:
            servers.stop()
            Path("habits.toml").write_text(study.replace('access = "open"', 'access = "invited"'))
            Path("habits.counts.sqlite").rename("before.sqlite")
            run(*shlex.split(command)[1:])
        elif (  # others start, plan, ask an issuer, and run in the test of the lesson
            command.startswith(("warner collect serve", "warner collect issue", "warner plan"))
            or "issuer_token" in command
            or "--trust" in command
        ):
            names = command.split()[1 : 3 if " collect " in command else 2]
            options = set(re.findall(r"--[a-z-]+", run(*names, "--help").stdout))
            assert set(re.findall(r"--[a-z-]+", command)) <= options
        else:
            run(*shlex.split(real)[1:])
            if " push " in command:
                _wait_for(
                    servers.addresses[_HERE], Path("token.txt").read_text().strip(), 2 * PEOPLE
                )
            if " pull " in command or " merge " in command:
                path = command.split()[-1]
                counted.append((path, load_tallies(path)["smokes"].n))
    assert dict(counted) == {
        "tally.json": 2 * PEOPLE,  # with the answers on paper
        "north.json": 2 * PEOPLE,
        "south.json": PEOPLE,
        "both.json": 3 * PEOPLE,
    }
    codes = Path("codes.csv").read_text().splitlines()
    assert len(Path("more.csv").read_text().splitlines()) == 21
    assert len(codes) == 301 and "https://survey.example.org/#code=" in codes[1]


def test_a_program_in_node_is_installed_and_counted_by_the_lines_of_the_guide(
    servers: _Servers, tmp_path: Path
) -> None:
    """Rejects a package that lacks a file of its own, and a device that ends before it sends."""
    text = GUIDE.read_text()
    (lines,) = re.findall(r"```js\n(.*?)```", text, re.S)
    (install,) = re.findall(r"```sh\n(npm pack.*?)```", text, re.S)
    app = tmp_path / "app"
    app.mkdir()
    (app / "package.json").write_text('{"private": true, "type": "module"}')
    (app / "parts.mjs").write_text(
        'for (const part of ["send", "outbox", "memo", "node"]) await import(`warner-survey/${part}`);'
    )
    node("--version")
    for command in install.replace("python -c", f"{sys.executable} -c").strip().splitlines():
        done = subprocess.run(
            ["sh", "-c", command], cwd=app, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
    node(str(app / "parts.mjs"))
    study, _ = re.findall(r"```toml\n(.*?)```", text, re.S)
    Path("habits.toml").write_text(study)
    servers.start("warner collect serve habits.toml", _HERE)
    (token,) = servers.ready()
    address = servers.addresses[_HERE]
    lines = lines.replace("https://survey.example.org", address)
    (app / "run.mjs").write_text(lines.replace('"kept/anna"', json.dumps(str(app / "kept"))))
    said = [node(str(app / "run.mjs")) for _ in range(2)]
    assert said == ["sent\n", "already\n"]
    Path("token.txt").write_text(token)
    given = (address, "--token-file", "token.txt")
    run("collect", "close", *given)
    assert node(str(app / "run.mjs")) == "already\n"
    run("collect", "pull", *given, "-o", "tally.json")
    assert load_tallies("tally.json")["smokes"].n == 1


def test_the_ward_and_the_consent_of_the_guide_are_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects lines for the study of the guide that it does not take, and words of another page."""
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    study, more = re.findall(r"```toml\n(.*?)```", text, re.S)
    consent, public = more.split("# At the end:\n")
    whole = study.replace("[collect]", f"{consent}\n[collect]", 1) + public
    page = survey_page(Study.parse(whole), "en")
    for words in ("I have read what the survey is for", "In which ward do you live?"):
        assert words in page
    for words in ("I agree", "About you, without protection"):
        assert words in page and words in text
    Path("habits.toml").write_text(whole)
    people = [f"{smokes},5,{ward}" for ward in ("North", "South") for smokes in ["never"] * 40]
    Path("people.csv").write_text("\n".join(["smokes,drinks,ward", *people, ""]))
    run("randomize", "habits.toml", "people.csv", "-o", "people.parquet")
    run("tally", "people.parquet", "--by", "ward", "-o", "wards.json")
    (command,) = re.findall("`warner (estimate wards.json --by ward --total)`", text)
    printed = run(*command.split(), "--only", "smokes").stdout
    assert "North" in printed and "all people" in printed


def test_every_command_of_the_lesson_runs(servers: _Servers) -> None:
    """25 people answer over the certificate of --lan, and the result is theirs: the commands beside
    the examples, which test_docs.py runs. Rejects: a study that shows a result before the last of
    the class, a tally of fewer people, and commands that cannot trust the certificate.
    """
    text = LESSON.read_text()
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.S)).splitlines()
    commands = [command for command in blocks if not command.startswith("pip")]
    assert [command.split()[1] for command in commands] == ["demo", "collect", "estimate", "audit"]
    (study,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    Path("class.toml").write_text(study)
    assert "This took" in run(*shlex.split(commands[0])[1:]).output
    servers.start(commands[1], "lan")
    (token,) = servers.ready()
    address = servers.addresses["lan"]
    assert address.startswith("https://")
    Path("answers.csv").write_text("\n".join(["copied", *["yes"] * 10, *["no"] * 15, ""]))
    run("randomize", "class.toml", "answers.csv", "-o", "reports.parquet")
    Path("token.txt").write_text(token)
    given = (address, "--token-file", "token.txt")
    said = run("collect", "close", *given, ok=False).stderr
    assert (
        f"Error: {address}: has a certificate that this computer does not trust (self-signed"
        in said
    )
    assert "add --trust FILE. FILE is in the folder of the study; its name ends in .lan.pem" in said
    assert (
        "no certificate"
        in run("collect", "close", *given, "--trust", "class.toml", ok=False).stderr
    )
    given += ("--trust", "class.lan.pem")
    run("collect", "push", "reports.parquet", *given)
    trusted = ssl.create_default_context(cafile="class.lan.pem")
    headers = {"Authorization": f"Bearer {token}"}
    for _ in range(1200):
        loaded = httpx.get(f"{address}/live/tally.json", headers=headers, verify=trusted)
        if loaded.status_code == 200:
            break
        time.sleep(0.1)
    Path("tally.json").write_bytes(loaded.content)
    run("collect", "close", *given)
    run("collect", "pull", *given, "-o", "pulled.json")
    assert load_tallies("pulled.json")["copied"].n == 25
    assert "copied: 25 reports" in run(*shlex.split(commands[2])[1:]).output
    assert "1.6" in run(*shlex.split(commands[3])[1:]).output


def test_the_lesson_counts_the_odds_of_its_epsilon() -> None:
    """25 of 30 sheets, and the telephone's odds: both are 5 to 1, to the rounding that it states."""
    text = LESSON.read_text()
    assert "**25** | 5 (threw 6) = **5**" in text and "exp(1.6) = 5" in text
    (study,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    law = warner.Study.parse(study).mechanisms["copied"].law
    assert float(law.high / law.low) == pytest.approx(25 / 5, rel=0.01)
    design = warner.designs.from_text("forced:1/6,1/6")
    assert np.exp(design.epsilon) == pytest.approx(5)


def test_the_lesson_says_the_interval_that_it_prints() -> None:
    """Rejects an interval from 14 to 70 % below an output that says 13 to 70 %."""
    said = re.search(r"interval goes from\s+(\d+)\s+to\s+(\d+) %", LESSON.read_text())
    assert said is not None
    command = "estimate --design forced:1/6,1/6 --counts yes=11,no=14 --target respondents"
    yes = next(each for each in run(*command.split()).stdout.splitlines() if each[:3] == "yes")
    assert f" {said[1]} to {said[2]} %" in yes


def test_the_study_of_the_guide_says_what_the_guide_says() -> None:
    study, _ = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.S)
    found = warner.Study.parse(study)
    assert found.texts.answers("smokes", "de")[:3] == ("nie", "manchmal", "täglich")
    assert (found.collect.people, found.collect.step) == (300, 50)


def test_the_reference_lists_every_refusal_with_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", REFERENCE.read_text(), flags=re.M)
    assert sorted((int(status), name) for status, name in rows) == sorted(
        (reason.status, name) for name, reason in REASONS.items()
    )
