"""Ctrl-C in a command: one line, exit status 130, whole files, and no temporary files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.spec.app._command import run
from warner._core.progress import Stage
from warner.app.cli import main
from warner.io.report_writer import ReportWriter

# The program stops before the last bytes of the file, until a signal comes. It works in steps, as
# all that takes long does: a signal that is swallowed, as in a finaliser, is raised at the next one.
_HOLD = """
import time
from pathlib import Path
from warner._core.progress import steps
from warner.io import report_writer
def hold(path):
    Path("held").touch()
    for _ in steps(range(36_000), "waiting"):
        time.sleep(0.1)
report_writer.seal = hold
"""
_MAIN = "from warner.app.cli import main; main()"


@pytest.fixture
def usual_ctrl_c() -> Iterator[None]:
    """Python's handler of Ctrl-C, which processes of a test run can lack."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def pressed(
    monkeypatch: pytest.MonkeyPatch, when: tuple[str, int], *args: str, number: int = signal.SIGINT
) -> Result:
    """A command whose process gets a real signal when a stage has so many steps."""

    class Press:
        def __call__(self, stages: tuple[Stage, ...]) -> None:
            if stages and (stages[-1].name, stages[-1].done) == when:
                os.kill(os.getpid(), number)

        def close(self) -> None:
            pass

    with monkeypatch.context() as patched:
        patched.setattr("warner.app.terminal.Lines", Press)
        return CliRunner().invoke(main, list(args))


@pytest.mark.parametrize(
    ("when", "args"),
    [
        (("randomising", 3000), ("randomize", "study.toml", "answers.csv", "-o", "new.parquet")),
        (("randomising", 3000), ("randomize", "study.toml", "answers.csv")),
        (("computing the digest", 0), ("randomize", "study.toml", "answers.csv", "-o", "new.csv")),
        (("computing the digest", 0), ("tally", "r.csv", "-o", "new.json")),
        (("counting", 3000), ("tally", "r.csv", "-o", "new.json")),
        (("counting", 1), ("tally", "r.parquet", "-o", "old.json")),
        (("counting", 3000), ("tally", "r.csv", "--ways", "2", "-o", "new.json")),
        (("adding tallies", 1), ("merge", "t.json", "t2.json", "-o", "new.json")),
        (("estimating", 1), ("estimate", "t.json", "-o", "new.json")),
        (("iterations", 1), ("estimate", "t.json", "-m", "em:9", "-o", "new.json")),
        (("comparing methods", 1), ("benchmark", "t.json", "--runs", "2")),
        (("comparing mechanisms", 2), ("plan", "study.toml", "--loss", "l2", "--error", "0.1")),
        (("auditing", 1), ("audit", "study.toml")),
    ],
)
def test_ctrl_c_leaves_what_was_there(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    usual_ctrl_c: None,
    when: tuple[str, int],
    args: tuple[str, ...],
) -> None:
    temporary = here / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    for name in ("r.csv", "r.parquet", "r2.csv"):
        run("randomize", "study.toml", "answers.csv", "-o", name, "--again")
    Path("study.ledger").unlink()
    run("tally", "r.csv", "-o", "t.json")
    run("tally", "r2.csv", "-o", "t2.json")
    Path("old.json").write_text("old")
    files = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    done = pressed(monkeypatch, when, *args)
    assert done.exit_code == 130, done.output + str(done.exception)
    begun = (
        when[0] in ("randomising", "computing the digest") and "-o" in args and "tally" not in args
    )
    what = f"{args[-1]} was not written" if begun else "no file was written"
    assert (done.stdout, done.stderr) == ("", f"Interrupted: {what}.\n")
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == files
    assert list(temporary.iterdir()) == []


