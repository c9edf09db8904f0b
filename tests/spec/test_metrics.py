"""Metrics: what they are, and what they refuse."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import warner
from tests.refusals import refused
from warner import Integers, metrics
from warner.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from warner.metrics import earth_movers, quantiles, sum_of_squares
from warner.theory import expected_loss


def test_shares_with_labels_are_not_read_by_position() -> None:
    """Rejects: 0.4 for 0, of a series in the order of the largest shares."""
    counted = pd.Series({"b": 0.7, "a": 0.3})
    for function in (metrics.l1, metrics.total_variation, metrics.kullback_leibler):
        with pytest.raises(ArgumentTypeError, match=r"series.reindex\(domain.labels"):
            function([0.3, 0.7], counted)
    with pytest.raises(ArgumentTypeError, match=r"theta: .* without labels"):
        warner.plan(warner.Categorical(["a", "b"]), 1.0, n=100, theta=counted)
    listed = pd.Series([0.3, 0.7])
    assert metrics.l1([0.3, 0.7], listed) == 0
    assert metrics.l1([0.3, 0.7], counted.reindex(["a", "b"]).to_numpy()) == 0


def test_metrics_are_what_they_say() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert metrics.l1(p, q) == pytest.approx(0.6)
    assert metrics.total_variation(p, q) == pytest.approx(0.3)
    assert metrics.sum_of_squares(p, q) == pytest.approx(0.18)
    assert metrics.mean_squared_error(p, q) == pytest.approx(0.06)
    assert metrics.mean_absolute_error(p, q) == pytest.approx(0.2)
    assert metrics.mean_absolute_error(p, q, top=0.1) == pytest.approx(0.3)
    assert metrics.wasserstein1(p, q) == pytest.approx(0.6)
    assert metrics.wasserstein1(p, q, spacing=2) == pytest.approx(1.2)
    assert metrics.jensen_shannon(p, q) == pytest.approx(metrics.jensen_shannon(q, p))
    assert metrics.jensen_shannon(p, p) == 0


@pytest.mark.parametrize(
    "p, q",
    [([1], [1, 2]), ([], []), ([[1]], [[1]]), ([float("nan")], [1]), ("a", "b"), (None, None)],
)
def test_metrics_refuse_what_is_no_pair(p: object, q: object) -> None:
    for metric in (
        metrics.l1,
        metrics.sum_of_squares,
        metrics.jensen_shannon,
        metrics.wasserstein1,
    ):
        refused((ArgumentError, ArgumentTypeError), "", metric, p, q)
    refused(ArgumentError, "no negative numbers", metrics.jensen_shannon, [1.5, -0.5], [0.5, 0.5])


def test_earth_movers_refuses_what_cannot_be_moved() -> None:
    half, points = [0.5, 0.5], [0.0, 1.0]
    for p, q, where, complaint in (
        (half, [0.5, 0.6], points, "q: must have the same sum as p, which sums to 1; got 1.1"),
        (half, [1.5, -0.5], points, "must have no negative numbers"),
        (half, half, [0.0], "points: must have shape"),
        (half, half, [0.0, float("nan")], "points: must be finite"),
        (half, half, "ab", "points: must be an array"),
        (half, half, np.ones((2, 1, 1)), "points: must have shape"),
        (half, [1.0], points, "q: must have as many numbers as p, which has 2; got 1"),
    ):
        said = refused((ArgumentError, ArgumentTypeError), "", metrics.earth_movers, p, q, where)
        assert complaint in said
    assert metrics.earth_movers(half, half, warner.Grid(1, 2).points) == 0


def test_without_the_extra_earth_movers_on_a_grid_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    assert metrics.earth_movers([1, 0], [0, 1], [[0.0], [2.0]]) == 2
    with pytest.raises(MissingExtraError, match=r"warner\[emd\]"):
        metrics.earth_movers([1, 0], [0, 1], warner.Grid(1, 2).points)


def test_range_and_quantile_errors_refuse_what_has_no_such_error() -> None:
    p = [0.5, 0.5]
    for width in (0, 3, 0.0, 1.0, float("nan"), "1", True):
        refused((ArgumentError, ArgumentTypeError), "width", metrics.range_error, p, p, width)
    for qs in (-0.1, [0.5, 1.1], [], float("nan"), "x", [[0.5]]):
        refused((ArgumentError, ArgumentTypeError), "qs", metrics.quantile_error, p, p, qs, [0, 1])
    for points in ([1, 0], [0, 0], [0], np.ones((2, 2))):
        refused(ArgumentError, "points", metrics.quantile_error, p, p, 0.5, points)
    with pytest.raises(ArgumentError, match="must be shares"):
        metrics.quantile_error(p, [0.5, 0.4], 0.5, [0, 1])


# Metrics take shares that sum to one within rounding.


def test_metrics_take_shares_that_sum_to_one_within_rounding() -> None:
    theta = np.full(3, 1 / 3) * (1 + 9e-13)
    assert sum_of_squares(theta, np.full(3, 1 / 3)) < 1e-20
    assert quantiles(theta, [1.0], [0, 1, 2]).tolist() == [2.0]
    assert earth_movers(theta, np.full(3, 1 / 3), [0, 1, 2]) < 1e-11
    assert expected_loss(Integers(0, 2), theta, 10) > 0
