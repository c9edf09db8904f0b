"""Outputs never replace inputs, and nothing is counted twice."""

from __future__ import annotations

from pathlib import Path

from tests.spec.app._command import run
from warner.reports.tally import load_tallies


def test_outputs_never_replace_inputs_links_or_devices(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    Path("link.csv").symlink_to("answers.csv")
    for case in (
        ("randomize", "study.toml", "answers.csv", "-o", "answers.csv"),
        ("randomize", "study.toml", "answers.csv", "-o", "link.csv"),
        ("tally", "r.csv", "-o", "r.csv"),
        ("tally", "r.csv", "--study", "study.toml", "-o", "study.toml"),
        ("merge", "t.json", "-o", "./t.json"),
        ("estimate", "t.json", "-o", "t.json"),
    ):
        assert "must not be one of the inputs" in run(*case, ok=False).stderr
    Path("target.json").write_text("old")
    Path("target.json").chmod(0o640)
    Path("link.json").symlink_to("target.json")
    run("tally", "r.csv", "-o", "link.json")
    assert (
        Path("link.json").is_symlink()
        and load_tallies("target.json")
        and Path("target.json").stat().st_mode & 0o777 == 0o640
    )
    run("tally", "r.csv", "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_nothing_is_counted_twice(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    Path("copy.csv").write_bytes(Path("r.csv").read_bytes())
    assert "counted twice" in run("tally", "r.csv", "copy.csv", ok=False).stderr
    run("tally", "r.csv", "-o", "t.json")
    assert "added twice" in run("merge", "t.json", "./t.json", ok=False).stderr
