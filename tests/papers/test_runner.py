"""The runner of the papers' experiments, their measures and their pages."""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from papers import DATA_SETS, DataFolder, experiments, populations, reproduce, select
from papers.__main__ import reproduce as command
from papers.experiment import Claim, Experiment, Failure, Picture, Reason, Verdict
from papers.measure import Cell
from papers.measures import (
    BiasAndVariance,
    EstimatedShares,
    EstimationError,
    People,
    Reporters,
    of_shares,
    whole_counts,
)
from papers.p5.adult import _SIZES, kept_or_uniform
from papers.p5.common import table_of
from papers.p5.example import _NAMES
from papers.p5.synthetic import dependent_pair
from papers.pages import page, write
from papers.populations import adult_codes
from papers.registry import PAPERS
from papers.table import Table
from tests.refusals import refused
from warner import Inversion
from warner._core.processes import Workers
from warner.domains import Integers
from warner.errors import ArgumentError, FileError
from warner.mechanisms import RandomizedResponse
from warner.metrics import cramers_v, sum_of_squares

SMALL = "P5/fig5"


def small() -> Experiment:
    return select([SMALL])[0]


def run(folder: Path | None, **options: object) -> list[dict[str, object]]:
    [outcome] = reproduce([small()], folder, DataFolder(), quick=True, **options)  # type: ignore[arg-type]
    return [dict(row) for row in outcome.table.rows]


class Interrupted(Exception):
    """Ends a run."""


