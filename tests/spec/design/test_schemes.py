"""Which way of asking several attributes errs least."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import DOMAIN, family, fitted
from warner import Integers, Inversion, Product
from warner.design.schemes import compare_schemes


def test_schemes_are_compared_at_one_total_budget() -> None:
    domain = Product(a=Integers(0, 3), b=Integers(0, 3), c=Integers(0, 1))
    theta = np.multiply.outer(family(np.array([0.4, 0.3, 0.2, 0.1]), 0.5), [0.3, 0.7]).ravel()
    found = compare_schemes(domain, 3.0, 5000, theta, runs=10)
    assert {line.scheme for line in found.results} == {
        "RR-Independent",
        "RR-Ind-Joint",
        "RR-Joint",
        "RR-Clusters",
    }
    assert all(
        sum(line.epsilons) == pytest.approx(3.0, abs=1e-9)
        and len(line.epsilons) == len(line.groups)
        for line in found.results
    )
    assert [line.error for line in found.results] == sorted(line.error for line in found.results)
    floors = {line.scheme: line.floor for line in found.results}
    assert (
        floors["RR-Independent"] > 0.01
        and floors["RR-Clusters"] == pytest.approx(0, abs=1e-12)
        and floors["RR-Joint"] == 0
    )
    for line in found.results:
        if line.expected is not None:
            assert abs(line.error - line.expected) < 6 * line.margin
    data = json.loads(json.dumps(found.to_json()))
    assert data["results"][0]["scheme"] == found.best.scheme and data["epsilon"] == 3.0
    assert [line.error for line in compare_schemes(domain, 3.0, 5000, theta, runs=10).results] == [
        line.error for line in found.results
    ]


def test_comparisons_take_estimates_and_refuse_what_they_cannot_compare() -> None:
    whole, _ = fitted(Inversion())
    found = compare_schemes(DOMAIN, 2.0, 1000, whole, groups=[["sex", "pay"]], runs=3, loss="l1")
    assert {line.groups for line in found.results if line.scheme == "RR-Clusters"} == {
        (("sex", "pay"), ("age",))
    }
    alone = compare_schemes(DOMAIN, 2.0, 1000, np.full(24, 1 / 24), runs=3)
    assert "RR-Clusters" in alone.left_out
    with pytest.raises(warner.errors.ArgumentError, match="on the same domain"):
        compare_schemes(Product(a=Integers(0, 1), b=Integers(0, 1)), 2.0, 1000, whole)
    with pytest.raises(warner.errors.ArgumentTypeError, match="Product"):
        compare_schemes(Integers(0, 3), 2.0, 1000, [0.25] * 4)  # type: ignore[arg-type]
    with pytest.raises(warner.errors.BudgetError):
        compare_schemes(DOMAIN, 0.0, 1000, np.full(24, 1 / 24))


def test_one_group_of_all_attributes_is_the_joint_scheme() -> None:
    pair = Product(a=Integers(0, 1), b=Integers(0, 1))
    found = warner.compare_schemes(
        pair, 2.0, n=1000, theta=[0.45, 0.05, 0.05, 0.45], groups=[["a", "b"]], runs=3
    )
    assert "RR-Joint" in found.left_out["RR-Clusters"] and all(
        line.scheme != "RR-Clusters" for line in found.results
    )
