"""Laws of graphical models: marginals agree with each other, samples have the model's law."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from tests.spec.results._graphical import NAMES, model
from warner.estimators.raked_tables import margin


def test_marginals_agree_with_each_other() -> None:
    found = model()
    for names in combinations(NAMES[:5], 3):
        table = found.marginal(names)
        for axis, name in enumerate(names):
            assert margin(table, [axis]) == pytest.approx(found.marginal(name), abs=1e-5)
        # Two larger tables have the same table of their first two attributes.
        other = found.marginal([*names[:2], NAMES[5]])
        assert other.sum(axis=2) == pytest.approx(table.sum(axis=2), abs=1e-5)
    for first, second in found.edges:
        axes = tuple(NAMES.index(name) for name in (first, second))
        assert found.tree.marginal(axes) == pytest.approx(found.marginal([first, second]), abs=1e-6)


def test_samples_have_the_law_of_the_model() -> None:
    """Rejects draws of each clique that ignore the clique above it."""
    found, n = model(), 20_000
    people = found.sample(n, np.random.default_rng(11))
    columns = np.stack([np.array(people[name]) for name in NAMES], axis=1) == "yes"
    axes = (0, 1, 2, 6)
    number = columns[:, axes] @ (1 << np.arange(4)[::-1])
    counts = np.bincount(number, minlength=16)

    def distance(law: np.ndarray) -> float:
        return float(((counts - n * law) ** 2 / (n * law)).sum())

    limit = chi2.ppf(1 - 1e-4, 15)
    assert distance(found.tree.marginal(axes).ravel()) < limit
    ignored = np.ones(())
    for axis in axes:
        ignored = np.multiply.outer(ignored, found.tree.marginal([axis]))
    assert distance(ignored.ravel()) > 3 * limit
