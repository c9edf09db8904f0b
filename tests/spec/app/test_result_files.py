"""Results go to the file that is asked for, and to no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spec.io._people import COIN, ONE, STUDY, run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("one.toml").write_text(ONE)
    return tmp_path


def test_standard_input_is_not_replaced(here: Path) -> None:
    Path("same.csv").write_text("q\nno\nyes\n")
    code = "from warner.app.cli import main; main()"
    with open("same.csv") as answers:
        command = [sys.executable, "-c", code, "randomize", "one.toml", "-", "-o", "same.csv"]
        done = subprocess.run(command, stdin=answers, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "must not be one of the inputs" in done.stderr
    assert Path("same.csv").read_text() == "q\nno\nyes\n"


def test_two_results_do_not_go_to_one_file(here: Path) -> None:
    COIN.tally(COIN.randomize([0, 1, 2] * 30)).save("t.json")
    for second in ("z", "./z"):
        assert (
            "must not go to one file"
            in run("estimate", "t.json", "-o", "z", "-o", second, ok=False).stderr
        )
    assert (
        "--output and --plot"
        in run("estimate", "t.json", "-o", "z.svg", "--plot", "z.svg", ok=False).stderr
    )
    assert not Path("z").exists()
    run("estimate", "t.json", "-o", "/dev/null", "-o", "/dev/null")
