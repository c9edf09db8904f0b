"""The commands do not vouch for simulated reports."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import warner
from tests.spec.io._people import ONE, STUDY, run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("one.toml").write_text(ONE)
    return tmp_path


def test_the_commands_do_not_vouch_for_simulated_reports(here: Path) -> None:
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 100)
    Path("coin.toml").write_text(ONE.replace("inf", "1.0"))
    run("randomize", "coin.toml", "a.csv", "-o", "real.csv")
    run("randomize", "coin.toml", "a.csv", "-o", "sim.parquet", "--seed", "1")
    for name in ("real.csv", "sim.parquet"):
        run("tally", name, "-o", f"{name}.json")
    for file in ("sim.parquet", "sim.parquet.json"):
        result = run("audit", file, ok=False)
        assert "NO: the reports are simulated" in result.stdout
        assert json.loads(run("audit", file, "--json", ok=False).stdout)["q"]["holds"] is False
        assert "reports of a simulation" in run("estimate", file).stderr
    assert (
        " yes " in run("audit", "real.csv").stdout and " yes " in run("audit", "coin.toml").stdout
    )
    assert "simulation" not in run("estimate", "real.csv.json").stderr
    for command in (
        ("merge", "real.csv.json", "sim.parquet.json"),
        ("tally", "real.csv", "sim.parquet"),
    ):
        assert "--allow-simulated" in run(*command, "-o", "all.json", ok=False).stderr
        assert not Path("all.json").exists()
        run(*command, "-o", "all.json", "--allow-simulated")
        assert warner.Tally.load("all.json").simulated and warner.Tally.load("all.json").n == 400
        Path("all.json").unlink()


def test_tables_pictures_and_texts_say_that_reports_are_simulated(here: Path) -> None:
    """Each output can be taken from its command and shown alone."""
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 100)
    Path("coin.toml").write_text(ONE.replace("inf", "1.0"))
    for seed in ((), ("--seed", "1")):
        for name in "ab":
            run("randomize", "coin.toml", "a.csv", "-o", f"{name}.parquet", *seed)
            run("tally", f"{name}.parquet", "-o", f"{name}.json")
            seed = seed and ("--seed", "2")
        groups = ("a.json", "b.json", "--by", "file")
        differences = ("a.json", "b.json", "--compare-groups")
        shown = [
            run("estimate", "a.json", "-o", "a.out.csv", "-o", "-", "--plot", "a.plot.json").stdout,
            run("estimate", *groups, "-o", "g.csv", "-o", "-", "--plot", "g.plot.json").stdout,
            run("estimate", *differences, "-o", "d.csv", "-o", "d.json", "-o", "-").stdout,
            *(Path(name).read_text() for name in ("a.plot.json", "g.plot.json", "d.json")),
            warner.estimate(warner.Tally.load("a.json"))._repr_html_(),
        ]
        assert ["simulated" in text for text in shown] == [bool(seed)] * len(shown)
        for name in ("a.out.csv", "g.csv", "d.csv"):
            rows = list(csv.DictReader(Path(name).read_text().splitlines()))
            assert {row.get("simulated") for row in rows} == {"yes" if seed else None}
