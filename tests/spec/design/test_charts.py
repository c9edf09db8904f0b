"""Pictures before a survey: widths by people and epsilon, and odds for a consent form."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.spec.app._command import run
from warner import (
    Categorical,
    Integers,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    UtilityOptimizedRR,
    audit,
)
from warner.design import propose
from warner.design.charts import DrawnWidths, draw_widths
from warner.design.privacy_words import example_of
from warner.designs import from_text
from warner.errors import ArgumentError
from warner.mechanisms import Mechanism, Repeated

COIN = Categorical(["no", "yes"])


def test_widths_are_those_of_the_offers_and_fall_with_people_and_epsilon() -> None:
    """Widths of another mechanism, or of another share, are rejected."""
    proposal = propose(COIN, 2000, share=0.2, epsilons=(0.5, 1.0, 2.0))
    rows = proposal.width_rows()
    width = {(row["epsilon"], row["people"]): row["width"] for row in rows}
    for offer in proposal.offers:
        assert width[offer.epsilon, 2000] == pytest.approx(offer.expected.share, rel=0.02)
        of_epsilon = [w for (epsilon, _), w in sorted(width.items()) if epsilon == offer.epsilon]
        assert len(of_epsilon) == 7 and of_epsilon == sorted(of_epsilon, reverse=True)
    assert width[0.5, 2000] > width[1.0, 2000] > width[2.0, 2000]
    needed = proposal.people(width[proposal.epsilon, 4000])
    assert needed == pytest.approx(4000, rel=0.03)


def test_the_picture_of_widths_has_a_line_for_each_epsilon_and_both_aims(tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    picture = (
        propose(COIN, 500, epsilons=(0.5, 1.0, 2.0)).plot(str(path), "Do you smoke?").to_dict()
    )
    (panel,) = picture["vconcat"]
    shown = [_rows(layer, panel, picture) for layer in panel["layer"]]
    assert shown[:2] == [[{"people": 500}], [{"points": 10.0}]]
    lines = shown[2]
    epsilons = {row["line"] for row in lines}
    assert epsilons == {f"\N{GREEK SMALL LETTER EPSILON} {e}" for e in ("0.5", "1", "2")}
    page = path.read_text()
    assert page.count("<table") == 1 and all(f"epsilon {e}" in page for e in ("0.5", "1", "2"))
    assert all(f"{row['points']:.3g}" in page for row in lines)


def _drawn(lines: dict[str, float]) -> DrawnWidths:
    """Widths that halve from 100 people to 400, of lines by their width with 100."""
    rows = [
        {"line": line, "people": people, "width": width / math.sqrt(people / 100)}
        for line, width in lines.items()
        for people in (100, 200, 400)
    ]
    return DrawnWidths(rows, "", 200, 0.1)


def test_each_line_of_widths_has_its_name_beside_it_and_equal_lines_have_one_together() -> None:
    """Rejects a line that hides another one, names that stand on each other, and one legend of
    several panels, in which two epsilons have the same dashes.
    """
    first = _drawn({"warner:3/4": 0.4, "crosswise:1/4": 0.4, "b": 0.3, "c": 0.29, "d": 0.28})
    picture = draw_widths({"first": first, "second": _drawn({"epsilon 1": 0.2})}).to_dict()
    panel = picture["vconcat"][0]
    rules, points, _, leader, text = panel["layer"][1:]
    assert rules["mark"]["type"] == "rule" and points["mark"]["type"] == "line"
    names = ["warner:3/4 and crosswise:1/4", "b", "c", "d"]
    assert list(dict.fromkeys(row["line"] for row in _rows(points, panel, picture))) == names
    low, high = points["encoding"]["y"]["scale"]["domain"]
    named = _rows(text, panel, picture)
    assert [row["line"] for row in named] == names
    assert [row["points"] for row in named] == pytest.approx([20, 15, 14.5, 14])
    places = [math.log(high / row["name"]) * 260 / math.log(high / low) for row in named]
    assert all(after - before > 14.9 for before, after in pairwise(places))
    assert places[0] >= 0 and places[-1] <= 260.1
    assert leader["encoding"]["strokeDash"] == points["encoding"]["strokeDash"]
    assert points["encoding"]["strokeDash"]["legend"] is None
    assert picture["resolve"]["scale"]["strokeDash"] == "independent"


def test_no_width_of_a_share_is_drawn_above_100_points() -> None:
    """Rejects 140 points of few people, where a posterior's width was scaled."""
    widths = [row["width"] for row in propose(Integers(0, 180), 500, 1.0).width_rows()]
    assert max(widths) == 1 and min(widths) < 0.9


