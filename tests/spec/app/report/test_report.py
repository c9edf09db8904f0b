"""The report for readers: what it says, what it never holds, and that it needs nothing else."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import SECRET, STUDY, run
from warner._core.table import Column, Table
from warner.app.report.content import Points, Report, Section
from warner.app.report.question import Question, Settings
from warner.app.report.sections import Source, build
from warner.app.report.writers import to_html, to_pdf
from warner.app.requested import Wanted
from warner.collector.pages.brand import contrast
from warner.domains import with_missing
from warner.domains.interval import Dates
from warner.mechanisms import Mechanism
from warner.mechanisms.gaussian import Gaussian
from warner.reports.public_columns import PublicColumn
from warner.reports.tally import save_tallies

GROUPED = (
    STUDY.replace('title = "test"', 'title = "Habits"').replace(
        "[attributes.smokes]\n", '[attributes.smokes]\nlabel = "Do you smoke?"\n'
    )
    + '[public.ward]\nvalues = ["north", "south"]\n'
)


class _Outline(HTMLParser):
    """The elements of a page in their order, with its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study, reports and a tally by ward: in the south far more people smoke."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(1)
    (folder / "study.toml").write_text(GROUPED)
    rows = ["ward,smokes,age"]
    for i in range(4000):
        ward = "south" if i % 2 else "north"
        smokes = "yes" if rng.random() < (0.8 if i % 2 else 0.2) else "no"
        rows.append(f"{ward},{smokes},{rng.integers(0, 10)}")
    (folder / "answers.csv").write_text("\n".join(rows) + "\n")
    study, answers, reports, counts = (
        str(folder / name) for name in ("study.toml", "answers.csv", "r.parquet", "t.json")
    )
    run("randomize", study, answers, "-o", reports)
    run("tally", reports, "--by", "ward", "-o", counts)
    return folder


@pytest.fixture
def tally(made: Path, here: Path) -> str:
    """The tally, in a folder of the test's own."""
    for name in ("study.toml", "r.parquet", "t.json"):
        (here / name).write_bytes((made / name).read_bytes())
    return "t.json"


def _report(
    mechanisms: Mapping[str, Mechanism],
    answers: Mapping[str, list[object]],
    rounds: int = 1,
    settings: Settings | None = None,
) -> Report:
    tallies = {name: m.tally(m.randomize(answers[name])) for name, m in mechanisms.items()}
    shown = settings or Settings(wanted=Wanted.of_options((), "mean,median"))
    questions = []
    for name, part in tallies.items():
        found = warner.estimate(part)
        named = warner.Estimate(found.fit, found.data, found.estimator, name)
        questions.append(Question(named, shown))
    parts = {name: [part] for name, part in tallies.items()}
    return build(Source(parts, questions, rounds=rounds), shown)


def _words(report: Report) -> str:
    """All words of a page."""
    return re.sub(r"\s+", " ", " ".join(_Outline(to_html(report)).words))


def test_a_report_names_questions_people_shares_groups_differences_and_privacy(tally: str) -> None:
    options = ("--study", "study.toml", "--summary", "mean,above:4", "--rounds", "10")
    run("report", tally, *options, "-o", "report.html")
    words = " ".join(_Outline(Path("report.html").read_text()).words).replace("\xa0", " ")
    for phrase in (
        "Habits",
        "4,000 people, 2 questions",
        "Do you smoke?",
        "share above 4",
        "By ward",
        "Differences by ward",
        "larger than chance explains",
        "73 with “yes” and 27 with “no” send “yes”",
        "The total epsilon is 2.5.",
        "10 rounds",
        "The total epsilon is 25.",
        "What the numbers say, and what they do not",
        "Method",
        "How to cite",
    ):
        assert phrase in words, phrase
    assert "Simulation" not in words


def test_a_short_report_is_one_page_with_the_numbers_of_the_long_one(tally: str) -> None:
    options = ("--study", "study.toml", "--short")
    run("report", tally, *options, "-o", "short.html")
    run("report", tally, "--study", "study.toml", "-o", "long.html")
    short, full = (Path(f"{name}.html").read_text() for name in ("short", "long"))
    words = re.sub(r"\s+", " ", " ".join(_Outline(short).words)).replace("\xa0", " ")
    # One table with a column for each ward and its people, and a picture. It comes first.
    # Real reports are random, and where the axis ends with them.
    wards = r"north \([\d,]+\) south \([\d,]+\)"
    assert re.search(f"answer all people {wards} all people, 0 to [4-8]0 % yes", words)
    assert words.index("all people") < words.index("Each number is uncertain")
    shown = re.findall(r"([\d.]+ %) \(([\d.]+) to ([\d.]+) %\)", words)
    lines = re.findall(r"<td>([\d.]+.%)</td><td>([\d.]+) to ([\d.]+).%</td>", full)
    assert len(shown) == 3
    assert {(part.replace("\xa0", " "), *ends) for part, *ends in lines} >= set(shown)
    for phrase in ("points higher in south", "The total epsilon is 2.5.", "95 % interval", "ward"):
        assert phrase in words, phrase
    for heading in ("In short", "Method", "How to cite"):
        assert f">{heading}<" not in short
    Path("short.html").unlink()
    shown = run("report", tally, *options, "-o", "short.html", "-o", "short.pdf").output
    assert "Written: short.html" in shown and Path("short.html").read_text() == short
    assert len(re.findall(rb"/Type\s*/Page[^s]", Path("short.pdf").read_bytes())) == 1


