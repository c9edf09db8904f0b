"""What graphical models say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import warner
from tests.spec.results._graphical import NAMES, model, survey, tally
from warner import estimate, graphical_model


def test_a_chain_gives_the_edges_of_the_chain() -> None:
    found = model()
    assert {frozenset(edge) for edge in found.edges} >= {
        frozenset(pair) for pair in pairwise(NAMES[:6])
    }
    assert ("q6",) in found.cliques and found.attributes == NAMES
    assert repr(found).startswith("GraphicalModel(7 attributes, ") and len(repr(found)) < 80


def test_one_and_two_attributes_have_their_separate_estimates() -> None:
    for names in (["q0"], ["q0", "q1"], ["q5", "q2"], ["q6", "q3"]):
        alone = estimate(tally(), attributes=names)
        shares = model().marginal(names).ravel()
        assert shares == pytest.approx(alone.probabilities, abs=1e-6)
    assert model().marginal("q0") == pytest.approx(model().marginal(["q0"]))


def test_marginals_are_in_the_order_asked() -> None:
    table = model().marginal(["q0", "q2", "q1"])
    turned = model().marginal(["q1", "q0", "q2"])
    assert turned == pytest.approx(table.transpose(2, 0, 1))
    assert table.sum() == pytest.approx(1) and (table >= 0).all()


def test_three_attributes_of_a_chain_are_close_to_their_direct_estimate() -> None:
    names = ["q1", "q2", "q3"]
    direct = estimate(tally(3), attributes=names).probabilities
    assert model().marginal(names).ravel() == pytest.approx(direct, abs=0.02)


def test_samples_are_columns_that_can_be_randomised_again() -> None:
    people = model().sample(50, np.random.default_rng(1))
    assert list(people) == NAMES and {len(column) for column in people.values()} == {50}
    assert len(survey().randomize(people).columns["q0.report"]) == 50
    assert people == model().sample(50, np.random.default_rng(1))


def test_the_summary_has_the_strongest_edge_first() -> None:
    rows = model().summary()
    assert [(row["first"], row["second"]) for row in rows] == list(model().edges)
    information = [row["information"] for row in rows]
    assert information == sorted(information, reverse=True) and min(information) > 0


def test_cliques_stay_within_their_limit_and_attributes_can_be_left_out() -> None:
    small = graphical_model(tally(), ["q3", "q1", "q2"], largest_clique=2)
    assert small.attributes == ["q3", "q1", "q2"]
    assert max(map(len, small.cliques)) == 2
    several = graphical_model(iter([tally()]), ["q3", "q1", "q2"], largest_clique=2)
    assert several.edges == small.edges


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"tally": 3}, warner.errors.ArgumentTypeError, "Tally or several"),
        ({"tally": []}, warner.errors.ArgumentTypeError, "Tally or several"),
        ({"attributes": ["q1"]}, warner.errors.ArgumentError, "two or more"),
        ({"attributes": ["q1", "no"]}, warner.errors.ArgumentError, "must be different names"),
        ({"attributes": "q1"}, warner.errors.ArgumentTypeError, "list of names"),
        ({"largest_clique": 0}, warner.errors.ArgumentError, "largest_clique"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    change: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        graphical_model(**{"tally": tally(), **change})  # type: ignore[arg-type]


def test_a_tally_of_single_attributes_is_refused() -> None:
    with pytest.raises(warner.errors.ArgumentError, match="ways=2"):
        graphical_model(tally(1))


def test_names_that_are_not_there_are_refused() -> None:
    with pytest.raises(warner.errors.ArgumentError, match="weight"):
        model().marginal(["q0", "weight"])
    with pytest.raises(warner.errors.ArgumentError, match="n: must"):
        model().sample(0)
