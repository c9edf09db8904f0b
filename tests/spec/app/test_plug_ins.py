"""Own mechanisms and estimators on the command line, loaded where the user names them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from warner.app import running
from warner.app.cli import main
from warner.results.recommend import for_a_while

ROOT = Path(__file__).parents[3]
MINE = """
import warner
from tests.own_parts import Forced, Shrunk

warner.register(Forced)
warner.register("shrunk")(Shrunk)
with open("loaded.txt", "a") as file:
    file.write("x")
"""
STUDY = '[attributes.q]\nvalues = ["a", "b"]\nmechanism = "Forced"\nepsilon = 1.0\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))
    Path("own_mine.py").write_text(MINE)
    Path("study.toml").write_text(STUDY)
    Path("coin.toml").write_text(STUDY.replace("Forced", "RandomizedResponse"))
    Path("answers.csv").write_text("q\n" + "a\nb\n" * 200)
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with for_a_while():
        yield
    for name in set(sys.modules) - before:
        if "own_mine" in name:
            del sys.modules[name]


def _warner(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_loaded_file_serves_all_commands() -> None:
    load = ("--load", "own_mine.py")
    made = _warner(*load, "randomize", "study.toml", "answers.csv", "-o", "r.csv")
    assert made.exit_code == 0, made.output
    assert _warner(*load, "tally", "r.csv", "-o", "t.json").exit_code == 0
    found = _warner(*load, "estimate", "t.json", "-m", "shrunk", "--json")
    assert found.exit_code == 0 and "Shrunk(part=0.1)" in found.output
    assert "Forced" in _warner(*load, "plan", "study.toml").output
    audited = " ".join(_warner(*load, "audit", "study.toml").output.split())
    assert "The code that draws the reports of Forced was not tested." in audited
    tested = " ".join(_warner(*load, "audit", "study.toml", "--samples", "2000").output.split())
    assert "was not tested" not in tested and "q: 2,000 reports of each of two values wer" in tested
    assert "They show that epsilon is at least 0." in tested and "; no fault was found." in tested
    assert "Shrunk" in _warner(*load, "benchmark", "t.json", "-m", "shrunk", "-m", "mle").output
    assert Path("loaded.txt").read_text() == "x"  # one process runs a file once


def test_an_audit_says_what_a_class_spends_beyond_what_it_states() -> None:
    """Rejects the sum of what mechanisms state below a verdict that they spend more."""
    Path("half.py").write_text(
        "import warner\nfrom tests.own_parts import Forced\n\n@warner.register\n"
        "class Half(Forced):\n    epsilon = property(lambda self: self.requested / 2)\n"
    )
    Path("study.toml").write_text(STUDY.replace("Forced", "Half"))
    audited = _warner("--load", "half.py", "audit", "study.toml")
    said = " ".join(audited.output.split())
    assert audited.exit_code == 1 and "NO: epsilon 1 exceeds the guarantee" in said
    assert "spends at least epsilon = 1, which is more than it promises (0.5-LDP)" in said
    assert "spends at most" not in said and "sure of" not in said


def test_a_loaded_file_imports_modules_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "own_mine_helper.py").write_text("def rate() -> float:\n    return 0.25\n")
    (folder / "own_mine_beside.py").write_text(
        "from own_mine_helper import rate\nimport warner\nfrom tests.own_parts import Shrunk\n\n"
        '@warner.register("beside")\nclass Beside(Shrunk):\n    part = rate()\n'
    )
    made = _warner("randomize", "coin.toml", "answers.csv", "-o", "r.csv", "--seed", "1")
    assert made.exit_code == 0, made.output
    found = _warner(
        "--load", str(folder / "own_mine_beside.py"), "estimate", "r.csv", "-m", "beside", "--json"
    )
    assert found.exit_code == 0, found.output


def test_files_of_data_load_no_code() -> None:
    load = ("--load", "own_mine.py")
    assert _warner(*load, "randomize", "study.toml", "answers.csv", "-o", "r.csv").exit_code == 0
    Path("loaded.txt").unlink()
    for name in [name for name in sys.modules if "own_mine" in name]:
        del sys.modules[name]
    with for_a_while():
        from warner.mechanisms import MECHANISMS
        from warner.mechanisms.headers import forget_built

        del MECHANISMS["Forced"]
        forget_built()
        refused = _warner("tally", "r.csv")
        assert refused.exit_code == 1 and "warner --load FILE.py" in refused.output
        Path("study.toml").write_text(STUDY.replace("Forced", "StairRR"))
        said = " ".join(_warner("audit", "study.toml").output.split())
        assert "must be one of" in said and "of your own? Write --load FILE.py before the n" in said
    assert not Path("loaded.txt").exists()


def test_a_module_is_loaded_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(".")
    assert _warner("--load", "own_mine", "audit", "study.toml").exit_code == 0


def test_what_cannot_be_loaded_says_why_and_where() -> None:
    Path("broken.py").write_text("import warner\n\n1 / 0\n")
    for name, said in (
        ("broken.py", "got ZeroDivisionError: division by zero (broken.py, line 3)"),
        ("nothing.py", "there is no such file"),
        ("broken_", "No module named 'broken_'"),
        ("study", "ModuleNotFoundError"),
    ):
        result = _warner("--load", name, "audit", "study.toml")
        assert result.exit_code == 1 and said in result.output, result.output
    Path("only_here.py").write_text("")
    assert (
        "Did you mean the file only_here.py?" in _warner("--load", "only_here", "audit", "s").output
    )


def test_entry_points_are_loaded_and_a_broken_one_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(".")
    points = [
        EntryPoint("broken", "no_such_module", running.GROUP),
        EntryPoint("mine", "own_mine", running.GROUP),
    ]
    monkeypatch.setattr(running, "entry_points", lambda group: points)
    # A process reads them once; here they are others than those it has read.
    monkeypatch.setattr(running, "declared", running.declared.__wrapped__)
    result = _warner("audit", "study.toml")
    assert result.exit_code == 0 and "holds" in result.output
    assert (
        "the extension 'broken' of an installed package cannot be loaded, and the command goes on "
        "without it: ModuleNotFound" in result.output
    )


def test_a_file_with_the_name_of_a_module_hides_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    Path("json.py").write_text("VALUE = 1\n")
    module = running.load("json.py")
    assert module.VALUE == 1 and sys.modules["json"] is json
    assert running.load("json.py") is module
    del sys.modules[module.__name__]
