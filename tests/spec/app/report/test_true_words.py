"""What a report says of privacy and of intervals is true for each kind of guarantee."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from tests.spec.app.report.test_report import _report, _words
from warner.app.report.content import answer_rows
from warner.app.report.question import Question, Settings
from warner.design.privacy_words import Strength, certainty, of_guarantee, of_mechanism, strength
from warner.domains import NO_ANSWER, with_missing
from warner.mechanisms.gaussian import Gaussian
from warner.privacy.guarantees import side_by_side

STATUS = warner.Categorical(["ill", "well", "fit"])


def test_with_a_delta_the_best_guess_is_bounded_and_no_single_report() -> None:
    """(1, 0.01): some reports tell more than epsilon says, with more than delta's probability."""
    delta = 0.01
    mechanism = Gaussian(warner.Interval(0, 1, 8), 1.0, delta)
    table = mechanism.channel().matvec(np.eye(8))
    first, last = table[:, 0], table[:, -1]
    assert first[first > math.e * last].sum() > 2 * delta  # so no "fails with probability delta"
    right = 0.5 + np.abs(first - last).sum() / 4
    said = float(certainty(1.0, delta).removesuffix("\N{NO-BREAK SPACE}%")) / 100
    assert right <= said
    likely = first > 1e-9
    assert (first / (first + last))[likely].max() > 0.9 > said  # of a single report
    (words,) = of_mechanism(mechanism)
    assert "is right in at most 73.4" in words and "rare cases" in words
    assert "In rare cases, somebody can be much surer" in words and "can fail" not in words


UNPROTECTED = "Not all answers were randomised"
MUCH, ALL = "It can be a lot", "It can be nearly everything"
SAYS_SO = ("chance kept or changed them", "hidden by chance", "is about a single person")


@pytest.mark.parametrize(
    ("epsilons", "said", "still_true"),
    [
        ((1.0, 2.9), None, SAYS_SO),
        ((1.0, 3.0), MUCH, SAYS_SO[2:]),  # 95.3 % sure
        ((1.0, 10.0), MUCH, SAYS_SO[2:]),  # 99.995 % sure
        ((10.5, 1.0), ALL, ()),
        ((1.0, math.inf), UNPROTECTED, ()),
        ((math.inf,), UNPROTECTED, ()),
    ],
)
def test_fixed_sentences_follow_the_question_that_is_protected_least(
    epsilons: tuple[float, ...], said: str | None, still_true: tuple[str, ...]
) -> None:
    """Rejects: "the answers of each person were randomised" where some were sent as they are."""
    coin = {f"x{i}": warner.RandomizedResponse(STATUS, e) for i, e in enumerate(epsilons)}
    answers: list[object] = [*STATUS.labels] * 30
    words = _words(_report(coin, dict.fromkeys(coin, answers)))
    assert {phrase for phrase in (UNPROTECTED, MUCH, ALL) if phrase in words} == {said} - {None}
    assert tuple(phrase for phrase in SAYS_SO if phrase in words) == still_true
    # Rejects it where a file of answers was randomised: no page knows what is stored elsewhere.
    assert "never stored" not in words
    exposed = math.inf in epsilons
    assert ("The answers of each person were randomised" in words) is not exposed
    assert ("Answers were sent without protection" in words) is exposed


def test_a_promise_is_of_the_most_distant_answers_and_of_all_rounds() -> None:
    numbers = warner.Integers(0, 1000)
    assert strength(warner.mechanisms.Geometric(numbers, 0.001).guarantee) is Strength.STRONG
    assert strength(warner.mechanisms.Geometric(numbers, 0.01).guarantee) is Strength.WEAK
    assert strength(warner.mechanisms.Geometric(numbers, 10.0).guarantee) is Strength.NONE
    rare = Gaussian(warner.Interval(0, 1, 8), 0.5, 1e-6)  # a rare report tells all
    assert strength(rare.guarantee) is Strength.WEAK
    coin, answers = warner.RandomizedResponse(STATUS, 1.0), [*STATUS.labels] * 30
    for rounds, hidden in ((1, True), (4, False)):
        words = _words(_report({"x": coin}, {"x": answers}, rounds=rounds))
        assert ("hidden by chance" in words) is hidden


def test_of_several_questions_all_sensitive_answers_are_needed() -> None:
    part = warner.UtilityOptimizedRR(STATUS, 1.0, ["ill"]).guarantee
    both = side_by_side({"a": part, "b": part})
    (words,) = of_guarantee(both, "all reports of one person", several=True)
    assert "People are protected only if they give a sensitive answer to each question" in words
    assert "at most 88.1" in words  # e^2 / (1 + e^2)
    survey = warner.UtilityOptimizedRR(STATUS, 1.0, ["ill"])
    answers: list[object] = [*STATUS.labels] * 30
    report = _report({"a": survey, "b": survey}, {"a": answers, "b": answers}, rounds=2)
    assert (
        _words(report).count(
            "People are protected only if they give a sensitive answer to each question"
        )
        == 2
    )


