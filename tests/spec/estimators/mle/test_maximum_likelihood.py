"""Maximum likelihood: its arguments."""

from __future__ import annotations

import pytest

import warner


@pytest.mark.parametrize("gap", [0, -1.0, float("nan"), float("inf"), "1"])
def test_gaps_must_be_positive_numbers(gap: object) -> None:
    with pytest.raises((warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match="gap"):
        warner.MaximumLikelihood(gap)
