"""A checkpoint keeps what was counted and not refused, and says why it does not fit."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from tests.spec.app._lakes import STUDY, lake, rows, tally
from warner import Study
from warner._core.progress import Stage, progress
from warner.app.counting import CountRequest, _checksum, count_all
from warner.io import write_reports
from warner.reports.tally import load_tallies

_ = lake
KEEP = ("--checkpoint", "c.jsonl")


def _names() -> list[str]:
    """The files that have a line."""
    lines = Path("c.jsonl").read_text().splitlines()[1:]
    return sorted(json.loads(line)["file"] for line in lines)


def _own(path: str, n: int, study: str = STUDY, seed: int | None = None) -> None:
    """Write a report file of warner. Of different sizes, no two have equal counts."""
    plan = Study.parse(study)
    mechanism = plan.mechanisms["smokes"]
    rng = None if seed is None else np.random.default_rng(seed)
    reports = mechanism.randomize(["no"] * n, rng)
    write_reports({"smokes": reports}, path, seed is not None)


@pytest.mark.parametrize("name", ["again", "A"])  # behind and before the file that it copies
def test_a_copy_is_refused_and_its_removal_is_enough(lake: Path, name: str) -> None:
    tally("lake", *KEEP)
    wanted, kept = Path("t.json").read_bytes(), Path("c.jsonl").read_bytes()
    shutil.copy("lake/a.parquet", f"lake/{name}.parquet")
    done = tally("lake", *KEEP, ok=False)
    said = (
        f"lake/{name}.parquet: has the same content as lake/a.parquet, and would be counted twice"
    )
    assert said in done.stderr and Path("c.jsonl").read_bytes() == kept
    Path(f"lake/{name}.parquet").unlink()
    tally("lake", *KEEP)
    assert Path("t.json").read_bytes() == wanted


def test_equal_counts_are_refused_and_their_removal_is_enough(lake: Path) -> None:
    pq.write_table(pq.read_table("lake/a.parquet"), "lake/c.parquet", compression="gzip")
    names = [f"lake/{name}.parquet" for name in "abc"]
    done = tally(*names, *KEEP, ok=False)
    assert "lake/a.parquet and lake/c.parquet, which have equal counts" in done.stderr
    tally(*names[:2], *KEEP)
    # Two folders with the same reports, cut otherwise: either can be left out.
    for folder, cut in (("one", 10), ("two", 30)):
        Path(folder).mkdir()
        whole = pq.read_table("lake/a.parquet")
        pq.write_table(whole[:cut], f"{folder}/x.parquet")
        pq.write_table(whole[cut:], f"{folder}/y.parquet")
    for left in ("one", "two"):
        done = tally("one", "two", "--checkpoint", f"{left}.jsonl", ok=False)
        assert "which have equal counts" in done.stderr
        tally(left, "--checkpoint", f"{left}.jsonl")


@pytest.mark.parametrize(
    ("study", "seed", "said"),
    [
        (STUDY, 3, "own/0.parquet: holds simulated reports, but own/a.parquet"),
        (
            STUDY.replace("epsilon = 1.0", "epsilon = 2.0"),
            None,
            "own/0.parquet: do not belong together: the first has epsilon 1.0, and the second",
        ),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_other_reports_are_refused_and_their_removal_is_enough(
    lake: Path, study: str, seed: int | None, said: str, together: bool
) -> None:
    Path("own").mkdir()
    _own("own/a.parquet", 20)
    _own("own/b.parquet", 21)
    paths = ["own"] if together else ["own/a.parquet", "own/b.parquet"]
    run("tally", *paths, *KEEP, "-o", "t.json")
    wanted, kept = Path("t.json").read_bytes(), _names()
    _own("own/0.parquet", 22, study, seed)
    others = paths if together else ["own/0.parquet", *paths]
    done = run("tally", *others, *KEEP, ok=False)
    assert said in done.stderr or "must not combine real and simulated" in done.stderr
    assert _names() == kept
    Path("own/0.parquet").unlink()
    run("tally", *paths, *KEEP, "-o", "t.json")
    assert Path("t.json").read_bytes() == wanted


def test_a_folder_may_be_named_otherwise_and_moved(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally("lake", *KEEP)
    wanted, kept = Path("t.json").read_bytes(), Path("c.jsonl").read_bytes()
    from warner.io import foreign_files as files

    def refused(path: str) -> Any:
        raise AssertionError(path)

    monkeypatch.setattr(files, "open_foreign", refused)
    os.symlink("lake", "link")
    for path in (str(tmp_path / "lake"), "./lake", "lake/../lake", "link", "lake/*"):
        tally(path, *KEEP)
        assert Path("t.json").read_bytes() == wanted and Path("c.jsonl").read_bytes() == kept
    monkeypatch.chdir(lake)
    run("tally", ".", "--study", "../study.toml", "--checkpoint", "../c.jsonl", "-o", "../t.json")
    assert Path("../t.json").read_bytes() == wanted
    monkeypatch.chdir("..")
    # The folder and its checkpoint, both moved.
    Path("new").mkdir()
    for name in ("lake", "c.jsonl", "study.toml"):
        shutil.move(name, "new")
    monkeypatch.chdir("new")
    tally("lake", *KEEP)
    assert Path("t.json").read_bytes() == wanted


def test_checkpoints_without_real_paths_are_read(lake: Path) -> None:
    tally("lake", *KEEP)
    wanted = Path("t.json").read_bytes()
    head, *lines = Path("c.jsonl").read_text().splitlines(keepends=True)
    for line in lines:
        entry = json.loads(line)
        del entry["place"], entry["sha256"]
        checksum = _checksum(entry)
        head += json.dumps({**entry, "sha256": checksum}) + "\n"
    Path("c.jsonl").write_text(head)
    pq.write_table(rows(6), "lake/c.parquet")
    for path in (str(lake.resolve()), "lake"):
        tally(path, *KEEP)
        assert load_tallies("t.json")["smokes"].n == 86
    Path("lake/c.parquet").unlink()
    done = tally("lake", *KEEP, ok=False)
    said = "c.jsonl: holds counts of 1 file that is not named in this command. It is"
    assert said in done.stderr and "Put removed files back" in done.stderr
    pq.write_table(rows(6), "lake/c.parquet")
    assert "was changed after it was counted" in tally("lake", *KEEP, ok=False).stderr
    Path("c.jsonl").unlink()
    Path("lake/c.parquet").unlink()
    tally("lake", *KEEP)
    assert Path("t.json").read_bytes() == wanted


def test_what_differs_is_named(lake: Path) -> None:
    tally("lake", *KEEP)
    for options in (("--by", "ward"), ("--ways", "2"), ("--keep-reports",)):
        done = tally("lake", *KEEP, *options, ok=False)
        assert f"c.jsonl: was made with another value of {options[0]}. Use the same" in done.stderr
    done = tally("lake", *KEEP, "--column", "smokes=x", "--by", "ward", ok=False)
    assert "was made with another value of --by, --column." in done.stderr
    done = run("tally", "lake", *KEEP, ok=False)
    assert "c.jsonl: was made with --study, but this command has no --study." in done.stderr
    Path("study.toml").write_text(STUDY.replace("epsilon = 1.0", "epsilon = 2.0"))
    done = tally("lake", *KEEP, ok=False)
    assert (
        "c.jsonl: was made with another study. Name another file with --checkpoint." in done.stderr
    )


@pytest.mark.parametrize("what", ["reports", "text", "line"])
def test_no_file_of_others_is_said_to_be_deleted(lake: Path, what: str) -> None:
    if what == "reports":
        shutil.copy("lake/a.parquet", "c.jsonl")
    else:
        Path("c.jsonl").write_text("my notes" + "\n" * (what == "line"))
    before = Path("c.jsonl").read_bytes()
    done = tally("lake", *KEEP, ok=False)
    assert "c.jsonl: was not written by --checkpoint. Name a file" in done.stderr
    assert "delete" not in done.stderr and Path("c.jsonl").read_bytes() == before


def test_the_tally_does_not_replace_the_checkpoint(lake: Path) -> None:
    done = tally("lake", "--checkpoint", "t.json", ok=False)
    assert "--output and --checkpoint: must not be written to the same file" in done.stderr
    assert not Path("t.json").exists()
    tally("lake", *KEEP)
    os.link("c.jsonl", "t2.json")
    kept = Path("c.jsonl").read_bytes()
    done = run("tally", "lake", "--study", "study.toml", *KEEP, "-o", "t2.json", ok=False)
    assert "must not be one of the inputs" in done.stderr
    assert Path("c.jsonl").read_bytes() == kept


def test_a_file_of_counts_that_cannot_be_chance_is_named_and_has_no_line(lake: Path) -> None:
    pq.write_table(rows(500), "lake/c.parquet")
    raw = rows(450).to_pydict() | {"smokes_report": [0] * 450}
    pq.write_table(pa.table(raw), "lake/b.parquet")
    done = tally("lake", *KEEP, ok=False)
    assert "'smokes' in lake/b.parquet: has counts that chance cannot explain" in done.stderr
    assert "lake/b.parquet" not in _names()
    tally("lake", "--allow-implausible")
    Path("lake/b.parquet").unlink()
    tally("lake", *KEEP)
    assert _names() == ["lake/a.parquet", "lake/c.parquet"]
    assert load_tallies("t.json")["smokes"].n == 540


def test_a_checkpoint_of_another_run_has_an_exit_code_of_its_own(lake: Path) -> None:
    """Rejects the code of wrong reports: a job may try again later."""
    fcntl = pytest.importorskip("fcntl")
    with open("c.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = tally("lake", *KEEP, ok=False)
    assert "is in use by another run" in done.stderr and done.exit_code == 75
    tally("lake", *KEEP)


def test_the_time_left_is_that_of_the_files_that_are_not_counted_yet(lake: Path) -> None:
    """Rejects: a rest of 1 s for the last day of 30, because 29 were remembered in no time."""
    stages: list[tuple[Stage, ...]] = []
    tally("lake/a.parquet", *KEEP)
    request = CountRequest(Study.parse(STUDY), {}, None, None, None)
    with progress(stages.append):
        count_all(["lake/a.parquet", "lake/b.parquet"], request, "c.jsonl")
    size = Path("lake/b.parquet").stat().st_size
    bytes_told = [told[0] for told in stages if told and told[0].name == "counting bytes"]
    assert {each.total for each in bytes_told} == {size}
    assert {each.done for each in bytes_told} == {0, size}