def test_a_short_report_has_a_row_people_and_a_bar_for_each_of_several_groups(here: Path) -> None:
    """Rejects a page whose groups are columns without people, rounded in two ways."""
    Path("c.csv").write_text("district,same,different\nN,80,20\nS,75,40\nE,60,50\n")
    run(
        "report",
        "c.csv",
        "--design",
        "crosswise:1/4",
        "--by",
        "district",
        "--short",
        "-o",
        "r.html",
    )
    page = Path("r.html").read_text().replace("\xa0", " ")
    line = r'<th scope="row">([\w ]+ \(\d+\))</th><td>([\d.]+) %</td><td>[^<]*</td><td><svg'
    rows = re.findall(line, page)
    every, *wards = [name for name, _ in rows]
    assert every == "all people (325)" and sorted(wards) == ["E (110)", "N (100)", "S (115)"]
    assert {share.partition(".")[2] != "" for _, share in rows} == {True}
    assert page.index("all people (325)") < page.index("Each number is uncertain")


def test_people_by_phone_and_on_paper_are_counted_compared_and_protected_each(here: Path) -> None:
    """Rejects the risk of all reports of the phones as that of a person who ticked boxes."""
    questions = {"used": ["never", "sometimes", "often"], "tested": ["no", "yes"]}
    wards = PublicColumn(warner.Categorical(["n", "s"]), ["n"] * 300 + ["s"] * 300)
    phones = {}
    for name, values in questions.items():
        coin = warner.RandomizedResponse(warner.Categorical(values), 2.0)
        sent = coin.reports([i % len(values) for i in range(600)])
        phones[name] = coin.tally(sent, by={"ward": wards})
    save_tallies(phones, "phones.json")
    Path("paper.toml").write_text(
        '[public.ward]\nvalues = ["n", "s"]\n'
        '[attributes.used]\nvalues = ["never", "sometimes", "often"]\n'
        'design = "forced:never=1/6,sometimes=1/6,often=1/6"\n'
        '[attributes.tested]\nvalues = ["no", "yes"]\ndesign = "forced:1/6,1/6"\n'
    )
    rows, shares = ["attribute,ward,value,count"], {"never": 66, "sometimes": 17, "often": 17}
    for ward in "ns":
        rows += [f"used,{ward},{value},{n}" for value, n in shares.items()]
        rows += [f"tested,{ward},{value},50" for value in questions["tested"]]
    Path("paper.csv").write_text("\n".join(rows) + "\n")
    run("tally", "--counts", "paper.csv", "--study", "paper.toml", "-o", "paper.json")
    files = ("phones.json", "paper.json")
    run("estimate", *files, "--by", "file", "--compare-groups", "-o", "c.json")
    differ, alike = (result["test"]["p"] for result in json.loads(Path("c.json").read_text()))
    assert differ < 0.0001 and alike > 0.05
    run("report", *files, "--short", "-o", "r.html")
    words = re.sub(r"\s+", " ", " ".join(_Outline(Path("r.html").read_text()).words))
    words = words.replace("\xa0", " ")
    counts = "600 people answered by phone or computer, and 200 on paper. The shares of these two groups differ by"
    assert f"{counts} more than chance explains (p < 0.0001)" in words
    assert f"{counts} no more than chance explains (p = {alike:.2g})" in words
    for row in ("used (600 by phone or computer)", "used (200 on paper)", "tested (200 on paper)"):
        assert row in words, row
    # e^4 / (1 + e^4) of two questions by phone; odds of 4 times 5 to 1 on paper.
    assert "all reports of one person by phone or computer, can be at most 98.3 % sure" in words
    assert "all reports of one person on paper, can be at most 95.3 % sure" in words
    run("report", *files, "--only", "used", "--short", "-o", "one.html")
    assert "Answers to one question" not in Path("one.html").read_text()
    run("report", *files, "--short", "-o", "r.pdf")
    assert len(re.findall(rb"/Type\s*/Page[^s]", Path("r.pdf").read_bytes())) == 1


def test_shares_and_intervals_are_those_of_the_estimate(tally: str) -> None:
    run("report", tally, "--only", "smokes", "-o", "report.html")
    run("estimate", "r.parquet", "--only", "smokes", "-o", "e.json")
    (found,) = json.loads(Path("e.json").read_text())
    page = Path("report.html").read_text().replace("\xa0", " ")
    for row in found["shares"]:
        low, high = math.floor(1000 * row["low"]) / 10, math.ceil(1000 * row["high"]) / 10
        line = f'<th scope="row">{row["value"]}</th><td>{100 * row["estimate"]:.1f} %</td>'
        assert f"{line}<td>{low} to {high} %</td><td><svg" in page


