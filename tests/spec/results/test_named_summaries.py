"""Summaries that a text names: mean, median, shares above a limit, each with an interval."""

from __future__ import annotations

import numpy as np
import pytest

from warner import (
    Categorical,
    Estimate,
    Grid,
    Integers,
    Interval,
    Inversion,
    Laplace,
    RandomizedResponse,
    estimate,
)
from warner.errors import ArgumentError
from warner.results.named_summaries import estimate_rows, parse, summary_rows


def _numbers(domain: Integers | Interval) -> Estimate:
    rng = np.random.default_rng(3)
    mechanism = RandomizedResponse(domain, 3.0)
    values = rng.integers(0, 6, size=2000).tolist()
    return estimate(mechanism.tally(mechanism.randomize(values, rng=rng)), Inversion("project"))


def test_limits_above_and_below_do_not_count_and_those_of_between_do() -> None:
    shares = _numbers(Integers(0, 9))
    rows = summary_rows(shares, parse("below:4,between:4:4,above:4,between:0:4"))
    below, at, above, up_to = (row["estimate"] for row in rows)
    assert below + at + above == pytest.approx(1) and up_to == pytest.approx(below + at)
    assert at == pytest.approx(shares.probabilities[4])


def test_a_limit_within_a_bin_counts_its_part() -> None:
    shares = _numbers(Interval(0, 10, 10))
    rows = summary_rows(shares, parse("above:2.5,below:2.5"))
    p = shares.probabilities
    assert rows[0]["estimate"] == pytest.approx(p[2] / 2 + p[3:].sum())
    assert rows[0]["estimate"] + rows[1]["estimate"] == pytest.approx(1)


def test_rows_are_the_methods_of_the_estimate_and_can_be_made_again() -> None:
    shares = _numbers(Integers(0, 9))
    asked = parse("mean,variance,median,quantile:0.9")
    rows = summary_rows(shares, asked)
    expected = [shares.mean(), shares.variance(), shares.quantile(0.5), shares.quantile(0.9)]
    assert [row["estimate"] for row in rows] == expected
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows)
    assert summary_rows(shares, asked) == rows


def test_summaries_are_left_out_where_values_are_no_numbers() -> None:
    labels = RandomizedResponse(Categorical(["a", "b"]), 3.0)
    assert summary_rows(estimate(labels.tally(labels.randomize(["a"] * 50))), parse("mean")) == []
    places = RandomizedResponse(Grid(2, 2), 3.0)
    found = estimate(places.tally(places.randomize([(0, 1)] * 500)))
    rows = summary_rows(found, parse("mean,median,above:1"))
    assert [row["text"] for row in rows] == ["mean of coordinate 0", "mean of coordinate 1"]


@pytest.mark.parametrize(
    "text", ["", "mode", "mean:1", "above", "above:x", "above:nan", "between:3:1", "quantile:50"]
)
def test_texts_that_name_no_summary_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="summary: "):
        parse(text)


def test_a_limit_outside_the_domain_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"must lie in the domain, 0\.\.9; got 14"):
        summary_rows(_numbers(Integers(0, 9)), parse("above:14"))


def test_a_mean_is_no_share_beside_the_shares_of_a_question() -> None:
    height = Laplace(Interval(0.0, 100.0, 4), 2.0)
    tally = height.tally(height.randomize(np.full(300, 60.0), np.random.default_rng(1)))
    rows = list(estimate_rows(estimate(tally, "mean"), 0.95, "population"))
    assert [(row["is_share"], row["n"]) for row in rows] == [(False, 300)]
    assert 40 < rows[0]["estimate"] < 80
