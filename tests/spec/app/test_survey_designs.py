"""Survey designs in study files and on the command line."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner._core.survey_design import INTERVALS_OF_DRAWN, SurveyDesign
from warner._core.text import percent, percent_interval
from warner.app.report.content import signed
from warner.collector.survey_document import draw_of
from warner.errors import FileError, StudyError
from warner.reports.tally import Tally, load_tallies

STUDY = """
[public.w]
integers = [1, 10000]
[public.school]
integers = [1, 40]
[public.region]
values = ["north", "south"]
[public.sex]
values = ["f", "m"]
[design]
weights = "w"
cluster = "school"
strata = "region"
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 3.0
[attributes.units]
integers = [0, 5]
mechanism = "Laplace"
epsilon = 8.0
"""
BY = ["--weights", "w", "--cluster", "school", "--strata", "region"]


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study, reports of 240 pupils of 24 schools, and their tally."""
    folder = tmp_path_factory.mktemp("surveyed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("s.toml").write_text(STUDY)
        rng = np.random.default_rng(8)
        with Path("a.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["smokes", "units", "w", "school", "region", "sex"])
            for i in range(240):
                school = i // 10
                smokes = "yes" if rng.random() < (0.2, 0.7)[school % 2] else "no"
                place = "north" if school < 12 else "south"
                weight = 1000 if i % 3 else 2500
                writer.writerow([smokes, (school + i) % 6, weight, school + 1, place, "fm"[i % 2]])
        run("randomize", "s.toml", "a.csv", "-o", "r.parquet")
        run("tally", "r.parquet", "--study", "s.toml", "--by", "sex", "-o", "t.json")
    return folder


@pytest.fixture
def here(surveyed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder for one test, as the current one."""
    shutil.copytree(surveyed, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_tally_of_a_study_has_the_columns_of_its_design(here: Path) -> None:
    tallies = warner.reports.tally.load_tallies("t.json")
    assert tallies["smokes"].names == ("sex", "w", "school", "region")
    run("tally", "r.parquet", "--study", "s.toml", "-o", "all.json")
    names = warner.reports.tally.load_tallies("all.json")["smokes"].names
    assert names == ("w", "school", "region")
    assert warner.Study.load("s.toml").design.columns == names


def test_an_estimate_by_names_is_that_of_the_study(here: Path) -> None:
    by_study = run("estimate", "t.json", "--study", "s.toml", "--only", "smokes").stdout
    by_names = run("estimate", "t.json", *BY, "--only", "smokes").stdout
    assert by_study == by_names and "design effect" in by_study and "2 groups" in by_study
    run("tally", "r.parquet", "--study", "s.toml", "-o", "all.json")
    together = run("estimate", "all.json", *BY, "--only", "smokes").stdout
    assert "24 clusters in 2 strata" in together and "people drawn one by one" in together
    data = json.loads(run("estimate", "all.json", *BY, "--only", "smokes", "--json").stdout)
    assert data[0]["survey"]["degrees"] == 22 and data[0]["shares"][0]["design_effect"] > 1
    mean = run("estimate", "all.json", *BY, "--only", "units", "--summary", "mean").stdout
    assert "24 clusters in 2 strata" in mean and "Design effect" in mean


def test_groups_of_any_column_are_estimated_and_compared(here: Path) -> None:
    rows = run("estimate", "t.json", *BY, "--by", "region", "--only", "smokes", "--csv").stdout
    assert [row["region"] for row in csv.DictReader(rows.splitlines())] == [
        "north", "north", "south", "south"
    ]  # fmt: skip
    compared = run("estimate", "t.json", *BY, "--by", "sex", "--compare-groups", "--json")
    found = json.loads(compared.stdout)[0]
    tally = warner.reports.tally.load_tallies("t.json")["smokes"]
    same = warner.compare_groups(tally, weights="w", cluster="school", strata="region")
    assert found["differences"] == same.rows()
    table = run("estimate", "t.json", *BY, "--by", "sex", "--compare-groups", "--csv").stdout
    (row,) = [r for r in csv.DictReader(table.splitlines()) if r["value"] == "yes"]
    d, low, high, error = (float(row[key]) for key in ("difference", "low", "high", "error"))
    # Student's t with at most 22 degrees of freedom
    assert 1.96 < (high - d) / error < 2.6 and np.isclose(high - d, d - low)


def test_the_command_that_a_tally_proposes_can_be_copied(here: Path) -> None:
    """Rejects a name with a blank that a shell splits in two."""
    Path("s.toml").rename("my study.toml")
    said = run("tally", "r.parquet", "--study", "my study.toml", "-o", "all of it.json").stderr
    command = said.strip().splitlines()[-1].partition("run: warner ")[2]
    assert command == "estimate 'all of it.json' --study 'my study.toml'"
    run(*shlex.split(command))


def test_a_page_has_the_numbers_of_the_estimate(here: Path) -> None:
    """Rejects a page that leaves out the weights, or makes groups of them."""
    run("report", "t.json", *BY, "--only", "smokes", "--forged", "1%", "-o", "r.html")
    page = " ".join(re.sub("<[^>]+>", " ", Path("r.html").read_text()).split())
    estimates = ["estimate", "t.json", *BY, "--only", "smokes", "--json", "--by"]
    groups = json.loads(run(*estimates, "sex").stdout)[0]["shares"]
    tally = warner.reports.tally.load_tallies("t.json")["smokes"]
    roles = {"weights": "w", "cluster": "school", "strata": "region"}
    of_all = warner.estimate(tally, by=(), **roles)
    shown = [(f"{row['sex']} (120)", row) for row in groups if row["value"] == "yes"]
    for name, row in [*shown, *((row["value"], row) for row in of_all.rows())]:
        interval = percent_interval(row["low"], row["high"], 0)
        cells = f"{name} {percent(row['estimate'], 0)} {interval}"
        assert " ".join(cells.split()) in page
    differences = warner.compare_groups(tally, **roles).rows()
    assert any(signed(100 * row["difference"], 0) in page for row in differences)
    assert "In all numbers, each person counts as much as the column w says." in page
    assert "24 clusters in 2 strata). Design effect" in page and "By sex" in page
    assert "a made-up report counts as much as its weight" in page
    run("tally", "r.parquet", "--study", "s.toml", "-o", "all.json")
    run("report", "all.json", "--study", "s.toml", "-o", "all.html")
    assert "Differences by" not in Path("all.html").read_text()
    of_strata = ("report", "t.json", *BY, "--only", "smokes", "-o", "s.html")
    run("tally", "r.parquet", "--by", "w,school,region", "-o", "t.json")
    assert "To compare the groups of region, add --by region." in run(*of_strata).stderr
    assert "add --by" not in run(*of_strata, "--by", "region").stderr
    said = run(*of_strata, "--reference", "n", ok=False).stderr
    assert "; got n. Name the columns that make groups: --by region." in said


def test_weighted_results_say_so(here: Path) -> None:
    """Rejects headings and pictures that look like those of people drawn one by one."""
    only = ["estimate", "t.json", "--weights", "w", "--by", "sex", "--only", "smokes"]
    shown = run(*only, "--title", "Smoking", "--plot", "g.json", "--plot", "g.svg", "-o", "g.tex")
    assert Path("g.svg").exists() and "Written: g.json" in shown.output
    picture = json.loads(Path("g.json").read_text())
    title = picture["title"]
    assert title["text"] == ["Smoking"] and "weighted by w;" in " ".join(title["subtitle"])
    assert [panel["title"]["text"] for panel in picture["vconcat"]] == [["yes"]]
    table = Path("g.tex").read_text()
    assert "weighted by w\n" in table and r"\begin{tabular}" in table
    assert "Standard errors: those of the unbiased estimates" in table  # unlike the shares
    assert "The standard errors are those of the unbiased" in run(*only, "--wide").stdout
    assert "& standard error &" in table and "~times" not in table
    effects = re.findall(r"& ([0-9.]+) \\\\\n", table)
    assert len(effects) == 2 and all(re.fullmatch(r"\d\.\d\d", effect) for effect in effects)
    assert table.count("& yes &") == 2 and "& no &" not in table  # as in the picture
    assert "standard error" not in run(*only).stdout
    assert "2 groups, 240 reports, weighted by w\n" in run(*only).stdout
    assert (
        "the difference m minus f by sex, weighted by w\n" in run(*only, "--compare-groups").stdout
    )
    how = " ".join(run(*only, "--compare-groups", "--explain").stdout.split())
    assert (
        "variances under the survey design. Column p tests" in how and "(Rao and Scott 1984" in how
    )
    assert (
        "corrected by Holm's method for the number" in how
        and "Holm's" not in run(*only, "--compare-groups").stdout
    )
    alone = run(
        "estimate", "t.json", "--only", "smokes", "--by", "sex", "--compare-groups", "--explain"
    )
    assert "the sum of their exact variances." in " ".join(alone.stdout.split())
    run(*only, "--compare-groups", "--plot", "d.json", "-o", "d.tex")
    assert "People are weighted by w." in Path("d.json").read_text()
    differences = Path("d.tex").read_text()
    assert "smokes: the difference m minus f by sex" in differences
    assert "\nyes &" in differences and "\nno &" not in differences
    run(*only[:-1], "units", "-o", "u.tex")
    assert Path("u.tex").read_text().count(r"\\") == 16  # of two groups, six answers and a sentence
    assert "write --plot g.png" in run(*only, "-o", "g.png", ok=False).stderr
    again = run(*only, "--plot", "g.svg", "--plot", "./g.svg", ok=False)
    assert "must not be written to the same file" in again.output
    regression = run("regress", "r.parquet", "smokes ~ sex", "--weights", "w").stdout
    assert "there is no likelihood" in regression
    assert "the sums over people" in " ".join(regression.split())
    run("regress", "r.parquet", "smokes ~ sex", "--weights", "w", "-o", "r.tex")
    article = Path("r.tex").read_text()
    assert "\nsex: m &" in article and "{Value: yes}" in article


def test_how_intervals_of_a_survey_are_made_stands_wherever_readers_ask(here: Path) -> None:
    """Rejects likelihood-ratio intervals in words where numbers are those of the score."""
    for of_whom in ("--total", "--by=sex"):
        shown = " ".join(run("estimate", "t.json", *BY, of_whom, "--explain").stdout.split())
        assert shown.count(INTERVALS_OF_DRAWN) == 2  # of both questions
    run("report", "t.json", *BY, "-o", "drawn.html")
    run("report", "t.json", "-o", "alone.html", "--by", "sex")
    words = [
        " ".join(re.sub("<[^>]*>", " ", Path(f"{name}.html").read_text()).split())
        for name in ("drawn", "alone")
    ]
    sentence = html.escape(INTERVALS_OF_DRAWN, quote=False)
    assert sentence in html.unescape(words[0]) and sentence not in html.unescape(words[1])
    alone = run("estimate", "t.json", "--total", "--explain").stdout
    assert "linearised" not in alone and "Each interval" in alone
    assert INTERVALS_OF_DRAWN in " ".join(run("estimate", "--help").stdout.split())
    page = Path(__file__).parents[3] / "docs" / "designs.md"
    said = INTERVALS_OF_DRAWN.removesuffix(".")
    assert said in " ".join(page.read_text(encoding="utf-8").split())


def test_the_command_of_a_survey_on_paper_stands_in_the_pages_and_takes_decimals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a command on a page that fails on weights as surveys have them."""
    pages = ("designs.md", "guides/coming_from_rrreg.md", "guides/epidemiologist.md")
    docs = Path(__file__).parents[3] / "docs"
    command = re.compile(r"^`*warner (estimate survey[.]xlsx [^`\n]*)", re.MULTILINE)
    (said,) = {
        text
        for page in (*pages, "recipes/survey_designs.md")
        for text in command.findall((docs / page).read_text(encoding="utf-8")) or [page]
    }
    monkeypatch.chdir(tmp_path)
    rows = [
        (("same", "different")[i * i % 7 == 2], 1.5 + i % 3, i % 20, "ns"[i % 2])
        for i in range(200)
    ]
    lines = ["undeclared,weight,village,region", *(",".join(map(str, row)) for row in rows)]
    Path("survey.csv").write_text("\n".join(lines))
    shown = run(*said.replace(".xlsx", ".csv").split()).stdout
    assert "weighted by weight, in clusters by village, in strata by region: 20 clusters" in shown
    alone = ("estimate", "survey.csv", "--design", "undeclared=crosswise:1/6")
    note = (
        "Columns that are not used: weight, village. If these columns say how people were drawn, "
        "add "
        "--weights weight --cluster village."
    )
    assert run(*alone).output.count(note) == 1 and note not in run("-q", *alone).output
    assert "Columns that are not used: village." in run(*alone, "--weights", "weight").output
    assert "not used" not in run(*said.replace(".xlsx", ".csv").split()).output


def test_a_regression_takes_the_design_of_the_study(here: Path) -> None:
    shown = run("regress", "r.parquet", "smokes ~ sex", "--study", "s.toml").stdout
    assert "24 clusters in 2 strata" in " ".join(shown.split())
    assert shown == run("regress", "r.parquet", "smokes ~ sex", *BY).stdout
    only = run("regress", "r.parquet", "smokes", *BY, "--json")
    covariates = {row["covariate"] for row in json.loads(only.stdout)["coefficients"]}
    assert covariates == {"Intercept", "sex[T.m]"}
    too = run("regress", "r.parquet", "smokes ~ sex + region", *BY, "--json")
    covariates = {row["covariate"] for row in json.loads(too.stdout)["coefficients"]}
    assert covariates == {"Intercept", "sex[T.m]", "region[T.south]"}
    mean = json.loads(run("regress", "r.parquet", "units ~ sex", *BY, "--mean", "--json").stdout)
    assert mean["errors"] == "linearised" and mean["coefficients"][0]["design_effect"] > 0


@pytest.mark.parametrize(
    "arguments, words",
    [
        (
            ["estimate", "t.json", "--cluster", "scool"],
            "--cluster: must be one of the public columns",
        ),
        (["estimate", "t.json", *BY, "--by", "sex", "--pool", "none"], "--pool: cannot be used"),
        (["estimate", "t.json", *BY, "--interval", "average"], "--interval: cannot be used with"),
        (["regress", "r.parquet", "smokes ~ sex", "--cluster", "class"], "--cluster: must be"),
        (
            ["regress", "r.parquet", "smokes ~ sex", *BY, "--errors", "sandwich"],
            "Leave out --errors",
        ),
        (
            ["report", "t.json", "--cluster", "scool", "-o", "r.html"],
            "--cluster: must be one of the public",
        ),
    ],
)
def test_commands_refuse_what_does_not_fit(here: Path, arguments: list[str], words: str) -> None:
    assert words in run(*arguments, ok=False).output


def test_a_tally_without_the_columns_of_a_design_is_refused(here: Path) -> None:
    Path("plain.toml").write_text(
        STUDY.replace(STUDY[STUDY.index("[design]") :], "")
        + (STUDY[STUDY.index("[attributes.smokes]") :])
    )
    run("tally", "r.parquet", "--study", "plain.toml", "-o", "plain.json")
    refused = run("estimate", "plain.json", "--study", "s.toml", ok=False).output
    assert "must be a tally of groups by w, school, region, because these say how" in refused


@pytest.mark.parametrize(
    "change, words",
    [
        (('weights = "w"', 'weights = "v"'), "design.weights: must be a public column"),
        (
            ('weights = "w"', 'weights = "sex"'),
            "design.weights: must name a public column of whole numbers from 1 on",
        ),
        (("integers = [1, 10000]", "integers = [0, 10000]"), "whole numbers from 1 on"),
        (
            ('strata = "region"', 'strata = "school"'),
            "design: must name a different public column for each of weights, cluster and strata",
        ),
        (('strata = "region"', 'stratum = "region"'), "stratum: is not a key"),
    ],
)
def test_studies_with_designs_that_do_not_fit_are_refused(
    change: tuple[str, str], words: str
) -> None:
    with pytest.raises(StudyError, match=words):
        warner.Study.parse(STUDY.replace(*change))


def test_a_study_with_a_design_is_not_served() -> None:
    with pytest.raises(StudyError, match="design: cannot be served"):
        draw_of(warner.Study.parse(STUDY))
    assert warner.Study.parse(STUDY).digest == (
        warner.Study.parse(STUDY.partition("[design]")[0] + STUDY[STUDY.index("[attr") :]).digest
    )


def test_a_tally_remembers_the_design_of_its_study(here: Path) -> None:
    """Rejects an estimate that takes weighted people alike without a word."""
    said = "drawn: weighted by w, in clusters by school, in strata by region."
    remedy = f"To use it, add {' '.join(BY)}."
    for command in (
        ["estimate", "t.json", "--by", "sex", "--only", "smokes"],
        ["estimate", "t.json", "--by", "sex", "--only", "smokes", "--compare-groups"],
        ["report", "t.json", "--by", "sex", "-o", "r.html"],
    ):
        warned = run(*command).stderr
        assert said in warned and remedy in warned
        assert said not in run(*command, "--study", "s.toml").stderr
        assert said not in run(*command, *BY).stderr
    tally = load_tallies("t.json")["smokes"]
    plain = tally.of_survey(None)
    assert plain == tally and "survey" not in plain.to_json()
    more = plain.only(list(plain)[:3]).of_others() + tally
    for kept in (tally.by("sex"), tally.total(), more, Tally.from_json(tally.to_json())):
        assert kept.survey_design == SurveyDesign("w", "school", "region")
    for wrong in (5, {"weights": 3}, {"weights": "w", "cluster": "w"}):
        with pytest.raises(FileError, match="was changed"):
            Tally.from_json(tally.to_json() | {"survey": wrong})


@pytest.mark.parametrize(
    ("entry", "said"), [("", "an empty cell in line 4"), ("0", "another entry in line 4")]
)
def test_a_weight_that_is_none_is_named_by_its_line(
    entry: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects "leave out people" without how, and "other entries" where cells are empty."""
    monkeypatch.chdir(tmp_path)
    rows = ["said,sex,w", "same,f,1.5", "different,m,2", f"same,f,{entry}", "different,m,0.5"]
    design = ["--design", "said=crosswise:1/4", "--weights", "w"]
    Path("p.csv").write_text("\n".join(rows))
    for command in (["estimate", "p.csv"], ["report", "p.csv", "-o", "p.html"]):
        assert (
            f"column 'w': must hold the weight of the person, a number above 0, in every row; got {said}."
            in (run(*command, *design, ok=False).output)
        )
    assert "first in data row 3" in run("regress", "p.csv", "said ~ sex", *design, ok=False).output
    Path("p.csv").write_text("\n".join([*rows, "same,m,-1"]))
    assert "in 2 of 5 rows, first in line 4" in run("estimate", "p.csv", *design, ok=False).output
    # Empty cells alone have a remedy in the command.
    Path("p.csv").write_text("\n".join([*rows[:3], "same,f,", "same,m,"]))
    refused = run("estimate", "p.csv", *design, ok=False).output
    assert "no entry in 2 of 4 rows, first in line 4" in refused
    assert refused.endswith("add --drop-missing.\n")
    assert run("estimate", "p.csv", *design, "--drop-missing").exit_code == 0
    refused = run("estimate", "p.csv", *design[:-1], "size", ok=False).output
    assert "no column 'size'. Add the column 'size' to the table, or leave out --weights" in refused


def test_shares_of_those_who_answered_stand_below_weighted_shares(here: Path) -> None:
    """Rejects a second table with a column of design effects, which its rows lack."""
    before, _, after = STUDY.partition('mechanism = "RandomizedResponse"\n')
    study = f'{before}mechanism = "RandomizedResponse"\nmissing = "answer"\n{after}'
    Path("silent.toml").write_text(study.partition("[attributes.units]")[0])
    rows = [f"{('no', 'yes', '')[i % 3]},{1 + i % 2},{1 + i % 40},north,f" for i in range(600)]
    Path("silent.csv").write_text("\n".join(["smokes,w,school,region,sex", *rows]))
    run("randomize", "silent.toml", "silent.csv", "-o", "silent.parquet")
    run("tally", "silent.parquet", "--study", "silent.toml", "--by", "sex", "-o", "silent.json")
    said = run("estimate", "silent.json", "--study", "silent.toml", "--total").stdout
    below = said[said.index("of all people answered.") :]
    assert "of those who answered" in below and "design effect" not in below
    assert "design effect" in said


def test_exchanged_weights_and_strata_are_named_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects "delete the rows of people with weight 0" of strata that are named as weights."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{('same', 'different')[i % 3 == 0]},s{i % 4},{0.5 + i / 100}" for i in range(200)]
    Path("p.csv").write_text("\n".join(["said,stratum,w", *rows]))
    design = ["--design", "said=crosswise:1/4"]
    exchanged = [*design, "--weights", "stratum", "--strata", "w"]
    for command in (["estimate", "p.csv"], ["report", "p.csv", "-o", "p.html"]):
        said = run(*command, *exchanged, ok=False).output
        assert "Are two columns exchanged? Then name 'w' as the weights, and 'stratum' as" in said
    said = run("estimate", "p.csv", *design, "--strata", "w", ok=False).output
    assert "got 200 different decimals. If 'w' holds weights, name it as the weights." in said
    # Strata with numbers such as 1.2 are strata.
    rows = [f"{('same', 'different')[i % 3 == 0]},{1 + i % 4 / 10},1" for i in range(200)]
    Path("p.csv").write_text("\n".join(["said,stratum,w", *rows]))
    assert run("estimate", "p.csv", *design, "--strata", "stratum").exit_code == 0


def test_weights_with_decimals_weigh_as_their_thousandths_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects rounded weights, and an error of randomize that does not lead to whole numbers."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    weights, said = rng.integers(400, 3000, 500) / 1000, rng.random(500) < 0.7
    for name, form in (("decimals", "{:.3f}"), ("whole", "{:.0f}")):
        scale = 1 if name == "decimals" else 1000
        rows = [
            f"{('different', 'same')[int(s)]},{form.format(w * scale)}"
            for s, w in zip(said, weights, strict=True)
        ]
        Path(f"{name}.csv").write_text("\n".join(["said,w", *rows]))
    study = '[public.w]\nintegers = [1, 100000]\n[design]\nweights = "w"\n[attributes.said]\n'
    study += 'values = ["no", "yes"]\n'
    Path("paper.toml").write_text(f'{study}design = "crosswise:1/4"\n')
    Path("phone.toml").write_text(f'{study}mechanism = "RandomizedResponse"\nepsilon = 1.0\n')
    run("tally", "whole.csv", "--study", "paper.toml", "-o", "t.json")
    weighted = ["--study", "paper.toml", "--json"]
    of_table, of_tally = (
        json.loads(run("estimate", path, *weighted).stdout)[0]
        for path in ("decimals.csv", "t.json")
    )
    for key in ("estimate", "low", "high", "error", "design_effect"):
        of_whole = [row[key] for row in of_tally["shares"]]
        assert [row[key] for row in of_table["shares"]] == pytest.approx(of_whole, abs=1e-9)
    # The linearised variance of the ratio sum w y / sum w, with y 1 where "different" was said.
    y, total = 1.0 - said, weights.sum()
    mean = weights @ y / total
    error = np.sqrt(500 / 499 * ((weights * (y - mean)) ** 2).sum()) / total / (1 - 2 / 4)
    assert of_table["shares"][1]["estimate"] == pytest.approx((mean - 1 / 4) / (1 - 2 / 4))
    assert of_table["shares"][1]["error"] == pytest.approx(error)
    refused = run("randomize", "phone.toml", "decimals.csv", "-o", "r.parquet", ok=False).output
    assert "got a number with decimals. If it holds weights, multiply all weights by 1,000." in (
        refused
    )


def test_weighted_people_of_two_cards_are_estimated_together_and_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each person counts by her weight. Expected from the unbiased value of each answer."""
    monkeypatch.chdir(tmp_path)
    cards = {"c": ("crosswise:1/4", "different", "same"), "f": ("forced:1/6,1/6", "no", "yes")}
    total = shares = 0.0
    for name, (design, *words) in cards.items():
        public = '[public.w]\nintegers = [1, 9]\n[public.ward]\nvalues = ["north", "south"]\n'
        question = f'[attributes.q]\nvalues = ["no", "yes"]\ndesign = "{design}"\n'
        Path(f"{name}.toml").write_text(public + question)
        rows = [
            (words[i * i % 7 == 2], 1 + i % 5, ("north", "south")[i % 3 > 0]) for i in range(300)
        ]
        lines = [",".join(map(str, row)) for row in rows]
        Path(f"{name}.csv").write_text("\n".join(["q,w,ward", *lines]))
        run(
            "tally",
            f"{name}.csv",
            "--study",
            f"{name}.toml",
            "--by",
            "w,ward",
            "-o",
            f"{name}.json",
        )
        for word, weight, _ in rows:
            chance = (word == words[1]) - (0.75 if name == "c" else 1 / 6)
            shares += weight * chance / (-0.5 if name == "c" else 2 / 3)
            total += weight
    command = ("estimate", "c.json", "f.json", "--weights", "w")
    both = run(*command, "--total")
    (data,) = json.loads(run(*command, "--total", "--json").stdout)
    assert data["shares"][1]["estimate"] == pytest.approx(shares / total)
    assert "300 reports by Crosswise at epsilon 1.09861, 300 reports by" in both.stderr
    assert "600 reports, weighted by w" in both.stdout and "Nobody in" not in both.stderr
    (data,) = json.loads(run(*command, "--by", "file,ward", "--total", "--json").stdout)
    groups = {(row["file"], row["ward"]) for row in data["shares"]}
    assert groups == {(f, w) for f in "cf" for w in ("north", "south")} | {("all people",) * 2}
    said = run(*command, "--by", "file", "--compare-groups").stdout
    assert "the difference f minus c by file, weighted by w" in said
    of_pairs = ("--by", "file,ward", "--compare-groups", "--reference", "pairs", "--json")
    (data,) = json.loads(run(*command, *of_pairs).stdout)
    pairs = {(row["group"], row["reference"]) for row in data["differences"]}
    assert len(pairs) == 6 and ("f, south", "c, north") in pairs
    cards = ("--design", "q=crosswise:1/4", "--design", "q=forced:1/6,1/6")
    refused = run("estimate", "c.csv", "f.csv", *cards, "--weights", "w", ok=False).stderr
    assert "make a tally of each table with the study of its card" in refused
    run("report", "c.json", "f.json", "--short", "--weights", "w", "--by", "ward", "-o", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    # Of both files: a page of the first alone had 100 people in the north, beside 600 of all.
    assert "weighted by w" in page and "north (200)" in page and "south (400)" in page
    (data,) = json.loads(run(*command, "--by", "ward", "--json").stdout)
    for row in data["shares"]:
        share = f"{100 * row['estimate']:.1f} % ("
        assert row["value"] == "no" or share in page.replace("\N{NO-BREAK SPACE}", " ")
