"""Names of the constraints of an inversion."""

from __future__ import annotations

import pytest

import warner
from warner.results.recommend import method


def test_established_names_are_accepted() -> None:
    assert warner.Inversion("norm-sub") == warner.Inversion("project") == method("Norm-Sub")
    assert warner.Inversion("normalise") == warner.Inversion("normalize")
    assert warner.Inversion("emp+thr") == warner.Inversion("threshold")
    assert warner.Inversion("none") == warner.Inversion(None) == method("inversion")


@pytest.mark.parametrize("wrong", ["clip", 1, True, ["project"]])
def test_unknown_constraints_are_refused(wrong: object) -> None:
    with pytest.raises(
        warner.errors.ArgumentError, match="constraint: must be one of None, 'normalize'"
    ):
        warner.Inversion(wrong)
