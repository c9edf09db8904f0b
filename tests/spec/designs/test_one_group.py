"""Designs for paper: what they promise, what they print, and what they refuse."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

import warner
from tests.refusals import refused
from warner import Categorical, Tally, estimate
from warner.designs import (
    Crosswise,
    ForcedResponse,
    Kuk,
    Mangat,
    PaperDesign,
    Triangular,
    Unrelated,
    Warner,
    chance,
    draw_with,
    from_text,
)
from warner.designs.texts import BY_NAME, EXAMPLES, NAMES_OF_GROUPS
from warner.designs.two_groups import GROUPS_BY_NAME
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, ReportError
from warner.mechanisms import from_header
from warner.studies.study import Study

OFTEN = {"never": "1/10", "sometimes": "3/20", "often": "1/20"}
DESIGNS: list[PaperDesign] = [
    Warner("5/6"),
    Warner(0.3),
    ForcedResponse("1/6", "1/12"),
    ForcedResponse(yes="1/6", no=0),
    ForcedResponse(answers=OFTEN),
    Crosswise("1/4"),
    Triangular("91/365"),
    Unrelated("2/3", "1/4"),
    Kuk(0.8, 0.25),
    Kuk("4/5", "1/4", draws=5),
    Mangat(0.6),
]
EACH = pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.text)


@EACH
def test_a_design_comes_back_from_its_text_and_its_header(design: PaperDesign) -> None:
    assert from_text(design.text, design.domain) == design
    again = from_header(design.header)
    assert again == design and type(again) is type(design)
    names = {name: getattr(warner.designs, name) for name in warner.designs.__all__}
    assert eval(repr(design), {**names, "Categorical": Categorical}) == design


@EACH
def test_the_guarantee_is_that_of_the_exact_table(design: PaperDesign) -> None:
    """Rejects a law of rounded chances, and a one-sided design that claims both answers."""
    table = design.probabilities()
    assert (table.sum(axis=0) == 1).all()
    result = warner.audit(design)
    assert result.holds and result.epsilon == design.epsilon == design.law.worst_epsilon()
    ruled_out = (table == 0).any()
    assert bool(design.sensitive) == ruled_out
    if ruled_out:
        assert design.sensitive == ["yes"]
        assert warner.audit(warner.MatrixMechanism(design.domain, table.astype(float))).epsilon == (
            np.inf
        )


def test_odds_are_exact_fractions() -> None:
    """Rejects odds of the nearest floats: 1/6 and 5/6 have none."""
    assert Warner(5 / 6).law.ratio() == ForcedResponse(1 / 6, 1 / 6).law.ratio() == 5
    assert Crosswise(0.25).law.ratio() == 3
    assert Triangular("1/4").law.ratio() == 4 and Mangat("2/3").law.ratio() == 3
    assert Kuk("4/5", "1/4", draws=3).law.ratio() == Fraction(15, 4) ** 3
    assert ForcedResponse(answers=OFTEN).law.ratio() == 15
    assert Unrelated("2/3", "1/4").law.ratio() == 9


def test_chances_are_what_people_write() -> None:
    for written in ("1/4", 0.25, ".25", "25 %", Fraction(1, 4), " 1/4 ", np.float64(0.25)):
        assert chance("p", written) == Fraction(1, 4)
    assert chance("p", 2 / 12) == Fraction(1, 6) and chance("p", 0.3333) == Fraction(3333, 10000)
    for wrong in ("a quarter", "1/0", "", "nan", float("nan"), float("inf"), -0.1, 1.5, 0, 1, 25):
        refused(ArgumentError, "p: must be a chance", chance, "p", wrong)
    assert "write '25 %'" in refused(ArgumentError, "", chance, "p", 25)
    for wrong in (True, None, [0.25], 1j):
        refused(ArgumentTypeError, "p: must be a chance", chance, "p", wrong)


@EACH
def test_reports_are_drawn_from_the_table(design: PaperDesign) -> None:
    """Rejects a table whose rows and columns are exchanged, and a sampler with others' chances."""
    rng = np.random.default_rng(1)
    for x, value in enumerate(design.domain.labels):
        tally = design.tally(design.randomize([value] * 20_000, rng))
        p = design.probabilities()[:, x].astype(float)
        assert (np.abs(tally.counts - 20_000 * p) <= 6 * np.sqrt(20_000 * p * (1 - p))).all()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("crosswise:1/2", "make all reports useless"),
        ("crosswise:0", "must be a chance"),
        (
            "crosswise:",
            "crosswise takes the value p; got 'crosswise:'. For example 'crosswise:1/4'",
        ),
        ("crosswise:1/4,1/4", "crosswise takes the value p"),
        ("crosswise:q=1/4", "crosswise takes the value p"),
        ("crossways:1/4", "Is 'crosswise' meant"),
        ("forced:1/6,1/12", "forced:yes=1/6,no=1/12"),
        ("forced:1/6", "must have two chances"),
        ("forced:yes=1/2,no=1/2", "have a sum below 1"),
        ("forced:yes=0,no=1/6", "whose answer is yes"),
        ("unrelated:.7,q=.2", "must name all chances or none"),
        ("kuk:4/5,1/4,two", "draws: must be a whole number"),
        ("kuk:4/5,4/5", "make all reports useless"),
        ("kuk:4/5,0", "whose answer is yes"),
        ("kuk:.123,.234,20", "are too complicated to be drawn"),
    ],
)
def test_texts_that_are_no_design_are_refused(text: str, wrong: str) -> None:
    refused((ArgumentError, ArgumentTypeError), re.escape(wrong), from_text, text)