def test_sigterm_ends_a_command_too(
    here: Path, monkeypatch: pytest.MonkeyPatch, usual_ctrl_c: None
) -> None:
    args = ("randomize", "study.toml", "answers.csv", "-o", "new.parquet")
    before = set(here.iterdir())
    done = pressed(monkeypatch, ("randomising", 3000), *args, number=signal.SIGTERM)
    assert (done.exit_code, done.output) == (143, "") and set(here.iterdir()) == before


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_swallowed_ctrl_c_is_raised_at_the_next_step(
    here: Path, monkeypatch: pytest.MonkeyPatch, usual_ctrl_c: None, options: tuple[str, ...]
) -> None:
    """Compiled code of another package can clear the exception, as imports in it do, and so do
    finalisers. Rejects a command that asks only where it shows its progress.
    """
    write = ReportWriter.write

    def swallowing(*args: Any, **named: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        write(*args, **named)

    monkeypatch.setattr(ReportWriter, "write", swallowing)
    args = [*options, "randomize", "study.toml", "answers.csv", "-o", "new.csv"]
    done = CliRunner().invoke(main, args)
    assert (done.exit_code, done.stderr) == (130, "Interrupted: new.csv was not written.\n")
    assert not Path("new.csv").exists()


def started(code: str, *args: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ignored signals stay ignored in new processes, and test runs can be in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,  # type: ignore[call-overload]
    )


def wait_for(state: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until a state is reached, however long the machine takes."""
    end = time.monotonic() + 600
    while not state():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def pressed_until_the_end(process: subprocess.Popen[str]) -> int:
    """The exit status of a process in which Ctrl-C is pressed, and again where one was swallowed."""
    while True:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(60)


def test_a_process_that_is_writing_reports(here: Path) -> None:
    before = set(here.iterdir())
    process = started(_HOLD + _MAIN, "-q", "randomize", "study.toml", "answers.csv", "-o", "r.csv")
    wait_for(Path("held").exists, process)
    assert len(list(here.glob(".warner-*"))) == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(600) == 130
    said, errors = process.communicate()
    assert said == "" and errors.endswith("Interrupted: r.csv was not written.\n")
    assert set(here.iterdir()) == before | {here / "held"}


def test_a_process_that_has_written_one_of_its_two_files(here: Path) -> None:
    """A real process that waits for the reader of a pipe, with one file whole."""
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    os.mkfifo("pipe.csv")
    before = set(here.iterdir())
    args = ("estimate", "t.json", "-m", "inversion", "-o", "a.json", "-o", "pipe.csv")
    process = started(_MAIN, *args)
    wait_for(Path("a.json").exists, process)
    assert pressed_until_the_end(process) == 130
    said = process.communicate()[1].replace("Written: a.json\n", "")
    assert said.endswith(
        (
            "Interrupted: a.json was written, and pipe.csv was not.\n",
            # Before the second file is begun.
            "Interrupted: a.json was written, and nothing else.\n",
        )
    )
    assert set(here.iterdir()) == before | {here / "a.json"}


_ABANDONED = """
import io, sys, time
import warner.__main__, warner.app.cli
from warner.io.csv_format import _rows

class Slow(io.RawIOBase):
    pieces = iter([b"a,b\\n", *[b"1,2\\n" * 500_000] * 400])

    def readable(self):
        return True

    def read(self, size=-1):
        time.sleep(0.1)
        return next(self.pieces, b"")

def main(prog_name):
    next(_rows(Slow(), ",", ["a"], False))
    print("a result")
    sys.exit("a right message")

warner.app.cli.main = main
warner.__main__.run()
"""


def test_a_table_that_is_left_after_an_error_ends_with_the_process() -> None:
    """Rejects a thread that reads ahead while the interpreter ends: the process was aborted."""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _ABANDONED], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "a result\n")
        assert done.stderr == "a right message\n"


def test_a_result_that_cannot_be_written_is_an_error() -> None:
    """Rejects an end that leaves what was printed in a buffer, and says that all is done."""
    printed = "import warner.__main__, warner.app.cli\n"
    printed += (
        "warner.app.cli.main = lambda prog_name: exit(print('a result'))\nwarner.__main__.run()"
    )
    with open(os.devnull, "rb") as readable:  # nothing can be written into it
        done = subprocess.run([sys.executable, "-c", printed], stdout=readable, stderr=-1)
    assert done.returncode == 1
    done = subprocess.run([sys.executable, "-c", printed], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a result\n")


# Ctrl-C while a module is imported.
_IMPORTING = """
import os, signal, sys
class Press:
    def find_spec(self, name, *rest):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
from warner.__main__ import run
run()
"""


@pytest.mark.parametrize(
    "module", ["warner._core.extras", "click", "warner.app.cli", "warner.app.commands.collecting"]
)
def test_ctrl_c_in_the_first_second_says_so_in_the_same_line(module: str, here: Path) -> None:
    """Rejects a traceback, and the word "Aborted!"."""
    process = started(_IMPORTING.format(module=module), "tally", "r.csv", "-o", "new.json")
    said, errors = process.communicate(timeout=600)
    assert process.returncode == 130 and said == ""
    assert errors == "Interrupted: no file was written.\n"