@pytest.mark.parametrize("people", [30, 400, 40_000])
def test_the_page_and_the_terminal_round_alike(
    people: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects 49 % on the page of a survey whose terminal says 48.5 %, and decimals of 30 people."""
    monkeypatch.chdir(tmp_path)
    counts = ("--counts", f"same={people * 3 // 5},different={people * 2 // 5}")
    asked = ("--design", "drugs=crosswise:1/6", *counts)
    shown = run("estimate", *asked).stdout
    run("report", *asked, "-o", "r.html")
    page = re.sub("<[^>]*>", " ", Path("r.html").read_text()).replace("\xa0", " ")
    (yes,) = re.findall(r"^yes +([\d.]+ %) +([\d.]+ to [\d.]+ %)", shown, re.M)
    assert "{} ({})".format(*yes) in " ".join(page.split())
    assert ("." in yes[0]) == (people > 30)


def test_groups_on_a_short_page_are_rounded_as_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects 14 % of a small group on the page, whose row on the terminal says 14.0 %."""
    monkeypatch.chdir(tmp_path)
    Path("g.csv").write_text("district,same,different\nA,1355,645\nB,136,64\n")
    asked = ("g.csv", "--design", "crosswise:1/4", "--by", "district")
    shown = run("estimate", *asked).stdout
    rows = re.findall(r"^[AB] +yes +([\d.]+ %) +([\d.]+ to [\d.]+ %)", shown, re.M)
    assert len(rows) == 2
    for short in ((), ("--short",)):
        run("report", *asked, *short, "-o", "r.html")
        page = re.sub("<[^>]*>", " ", Path("r.html").read_text()).replace("\xa0", " ")
        assert all("{} ({})".format(*row) in " ".join(page.split()) for row in rows)
    # A page to hand on names the design, and what the card makes people say.
    said = "crosswise:1/4: 2,200 people, 1,491 same, 709 different. With the card, of 100 people"
    assert said in " ".join(page.split())


def test_a_difference_is_rounded_alike_on_the_page_in_words_and_on_the_terminal(here: Path) -> None:
    """Rejects +7 to +25 on the page beside +7.6 to +24.4 points on the terminal."""
    Path("g.csv").write_text("district,same,different\nA,680,320\nB,600,400\n")
    asked = ("g.csv", "--design", "crosswise:1/4", "--by", "district")
    run("estimate", *asked, "--compare-groups", "-o", "d.tex")
    assert "+7.6 to +24.4" in Path("d.tex").read_text()
    assert "+7.6 to +24.4 points" in run("estimate", *asked, "--compare-groups").stdout
    run("report", *asked, "-o", "r.html")
    page = " ".join(_Outline(Path("r.html").read_text()).words).replace("\xa0", " ")
    assert "+7.6 to +24.4" in page
    assert "16.0 points higher in B than in A (95 % interval 7.6 to 24.4, p = " in page


def test_bounds_of_forged_reports_stand_under_the_shares(tally: str) -> None:
    run("report", tally, "--only", "smokes", "--forged", "2%", "-o", "report.html")
    words = " ".join(_Outline(Path("report.html").read_text()).words).replace("\xa0", " ")
    assert "Shares if up to 2 % of the reports were made up" in words
    run("estimate", "r.parquet", "--only", "smokes", "--forged", "2%", "-o", "e.json")
    (data,) = json.loads(Path("e.json").read_text())
    for row in data["if_forged"]["shares"]:
        low, high = math.floor(1000 * row["low"]) / 10, math.ceil(1000 * row["high"]) / 10
        assert f"{low} to {high} %" in words


def test_a_page_needs_no_script_no_style_attribute_and_no_request(tally: str) -> None:
    run("report", tally, "-o", "report.html")
    page = Path("report.html").read_text()
    outline = _Outline(page)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(outline.tags)
    assert not re.search(r"https?:|//|url\(|@import", page)
    for _, attributes in outline.elements:
        assert not {"style", "src", "href"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    policies = [a["content"] for _, a in outline.elements if a.get("http-equiv")]
    assert policies and str(policies[0]).startswith("default-src 'none'; style-src 'sha256-")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_can_be_read_in_light_and_in_dark(tally: str, scheme: str) -> None:
    """A page that has a colour beside those of its scheme is rejected: it stays light in dark mode."""
    run("report", tally, "-o", "report.html")
    (style,) = re.findall(r"<style>(.*?)</style>", Path("report.html").read_text(), re.DOTALL)
    schemes = re.findall(r":root {(.*?)}", style, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#\w{6})", schemes[scheme == "dark"]))
    for text in ("ink", "quiet"):
        assert contrast(colours[text], colours["paper"]) >= 4.5
    assert contrast(colours["line"], colours["paper"]) >= 3
    assert not re.search(
        r"#[0-9a-f]{3}", style.replace("".join(schemes), "").partition("body {")[2]
    )
    assert "@media screen and (prefers-color-scheme: dark)" in style, "paper stays white"


def test_a_page_has_headings_in_order_and_tables_with_captions_and_scopes(tally: str) -> None:
    run("report", tally, "-o", "report.html")
    outline = _Outline(Path("report.html").read_text())
    ranks = [int(tag[1]) for tag in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert ranks[0] == 1 and ranks.count(1) == 1 and {2, 3} <= set(ranks)
    assert all(after <= before + 1 for before, after in pairwise(ranks))
    assert outline.elements[0] == ("html", {"lang": "en"}) and "main" in outline.tags
    assert outline.tags.count("table") == outline.tags.count("caption") > 4
    assert all(a.get("scope") in ("col", "row") for tag, a in outline.elements if tag == "th")
    assert all(a.get("aria-hidden") == "true" for tag, a in outline.elements if tag == "svg")


def test_weeks_are_a_line_over_time_above_their_tables(here: Path) -> None:
    """Rejects a page on which a year of weeks is bars alone, and a picture that a reader cannot do
    without.
    """
    coin = warner.RandomizedResponse(warner.Categorical(["light", "dark", "auto"]), 2.0)
    reports = coin.randomize(["light", "dark", "auto"] * 300)
    weeks = PublicColumn(Dates("week"), ["2024-W09", "2024-W10", "2024-W12"] * 300)
    save_tallies({"theme": coin.tally(reports, {"week": weeks})}, "weeks.json")
    wards = PublicColumn(warner.Categorical(["n", "s", "w"]), ["n", "s", "w"] * 300)
    save_tallies({"theme": coin.tally(reports, {"ward": wards})}, "wards.json")
    run("report", "weeks.json", "-o", "weeks.html", "-o", "weeks.pdf", "-o", "again.html")
    page = Path("weeks.html").read_text()
    (figure,) = re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL)
    assert "<title>Shares by week</title>" in figure and "95 % intervals of each group" in figure
    for text in ("2024-W09", "2024-W11", "2024-W12", "light", "dark", "auto"):
        assert f">{text}</text>" in figure, text
    assert not re.search("<script|<style| style=|<image|href", figure)
    assert page.index("<figure>") < page.index("Share of “light”")
    assert page == Path("again.html").read_text()
    assert Path("weeks.pdf").read_bytes().startswith(b"%PDF")
    run("report", "wards.json", "-o", "wards.html")
    assert "<figure>" not in Path("wards.html").read_text()


def test_the_same_tally_gives_the_same_bytes_without_paths_users_or_dates(
    tally: str, here: Path
) -> None:
    now = datetime.date.today()
    today = (now.isoformat(), f"{now:%Y%m%d}", f"D:{now:%Y}")
    for suffix in ("html", "pdf"):
        for name in ("one", "two"):
            run("report", tally, "--study", "study.toml", "-o", f"{name}.{suffix}")
        content = Path(f"one.{suffix}").read_bytes()
        assert content == Path(f"two.{suffix}").read_bytes()
        for canary in (str(here), here.name, "study.toml", "t.json", "CreationDate", *today):
            assert canary.encode() not in content, canary
    run("report", tally, "--date", "1 May 2031", "-o", "dated.html")
    assert "1 May 2031" in Path("dated.html").read_text()


def test_no_answer_of_the_file_reaches_a_report(here: Path) -> None:
    Path("one.toml").write_text(
        f'[attributes.x]\nvalues = ["a", "{SECRET}", "b"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    Path("x.csv").write_text("x,name\n" + f"a,{SECRET}-name\n" * 300)
    run("randomize", "one.toml", "x.csv", "-o", "x.parquet")
    run("report", "x.parquet", "-o", "x.html")
    page = Path("x.html").read_text()
    assert f"{SECRET}-name" not in page
    assert SECRET in page, "a value of the domain is public, and the canary must be able to sing"


def test_simulated_reports_are_marked_first_and_in_the_title(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "s.csv", "--seed", "1")
    said = run("report", "s.csv", "-o", "s.html").stderr
    page = Path("s.html").read_text()
    assert "these reports are simulated" in said and "<h1>" in page
    assert page.index('class="notice"') < page.index("<h1>")
    assert "(simulation)</title>" in page and "(simulation)</h1>" in page


def test_texts_of_others_are_no_markup() -> None:
    evil = '<script>alert(1)</script>"&#sys.inputs[*x*]'
    labels = [evil, "b"]
    report = _report(
        {evil: warner.RandomizedResponse(warner.Categorical(labels), 1.0)}, {evil: labels * 200}
    )
    page = to_html(report)
    assert "<script" not in page and "&lt;script&gt;" in page
    assert to_pdf(report).startswith(b"%PDF")


def test_odds_are_those_of_the_sampled_integers() -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 2.0)
    words = _words(_report({"x": coin}, {"x": ["no", "yes"] * 200}))
    keep = float(max(coin.probabilities()[1]))
    assert f" {100 * keep:.0f} with “yes”" in words
    # As sure as 2 is of ln(odds): e^2 / (1 + e^2) = 0.8808, rounded up.
    assert "send “yes” 88.1 % sure" in words.replace("\xa0", " ")


def test_the_total_adds_up_over_questions_and_rounds() -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 0.5)
    answers: list[object] = ["no", "yes"] * 200
    words = _words(_report({"x": coin, "y": coin}, {"x": answers, "y": answers}, rounds=3))
    assert "The total epsilon is 1." in words and "The total epsilon is 3." in words
    assert "95.3 % sure of one of the sets" in words.replace("\xa0%", " %")
    huge = _words(_report({"x": coin}, {"x": answers}, rounds=40))
    assert "hardly any protection" in huge and "The total epsilon is 20." in huge


def test_rounds_of_permanent_reports_do_not_add_up() -> None:
    """Rejects 52 times the epsilon of a round, 13, where devices keep their permanent reports."""
    kept = warner.mechanisms.Permanent(
        warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 0.25), 1.0
    )
    tally = kept.tally(kept.reports([0, 1] * 200))
    shown = Settings(wanted=Wanted.of_options((), "mean,median"))
    found = warner.estimate(tally)
    question = Question(warner.Estimate(found.fit, found.data, found.estimator, "x"), shown)
    words = _words(build(Source({"x": [tally]}, [question], rounds=52), shown))
    assert "The total epsilon is 1." in words and "hardly any" not in words
    assert "whose answers changed" not in words  # a device reports on one answer only
    assert "further round" not in words


@pytest.mark.parametrize("rounds", [1, 3])
def test_where_some_reports_only_are_permanent_a_further_round_can_reveal_more(rounds: int) -> None:
    """Rejects "reveals more" of people whose devices keep permanent reports."""
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 0.5)
    permanent = warner.mechanisms.Permanent(coin, 1.0, values=2)
    tallies = [m.tally(m.reports([0, 1] * 200)) for m in (coin, permanent)]
    shown = Settings(wanted=Wanted.of_options((), "mean,median"))
    found = warner.estimate(tallies[0])
    question = Question(warner.Estimate(found.fit, found.data, found.estimator, "x"), shown)
    words = _words(build(Source({"x": tallies}, [question], rounds=rounds), shown))
    assert "every further round can reveal more about each of them" in words
    # The total of three rounds is of changed answers: 2 * 1.0 exceeds 3 * 0.5.
    assert ("The total epsilon is 2." in words) is (rounds == 3)
    assert ("two people whose answers changed in the same rounds" in words) is (rounds == 3)


