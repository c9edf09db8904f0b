"""Which way of asking several attributes errs least, and clusters of those that depend."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import DOMAIN, family, fitted, keep, seen
from warner import Categorical, Estimate, Integers, Inversion, Product, RandomizedResponse
from warner.channels import KroneckerChannel
from warner.design.schemes import clusters, clusters_of, compare_schemes


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
    found = warner.design.compare_schemes(
        pair, 2.0, n=1000, theta=[0.45, 0.05, 0.05, 0.45], groups=[["a", "b"]], runs=3
    )
    assert "RR-Joint" in found.left_out["RR-Clusters"] and all(
        line.scheme != "RR-Clusters" for line in found.results
    )


def test_clusters_are_the_attributes_that_depend_as_far_as_they_fit() -> None:
    pair = family(np.full(4, 0.25), 0.6)
    domain = Product(a=Integers(0, 3), b=Integers(0, 3), c=Integers(0, 1), d=Integers(0, 1))
    theta = np.multiply.outer(pair, family(np.full(2, 0.5), 0.3)).ravel()
    assert clusters_of(domain, theta) == (("a", "b"), ("c", "d"))
    assert clusters_of(domain, theta, threshold=0.5) == (("a", "b"), ("c",), ("d",))
    assert clusters_of(domain, theta, largest=15) == (("a",), ("b",), ("c", "d"))
    data = seen(KroneckerChannel([keep(d) for d in domain.shape]), theta, 100_000, domain)
    assert (
        clusters(data)
        == clusters(Estimate(Inversion().fit(data), data, Inversion()))
        == (("a", "b"), ("c", "d"))
    )
    with pytest.raises(warner.errors.ArgumentError, match="threshold"):
        clusters(data, threshold=1.5)


def test_clusters_come_from_a_tally_of_pairs() -> None:
    """Three attributes of which two are one: no joint estimate of all is kept, and none is needed."""
    three = Product(
        a=Categorical(["x", "y"]), b=Categorical(["x", "y"]), c=Categorical(["x", "y", "z"])
    )
    survey = warner.PerAttribute(
        three, {name: lambda domain: RandomizedResponse(domain, 2.0) for name in "abc"}
    )
    rng = np.random.default_rng(0)
    x = rng.choice(["x", "y"], 5000)
    tally = survey.tally(
        survey.randomize({"a": x, "b": x, "c": rng.choice(["x", "y", "z"], 5000)}, rng), ways=2
    )
    assert clusters(tally) == (("a", "b"), ("c",))
    plain = RandomizedResponse(Categorical(["x", "y"]), 2.0)
    with pytest.raises(warner.errors.ArgumentTypeError, match="Product"):
        clusters(plain.tally(plain.randomize(x, rng)))
