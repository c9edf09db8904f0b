"""Clusters of attributes that depend on each other."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import family, keep, seen
from warner import Categorical, Estimate, Integers, Inversion, Product, RandomizedResponse
from warner.channels import KroneckerChannel
from warner.design.schemes import clusters, clusters_of


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
