"""``warner regress``: predictors, random intercepts, correlations, and words from paper."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from tests.spec.app._command import run
from warner._core.survey_design import code_of_missing

STUDY = """
[public.age]
integers = [0, 99]
[public.school]
integers = [1, 40]
[public.income]
integers = [0, 9]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 3.0
[attributes.drinks]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 3.0
"""
N = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports of a study, and what people said on paper."""
    here = tmp_path_factory.mktemp("regress")
    rng = np.random.default_rng(8)
    age, school = rng.integers(20, 60, N), rng.integers(1, 31, N)
    smokes = rng.random(N) < np.where(age > 40, 0.7, 0.2)
    drinks = rng.random(N) < np.where(smokes, 0.7, 0.3)
    income = np.clip(np.round(3 + 2 * smokes + rng.normal(size=N)), 0, 9).astype(int)
    card = 1 + np.arange(N) % 2
    same = np.where(rng.random(N) < 0.25, smokes, ~smokes)
    lies = np.where(smokes, True, rng.random(N) < np.where(card == 1, 0.8, 0.2))
    columns = {
        "smokes": np.where(smokes, "yes", "no"),
        "drinks": np.where(drinks, "yes", "no"),
        "age": age,
        "school": school,
        "income": income,
        "said": np.where(same, "same", "different"),
        "told": np.where(lies, "Yes", "no"),
        "card": card,
    }
    with (here / "all.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    (here / "s.toml").write_text(STUDY)
    run("randomize", str(here / "s.toml"), str(here / "all.csv"), "-o", str(here / "r.parquet"))
    return here


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def rows_of(*command: str) -> list[dict[str, object]]:
    """The coefficients of a regression, from its JSON."""
    return list(json.loads(run("regress", *command, "--json").stdout)["coefficients"])


def test_a_hidden_answer_explains_what_is_seen(here: Path) -> None:
    # In 80 columns a name is broken where numbers have many digits.
    shown = run("regress", "r.parquet", "income ~ smokes + age", "--wide").stdout
    assert shown.startswith("income\n") and "smokes: yes" in shown
    rows = {(r["value"], r["covariate"]): r for r in rows_of("r.parquet", "income ~ smokes + age")}
    assert rows["income", "smokes[T.yes]"]["p"] < 0.01  # type: ignore[operator]
    constant = rows_of("r.parquet", "income ~ smokes", "--hidden", "smokes ~ 1")
    assert [row["covariate"] for row in constant if row["value"] == "smokes: yes"] == ["Intercept"]
    against = rows_of("r.parquet", "income ~ smokes", "--reference", "yes")
    assert against[1]["covariate"] == "smokes[T.no]"
    both = rows_of("r.parquet", "income ~ smokes + drinks", "--hidden", "smokes + drinks ~ 1")
    assert both[-1]["value"] == "smokes: yes, drinks: yes"


def test_references_of_columns_and_slips_in_them(here: Path, tmp_path: Path) -> None:
    design = ("--design", "said=crosswise:1/4")
    rows = rows_of("all.csv", "said ~ drinks", *design, "--reference", "drinks=yes")
    assert [row["covariate"] for row in rows] == ["Intercept", "drinks[T.no]"]
    path = tmp_path / "slips.csv"
    path.write_text(Path("all.csv").read_text().replace(",yes,", ", Yes ,", 1))
    said = run("regress", str(path), "said ~ drinks + age", *design).stderr
    assert "drinks: 'Yes' and 'yes' count as 2 groups" in " ".join(said.split())
    assert "The smallest and the largest number of each column: age 20 to 59." in said


def test_numbers_that_may_be_codes_are_named_with_the_option_that_makes_them_labels(
    here: Path, tmp_path: Path
) -> None:
    """Rejects a slope of wards 1 to 3 in silence, and a way out that needs another package."""
    first, *lines = Path("all.csv").read_text().splitlines()
    path = tmp_path / "wards.csv"
    rows = [f"{line},{i % 3 + 1}" for i, line in enumerate(lines)]
    path.write_text("\n".join([f"{first},zone", *rows]))
    command = ("regress", str(path), "said ~ zone", "--design", "crosswise:1/4")
    assert "codes of categories, add --reference zone=1." in run(*command).stderr
    labels = run(*command, "--reference", "zone=1", "--json")
    assert "codes of categories" not in labels.stderr
    names = [row["covariate"] for row in json.loads(labels.stdout)["coefficients"]]
    assert names == ["Intercept", "zone[T.2]", "zone[T.3]"]


def test_random_intercepts_links_and_correlations(here: Path) -> None:
    rows = rows_of("r.parquet", "smokes ~ age", "--random", "school")
    assert [row["covariate"] for row in rows] == ["Intercept", "age", "sd(school)"]
    assert rows_of("r.parquet", "smokes ~ age", "--link", "probit")[1]["p"] < 0.01  # type: ignore[operator]
    shown = run("regress", "r.parquet", "smokes + drinks + income", "--correlation").stdout
    assert shown.startswith("Correlations\nfirst") and len(shown.splitlines()) > 5
    data = json.loads(
        run("regress", "r.parquet", "smokes + income", "--correlation", "--json",
            "--cluster", "school").stdout
    )  # fmt: skip
    assert data["format"] == "warner-correlations" and data["survey"]["clusters"] == 30
    survey = rows_of("r.parquet", "income ~ smokes", "--cluster", "school", "--random", "school")
    assert survey[0]["degrees"] == 29


def test_one_answer_against_all_others(here: Path, tmp_path: Path) -> None:
    """Rejects an equation for each answer where the one that is named was meant."""
    study = """
[public.age]
integers = [0, 99]
[attributes.often]
values = ["never", "sometimes", "often"]
mechanism = "RandomizedResponse"
epsilon = 3.0
"""
    (tmp_path / "s.toml").write_text(study)
    rows = [f"{['never', 'sometimes', 'often'][i % 3]},{20 + i % 40}" for i in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(["often,age", *rows]))
    files = [str(tmp_path / name) for name in ("s.toml", "a.csv", "r.parquet")]
    run("randomize", *files[:2], "-o", files[2])
    shown = run("regress", files[2], "often ~ age", "--outcome", "sometimes").output
    assert "add --outcome" not in shown
    several = run("regress", files[2], "often ~ age").stderr
    assert "To compare one answer with all others together, add --outcome often." in several
    assert "'sometimes' with 'other answers'" in shown
    for options, said in (
        (("--correlation",), "--outcome: cannot be used with --correlation"),
        (("--reference", "never"), "cannot be used together with"),
    ):
        asked = "regress", files[2], "often ~ age", "--outcome", "sometimes"
        assert said in run(*asked, *options, ok=False).stderr


def test_all_columns_are_shown_where_there_is_room_for_them(here: Path) -> None:
    """Rejects: --wide that is taken and does nothing."""
    command = ("regress", "r.parquet", "smokes ~ age")
    narrow, wide = run(*command).stdout, run(*command, "--wide").stdout
    assert "unbiased estimates" not in wide  # the errors are those of the coefficients
    # Where numbers have few digits by chance, the column of values has room.
    hidden = r"Columns not shown here: (value, )?95 % interval\. To see all columns, add --wide"
    assert re.search(hidden, narrow)
    assert "--wide" not in wide
    assert (
        re.search(r" 95 % interval +odds ratio \(interval\)\n", wide)
        and "not shown here" not in wide
    )


def test_errors_stand_at_80_columns_and_the_fit_below(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects tables that leave out the standard errors first, and counts without the deviation."""
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "wards.csv"
    first, *lines = Path("all.csv").read_text().splitlines()
    wards = [f"{line},{['north', 'south', 'east'][i % 3]}" for i, line in enumerate(lines)]
    path.write_text("\n".join([f"{first},`ward of each person`".replace("`", ""), *wards]))
    design = ("--design", "said=crosswise:1/4")
    shown = run("regress", str(path), "said ~ age + `ward of each person`", *design).stdout
    head = shown.splitlines()[1]
    assert "error" in head and "odds ratio" not in head
    data = json.loads(
        run("regress", str(path), "said ~ age + `ward of each person`", *design, "--json").stdout
    )
    words = " ".join(shown.split())
    assert (
        f"The log-likelihood is {data['log_likelihood']:.3f}, with 4 parameters and {N} people."
        in words
    )
    (test,) = data["joint_tests"]
    assert test["covariate"] == "ward of each person" and test["degrees"] == 2
    assert "Wald test that ward of each person makes no difference: chi-square" in words
    # The test of the whole model: more degrees than that of one covariate, and in papers a row.
    of_all = data["model_test"]
    assert of_all["degrees"] == 3 and of_all["statistic"] >= test["statistic"]
    assert of_all["p"] == pytest.approx(scipy.stats.chi2.sf(of_all["statistic"], 3))
    assert "Wald test that no covariate makes a difference: chi-square" in words
    tex = tmp_path / "table.tex"
    run("regress", str(path), "said ~ age + `ward of each person`", *design, "-o", str(tex))
    _, below = tex.read_text().split("\\midrule\n", 2)[1:]
    line = "\\multicolumn{5}{l}{"  # no long name widens the first column
    assert below.startswith(
        f"{line}People: {N}}} \\\\\n{line}Value: yes}} \\\\\n{line}Compared with: "
    )
    assert "Compared with: answer no and ward of each person east}" in below
    assert f"{line}Wald test that no covariate makes a difference: chi-square " in below
    assert max(map(len, below.splitlines())) < len(line) + 80
    # What stands in the table is not said again in the notes of a paper.
    assert tex.read_text().count("Wald test that no covariate") == 1
    assert tex.read_text().count("Compared with") == 1
    mixed = run("regress", "all.csv", "said ~ age", *design, "--random", "school").stdout
    assert "with 3 parameters" in " ".join(mixed.split())


def test_a_model_without_covariates_can_be_compared_with_others(here: Path) -> None:
    """Rejects: advice in Python where somebody asks for the intercept alone."""
    design = ("--design", "crosswise:1/4")
    paper = ("estimate", "all.csv", "--design", "said=crosswise:1/4", "--json")
    (estimate,) = json.loads(run(*paper).stdout)
    data = json.loads(run("regress", "all.csv", "said ~ 1", *design, "--json").stdout)
    assert [row["covariate"] for row in data["coefficients"]] == ["Intercept"]
    assert data["log_likelihood"] == pytest.approx(estimate["log_likelihood"])
    assert (
        f"with 1 parameter and {N} people" in run("regress", "all.csv", "said ~ 1", *design).stdout
    )
    larger = json.loads(run("regress", "all.csv", "said ~ age", *design, "--json").stdout)
    assert larger["log_likelihood"] > data["log_likelihood"]
    assert rows_of("r.parquet", "smokes ~ 1")[0]["covariate"] == "Intercept"


def test_a_survey_has_no_log_likelihood_and_an_f_test(here: Path, tmp_path: Path) -> None:
    """Rejects a weighted sum by the name of a likelihood, and a chi-square with the p of an F."""
    path = tmp_path / "wards.csv"
    first, *lines = Path("all.csv").read_text().splitlines()
    wards = [f"{line},{['n', 's', 'e'][i % 3]},{1 + i % 4}" for i, line in enumerate(lines)]
    path.write_text("\n".join([f"{first},ward,weight", *wards]))
    command = ("regress", str(path), "said ~ ward", "--design", "crosswise:1/4")
    data = json.loads(run(*command, "--weights", "weight", "--json").stdout)
    assert data["log_likelihood"] is None
    (test,) = data["joint_tests"]
    of_f = test["statistic"] / 2  # Hotelling's, of an estimated covariance
    b = np.array([row["estimate"] for row in data["coefficients"]])[1:]
    inverse = np.linalg.inv(np.array(data["covariance"]["matrix"])[1:, 1:])
    assert test["statistic"] == pytest.approx(b @ inverse @ b * (N - 2) / (N - 1))
    assert test["f_degrees"] == [2, N - 2] and test["p"] == pytest.approx(
        scipy.stats.f.sf(of_f, 2, N - 2)
    )
    shown = " ".join(run(*command, "--weights", "weight").stdout.split())
    assert f"makes no difference: F(2, {N - 2}) = {of_f:.2f}, p = " in shown
    assert "Log-likelihood" not in shown and "chi-square" not in shown


def test_a_survey_has_t_and_its_degrees_of_freedom(here: Path) -> None:
    """Rejects a "z" whose p is of Student's t, degrees that no table has, and a mute --explain."""
    command = ("regress", "all.csv", "said ~ age", "--design", "crosswise:1/4", "--explain")
    for roles in ((), ("--cluster", "school")):
        words = run(*command, *roles, "--wide").stdout
        rows = json.loads(run(*command[:-1], *roles, "--json").stdout)["coefficients"]
        head, about = words.splitlines()[1], " ".join(words.split())
        age = rows[1]
        if not roles:
            assert " z " in head and "degrees of freedom" not in head and "degrees" not in age
            assert "p and the intervals are computed from the normal distribution." in about
            assert "Standard errors come from the observed information" in about
            continue
        assert " t " in head and " z " not in head and head.endswith("degrees of freedom")
        assert words.splitlines()[4].endswith(f" {age['degrees']:.4g}")
        assert age["p"] == pytest.approx(2 * scipy.stats.t.sf(abs(age["z"]), age["degrees"]))
        low, high = sorted(row["degrees"] for row in rows)
        assert f"Student's t with {low:.4g} to {high:.4g} degrees of freedom." in about
        assert "These degrees are at most 29, the number of clusters minus 1" in about
        assert "the squared scores of clusters" in about
    mean = run("regress", "r.parquet", "income ~ smokes", "--random", "school", "--explain").stdout
    assert "p of sd(school) comes from a likelihood-ratio test" in " ".join(mean.split())


def test_columns_that_are_no_weights_and_no_labels_are_refused(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects ids as weights, one person who outweighs all in silence, and ages as 40 labels."""
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "more.csv"
    first, *lines = Path("all.csv").read_text().splitlines()
    age = first.split(",").index("age")
    more = [
        f"{line},{i + 1},{5000 if i == 7 else 1},{line.split(',')[age]} years"
        for i, line in enumerate(lines)
    ]
    path.write_text("\n".join([f"{first},id,huge,old", *more]))
    command = ("regress", str(path), "said ~ age", "--design", "crosswise:1/4", "--weights")
    refused = run(*command, "id", ok=False).output
    assert "weights 'id': must hold weights; got a different whole number for each" in refused
    # (599 + 5000)^2 / (599 + 5000^2) = 1.25 people.
    shown = " ".join(run(*command, "huge").stdout.split())
    assert "differ so much that 1 person would tell about as much" in shown
    labels = ("regress", str(path), "said ~ old", "--design", "crosswise:1/4")
    refused = run(*labels, ok=False).output
    assert (
        "column 'old' holds numbers with 'years' behind them. Convert the column to numbers"
        in refused
    )


def test_people_without_an_entry_are_left_out(here: Path, tmp_path: Path) -> None:
    """Rejects: rows that are left out in one column alone, in silence, or without being asked."""
    path, whole = tmp_path / "gaps.csv", tmp_path / "whole.csv"
    first, *lines = Path("all.csv").read_text().splitlines()
    age, said = (first.split(",").index(name) for name in ("age", "said"))
    cells = [line.split(",") for line in lines]
    whole.write_text("\n".join([first, *lines[5:]]))
    for i, (at, text) in enumerate([(age, ""), (age, "NA"), (said, "."), (said, ""), (age, "n/a")]):
        cells[i][at] = text
    path.write_text("\n".join([first, *map(",".join, cells)]))
    command = ("regress", str(path), "said ~ age", "--design", "crosswise:1/4")
    refused = run(*command, ok=False).output
    assert "no entry in 2 of 600 rows, first in data row 3" in " ".join(refused.split())
    assert "add --drop-missing" in refused
    result = run(*command, "--drop-missing", "--json")
    assert f"5 of {N} people are left out, because they have no entry in a column that is used" in (
        result.stderr
    )
    assert (
        "(2 in said, 3 in age). This assumes that these people do not differ from other people"
        in result.stderr
    )
    expected = run("regress", str(whole), *command[2:], "--json").stdout
    assert json.loads(result.stdout) == json.loads(expected)
    assert "all 600 people" in run(
        "regress", "all.csv", *command[2:], "--drop-missing"
    ).stderr.replace("\n", " ")
    for command_of_paper in (("regress", "all.csv", "said ~ age"), ("estimate", "all.csv")):
        wrong = run(*command_of_paper, ok=False).stderr
        assert "with a card on paper, add --design DESIGN, for example crosswise:1/4." in wrong
    wrong = run("regress", "r.parquet", "smokes ~ age", "--drop-missing", ok=False).output
    assert "needs a table of what people said on paper" in wrong
    path.write_text("said,age\nsame,\n,3\n")
    nobody = run(*command, "--drop-missing", ok=False).output
    assert "has nobody with an entry in 'said' and 'age'" in nobody


def test_questions_that_the_formula_does_not_name_leave_nobody_out(tmp_path: Path) -> None:
    """Rejects people left out, or refused, for an empty cell of another question of the study."""
    study, table = tmp_path / "s.toml", tmp_path / "t.csv"
    of_one = 'values = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    of_ward = '[public.ward]\nvalues = ["n", "s"]\n'
    text = f'title = "T"\n[attributes.a]\n{of_one}[attributes.b]\n{of_one}{of_ward}'
    study.write_text(text)
    rows = ["same,,n", "different,same,n", "same,same,s", "same,different,s", "different,,n"]
    table.write_text("\n".join(["a,b,ward", *rows * 20]))
    command = ("regress", str(table), "a ~ ward", "--study", str(study))
    assert json.loads(run(*command, "--json").stdout)["n"] == 100
    left_out = run(*command, "--drop-missing", "--json")
    assert json.loads(left_out.stdout)["n"] == 100 and "b 40" not in left_out.stderr
    alone = ("regress", str(table), "a", "--study", str(study), "--json")
    assert json.loads(run(*alone).stdout)["n"] == 100
    both = run("regress", str(table), "a + b", *command[3:], "--correlation", ok=False).output
    assert "no entry in 40 of 100 rows" in " ".join(both.split())


@pytest.mark.parametrize(
    ("numbers", "is_code"),
    [
        ([18, 79, 40, 999], True),
        ([18, 79, 40, -9], True),
        ([1, 5, 2, 99, 99], True),
        ([18, 79, 40, 99], False),  # people who are 99 years old
        ([-9, -3, 4, 2], False),
        ([0, 4, 12, 9], False),
        ([18, 79, 40, 998], False),  # which is no code that everybody uses
        ([18, 79, 40, -9, -99], True),
    ],
)
def test_codes_of_missing_numbers_are_doubted(numbers: list[int], is_code: bool) -> None:
    """Rejects: every number of nines, and every number that lies far outside."""
    column = np.array(numbers, dtype=float)
    assert bool(code_of_missing("age", column)) is is_code


def test_codes_stand_as_a_warning_where_the_number_is(tmp_path: Path) -> None:
    """Rejects a question behind the number of reports, and a file that says nothing of 999."""
    rng, path = np.random.default_rng(3), tmp_path / "said.csv"
    lines = [
        f"{rng.choice(['same', 'different'])},{999 if i == 7 else 20 + i % 60},"
        f"{999 if i == 9 else 1 + i % 3},{5000 if i == 9 else 1 + i % 3},{'ns'[i % 2]}"
        for i in range(300)
    ]
    path.write_text("\n".join(["said,age,w,huge,ward", *lines]))
    card, by_w = ("--design", "crosswise:1/4"), ("--weights", "w")
    of_weight = "WARNING: The weight w is 999 for 1 of 300 people, far from all other numbers (1 to"
    of_age = "WARNING: age is 999 for 1 of 300 people, far from all other numbers (20 to 79)"
    paper = ("estimate", str(path), "--design", "said=crosswise:1/4", *by_w)
    fit = ("regress", str(path), "said ~ age", *card, *by_w)
    for command in (paper, (*paper, "--by", "ward"), fit):
        assert " ".join(run(*command).stdout.split()).count(of_weight) == 1, command
        for name in ("r.csv", "r.xlsx", "r.tex"):
            assert of_weight in run(*command, "-o", str(tmp_path / name)).stderr, name
        assert of_weight[9:] in run(*command, "--json").stdout.replace("\n", " ")
    assert of_age in " ".join(run(*fit).stdout.split())
    assert of_age in run(*fit, "--csv").stderr
    assert of_age not in run("regress", str(path), "said ~ ward", *card).stdout.replace("\n", " ")
    huge = " ".join(run(*paper[:-1], "huge").stdout.split())
    assert (
        "WARNING: The largest weight in huge is 2,500 times the middle one. Is this weight only"
        in huge
    )
    page = tmp_path / "report.html"
    run("report", str(path), "--design", "said=crosswise:1/4", *by_w, "-o", str(page))
    assert page.read_text().count(of_weight) == 2  # in short, and above the table


def test_a_code_in_a_column_is_said_with_its_remedy(tmp_path: Path) -> None:
    """Rejects -99 as the one end of a range, and a second code that hides the first."""
    ages = np.array([18.0, 79.0, 99.0, -9.0, -99.0, -99.0])
    said = "age is -99 or -9 for 3 of 6 people, below 0, unlike all other numbers (18 to 99)"
    assert code_of_missing("age", ages) == said
    assert "-99 or 999 for 2 of 4 people, far from" in code_of_missing(
        "age", np.array([18.0, 79.0, 999.0, -99.0])
    )
    path = tmp_path / "m99.csv"
    lines = [
        f"{'same' if i % 3 else 'different'},{-99 if i < 30 else i % 50 + 20},{i % 40}"
        for i in range(400)
    ]
    path.write_text("\n".join(["cheat,age,years", *lines]))
    fit = ("regress", str(path), "cheat ~ age + years", "--design", "crosswise:1/4")
    notes = " ".join(run(*fit).output.split())
    assert (
        "age is -99 for 30 of 400 people, far from all other numbers (20 to 69). If this means no "
        "answer, empty these cells: --drop-missing then leaves these people out. The smallest and "
        "the largest number of each column: years 0 to 39."
    ) in notes
    path.write_text(path.read_text().replace(",-99,", ",,"))
    assert "age is" not in run(*fit, "--drop-missing").output


def test_true_numbers_are_no_codes() -> None:
    """Of 2,000 samples each of ages, counts and incomes, at most 2 are doubted by chance."""
    rng = np.random.default_rng(12)
    samples = {
        "age": lambda: rng.integers(0, 105, 300),
        "children": lambda: rng.poisson(2.0, 300),
        "income": lambda: np.rint(np.exp(rng.normal(4.0, 1.0, 300))),
        "change": lambda: np.rint(rng.normal(0.0, 4.0, 300)),
    }
    for name, draw in samples.items():
        doubts = [code_of_missing(name, draw().astype(float)) for _ in range(2000)]
        assert sum(map(bool, doubts)) <= 2


def test_words_from_paper_are_regressed(here: Path) -> None:
    rows = rows_of("all.csv", "said ~ age", "--design", "crosswise:1/4")
    assert [row["covariate"] for row in rows] == ["Intercept", "age"]
    cards = '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    cards += '[attributes.later]\nvalues = ["no", "yes"]\ndesign = "warner:2/3"\n'
    (here / "cards.toml").write_text(cards)
    assert rows_of("all.csv", "said ~ age", "--study", "cards.toml") == rows
    predictor = rows_of("all.csv", "income ~ said + age", "--design", "said=crosswise:1/4")
    assert predictor[1]["covariate"] == "said[T.yes]"
    table = (here / "all.csv").read_text().split("\n", 1)
    names = table[0].replace("age", "age group").replace("said", "what was said")
    (here / "spaced.csv").write_text(f"{names}\n{table[1]}")
    for formula in ("`what was said` ~ `age group`", "what was said ~ `age group`"):
        spaced = rows_of("spaced.csv", formula, "--design", "what was said=crosswise:1/4")
        assert [row["estimate"] for row in spaced] == [row["estimate"] for row in rows]
    assert rows_of("spaced.csv", "`what was said` ~ income", "--design", "crosswise:1/4")
    for design in ("crosswise:1/4", "what was said=crosswise:1/4"):
        bare = rows_of("spaced.csv", "what was said ~ age group", "--design", design)
        assert [row["estimate"] for row in bare] == [row["estimate"] for row in rows]
    lies = rows_of("all.csv", "told ~ age", "--design", "lie-detector:1/5,4/5", "--group", "card")
    assert [row["covariate"] for row in lies] == ["Intercept", "age", "honest"]


def test_names_that_a_formula_may_also_compute_need_backticks(here: Path) -> None:
    """Rejects a formula that takes the column log(age) where the logarithm may be meant."""
    lines = (here / "all.csv").read_text().split("\n")
    (here / "logs.csv").write_text("\n".join([lines[0].replace("income", "log(age)"), *lines[1:]]))
    command = ("regress", "logs.csv", "said ~ log(age)", "--design", "crosswise:1/4")
    assert "must have backticks around 'log(age)'" in run(*command, ok=False).stderr
    plain = rows_of("all.csv", "said ~ income", "--design", "crosswise:1/4")
    quoted = rows_of("logs.csv", "said ~ `log(age)`", "--design", "crosswise:1/4")
    assert [row["estimate"] for row in quoted] == [row["estimate"] for row in plain]


def test_reports_are_regressed_by_names_with_spaces_and_with_weights_alone(here: Path) -> None:
    rng = np.random.default_rng(8)
    said = rng.choice(["same", "different"], 400)
    rows = [f"{word},{i % 7},{1 + i % 3}" for i, word in enumerate(said)]
    (here / "w.csv").write_text("\n".join(["ever lied,age in years,weight", *rows, ""]))
    options = ("--design", "crosswise:1/4", "--weights", "weight")
    for formula in ("ever lied", "`ever lied`", "ever lied ~ age in years"):
        names = [row["covariate"] for row in rows_of("w.csv", formula, *options)]
        assert names == ["Intercept", "age in years"], formula


def test_a_file_of_coefficients_without_a_meaning_comes_with_a_warning(tmp_path: Path) -> None:
    """Rejects a file that looks like a result where the likelihood has no maximum."""
    rows = "said,old\n" + "no,0\n" * 40 + "yes,0\n" * 40 + "no,1\n" * 80
    (tmp_path / "people.csv").write_text(rows)
    command = ("regress", str(tmp_path / "people.csv"), "said ~ old", "--design", "warner:3/4")
    for form in (("-o", str(tmp_path / "r.csv")), ("--csv",)):
        done = run(*command, *form)
        assert "WARNING: separated" in done.stderr and "have no meaning" in done.stderr
        assert "The coefficient of 'old' is farthest from 0: " in done.stderr
    assert "WARNING" not in run(*command).stderr


def test_missing_answers_are_no_misspelt_words(tmp_path: Path) -> None:
    """Rejects "Is 'A' meant?" of NA."""
    rows = "said,old\n" + "A,0\nB,1\n" * 50 + "NA,1\n"
    (tmp_path / "people.csv").write_text(rows)
    command = ("regress", str(tmp_path / "people.csv"), "said ~ old", "--design", "crosswise:1/6")
    done = run(*command, ok=False)
    assert "add --drop-missing" in done.stderr and "meant" not in done.stderr


def test_columns_of_numbers_are_numbers_or_refused(here: Path) -> None:
    # A program that takes such columns for labels makes a coefficient for each age.
    ages, said = range(20, 60), ["same", "different", "different", "same"] * 10

    def coefficients(rows: Sequence[str], between: str = ",") -> list[str]:
        lines = [f"{row}{between}{word}" for row, word in zip(rows, said, strict=True)]
        (here / "p.csv").write_text(
            "\n".join([f"age{between}said", *lines[:7], "", *lines[7:], ""])
        )
        rows = rows_of("p.csv", "said ~ age", "--design", "crosswise:1/4")
        return [row["covariate"] for row in rows]

    assert coefficients([f"{age},5" for age in ages], ";") == ["Intercept", "age"]
    assert coefficients([f"{age}.5" for age in ages]) == ["Intercept", "age"]
    for wrong in (["forty", *map(str, ages)][:-1], [f'"{age},5"' for age in ages]):
        with pytest.raises(AssertionError):
            coefficients(wrong)
        said_of_it = run("regress", "p.csv", "said ~ age", "--design", "crosswise:1/4", ok=False)
        assert "must have a number in every row; got text in" in said_of_it.stderr
        assert "first in data row 1." in said_of_it.stderr


def test_tables_for_papers(here: Path, tmp_path: Path) -> None:
    for name, start in (("t.tex", "\\begin{tabular}"), ("t.typ", "#table("), ("t.csv", "value,")):
        run("regress", "r.parquet", "income ~ smokes + age", "-o", str(tmp_path / name))
        text = (tmp_path / name).read_text()
        assert start in text and "smokes: yes" in text and text.endswith("\n")


def test_numbers_for_papers_have_the_decimals_of_their_column(here: Path, tmp_path: Path) -> None:
    """Rejects 0.293 beside 0.02297, a hyphen for a minus, and people who are left out unsaid."""
    path, tex, typst = tmp_path / "p.csv", tmp_path / "t.tex", tmp_path / "t.typ"
    path.write_text(Path("all.csv").read_text().replace(",same,", ",,", 7))
    paper = ("--design", "crosswise:1/4", "--drop-missing", "--wide")
    command = ("regress", str(path), "said ~ drinks", *paper)
    run(*command, "-o", str(tex))
    lines = [line.split(" & ") for line in tex.read_text().splitlines() if " & " in line]
    first, second = lines[1:3]
    assert "$-$" in first[2] and "-" not in first[2].replace("$-$", "")
    for i in (2, 3, 4, 6, 7):
        decimals = [re.findall(r"\.([0-9]+)", line[i]) for line in (first, second)]
        assert len({len(each) for of_row in decimals for each in of_row}) == 1, decimals
    assert re.fullmatch(r"0\.[1-9][0-9]{2}", second[3])
    assert "\\multicolumn{8}{l}{People left out: 7} \\\\\n" in tex.read_text()
    run(*command, "-o", str(typst))
    assert first[2].replace("$-$", "\N{MINUS SIGN}") in typst.read_text()
    assert "The log-likelihood is \N{MINUS SIGN}" in typst.read_text()
    # Errors of very different sizes keep their own digits.
    wide = path.read_text().splitlines()
    rows = [f"{line},{'big' if i == 0 else (i * 7919) % 1000 * 1e6}" for i, line in enumerate(wide)]
    path.write_text("\n".join(rows))
    run(*command[:2], "said ~ drinks + big", *command[3:], "-o", str(tex))
    (big,) = (line.split(" & ") for line in tex.read_text().splitlines() if " & big & " in line)
    assert "e-" in big[3]


def test_a_paper_has_the_columns_of_an_article_and_the_others_on_demand(
    here: Path, tmp_path: Path
) -> None:
    """Rejects a table of ten columns for an article, and columns that go without a word."""
    tex, typst = tmp_path / "t.tex", tmp_path / "t.typ"
    design = ("--design", "crosswise:1/4", "--cluster", "school")
    command = ("regress", "all.csv", "said ~ drinks", *design, "-o", str(tex), "-o", str(typst))
    run(*command)
    (head,) = re.findall(r"^.* & estimate & .*$", tex.read_text(), re.M)
    assert head == r"covariate & estimate & error & p & odds ratio (interval) \\"
    left_out = "Columns not shown here: value, t, 95 % interval, design effect, degrees of freedom. To see all"
    assert f"\n% {left_out}" in tex.read_text() and f"// {left_out}" in typst.read_text()
    run(*command, "--wide")
    wide = tex.read_text()
    assert "degrees of freedom" in wide and "design effect" in wide and "not shown here" not in wide
    assert "~times" not in wide
    result = run("regress", "all.csv", "said ~ drinks", *design, "--csv").stdout
    assert "degrees" in result.splitlines()[0] and "low" in result.splitlines()[0]


MISTAKES = [
    (("r.parquet", "smokes age i.school"), "Write smokes ~ age + school."),
    (("all.csv", "said i.age income", "--design", "crosswise:1/4"), "Write said ~ age + income."),
    (
        ("r.parquet", "income ~ age"),
        "must name one of the questions smokes, drinks",
    ),
    (("r.parquet", "smokes ~ age", "--mean"), "--mean: needs a question whose answers are numbers"),
    (("r.parquet", "income ~ smoks"), "must name one of the questions smokes, drinks"),
    (
        ("r.parquet", "income ~ smokes", "--mean"),
        "--mean: cannot be used with a hidden answer as pr",
    ),
    (("r.parquet", "smokes ~ age", "--hidden", "drinks"), "on the right of FORMULA"),
    (("r.parquet", "smokes ~ drinks + age"), "write 'smokes + drinks' --correlation"),
    (("r.parquet", "smokes ~ age", "--random", "schol"), "Is 'school' meant?"),
    (("r.parquet", "smokes ~ age", "--group", "card"), "--group: needs --design"),
    (
        ("r.parquet", "smokes ~ age", "--correlation"),
        "must be names joined by + if --correlation",
    ),
    (("r.parquet", "age + income", "--correlation"), "must name at least one hidden answer"),
    (("r.parquet", "smokes + agee", "--correlation"), "Is 'age' meant?"),
    (("r.parquet", "smokes + age", "--correlation", "--mean"), "cannot be used with --correlation"),
    (("r.parquet", "smokes ~ age", "--reference", "yess"), "Is 'yes' meant?"),
    (("r.parquet", "income ~ smokes", "--reference", "age=3"), "must be an answer to smokes"),
    (
        ("all.csv", "said ~ drinks", "--design", "crosswise:1/4", "--reference", "yess"),
        "must be an answer to said, or COLUMN=VALUE",
    ),
    (("all.csv", "said ~ age", "--design", "croswise:1/4"), "Is 'crosswise' meant?"),
    (("none.csv", "said ~ age", "--design", "crosswise:1/4"), "none.csv: does not exist"),
    (("all.csv", "said ~ agee", "--design", "crosswise:1/4"), "Is 'age' meant?"),
    (("all.csv", "siad ~ age", "--design", "crosswise:1/4"), "Is 'said' meant?"),
    (
        ("all.csv", "said=age", "--design", "crosswise:1/4"),
        "not =; got 'said=age'. Write said ~ age.",
    ),
    (
        ("all.csv", "whether ~ age", "--design", "crosswise:1/4"),
        "Check the names in the first line.",
    ),
    (("all.csv", "siad ~ aeg", "--design", "crosswise:1/4"), "Check the names in the first line"),
    (("all.csv", "income ~ said", "--design", "crosswise:1/4"), "write --design NAME=DESIGN"),
    (("all.csv", "told ~ age", "--design", "lie-detector:1/5,4/5"), "For example --group card"),
    (
        ("all.csv", "told ~ age", "--design", "cheating:1/4", "--group", "card"),
        "cheating takes the values p1 and p2",
    ),
    (
        ("all.csv", "told ~ age", "--design", "cheating:1/4,3/4", "--group", "age"),
        "must have only 1 for the first group and 2 for the second group",
    ),
    (
        ("all.csv", "said ~ age", "--design", "cheating:1/4,3/4", "--group", "card"),
        "must all be words of the card: 'no', 'yes'; got other words in 600 of 600 rows",
    ),
]


@pytest.mark.parametrize(("command", "said"), MISTAKES)
def test_mistakes_are_said(here: Path, command: tuple[str, ...], said: str) -> None:
    assert said in run("regress", *command, ok=False).stderr


def test_reports_have_no_design_on_the_command_line(here: Path) -> None:
    """Rejects: "Give the file of answers", to somebody who has reports alone."""
    command = ("regress", "r.parquet", "smokes ~ age", "--design", "crosswise:1/4")
    said = run(*command, ok=False).output
    assert "--design: cannot be used with r.parquet, because this report file itself says" in said
    assert "Leave out --design" in said


def test_a_power_of_a_column_is_refused(here: Path) -> None:
    """Rejects a regression on age where somebody wrote age^2, which is age in a formula."""
    for power in ("age^2", "age ** 2"):
        said = run("regress", "r.parquet", f"smokes ~ income + {power}", ok=False).output
        assert "has a power outside I(...)" in said and "Write I(age**2)." in said
    for power in ("I(age^2)", "log(income) + I( age ^ 2 )"):
        said = run("regress", "r.parquet", f"smokes ~ {power}", ok=False).output
        assert "has ^ inside I(...)" in said and "Write I(age**2)." in said
    shown = run("regress", "r.parquet", "smokes ~ (income + age)^2 + I(age**2)").output
    assert "income x age" in shown and "I(age ** 2)" in shown


def test_odds_ratios_for_papers_have_two_decimals_or_more(here: Path, tmp_path: Path) -> None:
    """Rejects numbers of one interval with different decimals in a table of an article."""
    run("regress", "r.parquet", "smokes ~ age + income", "-o", str(tmp_path / "t.tex"))
    ratio = r"([0-9.e-]+) \(([0-9.e-]+) to ([0-9.e-]+)\)"
    cells = re.findall(ratio, (tmp_path / "t.tex").read_text())
    for numbers in cells:
        # Of small numbers two digits are written, which take more decimals.
        decimals = {len(number.partition(".")[2]) for number in numbers if float(number) >= 0.1}
        assert len(decimals) <= 1 and min(decimals, default=2) >= 2, numbers
    assert len(cells) == 3


def test_a_title_above_the_names_is_said(tmp_path: Path) -> None:
    """Rejects the advice to add a column that stands below a title."""
    openpyxl = pytest.importorskip("openpyxl")
    lines = [["Survey of the wards"], [], ["cheat", "age", "ward"]]
    lines += [[("same", "different")[i % 2], 20 + i % 50, "abc"[i % 3]] for i in range(60)]
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    book.save(tmp_path / "title.xlsx")
    filled = [",".join(map(str, [*line, "", "", ""][:3])) for line in lines]
    (tmp_path / "excel.csv").write_text("\n".join(filled))
    (tmp_path / "title.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    card = ("--design", "crosswise:1/4")
    for name in ("title.xlsx", "excel.csv", "title.csv"):
        path = str(tmp_path / name)
        for command in (("estimate", path, "--by", "ward"), ("regress", path, "cheat ~ ward")):
            refused = " ".join(run(*command, *card, ok=False).output.split())
            assert (
                "The first line must have the names of all columns. Delete any lines above these names"
                in refused
            )
            assert "Add the column" not in refused
    (tmp_path / "one.csv").write_text("cheat\nsame\ndifferent\n")
    refused = run("estimate", str(tmp_path / "one.csv"), "--by", "cheet", *card, ok=False).output
    assert "Is 'cheat' meant?" in refused
