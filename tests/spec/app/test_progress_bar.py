"""What a command says about long work: nothing of short work, and nothing on standard output."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from tests.spec.app._command import run
from warner._core.progress import Bars, Lines, Stage, progress, stage, steps
from warner.app.terminal import note


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_work_whose_size_says_that_it_is_long_is_announced_before_it_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress(Lines(Clock())):
        with stage("counting supports", 100, 9.0):
            pass
        with stage("counting supports", 100, 330.0) as tell:
            assert capsys.readouterr() == (
                "",
                "counting supports, 100 steps: this will take about 5.5 min.\n",
            )
            tell(1)
    assert capsys.readouterr() == ("", "")


def test_work_whose_first_steps_say_that_it_is_long_is_announced_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with progress(Lines(clock)):
        for done in steps(range(20), "bootstrap"):
            for _ in steps(range(4), "inside"):
                clock.now += 0.5
            # The first step prepares, and says nothing yet.
            err = capsys.readouterr().err
            assert (err == "") is (done != 2), done
            if done == 2:
                assert err == "bootstrap: 2 of 20. The rest takes about 36 s.\n"


def test_short_work_and_work_that_is_nearly_done_are_not_announced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with progress(Lines(clock)):
        for _ in steps(range(5), "short"):
            clock.now += 2.0
    assert capsys.readouterr() == ("", "")


def test_work_of_unknown_length_says_how_far_it_is_and_then_each_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with progress(Lines(clock)), stage("iterations") as tell:
        for done in range(1, 15):
            clock.now += 10.0
            tell(done)
    assert capsys.readouterr().err == (
        "iterations: 1, after 10 s.\niterations: 7, after 70 s.\niterations: 13, after 2.2 min.\n"
    )


def test_bars_show_what_is_inside_what(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    bars = Bars(clock)
    bars((Stage("planning", 0, 2),))
    clock.now = 8.0
    bars((Stage("planning", 1, 2), Stage("\x1b[2J[red]iterations", 1234)))
    with Console(width=100, record=True) as screen:
        screen.print(bars._drawn())
    bars(())
    first, second = screen.export_text().splitlines()
    assert first.startswith("planning") and " 1 of 2 " in first
    assert second.startswith("  \\x1b[2J[red]iterations") and " 1,234 " in second
    assert capsys.readouterr().err == ""


def test_bars_of_a_terminal_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("warner._core.progress._DELAY", 0.0)
    with pytest.raises(KeyboardInterrupt), progress(), stage("work", 2) as tell:
        tell(1)
        end = time.monotonic() + 60
        while " 1 of 2 " not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert " 1 of 2 " in screen.getvalue() and screen.getvalue().endswith("\x1b[2K\x1b[?25h\r")


def test_sentences_are_folded_on_a_screen_and_what_is_copied_stays_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects a server whose lines a screen cuts within words, and an address that is cut."""

    class _Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    command = "  warner collect serve " + "study" * 30 + ".toml --url https://a.example.org"
    address = "https://" + "a-b." * 30 + "example.org/"
    text = f"{'Three short words. ' * 9}{address}\n{command}"
    monkeypatch.setenv("COLUMNS", "80")
    for stream in (_Screen(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        note(text)
        lines = stream.getvalue().splitlines()
        assert lines[-1] == command
        if not stream.isatty():
            assert lines == text.split("\n")
            continue
        assert address in lines and len(lines) > 4
        assert all(len(line) <= 80 for line in lines if line not in (address, command))


def test_short_work_draws_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(True):
        list(steps([1, 2], "quick"))
    assert capsys.readouterr() == ("", "")


def test_without_rich_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    with progress():
        assert list(steps([1, 2], "x")) == [1, 2]


def test_a_pipe_gets_the_result_and_nothing_else(here: Path) -> None:
    """Rejects silence on answers drawn with the seed of the reports, which then follow the answers."""
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv", "--seed", "1")
    run("tally", "r.csv", "-o", "t.json")
    done = run("estimate", "t.json", "-m", "em:50", "--json")
    assert len(json.loads(done.stdout)) == 2
    assert done.stderr == (
        "t.json: these reports are simulated, because they were made with a seed. If you "
        "invent answers too, use another seed for them: with the same seed, estimates can be far "
        "off\n"
    )


def test_iterations_of_a_test_are_not_said_to_be_of_the_files_that_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rejects: counting bytes: 5 of 2,000, iterations: 2, where files have no iterations."""
    clock = Clock()
    with progress(Lines(clock)), stage("counting bytes", 2000) as tell:
        tell(5)
        with stage("iterations") as tell_iterations:
            for done in range(3):
                clock.now += 31.0
                tell_iterations(done)
    said = capsys.readouterr().err
    assert "counting bytes: 5 of 2,000, after" in said and "iterations" not in said