def test_of_numbers_widths_are_of_the_largest_ones() -> None:
    picture = propose(Integers(0, 20), 400, 1.0, among={"SquareWave": SquareWave}).plot()
    assert "share of 10 %" in " ".join(picture.to_dict()["vconcat"][0]["title"]["subtitle"])


@pytest.mark.parametrize("size, epsilon", [(2, 1.0), (2, 0.1), (5, 3.0)])
def test_dots_and_odds_are_those_of_the_realised_law(size: int, epsilon: float) -> None:
    """Odds that are understated, and dots of the nominal law of another budget, are rejected."""
    mechanism = RandomizedResponse(Categorical([f"v{i}" for i in range(size)]), epsilon)
    law = mechanism.probabilities().astype(float)
    audited = audit(mechanism)
    panels = audited.plot().to_dict()
    example = audited.example
    assert example is not None
    x, z = (mechanism.domain.labels.index(each) for each in (example.answer, example.other))
    assert (example.sent, example.sent_by_other) == (law[x, x], law[x, z])
    dots = [
        sum(row["sends"] for row in _rows(inner, inner, panels))
        for inner in panels["vconcat"][0]["vconcat"]
    ]
    assert dots == [round(100 * law[x, x]), round(100 * law[x, z])]
    sentences = example.conclusions()
    assert len(sentences) == (2 if size == 2 else 1)
    said = float(
        sentences[0].partition("odds are ")[2].partition(" to 1")[0].removeprefix("at most ")
    )
    exact = law[x, x] / law[x, z]
    assert exact <= said * (1 + 1e-9) and said <= 1.02 * exact
    sure = float(sentences[0].partition("at most ")[2].partition("\N{NO-BREAK SPACE}%")[0]) / 100
    assert exact / (1 + exact) <= sure <= exact / (1 + exact) + 0.002


# Written from the papers: of people with an answer, the share who tick a box or send a report.
E = math.e
CHOSEN = 2 * E / (2 * E + 4)  # that a set of 2 of 6 labels has the true one, at epsilon 1
LAWS: dict[str, tuple[Mechanism, dict[tuple[str, str], float]]] = {
    "crosswise": (
        from_text("crosswise:1/4"),
        {("yes", "tick “different”"): 3 / 4, ("no", "tick “different”"): 1 / 4},
    ),
    "crosswise with a likely B": (
        from_text("crosswise:3/4"),
        {("yes", "tick “same”"): 3 / 4, ("no", "tick “same”"): 1 / 4},
    ),
    "warner, mostly the opposite": (
        from_text("warner:1/6"),
        {("yes", "tick “no”"): 5 / 6, ("no", "tick “no”"): 1 / 6},
    ),
    "forced, no the rarer": (
        from_text("forced:yes=1/4,no=1/12"),
        {("no", "tick “no”"): 3 / 4, ("yes", "tick “no”"): 1 / 12},
    ),
    "forced, of three answers": (
        from_text("forced:never=1/10,sometimes=3/20,often=1/20"),
        {("often", "tick “often”"): 0.75, ("sometimes", "tick “often”"): 0.05},
    ),
    "triangular": (
        from_text("triangular:1/4"),
        {("yes", "tick “either”"): 1.0, ("no", "tick “either”"): 1 / 4},
    ),
    "mangat": (
        from_text("mangat:2/3"),
        {("yes", "tick “yes”"): 1.0, ("no", "tick “yes”"): 1 / 3},
    ),
    "kuk": (
        from_text("kuk:4/5,1/5"),
        {("yes", "tick “red”"): 4 / 5, ("no", "tick “red”"): 1 / 5},
    ),
    "unrelated": (
        from_text("unrelated:2/3,1/4"),
        {("yes", "tick “yes”"): 3 / 4, ("no", "tick “yes”"): 1 / 12},
    ),
    "direct": (
        RandomizedResponse(COIN, 1.0),
        {
            ("yes", "send “yes”"): E / (E + 1),
            ("no", "send “yes”"): 1 / (E + 1),
        },
    ),
    "subsets: with f and without d": (
        SubsetSelection(Categorical(list("abcdef")), 1.0, size=2),
        {
            ("f", "send a report that points most to “f” and away from “d”"): CHOSEN * 4 / 5,
            ("d", "send a report that points most to “f” and away from “d”"): (1 - CHOSEN) * 2 / 5,
        },
    ),
}
SAID = re.compile(r"Of 100 people whose answer is “(.+?)”, ([\d.]+) (.+)\.$")