def test_answers_stand_in_the_order_no_yes() -> None:
    """Rejects a design that takes the first of yes and no for no: 0.86 for 0.14."""
    refused(ArgumentError, "no first", Crosswise, "1/4", Categorical(["yes", "no"]))
    refused(
        ArgumentError, "For more answers use ForcedResponse", Warner, 0.7, warner.Integers(0, 2)
    )
    used = Categorical(["never used", "used"])
    said = Tally.from_counts(Crosswise("1/4", used), {"same": 680, "different": 320})
    assert round(estimate(said)["used"], 4) == 0.14


def test_counts_are_in_the_words_of_the_design() -> None:
    said = {"same": 680, "different": 320}
    tally = Tally.from_counts(Crosswise("1/4"), said)
    assert tally.counts.tolist() == [320, 680] and tally.n == 1000
    for words in ({"A": 680, "B": 320}, {" Different": 320, "SAME": 680}):
        assert Tally.from_counts(Crosswise("1/4"), words) == tally
    draws = Kuk("4/5", "1/4", draws=2)
    assert Tally.from_counts(draws, {0: 1, 1: 2, 2: 3}).counts.tolist() == [1, 2, 3]
    coin = warner.RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    assert Tally.from_counts(coin, {"yes": 17, "no": 13}).counts.tolist() == [13, 17]


@pytest.mark.parametrize(
    ("counts", "error", "wrong"),
    [
        ({"yes": 680, "no": 320}, ReportError, "must be different or same, or A or B; got 'yes'"),
        ({"same": 680}, ArgumentError, "lack the word 'different'. Write different=0"),
        ({"same": 1, "A": 2, "different": 3}, ArgumentError, "twice"),
        ({"same": -1, "different": 3}, ArgumentError, "at least 0"),
        ({"same": 1.0, "different": 3}, ArgumentTypeError, "a whole number"),
        ({"same": 0, "different": 0}, EmptyError, "at least one person"),
        ([680, 320], ArgumentTypeError, "must be a dict {word: number of people}"),
    ],
)
def test_counts_in_other_words_are_refused(counts: Any, error: type[Exception], wrong: str) -> None:
    """Rejects counts by position: crosswise "yes", read the other way, gives 0.86 for 0.14."""
    refused(error, re.escape(wrong), Tally.from_counts, Crosswise("1/4"), counts)


def test_reports_without_words_have_no_counts_by_word() -> None:
    bits = warner.UnaryEncoding(Categorical(["a", "b"]), 1.0)
    refused(
        ReportError, "cannot be read as words, because", Tally.from_counts, bits, {"a": 1, "b": 2}
    )


