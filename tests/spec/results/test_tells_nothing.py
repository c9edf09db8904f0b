"""Reports that tell almost nothing: one sentence under every table of them."""

import re

import numpy as np
import pytest

from warner import Categorical, Integers, RandomizedResponse, SquareWave, SubsetSelection, estimate
from warner.mechanisms import Mechanism

AGES = Integers(0, 100)
LABELS = Categorical(["a", "b", "c"])


def _note(mechanism: Mechanism, n: int, **groups: object) -> str:
    answers = mechanism.domain.decode(np.arange(n) % 2)
    reports = mechanism.randomize(answers, np.random.default_rng(5))
    return str(estimate(mechanism.tally(reports, **groups)).table())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mechanism", "n", "needed"),
    [
        (RandomizedResponse(LABELS, 0.01), 2000, "For intervals of ±5 points, about 3"),
        (RandomizedResponse(LABELS, 1.0), 20, "For intervals of ±5 points, about 2,600 reports"),
        (SquareWave(AGES, 0.01), 2000, "For intervals of ±5 %, about 15,000,000"),
        # As the interval of the mean says, which smoothness makes narrower than the reports alone.
        (SquareWave(AGES, 0.1), 1000, "they give the mean to ±31 % of the range at best"),
    ],
)
def test_it_is_said(mechanism: Mechanism, n: int, needed: str) -> None:
    note = " ".join(_note(mechanism, n).split())
    assert "These reports tell almost nothing" in note and needed in note


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (RandomizedResponse(LABELS, 1.0), 500),
        # Single shares are hardly known, and the mean is.
        (SquareWave(AGES, 1.0), 1000),
        (SubsetSelection(AGES, 1.0), 2000),  # of which many rows are made by each report
    ],
)
def test_reports_that_tell_something_go_without(mechanism: Mechanism, n: int) -> None:
    assert "almost nothing" not in _note(mechanism, n)


@pytest.mark.parametrize("n", [1, 3, 40])
def test_few_reports_need_as_many_in_all_as_more_reports_do(n: int) -> None:
    assert "about 2,600 reports" in " ".join(_note(RandomizedResponse(LABELS, 1.0), n).split())


@pytest.mark.parametrize(
    ("clusters", "needed"),
    [
        (
            40,
            r"about ([\d,]+) reports are needed if people are drawn with this design effect of ([\d.]+\d)",
        ),
        (4, "about 2,600 reports are needed if people are drawn one by one, and more with cl"),
    ],
)
def test_what_is_needed_allows_for_the_survey_design(clusters: int, needed: str) -> None:
    """Rejects 2,600 reports for +-5 points, where weights make people tell a fraction of that."""
    mechanism = RandomizedResponse(LABELS, 1.0)
    reports = mechanism.randomize(LABELS.decode(np.arange(40) % 2), np.random.default_rng(5))
    drawn = {"w": np.arange(40) % 10 * 5 + 1, "c": np.arange(40) % clusters}
    roles = {"weights": "w"} if clusters == 40 else {"weights": "w", "cluster": "c"}
    tally = mechanism.tally(reports, by={name: drawn[name] for name in roles.values()})
    result = estimate(tally, **roles)  # type: ignore[call-overload]
    match = re.search(needed, " ".join(str(result.table()).split()))
    assert match is not None
    if clusters == 40:
        people, effect = (float(group.replace(",", "")) for group in match.groups())
        assert effect > 1.2 and people == pytest.approx(2600 * effect, rel=0.03)


def test_groups_too() -> None:
    mechanism, wards = RandomizedResponse(LABELS, 0.1), {"ward": np.arange(900) % 3}
    assert "almost nothing" in _note(mechanism, 900, by=wards)


def test_small_groups_among_large_ones_are_counted() -> None:
    """Rejects the mean over all groups, by which two reports are as good as two thousand."""
    wards = np.repeat(["a", "b", "c", "d"], [2000, 2000, 2, 15]).tolist()
    note = " ".join(_note(RandomizedResponse(LABELS, 1.0), 4017, by={"ward": wards}).split())
    assert "2 of 4 groups tell almost nothing: with 2 to 15 reports each, an" in note
    wards = np.repeat(["a", "b", "c", "d"], [2000, 2000, 15, 15]).tolist()
    note = " ".join(_note(RandomizedResponse(LABELS, 1.0), 4030, by={"ward": wards}).split())
    assert "groups tell almost nothing: with 15 reports each" in note
    wards = np.repeat(["a", "b", "c"], [2000, 2000, 2]).tolist()
    note = " ".join(_note(RandomizedResponse(LABELS, 1.0), 4002, by={"ward": wards}).split())
    assert "1 of 3 groups tells almost nothing: with 2 reports, an interval" in note
    wards = np.repeat(["a", "b"], 2000).tolist()
    assert "almost nothing" not in _note(RandomizedResponse(LABELS, 1.0), 4000, by={"ward": wards})


def test_fifty_times_the_reports_are_no_longer_called_so() -> None:
    # The stated number is what makes intervals of five points, far below the bound.
    mechanism = RandomizedResponse(LABELS, 1.0)
    reports = mechanism.randomize(["a", "b"] * 950, np.random.default_rng(5))
    widths = np.diff(estimate(mechanism.tally(reports)).interval(), axis=1)
    assert widths.mean() / 2 == pytest.approx(0.05, rel=0.15)
