"""Commands that show what a study means, explain answers, rank methods, and where results go."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import STUDY, run
from tests.spec.design._tally import _tally
from warner import Categorical, io

PUBLIC = '[public.ward]\nvalues = ["north", "south"]\n[public.visits]\nintegers = [0, 9]\n'


@pytest.fixture(scope="module")
def town_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with public columns, answers of 400 people, and their reports."""
    folder = tmp_path_factory.mktemp("town")
    rng = np.random.default_rng(3)
    (folder / "study.toml").write_text(STUDY + PUBLIC)
    wards, visits = rng.choice(["north", "south"], 400), rng.integers(0, 10, 400)
    ages = rng.integers(0, 10, 400)
    answers = zip(wards, visits, rng.choice(["no", "yes"], 400), ages, strict=True)
    lines = [",".join(map(str, row)) for row in answers]
    (folder / "answers.csv").write_text("\n".join(["ward,visits,smokes,age", *lines]) + "\n")
    study, answers_file = str(folder / "study.toml"), str(folder / "answers.csv")
    run("randomize", study, answers_file, "-o", str(folder / "r.parquet"))
    return folder


@pytest.fixture
def town(town_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder for one test, as the current one."""
    shutil.copytree(town_once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_says_what_a_study_means(town: Path) -> None:
    shown = run("study", "check", "study.toml").stdout
    assert (
        "RandomizedResponse" in shown and "is asked once spends at most epsilon = 2.5 in" in shown
    )
    assert "Public, NOT protected: ward (2 values)" in shown
    Path("draft.toml").write_text(STUDY.replace("epsilon = 1.5\n", ""))
    assert "age" in run("study", "check", "draft.toml").stdout
    (smokes, age) = json.loads(run("study", "check", "draft.toml", "--json").stdout)["questions"]
    assert (smokes["epsilon"], smokes["lacks"], age["lacks"]) == (1.0, None, "epsilon")
    Path("wrong.toml").write_text(STUDY.replace("integers", "integerz"))
    assert "integerz" in run("study", "check", "wrong.toml", ok=False).stderr


@pytest.mark.parametrize(
    ("formula", "covariates", "formulaic"),
    [
        ("smokes ~ ward + visits", ("ward", "visits"), None),
        ("smokes", ("ward", "visits"), None),
        ("smokes ~ ward:visits", ("ward", "visits"), "ward:visits"),
    ],
)
def test_a_regression_is_that_of_the_library(
    town: Path, formula: str, covariates: tuple[str, ...], formulaic: str | None
) -> None:
    reports, public = io.read_reports("r.parquet")["smokes"], io.read_public("r.parquet")
    chosen = {name: public[name] for name in covariates}
    expected = warner.regress(reports, chosen, formulaic, reference="yes")
    shown = run("regress", "r.parquet", formula, "--reference", "yes", "--json").stdout
    data = json.loads(shown)
    assert data.pop("attribute") == "smokes"
    assert data == json.loads(json.dumps(expected.to_json()))


def test_a_mean_is_regressed_and_tables_go_to_files(town: Path) -> None:
    run("regress", "r.parquet", "age ~ visits", "--mean", "--study", "study.toml", "-o", "m.csv")
    rows = list(csv.DictReader(Path("m.csv").read_text().splitlines()))
    assert [row["covariate"] for row in rows] == ["Intercept", "visits"]
    run("regress", "r.parquet", "smokes ~ ward", "-o", "table.txt")
    assert "ward: south" in Path("table.txt").read_text()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("regress", "r.parquet", "smoke ~ ward"), "Is 'smokes' meant?"),
        (("regress", "r.parquet", "smokes ~ warf"), "must be one of the columns: ward, visits"),
        (("regress", "r.parquet", "age ~ ward", "--mean", "--errors", "sandwich"), "--mean"),
        (("regress", "r.parquet", "smokes", "-o", "r.parquet"), "one of the inputs"),
        (("benchmark", "t.json", "--people", "9"), "can be used only with a study and --truth"),
        (
            ("benchmark", "study.toml", "--truth", "answers.csv", "--joint", "a,b"),
            "cannot be used with --truth",
        ),
        (("benchmark", "study.toml", "--truth", "answers.csv", "--only", "x"), "'smokes', 'age'"),
        (("estimate", "r.parquet", "--pool", "none"), "needs --by"),
        (
            ("estimate", "r.parquet", "--interval", "likelihood", "--target", "respondents"),
            "--interval: 'likelihood' needs --target population; got 'respondents'. Use --interval",
        ),
        (("tally", "r.parquet", "--by", "warf"), "Error: --by: must be one of the public columns"),
        (
            ("estimate", "r.parquet", "--by", "ward", "-m", "mle", "--pool", "partial"),
            "--method: cannot be used with --pool partial, which has a method of its own",
        ),
        (
            ("estimate", "r.parquet", "--compare-groups", "-m", "mle"),
            "--method: cannot be used with --compare-groups, which has a method of its own",
        ),
        (("estimate", "r.parquet", "--reference", "a"), "needs --compare-groups"),
        (("estimate", "r.parquet", "--json", "--csv"), "cannot be used together"),
        (("help", "tallly"), "No such command 'tallly'. Did you mean 'tally'?"),
        (("help", "estimate", "x"), "There is no command 'x'"),
        (("serve", "study.toml"), "Did you mean: warner collect serve?"),
        (("groups", "t.json"), "Did you mean: warner estimate --by?"),
        (("compare", "t.json"), "Did you mean: warner benchmark?"),
        (("reproduce", "P3/fig5"), "In a git clone of warner, run: python -m papers"),
        (("validate", "study.toml"), "Did you mean: warner study check?"),
        (("estimate", "t.json", "--chart", "x.png"), "Did you mean --plot?"),
        (("estimate", "t.json", "--model", "mle"), "Did you mean --method?"),
        (("estimate", "t.json", "--attribute", "x"), "Did you mean --only?"),
        (
            ("plan", "study.toml", "--epsilon", "2"),
            "'--epsilon' here. Epsilon stands in the study file. Write",
        ),
        (
            ("estimate", "t.json", "-o", "t.jpg"),
            "as text, .html, .tex or .typ for the tables of an",
        ),
        (("estimate", "t.json", "-o", "t.docx"), "Write -o t.html, and open this page in Word."),
        (
            ("tally", "r.parquet", "--drop-missing"),
            "For answers on paper, add --drop-missing to warner estimate, report or regress",
        ),
        (("collect", "serve", "study.toml", "--database", "x"), "Did you mean --store?"),
        (("estimate", "study.toml"), "is a study file"),
        (
            ("benchmark", "study.toml", "-m", "mle"),
            "this study. Or simulate a survey: add --truth FILE",
        ),
        (("merge", "study.toml"), "is a study file"),
        (("merge", "r.parquet"), "To count reports, run: warner tally"),
        (("report", "study.toml", "-o", "x.html"), "is a study file"),
        (("tally", "study.toml"), "Give the study file with --study"),
        (("tally", "r.parquet", "--by", "Ward"), "Is 'ward' meant?"),
        (("estimate", "r.parquet", "--only", "Smokes"), "Is 'smokes' meant?"),
        (
            ("estimate", "r.parquet", "--json", "x"),
            "x: does not exist. Correct its name. If the command is to write this file, put -o before its name: --json only",
        ),
        (("estimate", "r.parquet", "--summary", "medain"), "Is 'median' meant?"),
        (("randomize", "study.toml", "answers.csv", "--bare"), "leave out --bare."),
        (("estimate", "r.parquet", "--level", "0.05"), "Did you mean 0.95?"),
        (("estimate", "r.parquet", "--level", "1"), "--level: must be at least 0.5 and below 1,"),
    ],
)
def test_what_does_not_go_together_is_said(
    town: Path, command: tuple[str, ...], problem: str
) -> None:
    assert problem in run(*command, ok=False).stderr


def test_lists_of_names_take_commas_and_v_is_the_version(town: Path) -> None:
    shown = [
        run("estimate", "r.parquet", "--csv", *only).stdout
        for only in (("--only", "smokes,age"), ("--only", "smokes", "--only", "age"))
    ]
    assert shown[0] == shown[1] != ""
    run("tally", "r.parquet", "-o", "t.json")
    swapped = run("randomize", "t.json", "answers.csv", ok=False).stderr
    assert "is a tally, which holds counts of reports, and not a study file" in swapped
    assert run("-V").stdout == run("--version").stdout
    assert "_WARNER_COMPLETE=bash_source" in run("--help").stdout


def test_estimators_are_ranked_on_a_tally(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    _tally(Categorical(["a", "b", "c"])).save(path)
    methods = ("-m", "mle", "-m", "project", "-m", "spline")
    shown = run("benchmark", path, *methods, "--runs", "3").output
    assert "MaximumLikelihood" in shown and "LogSpline() is left out" in shown
    data = json.loads(run("benchmark", path, "-m", "mle", "--runs", "3", "--json").output)
    assert data["value"]["results"][0]["method"].startswith("MaximumLikelihood")
    files = [str(tmp_path / f"t.{ending}") for ending in ("tex", "typ", "html")]
    run("benchmark", path, "-m", "mle", "--runs", "3", *(f"-o{name}" for name in files))
    latex, typst, page = (Path(name).read_text() for name in files)
    assert page.startswith("<!doctype html>") and "MaximumLikelihood" in page
    assert latex.startswith("% value\n") and r"\midrule" in latex and "MaximumLikelihood" in latex
    assert typst.startswith('#strong("value: ') and "#table(" in typst
    run("benchmark", path, "--only", "nothing", ok=False)


def test_mechanisms_are_ranked_on_known_answers(town: Path) -> None:
    options = ("--truth", "answers.csv", "-m", "project", "--runs", "2", "--people", "500")
    data = json.loads(run("benchmark", "study.toml", *options, "--json").stdout)
    assert {row["mechanism"] for row in data["age"]["results"]} == {"UnaryEncoding"}
    assert data["smokes"]["results"][0]["epsilon"] == 1.0
    several = ("--only", "smokes", "--mechanism", "RandomizedResponse", "--mechanism", "Subset")
    assert "SubsetSelection" in run("benchmark", "study.toml", *options, *several, ok=False).stderr
    run("benchmark", "study.toml", *options, "--only", "age", "--epsilon", "2", "-o", "b.csv")
    rows = list(csv.DictReader(Path("b.csv").read_text().splitlines()))
    assert [(row["epsilon"], row["n"]) for row in rows] == [("2.0", "500")]
    run("benchmark", "study.toml", *options, "-o", "b.tex")
    latex = Path("b.tex").read_text()
    assert latex.count(r"\begin{tabular}") == 2 and r"$\varepsilon = 1$" in latex
    assert "% smokes\n% \\caption{" in latex and "\n% age\n" in latex
    counted = run("benchmark", "study.toml", *options, "--only", "age", "--coverage", "score")
    assert "95 % score intervals that hold" in " ".join(counted.stdout.split())


def test_a_statement_goes_to_a_file_and_help_to_the_screen(town: Path) -> None:
    command = ("sql", "study.toml", "--dialect", "duckdb", "--table", "reports")
    run(*command, "-o", "count.sql")
    assert Path("count.sql").read_text() == run(*command).stdout
    assert run("help", "study", "check").stdout.startswith("Usage: main study check")
    assert run("help").stdout == run("--help").stdout


def test_in_a_clone_the_module_of_papers_is_named_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects "No such command", and advice to make a clone to someone who stands in one."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "__main__.py").touch()
    monkeypatch.chdir(tmp_path)
    done = run("reproduce", "P3/fig5", ok=False)
    assert "There is no command 'reproduce'. Run: python -m papers --list" in done.output