@EACH
def test_a_card_says_the_rule_and_has_a_box_for_each_report(design: PaperDesign) -> None:
    card = design.card("Have you ever taken cannabis?")
    assert "Have you ever taken cannabis?" in str(card)
    assert len(card.boxes) == design.n_reports
    assert {design.report_code(box.split(", ")[0]) for box, _ in card.boxes} == set(
        range(design.n_reports)
    )
    assert all(len(line) <= 80 for line in str(card).splitlines())
    assert ("shows that your answer is not" in card.protects) == bool(design.sensitive)


def test_draws_have_exactly_their_chances() -> None:
    """Rejects ranges of faces that overlap or miss one: the faces of each outcome are counted."""
    chances = [Fraction(1, 6), Fraction(1, 3)]
    assert draw_with(chances).when == ("the die shows 1", "the die shows 2 or 3")
    assert draw_with(chances).otherwise == "it shows 4, 5 or 6"
    sums = draw_with([Fraction(1, 6), Fraction(1, 12)])
    ways = {total: 6 - abs(7 - total) for total in range(2, 13)}
    assert sums.when == ("the sum is 2, 3 or 4", "the sum is 11 or 12")
    assert ways[2] + ways[3] + ways[4] == 6 and ways[11] + ways[12] == 3
    assert draw_with([Fraction(3, 20)]).when == ("the number is 1, 2 or 3",)
    assert draw_with([Fraction(3, 20)]).brings.startswith("Bring 20 cards")
    assert "colour 60 degrees red" in draw_with([Fraction(1, 6)], "spinner").brings
    assert draw_with([Fraction(123, 1000)]).what.startswith("Spin")
    birthdays = draw_with([Fraction(31, 365), Fraction(28, 365)]).when
    assert [text.partition(" is ")[2] for text in birthdays] == [
        "from 1 January to 31 January",
        "from 1 February to 28 February",
    ]
    text = refused(
        ArgumentError,
        "'birthday' cannot give exactly the chance 1/4",
        draw_with,
        [Fraction(1, 4)],
        "birthday",
    )
    assert "write 90/365 in the design (a birthday from 1 January to 31 March)" in text
    assert draw_with([Fraction(90, 365)], "birthday").when[0].endswith("from 1 January to 31 March")
    assert "Use 'coin' or 'cards' or 'spinner'. To keep the birthday" in text
    text = refused(
        ArgumentError,
        "the chances 9/25 and 1/25",
        draw_with,
        [Fraction(9, 25), Fraction(1, 25)],
        "birthday",
    )
    assert "131/365 and 15/365" in text and "from 12 May to 26 May" in text


def test_both_draws_of_an_unrelated_question_are_independent() -> None:
    """Rejects one birthday for both draws: who was not born by 28 August was not born by 1 April."""
    steps = Unrelated("240/365", "91/365").card().steps
    assert "is that birthday from 1 January to 1 April?" in steps[1]
    assert "of another person" in steps[2] and "your father" in steps[2]
    assert steps[3].startswith("If that birthday is from")
    assert "mother" not in steps[2] + steps[3]
    steps = Unrelated("2/3", "1/6").card().steps
    assert "did the die show 1?" in steps[1] and steps[2].startswith(
        "Whatever you got before, now throw"
    )
    assert steps[3].startswith("If the die shows 1 to 4 this time, answer question A.")


@pytest.mark.parametrize("shares", [("4/5", "1/4"), ("2/3", "1/4"), ("1/2", "1/50"), (0.123, 0.5)])
def test_packs_of_kuk_are_of_one_size(shares: tuple[Any, Any]) -> None:
    """Rejects packs of different size, whose pile shows the answer."""
    brings = Kuk(*shares, draws=2).card().brings
    packs = re.findall(r"Pack \d: (\d+) red cards and (\d+) black", brings)
    sizes = {int(red) + int(black) for red, black in packs}
    assert len(packs) == 2 and len(sizes) == 1
    for share, (red, black) in zip(shares, packs, strict=True):
        assert Fraction(int(red), int(red) + int(black)) == chance("p", share)
    assert "all cards have the same back" in brings
    boxes = Kuk(*shares, draws=2).card().boxes
    assert boxes == (("0", "no red card"), ("1", "1 red card"), ("2", "2 red cards"))


