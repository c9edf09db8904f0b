"""Grids from a study file to a map, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.app._command import run
from warner.io import read_reports, read_values

STUDY = """
[attributes.place]
grid = { rows = 5, columns = 4, side = 0.5 }
mechanism = "RandomizedResponse"
epsilon = 20
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("city.toml").write_text(STUDY)
    return tmp_path


def test_a_grid_goes_from_a_study_file_to_a_map(here: Path) -> None:
    cells = np.random.default_rng(0).integers(0, [5, 4], (2000, 2))
    Path("a.csv").write_text("place\n" + "".join(f'"{r},{c}"\n' for r, c in cells))
    run("randomize", "city.toml", "a.csv", "-o", "r.parquet")
    run("tally", "r.parquet", "-o", "t.json", "--study", "city.toml")
    run("estimate", "t.json", "--plot", "p.png", "-o", "e.json")
    (found,) = json.loads(Path("e.json").read_text())
    counts = np.bincount(cells @ [4, 1], minlength=20) / 2000
    assert [share["value"] for share in found["shares"]] == [
        [r, c] for r in range(5) for c in range(4)
    ]
    assert [share["estimate"] for share in found["shares"]] == pytest.approx(counts, abs=0.002)
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    assert warner.Study.load("city.toml").domains["place"] == warner.Grid(5, 4, 0.5)


@pytest.mark.parametrize("cell", ["3,2", "3, 2", "[3, 2]", "[3,2]", "03,2"])
def test_cells_are_read_as_people_and_estimates_write_them(here: Path, cell: str) -> None:
    run("randomize", "city.toml", "-o", "r.csv", text=f'place\n"{cell}"\n')
    assert read_reports("r.csv")["place"].columns["report"].tolist() == [14]


def test_cells_are_read_from_lists_in_parquet(here: Path) -> None:
    for name, column in (
        ("a", [[1, 2], [3, 0]]),
        ("b", pa.array([[1, 2], [3, 0]], pa.list_(pa.int32(), 2))),
    ):
        pq.write_table(pa.table({"place": column}), f"{name}.parquet")
        (batch,) = read_values(f"{name}.parquet", {"place": warner.Grid(5, 4)})
        assert batch["place"].tolist() == [6, 12]


@pytest.mark.parametrize(
    "cell",
    [
        "5,0",
        "0,4",
        "-1,0",
        "1",
        "1,2,3",
        "[1,2",
        "1,2]",
        "1.0,2",
        "(1,2)",
        "1;2",
        "",
        "x,y",
        "99999999999,0",
    ],
)
def test_what_is_no_cell_is_refused_by_its_row_and_never_shown(here: Path, cell: str) -> None:
    refused = run("randomize", "city.toml", text=f'place\n"0,0"\n"{cell}"\n', ok=False).output
    assert "column 'place', data row 2" in refused and "cell" in refused
    assert not cell or f"{cell}" not in refused.replace("row,column", "")
    pq.write_table(pa.table({"place": [0.5]}), "a.parquet")
    assert (
        "must be a (row, column) pair"
        in run("randomize", "city.toml", "a.parquet", ok=False).output
    )


def test_tags_stand_among_cells(here: Path) -> None:
    Path("city.toml").write_text(
        STUDY.replace("RandomizedResponse", "UtilityOptimizedRR")
        + 'sensitive = [[0, 1]]\ntags = ["home"]\n'
    )
    run(
        "randomize",
        "city.toml",
        "-o",
        "r.csv",
        "--keep-order",
        text='place\n"2,1"\n@home\n"[2, 1]"\n',
    )
    assert read_reports("r.csv")["place"].columns["report"].tolist() == [9, 20, 9]
    run("estimate", "r.csv", "--plot", "p.svg")


@pytest.mark.parametrize(
    "change, complaint",
    [
        (("rows = 5, ", ""), "attributes.place.grid.rows: is missing"),
        (("side = 0.5", "side = 0"), "attributes.place: side: must be above 0"),
        (("side = 0.5", "sides = 2"), "attributes.place.grid.sides"),
        (("rows = 5", "rows = 5.0"), "attributes.place.grid.rows"),
        (
            ("epsilon", "integers = [0, 1]\nepsilon"),
            "must have exactly one of the keys values, integers, interval, grid",
        ),
    ],
)
def test_grids_in_study_files_are_checked_in_words(change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(warner.errors.StudyError) as caught:
        warner.Study.parse(STUDY.replace(*change))
    assert complaint in str(caught.value)


def test_studies_with_grids_travel_as_json_and_are_in_the_schema() -> None:
    study = warner.Study.parse(STUDY)
    assert warner.Study.parse(study.to_json()).digest == study.digest
    assert "GridSpec" in warner.Study.schema()["$defs"]
    assert warner.Study.parse(STUDY.replace(", side = 0.5", "")).domains["place"] == warner.Grid(
        5, 4
    )