def stop(name: str, done: int, total: int) -> None:
    if done == 2:
        raise Interrupted


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """The folder and the numbers of a run in one process."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, run(folder, processes=1)


def test_an_interrupted_run_goes_on_to_the_same_numbers(
    tmp_path: Path, whole: tuple[Path, list[dict[str, object]]]
) -> None:
    refused(Interrupted, "", run, tmp_path, processes=1, progress=stop)
    work = tmp_path / "quick" / SMALL / "work.jsonl"
    assert len(work.read_text().splitlines()) == 3
    # A power cut leaves half a line.
    work.write_text(work.read_text() + '{"key": "[{')
    steps: list[int] = []
    assert run(tmp_path, processes=1, progress=lambda *step: steps.append(step[1])) == whole[1]
    assert steps[0] == 2
    assert run(tmp_path, processes=1) == whole[1]


def test_several_processes_give_the_same_numbers(
    whole: tuple[Path, list[dict[str, object]]],
) -> None:
    assert run(None, processes=2) == whole[1]


def test_work_of_other_data_or_of_an_earlier_revision_is_not_used(tmp_path: Path) -> None:
    refused(Interrupted, "", run, tmp_path, processes=1, progress=stop)
    work = tmp_path / "quick" / SMALL / "work.jsonl"
    work.write_text(work.read_text().replace('"revision":', '"revision":1', 1))
    steps: list[int] = []

    def note(name: str, done: int, total: int) -> None:
        steps.append(done)
        stop(name, done, total)

    refused(Interrupted, "", run, tmp_path, processes=1, progress=note)
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


def test_a_page_has_the_claims_and_the_pictures_that_were_drawn(
    tmp_path: Path, whole: tuple[Path, list[dict[str, object]]]
) -> None:
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
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


# Runs of experiments that stop early: by Ctrl-C, and before the first work.


def test_ctrl_c_ends_the_workers_without_a_word() -> None:
    with Workers(1) as workers:
        handler = workers._started().submit(signal.getsignal, signal.SIGINT).result()
    assert handler == signal.SIG_DFL


def test_a_missing_file_stops_a_run_before_its_first_experiment(tmp_path: Path) -> None:
    needs_none, needs_adult = select(["P5/fig5"]), select(["P5/table1"])
    results = reproduce(
        [*needs_none, *needs_adult], tmp_path / "out", DataFolder(str(tmp_path)), quick=True
    )
    refused(FileError, r"adult\.csv\.gz: is missing", next, results)
    assert not (tmp_path / "out").exists()


def test_an_interruption_waits_for_no_work_that_was_begun() -> None:
    """Rejects a program that ends only when its processes have done their work."""
    with pytest.raises(KeyboardInterrupt), Workers(1) as workers:
        workers._started().submit(time.sleep, 3600)
        raise KeyboardInterrupt
    assert [process.is_alive() for process in workers._processes] == [False]


# The measures of experiments: modes of reports, estimated shares, and names.


DOMAIN = Integers(1, 4)
COUNTS = np.array([50, 30, 15, 5])


def reporters(cell: Cell, people: People) -> Reporters:
    return [(RandomizedResponse(DOMAIN, 1.0), people.reporting)]


def shares(sampling: str, runs: int = 3) -> list[dict[str, object]]:
    error = EstimationError(
        lambda cell, data: People(DOMAIN, COUNTS), reporters, {"inv": Inversion()}, {}, sampling
    )
    measure = EstimatedShares(error, lambda domain: [{"x": 1}, {"x": 2}, None, {"x": 4}])
    streams = [(run, np.random.default_rng(run)) for run in range(runs)]
    return [dict(row) for row in measure.rows({}, streams, DataFolder())]


def test_rounded_counts_have_the_sum_n_and_are_off_by_less_than_one() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 1000):
        for size in (2, 9, 300):
            law = rng.dirichlet(np.full(size, 0.5))
            counts = whole_counts(law, n)
            assert counts.sum() == n and np.abs(counts - n * law).max() < 1
            # No other way of rounding to the sum n is closer, so no exchange of a report helps.
            off = counts - n * law
            assert off.max() - off.min() <= 1 + 1e-9


def test_counts_that_are_rounded_one_by_one_are_those_of_p5() -> None:
    """Rejects the program that keeps the sum of the counts at n."""
    experiment = select(["P5/example"])[0]
    rows = experiment.measure.rows(
        {"mode": "rounded", "n": 10}, [(0, np.random.default_rng(0))], DataFolder()
    )
    table = Table(rows)
    joint = [table.mean(method="RR-Ind-Joint", metric=name) for name in _NAMES]
    assert joint == pytest.approx([0.375, 0.075, 0.275, 0.375])
    reports = [table.mean(method="reports", metric=name) for name in _NAMES]
    assert reports == pytest.approx(np.array([3, 2, 3, 3]) / 11)


def test_exact_reports_are_inverted_to_the_truth_in_one_run() -> None:
    rows = shares("exact")
    found = {(r["method"], r["x"]): r["value"] for r in rows}
    assert len(rows) == len(found) == 6  # one run, the third value is left out
    for x in (1, 2, 4):
        assert found["inv", x] == pytest.approx(found["truth", x], abs=1e-12)


def test_sampled_reports_differ_between_runs_and_rounded_ones_do_not() -> None:
    sampled = [r["value"] for r in shares("population") if r["method"] == "inv"]
    assert len(sampled) == 9 and len(set(sampled[::3])) == 3
    for sampling in ("rounded", "apportioned"):
        assert len([r for r in shares(sampling) if r["method"] == "inv"]) == 3


def test_a_figure_that_shows_the_numbers_of_another_leads_to_it() -> None:
    assert [e.name for e in select(["p5/fig12"])] == ["P5/fig9"]
    assert select(["P5/fig9", "P5/fig10", "P5/fig12"]) == select(["P5/fig9"])


def test_names_of_figures_are_given_once() -> None:
    names = Counter(name for e in experiments().values() for name in e.names)
    assert max(names.values()) == 1, names


def test_shipped_data_are_not_called_made() -> None:
    [outcome] = reproduce(select(["P5/fig9"]), None, DataFolder(), quick=True, processes=1)
    assert not outcome.made


def test_tables_with_a_given_dependence_have_it() -> None:
    for d in (3, 5, 10):
        for v in (0.0, 0.3, 1.0):
            table = dependent_pair(d, v)
            assert table.sum() == pytest.approx(1)
            assert cramers_v(table.reshape(d - 1, d - 1)) == pytest.approx(v, abs=1e-12)


def test_the_columns_of_adult_have_the_stated_numbers_of_values() -> None:
    codes = adult_codes(DataFolder())
    assert {name: size for name, (size, _) in codes.items()}.items() <= _SIZES.items()


def test_a_value_is_kept_with_the_stated_probability() -> None:
    domain = table_of(a=2, b=5)
    for d, epsilon in zip((2, 5), kept_or_uniform(domain, 0.3), strict=True):
        row = RandomizedResponse(Integers(1, d), epsilon).channel().rows(np.array([0]))[0]
        np.testing.assert_allclose(row, [0.3 + 0.7 / d] + [0.7 / d] * (d - 1), atol=1e-12)


def test_bias_and_variance_are_those_of_the_runs_and_the_pair_is_compared() -> None:
    from scipy.stats import ttest_rel

    error = EstimationError(
        lambda cell, data: People(DOMAIN, COUNTS, 200),
        reporters,
        {"inv": Inversion(), "proj": Inversion("project")},
        {"MSE": of_shares(sum_of_squares)},
    )
    streams = [(run, np.random.default_rng(run)) for run in range(8)]
    rows = BiasAndVariance(error, losses=True, pair=("inv", "proj")).rows({}, streams, DataFolder())
    table = Table(rows)
    first, second = (table.values(method=m, metric="MSE") for m in ("inv", "proj"))
    assert table.mean(method="inv", metric="mean squared error") == pytest.approx(first.mean())
    parts = [table.mean(method="inv", metric=m) for m in ("squared bias", "variance")]
    assert sum(parts) == pytest.approx(first.mean())
    pair = table.select(method="inv and proj")
    assert pair.mean(metric="p-value") == pytest.approx(ttest_rel(first, second).pvalue)
    assert pair.mean(metric="correlation") == pytest.approx(np.corrcoef(first, second)[0, 1])


def test_the_populations_have_the_sizes_of_the_papers() -> None:
    flow = populations.people_flow(DataFolder())
    assert flow.domain.size == 281 and flow.counts.sum() == 303_916
    assert populations.survey(DataFolder()).domain.size == 400
    assert populations.census(DataFolder()).domain.size == 400
    assert populations.cities(DataFolder()).domain.size == 415
    for make in (populations.cities, populations.census, populations.tokyo_check_ins):
        again = [make(DataFolder()).shares for _ in range(2)]
        assert np.array_equal(*again)


def test_the_census_has_people_under_20_as_its_sample_has() -> None:
    """Rejects the survey of adults, whose shares are more even than a census has them."""
    shares = populations.census(DataFolder()).shares.reshape(8, 5, 5, 2)
    assert shares.sum() == pytest.approx(1)
    assert shares[:3].sum() == pytest.approx(64 / 221)
    assert shares[1, 0, 4] == pytest.approx(np.array([24, 21]) / 221)


def test_reports_tell_the_truth_as_seldom_as_p1_says() -> None:
    for size, percent in ((281, 0.39), (415, 0.27), (400, 0.28)):
        rows = {
            epsilon: RandomizedResponse(Integers(1, size), epsilon).channel().rows(np.array([0]))[0]
            for epsilon in (0.1, np.log(size))
        }
        assert round(100 * rows[0.1][0], 2) == percent
        assert rows[np.log(size)][0] == pytest.approx(0.5, abs=0.002)


# The pages of the papers agree with the declarations of the experiments.


DOCS = Path(__file__).parents[2] / "docs" / "papers"


def claims_of(paper: str) -> list[tuple[str, Claim]]:
    return [(e.name, c) for e in experiments().values() if e.paper == paper for c in e.claims]


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", page, flags=re.M)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_a_paper_has_every_claim_with_its_answer(paper: str) -> None:
    page = (DOCS / f"{paper}.md").read_text()
    answers = {"yes": True, "**no**": False, "not decided": None}
    rows = re.findall(r"^\| (?:(.+) \| )?(.+?) \| (P\d/\S+) \| (.+?) \| (.*?) ?\|$", page, re.M)
    shown = {(name, text): (words, answers[answer], why) for words, text, name, answer, why in rows}
    declared = {(name, c.text): c for name, c in claims_of(paper)}
    assert shown.keys() == declared.keys()
    for key, (words, answer, why) in shown.items():
        claim = declared[key]
        assert (words, answer) == ("" if claim.ours else claim.words, claim.held), key
        assert (claim.failure is not None and claim.failure.reason.value in why) == (
            answer is False
        ), key


@pytest.mark.parametrize("paper", PAPERS)
def test_a_claim_that_fails_has_a_reason_and_a_claim_of_a_paper_its_words(paper: str) -> None:
    """Rejects a paper that is said to be wrong where nobody looked why."""
    scripts = headings((DOCS / "errata.md").read_text())
    for name, claim in claims_of(paper):
        assert claim.ours or claim.words, (name, claim.text)
        assert (claim.failure is not None) == (claim.held is False), (name, claim.text)
        if claim.failure is not None:
            assert claim.failure.because.endswith("."), (name, claim.text)
            known = claim.failure.shown in scripts or (claim.ours and not claim.failure.shown)
            assert known, (name, claim.text)


def test_a_claim_that_fails_without_a_reason_breaks_a_run(
    whole: tuple[Path, list[dict[str, object]]],
) -> None:
    fails = Claim("It fails.", lambda table: Verdict(False, "0"), held=False)
    excused = replace(fails, failure=Failure(Reason.REAL, "It does."))
    held = replace(excused, held=True)
    for claim, broken in ((fails, True), (excused, False), (held, True)):
        [outcome] = reproduce(
            [replace(small(), claims=(claim,))], whole[0], DataFolder(), quick=True, processes=1
        )
        assert bool(outcome.broken) == broken


def test_a_quick_run_has_no_picture_without_cells_and_no_reason_of_the_full_run(
    tmp_path: Path, whole: tuple[Path, list[dict[str, object]]]
) -> None:
    """Rejects an empty picture, and "fails for real" with figures of the full run below made data."""
    fails = Claim("It fails.", lambda table: Verdict(False, "1.005"), held=False)
    claim = replace(fails, failure=Failure(Reason.REAL, "It is 3 % there."))
    empty = Picture("line", "V", where={"method": "none"}, name="empty")
    asked = replace(
        small(), claims=(claim,), pictures=(*small().pictures, empty), conclusion="Not the same."
    )
    [outcome] = reproduce([asked], whole[0], DataFolder(), quick=True, processes=1)
    stale = tmp_path / "quick" / SMALL / "picture-empty.png"
    stale.parent.mkdir(parents=True)
    stale.touch()
    for of_made, other in (
        (outcome, "this was the quick run"),
        (replace(outcome, made=True), "this quick run used made data"),
        (replace(outcome, made=True, quick=False), "this run used made data"),
    ):
        written = [path.name for path in write(of_made, tmp_path)]
        assert "picture.png" in written
        assert "picture-empty.png" not in written
        text = page("P5", [of_made], tmp_path)
        assert f"(1.005); failed in the full run of docs/papers, too; {other}\n" in text
        assert not any(word in text for word in ("fails for real", "3 %", "Not the same", "empty"))
    assert not stale.exists()
    text = page("P5", [replace(outcome, quick=False)], tmp_path)
    assert "(1.005); fails for real: It is 3 % there.\n" in text
    assert "**Same or not.** Not the same." in text


def test_the_list_of_experiments_fits_80_columns() -> None:
    """Rejects columns of file names, which broke inside words beside lines of 125 characters."""
    lines = str(CliRunner().invoke(command, ["--list"]).output).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("P3/fig5") for line in lines)
    assert not any("csv" in line for line in lines)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_picture_of_a_page_is_there(paper: str) -> None:
    page = (DOCS / f"{paper}.md").read_text()
    pictures = re.findall(r"!\[.*?\]\((.+?)\)", page)
    assert pictures
    for picture in pictures:
        assert (DOCS / picture).is_file(), picture


def test_every_row_of_the_papers_has_an_answer() -> None:
    """Rejects an item that is answered in part, or left out without a name among what is open."""
    coverage = (DOCS / "coverage.md").read_text()
    items, _, open_ones = coverage.partition("## What the papers leave to future work")
    rows = [line.split("|") for line in items.splitlines() if line.startswith("| ")]
    answers = [row for row in rows if len(row) >= 5 and set(row[1].strip()) - set("-")]
    assert len(answers) > 200
    for row in answers:
        assert all(cell.strip() for cell in row[1:4]), row
        assert not re.search(r"\b(in part|partly|missing|left out)\b", row[2].lower()), row
    assert open_ones.count("\n| ") == 11
