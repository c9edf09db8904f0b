"""Projections and other post-processing against their definitions."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from warner.metrics import base_cut, normalize, project, threshold


@pytest.mark.parametrize("seed", range(20))
def test_projection_satisfies_its_optimality_conditions(seed: int) -> None:
    """p = argmin |p - v|^2 on the simplex iff v - p is constant on the support and no larger off
    it.
    """
    v = np.random.default_rng(seed).normal(0.1, 0.3, 1 + seed)
    p = project(v)
    assert p.sum() == pytest.approx(1, abs=1e-12) and (p >= 0).all()
    slack = v - p
    on = p > 0
    assert slack[on] == pytest.approx(np.full(on.sum(), slack[on][0]), abs=1e-12)
    assert (slack[~on] <= slack[on][0] + 1e-12).all()


def test_post_processing_at_its_edges() -> None:
    negative = np.array([-0.5, -0.1, -0.4])
    assert project(negative) == pytest.approx(negative + 2 / 3)
    assert normalize(negative).tolist() == [1 / 3] * 3
    assert base_cut(negative).tolist() == [0, 0, 0]
    assert base_cut(np.array([1.4, 0.2])).tolist() == [1, 0]
    whole = np.array([0.4, 0.25, 0.2, 0.1, 0.05]) + 1e-16
    assert (base_cut(whole[::-1]) > 0).all(), "rounding must not cost the last share"
    assert threshold(np.array([0.9, 0.4, 0.0]), np.full(3, 0.01)) == pytest.approx(
        [0.9 / 1.3, 0.4 / 1.3, 0]
    )
    assert threshold(np.array([0.4, 0.4]), np.full(2, 0.01)) == pytest.approx([0.5, 0.5])
    assert threshold(np.array([0.3, 0.0, 0.0]), np.zeros(3)) == pytest.approx([0.3, 0.35, 0.35])
    # Threshold by the slow rule: above z(1 - alpha / K) sd.
    v, sd = np.array([0.30, 0.25, 0.20, -0.1]), np.full(4, 0.1)
    z = 2.2414027276  # the 0.9875 quantile
    assert threshold(v, sd) == pytest.approx([0.30, 0.25, 0.225, 0.225]) and 0.25 > z * 0.1 > 0.20


def test_pure_python_projection() -> None:
    """By bisection on the number that is subtracted."""
    v = np.random.default_rng(3).normal(0, 1, 50)
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    assert project(v) == pytest.approx(np.maximum(v - low, 0), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6, 1e12, 1e18])
def test_projections_sum_to_one_at_every_scale(scale: float) -> None:
    """Rejects the sum without the largest taken off first: it loses the 1 in entries of 1e6, and
    finds nothing to keep in those of 1e18.
    """
    for seed in range(20):
        v = scale * np.random.default_rng(seed).normal(size=5)
        for entries in (v, v - v.mean(), v + 1 - v.sum(), np.repeat(v[:1], 5)):
            found = project(entries)
            assert abs(found.sum() - 1) <= 1e-12 and (found >= 0).all()
            assert found.argmax() == entries.argmax() or found.max() == found[entries.argmax()]


@pytest.mark.parametrize("seed", range(10))
def test_post_processing_is_its_definition(seed: int) -> None:
    """[P3 app. E] and [P2 sec 6] word by word."""
    v = np.random.default_rng(seed).normal(0.08, 0.15, 12)
    kept, total = np.zeros(12), 0.0  # Base-Cut: in decreasing order, until the total is reached
    for x in sorted(range(12), key=lambda x: -v[x]):
        if v[x] <= 0 or total + v[x] > 1:
            break
        kept[x] = v[x]
        total += v[x]
    if total > 0:
        assert base_cut(v) == pytest.approx(kept, abs=1e-15)
    # Norm-Sub: negatives to 0, a constant added to the rest, until the sum is 1 with none negative
    shares = v.copy()
    for _ in range(50):
        shares = np.maximum(shares, 0)
        on = shares > 0
        shares[on] += (1 - shares.sum()) / on.sum()
    if v.sum() >= 1 or np.maximum(v, 0).sum() >= 1:
        assert project(v) == pytest.approx(shares, abs=1e-12)
    limit = NormalDist().inv_cdf(1 - 0.05 / 12) * 0.1  # emp+thr
    large = [x for x in range(12) if v[x] > limit]
    left = 1 - sum(v[x] for x in large)
    expected = [v[x] if x in large else max(left, 0.0) / (12 - len(large)) for x in range(12)]
    expected = [share / max(1.0, 1 - left) for share in expected]
    assert threshold(v, np.full(12, 0.1)) == pytest.approx(expected, abs=1e-12)