@pytest.mark.parametrize("rounds", [1, 52])
def test_a_report_tells_of_permanent_reports_what_an_audit_tells(rounds: int) -> None:
    """Rejects a total that is of changed answers alone, and silence on all rounds."""
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    permanent = warner.mechanisms.Permanent(coin, 2.0, values=2)
    tally = permanent.tally(permanent.reports([0, 1] * 200))
    shown = Settings(wanted=Wanted.of_options((), "mean,median"))
    found = warner.estimate(tally)
    question = Question(warner.Estimate(found.fit, found.data, found.estimator, "x"), shown)
    source = Source({"x": [tally]}, [question], rounds=rounds)
    words = _words(build(source, shown)).replace("\xa0", " ")
    stays, changes = words.split("for a person whose answer stays the same.")[1].split(
        "If answers change"
    )
    assert "any number of rounds, can be at most 88.1 % sure" in stays
    assert "The total epsilon is 2." in stays
    assert "up to 2 different answers" in changes and "98.3 % sure" in changes
    assert "The total epsilon is 4." in changes
    assert "answers changed in the same rounds" in changes
    assert ("in all 52 rounds" in words) is (rounds == 52)
    assert "further round" not in words


def test_the_rounds_of_permanent_reports_are_of_all_reports_of_a_person() -> None:
    """Rejects the bound of three reports where a person sends two in each of three rounds."""
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 0.25)
    permanent = warner.mechanisms.Permanent(coin, 2.0)
    tally = permanent.tally(permanent.reports([0, 1] * 200))
    shown = Settings(wanted=Wanted.of_options((), "mean,median"))
    found = warner.estimate(tally)
    question = Question(warner.Estimate(found.fit, found.data, found.estimator, "x"), shown)
    tally.reports_per_person = 2  # per_person() refuses it, but a file can state it
    words = _words(build(Source({"x": [tally]}, [question], rounds=3), shown))
    in_three_rounds = words.split("what one person sends in all 3 rounds,")[1]
    three, six = (f"epsilon is {permanent.of_rounds(n).total:.4g}." for n in (3, 6))
    assert six in in_three_rounds and three not in in_three_rounds


