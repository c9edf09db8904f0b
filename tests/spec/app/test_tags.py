"""Tags of sensitive values on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spec.app._command import UTILITY, run
from warner.io import read_reports


def test_tags_go_through_files_and_are_given_back(here: Path) -> None:
    Path("city.toml").write_text(UTILITY)
    Path("places.csv").write_text("place\n" + "park\n@home\nclinic\nschool\n@home\n" * 400)
    result = run("randomize", "city.toml", "places.csv", "-o", "r.parquet")
    assert "Of place, only the sensitive values are protected" in result.output
    run("tally", "r.parquet", "-o", "t.json", "--study", "city.toml")
    shown = run("estimate", "t.json").output
    assert "@home" in shown and "given back" in shown and "adds at most" in shown
    Path("home.csv").write_text("value,share\nshop,1\n")
    found = json.loads(run("estimate", "t.json", "--background", "home=home.csv", "--json").output)[
        0
    ]["redistributed"]
    shares = {row["value"]: row["estimate"] for row in found["shares"]}
    assert shares["shop"] == pytest.approx(found["tags"]["home"], abs=0.01) and found["tags"][
        "home"
    ] == pytest.approx(0.4, abs=0.1)
    assert found["worst_case"] == pytest.approx(2 * found["tags"]["home"])
    for text, rule in (
        ("moon,1", "bad.csv, line 2"),
        ("shop,x", "bad.csv, line 2"),
        ("shop,0.4", "distribution"),
        ("shop,0\nshop,1", "line 3"),
    ):
        Path("bad.csv").write_text(f"value,share\n{text}\n")
        assert rule in run("estimate", "t.json", "--background", "home=bad.csv", ok=False).output
    assert (
        "the tags are place.home"
        in run("estimate", "t.json", "--background", "gym=home.csv", ok=False).output
    )
    assert (
        "cannot be opened"
        in run("estimate", "t.json", "--background", "home=nowhere.csv", ok=False).output
    )
    run("randomize", "study.toml", "answers.csv", "-o", "plain.parquet")
    run("tally", "plain.parquet", "-o", "plain.json")
    assert (
        "none here"
        in run("estimate", "plain.json", "--background", "home=home.csv", ok=False).output
    )
    for wrong in (["home"], ["home=home.csv", "@home=home.csv"], ["other.home=home.csv"]):
        flags = [part for item in wrong for part in ("--background", item)]
        assert "must be TAG=FILE" in run("estimate", "t.json", *flags, ok=False).output
    lines = run(
        "estimate", "t.json", "--background", "place.@home=home.csv", "--csv"
    ).output.splitlines()
    assert sum(line.startswith("place (tags given back)") for line in lines) == 4
    Path("long.csv").write_text("value,share\n" + "x" * 200_000 + ",1\n")
    assert "long.csv" in run("estimate", "t.json", "--background", "home=long.csv", ok=False).output
    shown = run("audit", "city.toml").output
    assert "2 sensitive values" in shown and "reveal the value they name" in shown


@pytest.mark.parametrize(
    "domain, plain, bad",
    [
        ("integers = [0, 9]", "7", "77"),
        ("interval = { low = 0, high = 1, bins = 4 }", "0.5", "1.5"),
        ("values = [0, 1, 2, 7]", "2", "77"),
    ],
)
def test_tags_stand_among_numbers_in_a_text_column(
    here: Path, domain: str, plain: str, bad: str
) -> None:
    values = "0.125" if domain.startswith("interval") else "0"
    study = f'[attributes.q]\n{domain}\nmechanism = "UtilityOptimizedRR"\nsensitive = [{values}]\ntags = ["home"]\nepsilon = 20\n'
    Path("numbers.toml").write_text(study)
    run(
        "randomize",
        "numbers.toml",
        "--keep-order",
        "-o",
        "r.csv",
        text=f"q\n{plain}\n@home\n{plain}\n",
    )
    reports = read_reports("r.csv")["q"].columns["report"].tolist()
    size = 10 if domain.startswith("integers") else 4
    assert reports == [7 if size == 10 else 2, size, 7 if size == 10 else 2]
    refused = run("randomize", "numbers.toml", text=f"q\n@home\n{bad}\n", ok=False).output
    assert "data row 2" in refused and bad not in refused
    assert (
        "data row 3"
        in run("randomize", "numbers.toml", text="q\n@home\n@home\n@away\n", ok=False).output
    )
