"""Of yes and no, both rows of a difference are one comparison."""

from __future__ import annotations

import numpy as np
import pytest

import warner


def test_holm_counts_yes_and_no_once() -> None:
    device = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    rng = np.random.default_rng(3)
    groups = {
        (name,): device.tally(device.randomize(rng.choice(["no", "yes"], 900, p=[1 - p, p]), rng))
        for name, p in (("a", 0.2), ("b", 0.3), ("c", 0.4))
    }
    two = warner.compare_groups({key: groups[key] for key in [("a",), ("b",)]}, reference="a")
    assert [row["p_holm"] for row in two.rows()] == pytest.approx([row["p"] for row in two.rows()])
    rows = warner.compare_groups(groups, reference="a").rows()
    least = min(row["p"] for row in rows)
    assert min(row["p_holm"] for row in rows) == pytest.approx(2 * least)


def test_ages_as_text_are_not_seventy_categories() -> None:
    device = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    reports = device.randomize(["no", "yes"] * 50, np.random.default_rng(1))
    ages = [str(18 + i % 50) for i in range(100)]
    with pytest.raises(warner.errors.ArgumentError, match=r"'age' holds numbers.*Convert"):
        warner.regress(reports, {"age": ages})