@pytest.mark.parametrize("also", [[], [NO_ANSWER]])
def test_who_answered_is_said_to_be_hidden_only_where_it_is(also: list[str]) -> None:
    survey = warner.UtilityOptimizedRR(with_missing(STATUS, "answer"), 3.0, ["ill", *also])
    assert survey.shows_nonresponse is not bool(also)
    both = warner.PerAttribute(
        warner.Product(a=survey.domain, b=STATUS),
        {"a": survey, "b": warner.RandomizedResponse(STATUS, 1.0)},
    )
    assert both.shows_nonresponse is survey.shows_nonresponse
    answers = ["ill", "well", "fit", None] * 100
    result = warner.estimate(survey.tally(survey.randomize(answers)))
    section = Question(result, Settings(), shows_nonresponse=survey.shows_nonresponse).section()
    assert ("is hidden, too" in str(section.blocks[0])) is bool(also)


def test_attributes_together_show_nonresponse_in_any_combination_that_is_not_sensitive() -> None:
    domain = warner.Product(a=with_missing(STATUS, "answer"), b=STATUS)
    silent = [value for value in domain.labels if value["a"] == NO_ANSWER]
    assert not warner.UtilityOptimizedRR(domain, 1.0, silent).shows_nonresponse
    assert warner.UtilityOptimizedRR(domain, 1.0, silent[1:]).shows_nonresponse
    assert not warner.RandomizedResponse(domain, 1.0).shows_nonresponse


def test_the_words_of_a_report_are_of_the_intervals_that_it_shows() -> None:
    """Rejects a page that speaks of intervals on average and shows others."""
    domain = warner.Categorical([f"s{i:02d}" for i in range(32)])
    mechanism = warner.HadamardResponse(domain, 2.0)
    rng = np.random.default_rng(0)
    answers = [domain.labels[i] for i in rng.geometric(0.3, 1000) % 32]
    result = warner.estimate(mechanism.tally(mechanism.randomize(answers, rng=rng)))
    assert Question(result, Settings(top=40)).interval_kind == "score"
    assert Question(result, Settings(top=5)).interval_kind == "simultaneous"
    # Tables by group show the largest shares of each group with these intervals.
    shown = [(row["low"], row["high"]) for row in answer_rows(result, 0.95, "population")]
    assert np.array_equal(shown, result.interval(kind="score"))
    report = _report({"s": mechanism}, {"s": answers})
    # Estimates, and not intervals, may be said to be right on average.
    assert "on average" not in _words(report).replace("right on average", "")


def test_a_report_of_a_card_says_what_was_done(tmp_path: Path) -> None:
    """Rejects sampled integers where dice were thrown, and steadied shares where none were."""
    study, counts, page = tmp_path / "s.toml", tmp_path / "c.csv", tmp_path / "r.html"
    study.write_text(
        '[attributes.copied]\nvalues = ["no", "yes"]\ndesign = "forced:1/6,1/6"\n'
        '[public.year]\nvalues = ["first", "second", "third"]\n'
    )
    counts.write_text("year,yes,no\nfirst,60,90\nsecond,40,110\nthird,70,80\n")
    tally = str(tmp_path / "t.json")
    run("tally", "--counts", str(counts), "--study", str(study), "-o", tally)
    run("report", tally, "--study", str(study), "-o", str(page))
    text = page.read_text()
    assert "not right on average" not in text and "integers that were sampled" not in text
    assert "such as by a die, a coin or a birthday" in text
    assert "It follows from the chances of the die, the coin or the birthday" in text


def test_every_column_that_can_be_read_beside_a_report_is_named(tmp_path: Path) -> None:
    """Rejects a list of the columns in use, where the file has ids and ages as well."""
    said, page, study = tmp_path / "said.csv", tmp_path / "r.html", tmp_path / "s.toml"
    words = ["yes", "no", "no"]
    rows = [f"p{i},{20 + i % 9},{'ns'[i % 2]},{words[i % 3]},{words[i % 7 % 3]}" for i in range(90)]
    said.write_text("\n".join(["id,age,ward,used,sold", *rows]))
    card = ("report", str(said), "--design", "used=forced:1/6,1/6", "--by", "ward", "-o", str(page))
    run(*card)
    text = page.read_text()
    assert "Whoever sees a report can read its public columns: ward." in text
    assert "The file also has the columns id, age, sold. Whoever sees the file can" in text
    # A study says that another column has what people ticked as well.
    of_question = 'values = ["no", "yes"]\ndesign = "forced:1/6,1/6"\n'
    study.write_text(f"[attributes.used]\n{of_question}[attributes.sold]\n{of_question}")
    run("report", str(said), "--study", str(study), "-o", str(page))
    assert "The file also has the columns id, age, ward. Whoever" in page.read_text()
    # Of reports, all public columns of their file stand in its header.
    study.write_text(
        '[attributes.used]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
        'epsilon = 1.0\n[public.age]\nintegers = [20, 28]\n[public.ward]\nvalues = ["n", "s"]\n'
    )
    answers, reports = tmp_path / "answers.csv", tmp_path / "reports.csv"
    answers.write_text("\n".join(["age,ward,used", *(f"{20 + i % 9},n,no" for i in range(90))]))
    run("randomize", str(study), str(answers), "-o", str(reports))
    run("report", str(reports), "-o", str(page))
    assert "Whoever sees a report can read its public columns: age, ward." in page.read_text()
