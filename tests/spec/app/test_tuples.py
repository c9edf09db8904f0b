"""Attributes of a study are counted together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from warner.app.cli import main
from warner.io import tally_file
from warner.reports.tally import load_tallies

STUDY = """
[attributes.sex]
values = ["f", "m"]
mechanism = "RandomizedResponse"
epsilon = 2.0
[attributes.age]
integers = [0, 3]
mechanism = "UnaryEncoding"
epsilon = 2.0
[attributes.x]
interval = { low = 0, high = 1, bins = 4 }
mechanism = "SquareWave"
cells = 32
epsilon = 2.0
"""


def test_a_studys_attributes_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*args: str, ok: bool = True) -> str:
        result = CliRunner().invoke(main, list(args))
        assert (result.exit_code == 0) is ok and "Traceback" not in result.output, result.output
        return result.output

    Path("study.toml").write_text(STUDY)
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 4000)
    lines = [
        f"{'fm'[s]},{a},{x}\n"
        for s, a, x in zip(
            sex, np.where(sex, 3, rng.integers(0, 3, 4000)), rng.random(4000), strict=True
        )
    ]
    Path("a.csv").write_text("sex,age,x\n" + "".join(lines))
    for suffix in ("parquet", "csv"):
        run("randomize", "study.toml", "a.csv", "-o", f"r.{suffix}", "--seed", "1")
        run("tally", f"r.{suffix}", "--ways", "2", "-o", f"{suffix}.json", "--study", "study.toml")
    assert load_tallies("parquet.json") == load_tallies("csv.json") == tally_file("r.csv", ways=2)
    assert (
        warner.Study.load("study.toml").together.header == load_tallies("csv.json")["joint"].header
    )
    said = run("estimate", "csv.json", "--joint", "age,sex", "--json")
    assert said.startswith("csv.json: these are reports of a simulation")
    shares = json.loads(said[said.index("[") :])[0]
    assert shares["attribute"] == "age x sex" and [v["value"] for v in shares["shares"]][:2] == [
        {"age": 0, "sex": "f"},
        {"age": 0, "sex": "m"},
    ]
    assert shares["shares"][-1]["estimate"] == pytest.approx(0.5, abs=0.06)
    assert (
        run("estimate", "csv.json", "--joint", "sex", "--joint", "age").count(
            "4,000 simulated reports"
        )
        == 2
    )
    assert "3-way" not in run("estimate", "csv.json", ok=False) and "ways=3" in run(
        "estimate", "csv.json", ok=False
    )
    assert "sex x age" in run(
        "benchmark", "csv.json", "--joint", "sex,age", "--runs", "2", "-m", "project"
    )
    assert "PerAttribute" in run("audit", "csv.json", ok=False)  # of a simulation
    assert "--allow-equal" in run("merge", "csv.json", "parquet.json", ok=False)
    run("merge", "csv.json", "parquet.json", "--allow-equal", "-o", "m.json")
    run("tally", "r.csv", "-o", "one.json")
    run("merge", "csv.json", "one.json", "-o", "m2.json", ok=False)
    run("tally", "r.csv", "--ways", "4", ok=False)
    assert "several" in run("estimate", "one.json", "--joint", "sex", ok=False)
