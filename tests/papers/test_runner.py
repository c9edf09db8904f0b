"""The runner of experiments: numbers that depend on the seeds alone, and work that is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from papers import DATA_SETS, DataFolder, experiments, reproduce, select
from papers.__main__ import reproduce as command
from papers.experiment import Experiment
from papers.pages import page, write
from tests.refusals import refused
from warner.errors import ArgumentError, FileError

SMALL = "P5/fig5"


def small() -> Experiment:
    return select([SMALL])[0]


def run(folder: Path | None, **options: object) -> list[dict[str, object]]:
    [outcome] = reproduce([small()], folder, DataFolder(), quick=True, **options)  # type: ignore[arg-type]
    return [dict(row) for row in outcome.table.rows]


def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def stop(name: str, done: int, total: int) -> None:
        if done == 2:
            raise Interrupted

    whole = run(None, processes=1)
    refused(Interrupted, "", run, tmp_path, processes=1, progress=stop)
    work = tmp_path / "quick" / SMALL / "work.jsonl"
    assert len(work.read_text().splitlines()) == 3
    # A power cut leaves half a line.
    work.write_text(work.read_text() + '{"key": "[{')
    steps: list[int] = []
    assert run(tmp_path, processes=1, progress=lambda *step: steps.append(step[1])) == whole
    assert steps[0] == 2
    assert run(tmp_path, processes=1) == whole


def test_several_processes_give_the_same_numbers() -> None:
    assert run(None, processes=2) == run(None, processes=1)


def test_work_of_other_data_or_of_an_earlier_revision_is_not_used(tmp_path: Path) -> None:
    run(tmp_path, processes=1)
    work = tmp_path / "quick" / SMALL / "work.jsonl"
    work.write_text(work.read_text().replace('"revision":', '"revision":1', 1))
    steps: list[int] = []
    run(tmp_path, processes=1, progress=lambda *step: steps.append(step[1]))
    assert steps[0] == 0


def test_an_unknown_experiment_is_told_the_nearest_names() -> None:
    refused(ArgumentError, "P5/fig5", select, ["P5/fig55"])


def test_missing_and_altered_data_are_named(tmp_path: Path) -> None:
    folder = DataFolder(str(tmp_path))
    refused(FileError, r"nltcs\.csv\.gz: is missing.*Long Term Care", folder.check, "nltcs.csv.gz")
    (tmp_path / "nltcs.csv.gz").write_bytes(b"altered")
    with pytest.raises(FileError, match=r"nltcs\.csv\.gz: must have the SHA-256 bd8053b8"):
        folder.check("nltcs.csv.gz")


def test_every_experiment_says_what_it_needs() -> None:
    for name, experiment in experiments().items():
        assert name == experiment.name
        assert experiment.says.endswith("."), name
        assert set(experiment.data) <= set(DATA_SETS), name
        assert experiment.pictures, name
        assert all(claim.text.endswith(".") for claim in experiment.claims), name
        for quick in (False, True):
            cells, runs = experiment.size(quick)
            assert cells and runs >= 1, name


def test_the_columns_of_adult_are_shipped() -> None:
    adult = DataFolder().table("adult.csv.gz")
    assert adult is not None
    assert {len(column) for column in adult.values()} == {DATA_SETS["adult.csv.gz"].rows}


def test_the_command_writes_a_table_pictures_and_a_page(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        command, [SMALL, "--quick", "-o", str(tmp_path), "--processes", "1"]
    )
    assert result.exit_code == 0, result.output
    folder = tmp_path / "quick" / SMALL
    assert (folder / "table.csv").read_text().startswith("V,")
    assert (folder / "picture.png").read_bytes()[:4] == b"\x89PNG"
    assert "**The paper says.**" in (folder / "result.md").read_text()
    # A page is of all experiments of a paper.
    assert not (tmp_path / "quick" / "P5.md").exists()


def test_a_page_has_the_claims_and_the_pictures_that_were_drawn(tmp_path: Path) -> None:
    [outcome] = reproduce([small()], tmp_path, DataFolder(), quick=True, processes=1)
    write(outcome, tmp_path)
    text = page("P5", [outcome], tmp_path)
    assert all(claim.text in text for claim in small().claims)
    assert f"]({SMALL}/picture" in text
    for picture in (tmp_path / "quick" / SMALL).glob("picture*.png"):
        picture.unlink()
    assert "![" not in page("P5", [outcome], tmp_path)


def test_the_command_without_a_name_says_what_to_do() -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code != 0
    assert "--list" in str(result.output) + str(result.exception)