@pytest.mark.parametrize("name", LAWS)
def test_each_sentence_of_a_picture_is_of_the_same_report(name: str) -> None:
    """Rejects 25 for “yes” of "the report that points most to it": 75 of 100 send that one."""
    mechanism, law = LAWS[name]
    panels = audit(mechanism).plot().to_dict()["vconcat"][0]["vconcat"]
    titles = [" ".join(panel["title"]["text"]) for panel in panels]
    said = {}
    for title in titles:
        match = SAID.match(title)
        assert match is not None, title
        said[match[1], match[3]] = float(match[2])
    assert list(said) == list(law)
    for key, number in said.items():
        assert number == pytest.approx(100 * law[key], abs=0.5)


@pytest.mark.parametrize("name", ["triangular", "mangat"])
def test_a_box_that_shows_an_answer_is_said_to(name: str) -> None:
    """A picture that speaks of the protected answer alone is rejected."""
    example = example_of(LAWS[name][0])
    assert example is not None and example.conclusions()[1].startswith(
        "Somebody who sees the other box"
    )
    assert example.conclusions()[1].endswith("knows that the answer is not “yes”.")


def test_the_example_of_two_reports_of_bits_needs_no_list_of_their_parts() -> None:
    """Rejects an audit that ends in a refusal, which a check of the mechanism calls a fault."""
    twice = Repeated(UnaryEncoding(Categorical(["a", "b", "c"]), 1.0), 2)
    example = example_of(twice)
    assert example is not None and not example.is_value
    assert audit(twice).holds


def test_what_has_no_such_picture_is_refused() -> None:
    some = UtilityOptimizedRR(Categorical(["a", "b", "c"]), 1.0, sensitive=["a"])
    for mechanism in (SquareWave(Integers(0, 9), 1.0), some):
        assert example_of(mechanism) is None
        with pytest.raises(ArgumentError, match="has no typical report to show"):
            audit(mechanism).plot()


STUDY = """
[attributes.smokes]
label = "Do you smoke?"
values = ["0", "1"]
answers = {en = ["not at all", "every day"]}
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.hours]
integers = [0, 9]
mechanism = "SquareWave"
epsilon = 1.0
"""


def test_the_commands_draw_with_the_texts_of_the_study_or_say_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("hours.toml").write_text("[attributes.hours]" + STUDY.partition("[attributes.hours]")[2])
    Path("draft.toml").write_text('[attributes.a]\nlabel = "Ever?"\nvalues = ["no", "yes"]\n')
    out = run("audit", "study.toml", "--plot", "consent.svg")
    picture = Path("consent.svg").read_text()
    assert (
        "Not in the picture, because their reports do not point to one answer: hours." in out.stderr
    )
    assert "Do you smoke?" in picture and "answer is \u201cevery day\u201d, 73 send" in picture
    assert "of 100 people send “every day”" in picture.partition("</desc>")[0]
    alike = "".join(f'[attributes.{n}]\nvalues = ["off", "on"]\nepsilon = 1.0\n' for n in "abc")
    alike = alike.replace("epsilon", 'mechanism = "RandomizedResponse"\nepsilon')
    Path("alike.toml").write_text(alike)
    run("audit", "alike.toml", "--plot", "alike.svg")
    picture = Path("alike.svg").read_text()
    assert "a; b; c" in picture and picture.count(">Of 100 people whose answer is") == 2
    run("plan", "draft.toml", "--people", "300", "--plot", "people.svg")
    assert "Ever?" in Path("people.svg").read_text()
    for command, sentence in (
        (("audit", "hours.toml", "--plot", "p.svg"), "whose reports point to one answer"),
        (
            ("plan", "--design", "forced:a=1/10,b=1/5,c=1/20", "--plot", "p.svg"),
            "only if all designs have two answers",
        ),
        (("plan", "draft.toml", "--plot", "p.gif"), "must end in .png"),
        (("plan", "draft.toml", "--plot", "draft.toml"), "must not be one of the inputs"),
    ):
        assert sentence in run(*command, ok=False).stderr
    assert not Path("p.svg").exists()


def _rows(layer: dict[str, Any], panel: dict[str, Any], whole: dict[str, Any]) -> Any:
    data = layer.get("data") or panel.get("data") or whole["data"]
    return json.loads(data["values"])
