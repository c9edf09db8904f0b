"""The commands about groups of people, on tally files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.spec.app._command import run
from tests.spec.results._tallies import MECHANISM, SHARES, drawn
from warner import compare_groups, estimate, weighted
from warner.app.what_files_hold import read_groups


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("north", "south", "east")):
        drawn(i, [400], shares=np.roll(SHARES, i))["a",].save(f"tally.{name}.json")
    return tmp_path


FILES = ("tally.north.json", "tally.south.json", "tally.east.json")


def test_groups_are_named_after_their_files_and_estimated(here: Path) -> None:
    run(
        "estimate",
        *FILES,
        "-o",
        "out.json",
        "-o",
        "out.csv",
        "--plot",
        "out.json.svg",
        "--by",
        "file",
    )
    (data,) = json.loads(Path("out.json").read_text())
    expected = estimate(read_groups(FILES, False)["value"])
    assert [row["group"] for row in data["shares"][::4]] == ["north", "south", "east"]
    assert data["shares"] == json.loads(json.dumps(expected.rows()))
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert len(rows) == 12 and float(rows[0]["estimate"]) == expected.probabilities[0, 0]
    assert "Intervals hold on average over groups" in run("estimate", *FILES, "--by", "file").output


def test_margins_weight_the_groups(here: Path) -> None:
    Path("census.csv").write_text("value,number\nnorth,50\nsouth,30\neast,20\n")
    out = run("estimate", *FILES, "--margins", "census.csv", "--json", "--by", "file").stdout
    groups = read_groups(FILES, False)["value"]
    expected = weighted(groups, {"group": {"north": 50, "south": 30, "east": 20}})
    assert json.loads(out)[0]["weighted"] == json.loads(json.dumps(expected.to_json()))
    assert (
        "Design effect" in run("estimate", *FILES, "--margins", "census.csv", "--by", "file").output
    )
    for text, problem in (
        ("value,number\nnorth,50\nsouth,30\n", "none for east"),
        ("value,number\nnorth,50\nsouth,30\neast,20\nwest,3\n", "people of west"),
        ("value,number\nnorth,many\n", "line 2"),
        ("value,number\nnorth,1\nnorth,2\n", "second time"),
        ("ward,people\nnorth,1\n", "must have the columns"),
    ):
        Path("census.csv").write_text(text)
        assert (
            problem
            in run("estimate", *FILES, "--margins", "census.csv", "--by", "file", ok=False).output
        )


def test_differences_have_intervals_and_a_test(here: Path) -> None:
    out = run(
        "estimate", *FILES, "--reference", "north", "--of", "mean", "--json", "--compare-groups"
    ).stdout
    expected = compare_groups(read_groups(FILES, False)["value"], reference="north", of="mean")
    (data,) = json.loads(out)
    assert data["differences"] == json.loads(json.dumps(expected.rows()))
    shown = run("estimate", f"before={FILES[0]}", f"after={FILES[1]}", "--compare-groups").output
    assert "before and after have the same shares: chi-square" in shown
    run("estimate", *FILES, "-o", "out.csv", "--compare-groups")
    assert Path("out.csv").read_text().startswith("attribute,group,reference,value,estimate")


def test_groups_on_a_path_are_in_the_order_of_their_numbers(here: Path) -> None:
    named = [f"{year}={file}" for year, file in zip((2019, 2021, 2020), FILES, strict=True)]
    (data,) = json.loads(run("estimate", *named, "--pool", "path", "--json", "--by", "file").stdout)
    assert data["pool"] == "path" and data["shares"][0]["group"] == 2019


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("estimate", FILES[0], "--by", "file"), "at least 2 files"),
        (("estimate", f"a={FILES[0]}", f"a={FILES[1]}", "--by", "file"), "different names"),
        (("estimate", *FILES, "--only", "age", "--by", "file"), "must be one of value"),
        (
            ("estimate", *FILES, "--of", "median", "--compare-groups"),
            "must be shares, mean, or a number",
        ),
        (
            ("estimate", *FILES, "--reference", "west", "--compare-groups"),
            "groups north; south; east",
        ),
        (("estimate", *FILES, "--json", "--csv", "--by", "file"), "must not both"),
        (("estimate", *FILES, "-o", FILES[0], "--by", "file"), "must not be one of the inputs"),
        (("estimate", *FILES, "--pool", "path", "--by", "file"), "must hold numbers or dates"),
    ],
)
def test_mistakes_are_named(here: Path, args: tuple[str, ...], problem: str) -> None:
    assert problem in run(*args, ok=False).output


def test_a_tally_of_groups_is_one_file(here: Path) -> None:
    rng = np.random.default_rng(3)
    reports = MECHANISM.randomize(rng.choice(4, 900, p=SHARES).tolist(), rng=rng)
    ward, week = np.repeat(["n", "s", "w"], 300).tolist(), np.tile([1, 2, 3], 300).tolist()
    groups = MECHANISM.tally(reports, {"ward": ward, "week": week})
    groups.save("all.json")
    (data,) = json.loads(run("estimate", "all.json", "--json", "--by", "file").stdout)
    assert data["columns"] == ["ward", "week"]
    assert data["shares"] == json.loads(json.dumps(estimate(groups).rows()))
    (path,) = json.loads(
        run("estimate", "all.json", "--time", "week", "--json", "--by", "file").stdout
    )
    assert path["pool"] == "path"
    out = run(
        "estimate", "all.json", "--by", "ward", "--reference", "s", "--json", "--compare-groups"
    ).stdout
    expected = compare_groups(groups.by("ward"), reference="s").rows()
    assert json.loads(out)[0]["differences"] == json.loads(json.dumps(expected))
    lines = [*(f"ward,{w},1" for w in "nsw"), *(f"week,{w},1" for w in (1, 2, 3))]
    Path("census.csv").write_text("\n".join(["column,value,number", *lines]) + "\n")
    shown = run("estimate", "all.json", "--margins", "census.csv", "--by", "file").output
    assert "weighted by ward, week: every margin is met" in shown
    assert "goes with a tally of groups" in run("estimate", *FILES, "--by", "ward", ok=False).output