@pytest.mark.parametrize(
    "mechanism, phrase",
    [
        (
            warner.UtilityOptimizedRR(
                warner.Categorical(["ill", "well", "fit"]), 1.0, sensitive=["ill"]
            ),
            "Only people with the 1 sensitive answer are protected.",
        ),
        (
            warner.mechanisms.Geometric(warner.Integers(0, 9), 0.5),
            "The closer two answers are, the better they are hidden",
        ),
        (
            Gaussian(warner.Interval(0, 1, 8), 1.0, 1e-6),
            "In rare cases, somebody can be much surer",
        ),
    ],
    ids=lambda x: type(x).__name__,
)
def test_weaker_guarantees_are_said_to_be_weaker(mechanism: Mechanism, phrase: str) -> None:
    labels = mechanism.domain.labels
    words = _words(_report({"x": mechanism}, {"x": [*labels] * 30}))
    assert phrase in words
    assert "chance kept or changed them" not in words and "hidden by chance" not in words


def test_of_many_answers_the_largest_are_shown_and_the_others_together() -> None:
    domain = warner.Categorical([f"s{i:03d}" for i in range(200)])
    mechanism = warner.HadamardResponse(domain, 4.0)
    answers: list[object] = [f"s{i % 40:03d}" for i in range(4000)]
    report = _report({"x": mechanism}, {"x": answers}, settings=Settings(top=5))
    (table,) = [b for b in report.sections[1].blocks if isinstance(b, Table)]
    assert len(table.rows) == 5 and table.title == "The 5 most frequent of 200 possible answers"
    words = _words(report)
    assert (
        "The 195 other possible answers together have" in words
        and "The intervals are for all answers at once" in words
    )


def test_numbers_are_shown_by_at_most_twelve_ranges_that_hold_all() -> None:
    mechanism = warner.SquareWave(warner.Interval(0, 60, 60), 4.0)
    report = _report({"x": mechanism}, {"x": [i % 30 + 0.5 for i in range(3000)]})
    shares, summaries = (b for b in report.sections[1].blocks if isinstance(b, Table))
    ((heading, bars),) = shares.pictures().items()
    assert len(bars) == 12 and shares.rows[0]["value"] == "0 to 5" and heading.startswith("0 to ")
    assert sum(bar.estimate for bar in bars) == pytest.approx(1)
    assert [row["text"] for row in summaries.rows] == ["mean", "median"]


def test_sentences_about_groups_stand_only_where_there_are_groups() -> None:
    """Rejects advice on groups in a report without groups, and a hint at tables that it has not."""
    smokes = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 3.0)
    reports = smokes.randomize(["no", "yes"] * 200, rng=np.random.default_rng(1))
    by_ward = smokes.tally(reports, {"ward": ["north"] * 200 + ["south"] * 200})
    settings = Settings()
    for groups in ([], [by_ward]):
        question = Question(warner.estimate(by_ward.total()), settings, groups=groups)
        words = _words(build(Source({"smokes": [by_ward]}, [question]), settings))
        assert ("Two intervals that overlap" in words) is bool(groups)
        assert "for each interval by itself. Among many intervals" in words


