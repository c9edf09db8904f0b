"""Long labels of bars slope, so that they do not run into each other; short ones do not."""

from __future__ import annotations

import pytest

from papers import select
from papers.pictures import draw
from papers.table import Table


@pytest.mark.parametrize(
    "longest, angle", [("maximum likelihood from independence", -30), ("c", 0)]
)
def test_long_labels_slope(longest: str, angle: int) -> None:
    pytest.importorskip("altair")
    experiment = select(["P5/tables-of-adult"])[0]
    (picture,) = experiment.pictures
    names = ["a", "b", longest]
    rows = [{**picture.where, picture.x: name, "value": 0.1, "run": 0} for name in names]
    chart = draw(experiment, picture, Table(rows)).to_dict()
    assert f"'labelAngle': {angle}" in str(chart)