def test_the_second_question_reads_as_a_question() -> None:
    asked = {
        "coin": "did both tosses show heads?",
        "cards": "is the number 1?",
        "spinner": "did it stop on red?",
    }
    for design in (Crosswise("1/4"), Triangular("1/4")):
        for by, text in asked.items():
            assert f"Question B (only you know it): {text}" in design.card(by=by).steps[1]


@pytest.mark.parametrize(
    "answers",
    [
        ["ja", "nein"],
        ["OUI", "non"],
        ["sí", "no"],
        ["Sí, claro", "nunca"],
        ["positive", "negative"],
        ["да", "нет"],
        ["evet", "hayır"],
        ["نعم", "لا"],
        ["是", "否"],
        ["used", "never"],
        ["ever", "Nein."],
        [True, False],
    ],
)
def test_yes_is_not_the_first_answer_in_any_language(answers: list[Any]) -> None:
    """Rejects English words alone: the yes of the card was then counted for "nein"."""
    text = refused(ArgumentError, "the answer no first", Warner, "5/6", Categorical(answers))
    assert f"Write values = {[str(each) for each in answers[::-1]]}" in text
    assert Warner("5/6", Categorical(answers[::-1])).means_yes == answers[0]


def test_names_of_designs_of_groups_are_those_that_are_made() -> None:
    assert tuple(GROUPS_BY_NAME) == NAMES_OF_GROUPS
    assert not set(BY_NAME) & set(NAMES_OF_GROUPS) and list(EXAMPLES) == list(BY_NAME)


def test_unnamed_chances_of_several_answers() -> None:
    """Rejects two equal chances of three answers, which were given to all three."""
    three = Categorical(list(OFTEN))
    design = ForcedResponse(answers=dict.fromkeys(OFTEN, "1/6"), domain=three)
    assert from_text("forced:1/6", three) == from_text("forced:1/6,1/6,1/6", three) == design
    refused(ArgumentError, "one for each answer", from_text, "forced:1/6,1/6", three)
    text = refused(ArgumentError, "which answer", from_text, "forced:1/6,1/6,1/9", three)
    assert "forced:never=1/6,sometimes=1/6,often=1/9" in text


def test_a_design_is_not_for_devices() -> None:
    """Rejects a study on paper whose refusal does not say how the same is asked on phones."""
    rule = "people draw cards or throw dice themselves"
    text = refused(ArgumentTypeError, rule, Crosswise("1/4").device_program)
    lines = re.findall(r"mechanism = \"\w+\"|epsilon = [\d.]+\d", text)
    study = '[attributes.q]\nvalues = ["no", "yes"]\n'
    of_phones = Study.parse(study + "\n".join(lines)).mechanisms["q"]
    assert of_phones.device_program()
    assert 0.99 * math.log(3) < of_phones.epsilon <= math.log(3)
    assert "epsilon = 1." in refused(ArgumentTypeError, rule, Mangat("2/3").device_program)


def test_a_design_with_degrees_left_tests_itself() -> None:
    """Rejects counts of several draws, or of two cards, without a word on how badly they fit."""
    kuk = Kuk("4/5", "1/5", draws=3)
    counts = np.array([230.0, 200.0, 200.0, 170.0])
    result = estimate(Tally.from_counts(kuk, dict(zip("0123", counts.astype(int), strict=True))))
    law = np.asarray(kuk.probabilities(), dtype=float) @ result.probabilities
    statistic = 2 * float(counts @ np.log(counts / (counts.sum() * law)))
    p = scipy.stats.chi2.sf(statistic, 2)
    said = f"as badly as this one is p = {p:.3g} (chi-square {statistic:.3g} with 2 degrees of freedom)."
    assert said in " ".join(str(result.table()).split())
    one_draw = estimate(Tally.from_counts(Crosswise("1/4"), {"same": 300, "different": 100}))
    assert "Test of the design" not in str(one_draw.table())
    # Two reports of one person are not two people.
    cards = [Warner("0.7"), Warner("0.2")]
    both = [
        Tally.from_counts(card, {"yes": yes, "no": 400 - yes}).per_person(2)
        for card, yes in zip(cards, (200, 190), strict=True)
    ]
    assert "Test of the design" not in str(estimate(both).table())