@pytest.mark.parametrize(("count", "is_mean_alone"), [(2, False), (3, True)])
def test_of_many_groups_means_alone_are_compared(
    count: int, is_mean_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a report that compares fifteen numbers of each of many groups, which takes minutes."""
    monkeypatch.setattr("warner.app.report.question._MOST_GROUPS", 2)
    hours = warner.RandomizedResponse(warner.Integers(0, 13), 4.0)
    reports = hours.randomize(np.tile([2, 3, 4, 11], 5 * count))
    groups = hours.tally(reports, {"shop": np.repeat(np.arange(count), 20)})
    settings = Settings(wanted=Wanted.of_options((), "mean,median"))
    question = Question(warner.estimate(groups.total()), settings, groups=[groups])
    words = _words(build(Source({"hours": [groups]}, [question]), settings))
    assert (
        "There are more than 2 groups, so only their means are compared." in words
    ) is is_mean_alone
    assert ("for the mean and quantiles" in words) is not is_mean_alone


def test_a_report_cites_the_design_that_was_used(here: Path) -> None:
    run("report", "--design", "crosswise:1/4", "--counts", "same=680,different=320", "-o", "r.html")
    words = " ".join(_Outline(Path("r.html").read_text()).words)
    assert "Yu, G.-L. Tian" in words and "S. L. Warner" in words


def test_a_pdf_is_tagged_has_vectors_only_and_says_what_the_page_says(tally: str) -> None:
    run("report", tally, "--title", "Ärger & <Frust>, Łódź", "-o", "report.pdf")
    content = Path("report.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/StructTreeRoot" in content
    assert b"/Subtype /Image" not in content and b"/Subtype/Image" not in content


def test_pictures_of_differences_have_zero_in_the_middle() -> None:
    rows = [
        {"a": "x", "d": -1.0, "low": -2.0, "high": 0.5},
        {"a": "y", "d": 1, "low": 0, "high": 2},
    ]
    table = Table([Column("a"), Column("d", "d", "bar", ends=("low", "high"))], rows, title="t")
    report = Report("t", (), "", (Section("s", (table, Points(("p",)))),))
    page = to_html(report)
    assert "M80 0V14" in page and page.count("<svg") == 2
    assert to_pdf(report).startswith(b"%PDF")


def test_shares_that_nothing_is_known_of_are_no_result() -> None:
    """Rejects shares without the sentence, as if they had been measured, and the sentence alone,
    which says less than the interval."""
    labels = warner.Categorical(["no", "yes"])
    answers: dict[str, list[object]] = {"a": ["no"] * 400, "b": ["no"] * 400}
    mechanisms = {
        name: warner.RandomizedResponse(labels, e) for name, e in (("a", 0.01), ("b", 3.0))
    }
    points = [
        line
        for block in _report(mechanisms, answers).sections[0].blocks
        if isinstance(block, Points)
        for line in block.items
    ]
    assert "(0 to 100\N{NO-BREAK SPACE}%). These reports tell almost nothing" in points[0]
    assert "%" in points[1] and "nothing" not in points[1]


def test_items_are_of_one_question_and_are_ticked(here: Path) -> None:
    text = '[attributes.used]\nitems = ["bank", "bus", "post"]\neach = "pair"\nepsilon = 2.0\n'
    survey = warner.Study.parse(text).mechanisms["used"]
    people = [["bank", "bus"], ["bank"], ["bank"], ["bank"]] * 500
    wards = ["n", "s"] * 1000
    tally = survey.tally(survey.randomize(people, np.random.default_rng(2)), by={"ward": wards})
    save_tallies({"used": tally}, "t.json")
    run("report", "t.json", "--joint", "bank,bus", "-o", "r.html")
    page = Path("r.html").read_text()
    ticked = re.findall(r"(\w+): ticked by ([\d.]+)\s%", page)[:2]
    assert [(name, round(float(share))) for name, share in ticked] == [("bank", 100), ("bus", 25)]
    assert "2,000 people, 1 question<" in page and "Share of “yes”" in page
    assert "Share of “no”" not in page
    run("report", "t.json", "--top", "1", "-o", "r.html")


def test_people_who_were_left_out_are_told_of(here: Path) -> None:
    """Without the sentence, the number of people reads as if it were that of all who were asked."""
    study = GROUPED.replace('label = "Do you smoke?"', 'label = "Do you smoke?"\nmissing = "drop"')
    Path("drop.toml").write_text(study)
    Path("drop.csv").write_text("ward,smokes,age\n" + "north,no,3\nsouth,,4\nsouth,yes,2\n" * 20)
    run("randomize", "drop.toml", "drop.csv", "-o", "d.parquet")
    run("tally", "d.parquet", "-o", "d.json")
    for asked, is_told in ((("--study", "drop.toml"), True), ((), False)):
        run("report", "d.json", "-o", "d.html", *asked)
        words = " ".join(_Outline(Path("d.html").read_text()).words)
        assert "40 people answered" in words
        told = "one of these questions were left out with all their answers: Do"
        assert (told in words) is is_told


def test_intervals_of_a_smooth_estimate_are_said_to_suppose_smoothness() -> None:
    numbers = warner.SquareWave(warner.Interval(0, 60, 30), 1.0)
    labels = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    answers: dict[str, list[object]] = {"units": [3.0, 5.0] * 300, "smokes": ["no", "yes"] * 300}
    words = _words(_report({"units": numbers, "smokes": labels}, answers))
    assert (
        words.count(
            "If another number is much more frequent than its neighbours, its interval can miss"
        )
        == 1
    )
    assert "units: The intervals of shares assume that neighbouring numbers" in words


def test_what_is_supposed_of_bins_is_said_once_of_a_question(here: Path) -> None:
    """Rejects the same paragraph again below the groups."""
    minutes = warner.SquareWave(warner.Interval(0, 60, 20), 2.0)
    reports = minutes.randomize(np.linspace(0, 59.9, 400), np.random.default_rng(1))
    minutes.tally(reports, by={"ward": ["north", "south"] * 200}).save("bins.json")
    run("report", "bins.json", "-o", "bins.html")
    words = re.sub(r"\s+", " ", " ".join(_Outline(Path("bins.html").read_text()).words))
    assert words.count("spread evenly over each of the 20 bins") == 1


def test_intervals_of_bands_are_said_to_hold_somewhat_less_often() -> None:
    """Rejects: "about 95 of them or more" of bands, of which the terminal says less."""
    said = "contains the true share a little less often if neighbouring numbers in the range"
    mechanism = warner.SubsetSelection(warner.Integers(0, 29), 1.0)
    assert f"The interval of a range of numbers (a band) {said}" in _words(
        _report({"units": mechanism}, {"units": [3, 5] * 300})
    )
    labels = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    assert said not in _words(_report({"smokes": labels}, {"smokes": ["no", "yes"] * 300}))


def test_a_reference_by_one_of_two_columns_is_told_how(here: Path) -> None:
    Path("two.toml").write_text(GROUPED + '[public.age_group]\nvalues = ["18-39", "40+"]\n')
    Path("two.csv").write_text(
        "ward,age_group,smokes,age\n" + "north,18-39,no,3\nsouth,40+,yes,4\nsouth,40+,no,3\n" * 20
    )
    run("randomize", "two.toml", "two.csv", "-o", "two.parquet")
    run("tally", "two.parquet", "--by", "ward,age_group", "-o", "two.json")
    said = run("report", "two.json", "-o", "r.html", "--reference", "north", ok=False).stderr
    assert "groups north, 18-39; south, 40+; got north" in said
    assert "For groups by 'ward' alone, add --by ward" in said
    run("report", "two.json", "-o", "r.html", "--reference", "north", "--by", "ward")


def test_wrong_requests_are_refused(tally: str) -> None:
    Path("other.toml").write_text(STUDY.replace('"no", "yes"', '"never", "ever"'))
    run("tally", "r.parquet", "-o", "flat.json")
    for args, problem in (
        ((tally, "-o", "r.txt"), "must end in .html or .pdf"),
        ((tally, "-o", "r.html", "--study", "other.toml"), "other possible answers to 'smokes'"),
        ((tally, "-o", "r.html", "--reference", "east"), "must be one of the groups north; south"),
        ((tally, "-o", "r.html", "--reference", "nroth"), "Is 'north' meant?"),
        (("flat.json", "-o", "r.html", "--by", "ward"), "needs a tally of groups"),
        (("flat.json", "-o", "r.html", "--by", "file"), "run: warner estimate FILE1 FILE2 --by"),
        ((tally, "-o", "r.html", "--summary", "smokes=mean"), "whose values are numbers"),
        ((tally, "-o", tally), "must end in"),
    ):
        assert problem in run("report", *args, ok=False).stderr


def test_without_typst_a_pdf_is_refused_before_anything_is_estimated(
    tally: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "typst", None)
    said = run("report", tally, "-o", "r.pdf", ok=False).stderr
    assert 'pip install "warner[report]"' in said and not Path("r.pdf").exists()


def test_the_summary_names_groups_and_their_differences(tally: str) -> None:
    """Rejects a summary of all people alone, and one with the rarer answer in place of yes."""
    run("report", tally, "-o", "r.html")
    points = re.findall("<li>(.*?)</li>", Path("r.html").read_text())[:2]
    smokes = next(point for point in points if point.startswith("smokes: "))
    found = r"“yes” by ward: north [0-9.]+.% \([^)]*\); south [0-9.]+.% \("
    assert re.search(found, smokes), smokes
    assert "The share of yes is " in smokes and "higher in south than in north" in smokes
    of_age = next(point for point in points if point != smokes)
    assert "Mean by ward: north " in of_age


def test_a_group_of_one_person_is_warned_of_and_never_denied(here: Path) -> None:
    """Rejects "no number is about a single person" above the row of a group of one."""
    promise = "No number in this report is about a single person."
    for rest, warning in (
        ("north,1,0\n", "1 of 3 groups has fewer than 10 reports, and the smallest has 1."),
        ("west,2,1\n", "1 of 3 groups has fewer than 10 reports, and the smallest has 3."),
        ("", ""),
    ):
        Path("counts.csv").write_text("region,same,different\nNorth,256,127\nEast,454,194\n" + rest)
        for short in ((), ("--short",)):
            options = ("--design", "crosswise:1/4", "--by", "region", "-o", "r.html")
            run("report", "counts.csv", *options, *short)
            words = " ".join(_Outline(Path("r.html").read_text()).words).replace("\xa0", " ")
            assert warning in words and ("fewer than 10 reports" in words) is bool(warning)
            assert (promise in words) is (not short and not rest.startswith("north"))
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    assert promise not in _words(_report({"x": coin}, {"x": ["yes"]}))


@pytest.mark.parametrize("short", [(), ("--short",)])
def test_every_report_says_what_no_interval_allows_for(here: Path, short: tuple[str, ...]) -> None:
    """Rejects a page to hand on that is silent about untrue answers and an ignored card."""
    paper = ("--design", "crosswise:1/4", "--counts", "same=710,different=290")
    run("report", *paper, "-o", "r.html", *short)
    words = " ".join(_Outline(Path("r.html").read_text()).words).replace("\xa0", " ")
    assert words.count("All of this assumes that people followed the card.") == 1
    assert words.count("The intervals do not allow for untrue answers") == 1


def test_no_clear_difference_does_not_contradict_the_test_of_all_groups(here: Path) -> None:
    """Rejects "no difference" beside a test by which the groups differ."""
    heading = "age,same,different\n18-34,256,127\n35-54,454,194\n"
    for rest, is_clear in (("55+,332,110\n65+,24,3\n", True), ("55+,320,122\n", False)):
        Path("counts.csv").write_text(heading + rest)
        for short in ((), ("--short",)):
            options = ("--design", "crosswise:1/4", "--by", "age", "-o", "r.html")
            run("report", "counts.csv", *options, *short)
            words = " ".join(_Outline(Path("r.html").read_text()).words).replace("\xa0", " ")
            assert ("the groups do not all have the same shares (p = 0.0099)" in words) is is_clear
            assert ("No difference between the groups is larger" in words) is not is_clear


@pytest.mark.parametrize("common", ["no", "yes"])
def test_of_two_answers_yes_is_shown_whichever_is_rarer(common: str) -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["yes", "no"]), 3.0)
    other = "yes" if common == "no" else "no"
    report = _report({"x": coin}, {"x": [common] * 900 + [other] * 100})
    (points, *_) = report.sections[0].blocks
    assert isinstance(points, Points) and points.items[0].startswith("x: “yes”: ")


def test_what_is_not_protected_stands_with_the_privacy(tally: str) -> None:
    told, is_open = (
        "Whoever sees a report can read its public columns: ward.",
        "send several reports",
    )
    for access, is_told in (("open", True), ("invited", False)):
        Path("study.toml").write_text(f'{GROUPED}[collect]\naccess = "{access}"\n')
        run("report", tally, "--study", "study.toml", "-o", "r.html")
        words = " ".join(_Outline(Path("r.html").read_text()).words)
        assert told in words and (is_open in words) is is_told
    run("tally", "r.parquet", "-o", "flat.json")
    run("report", "flat.json", "-o", "r.html")
    assert "Whoever sees a report" not in Path("r.html").read_text()


def test_where_nonresponse_is_an_answer_shares_are_of_those_who_answered() -> None:
    domain = with_missing(warner.Categorical(["no", "yes"]), "answer")
    mechanism = warner.RandomizedResponse(domain, 3.0)
    answers: list[object] = ["yes"] * 1500 + ["no"] * 500 + [None] * 2000
    report = _report({"x": mechanism}, {"x": answers})
    (table,) = [b for b in report.sections[1].blocks if isinstance(b, Table)]
    assert [row["value"] for row in table.rows] == ["no", "yes"]
    (bars,) = table.pictures().values()
    assert bars[1].estimate == pytest.approx(0.75, abs=0.08)
    assert sum(bar.estimate for bar in bars) == pytest.approx(1)
    words = _words(report)
    assert "4,000 people took part, and 5" in words or "4,000 people took part, and 4" in words
    assert " with “yes” and " in words and "(no answer)" not in words


def test_differences_are_among_those_who_answered_as_the_shares_are() -> None:
    """Rejects a difference of 22.4 points beside shares of 47 % and 22 %."""
    domain = with_missing(warner.Categorical(["no", "yes"]), "answer")
    mechanism = warner.RandomizedResponse(domain, 2.0)
    # Of those who answered, 1 in 2 and 3 in 4; of all people, 2 in 5 and 3 in 10.
    north: list[object] = ["no", "no", "yes", "yes", None] * 600
    south: list[object] = ["no", *["yes"] * 3, *[None] * 6] * 300
    reports = mechanism.randomize([*north, *south], rng=np.random.default_rng(1))
    groups = mechanism.tally(reports, {"ward": ["north"] * 3000 + ["south"] * 3000})
    pages = []
    for settings in (Settings(), Settings(is_short=True)):
        question = Question(warner.estimate(groups.total()), settings, groups=[groups])
        pages.append(_words(build(Source({"smokes": [groups]}, [question]), settings)))
    short = pages[0].partition("What a report tells")[0].partition("By ward")[0]
    shares = [re.findall(rf"{ward} ([0-9.]+) %", short)[0] for ward in ("north", "south")]
    for words in (short, pages[1]):
        (found,) = re.findall(r"among those who answered is ([0-9.]+) points higher in s", words)
        assert float(found) == pytest.approx(25, abs=8)
        assert float(shares[1]) - float(shares[0]) == pytest.approx(float(found), abs=1)


def test_keys_and_tables_of_pairs_have_reports_by_group(here: Path) -> None:
    Path("mixed.toml").write_text(
        '[attributes.pay]\nkeys = ["police", "fire", "water"]\n'
        "interval = { low = 0, high = 100, bins = 8 }\n"
        'mechanism = "KeyValue"\nepsilon = 3.0\n'
        '[attributes.a]\nvalues = ["x", "y", "z"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 2.0\n'
        '[attributes.b]\nvalues = ["no", "yes"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 2.0\n'
        '[public.ward]\nvalues = ["north", "south"]\n'
    )
    lines = [f"{'police' if i % 3 else 'fire'},{i % 90}.5,{'xyz'[i % 3]},yes" for i in range(1500)]
    wards = ("north", "south")
    rows = [f"{wards[i % 2]},{line}\n" for i, line in enumerate(lines)]
    Path("mixed.csv").write_text("ward,pay_key,pay_value,a,b\n" + "".join(rows))
    run("randomize", "mixed.toml", "mixed.csv", "-o", "m.parquet")
    run("tally", "m.parquet", "--by", "ward", "-o", "m.json")
    run("tally", "m.parquet", "--study", "mixed.toml", "--ways", "2", "-o", "pairs.json")
    run("report", "m.json", "--study", "mixed.toml", "-o", "m.html")
    page = Path("m.html").read_text()
    assert "Share of “police”, by ward" in page and "The mean of the values of each key" in page
    assert "Share of people with each key, such as “police”" in page
    run("report", "pairs.json", "--study", "mixed.toml", "--joint", "a,b", "-o", "pairs.html")
    page = Path("pairs.html").read_text()
    assert all(f"<h2>{name}</h2>" in page for name in ("pay", "a", "b", "a x b"))
