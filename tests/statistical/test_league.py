"""A small slice of the league table (bench/accuracy), on made-up data: that it runs, and that the
recommended method is among the best.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import warner
from warner.results.recommend import recommended

BENCH = Path(__file__).parents[2] / "bench"


CELLS = [
    ("GRR", "Zipf", 10_000, 2.0),
    ("OUE", "normal-shaped", 1000, 1.0),
    ("OUE", "Dirichlet", None, 0.5),
    ("OLH", "log-normal", 1000, 1.0),
]


@pytest.fixture
def league(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.delenv("WARNER_DATA", raising=False)
    return import_module("accuracy")


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_recommended_method_errs_little_more_than_the_best(
    league: Any, cell: tuple[str, str, int | None, float]
) -> None:
    """30 runs: within 1.3 times the least squared error of the quick methods, of which some err
    more than twice as much.
    """
    assert recommended(warner.Categorical(["a", "b"])) == league.METHODS["EB"]
    quick = ("inversion", "INV-N", "Norm-Sub", "Base-Cut", "emp+thr", "MLE", "EM(100)", "IIW", "EB")
    found = {m: losses["MSE"] for m, losses in league.judge((cell, 30, quick))["losses"].items()}
    assert found["EB"] <= 1.3 * min(found.values())
    assert max(found.values()) > 2 * found["EB"]


def test_the_draws_of_a_cell_do_not_depend_on_which_columns_are_asked_for(league: Any) -> None:
    cell = ("GRR", "Zipf", 1000, 4.0)
    whole, one = (
        league.judge((cell, 2, names))["losses"] for names in (("Norm-Sub", "EB"), ("EB",))
    )
    assert one["EB"] == whole["EB"]
