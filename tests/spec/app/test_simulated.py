"""The commands do not vouch for simulated reports."""

from __future__ import annotations

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
