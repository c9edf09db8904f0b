"""What channels answer when they are asked for their structure."""

from __future__ import annotations

import numpy as np
import pytest

from tests.refusals import refused
from warner import Grid
from warner.channels import (
    Channel,
    ColumnProducts,
    DenseChannel,
    DirectChannel,
    GeometricChannel,
    HadamardChannel,
    HashChannel,
    HashPool,
    IndependentParts,
    KroneckerChannel,
    LikelihoodOperator,
    NearlyConstantRows,
    PlanarChannel,
    StackChannel,
    SupportChannel,
    SupportRows,
    stacked,
)
from warner.errors import ArgumentError
from warner.mechanisms import PlanarLaplace

STRUCTURED: dict[str, LikelihoodOperator] = {
    "direct": DirectChannel(4, 0.1, 0.6),
    "bit sums": SupportChannel(4, 0.2, 0.5),
    "hadamard": HadamardChannel(4, 8, 0.4),
    "hashing": HashChannel(4, 16, 2, 0.25, 0.5),
    "geometric": GeometricChannel(4, 0.5, 2, 1),
    "pair": KroneckerChannel([DirectChannel(2, 0.2, 0.6), SupportChannel(2, 0.3, 0.4)]),
    "stack": StackChannel([DirectChannel(4, 0.1, 0.6), SupportChannel(4, 0.2, 0.5)], [3, 5]),
}


@pytest.mark.parametrize("wrong, shown", [(np.inf, "inf"), (np.nan, "nan"), (-0.1, "-0.1")])
def test_a_matrix_is_refused_for_the_entry_that_is_wrong(wrong: float, shown: str) -> None:
    """Rejects the least entry, which is right where another one is infinite."""
    matrix = np.array([[0.5, 0.5], [0.5, wrong]])
    said = refused(ArgumentError, "finite entries of at least 0", DenseChannel, matrix)
    assert f"got an entry {shown}." in str(said)


def test_a_matrix_has_no_structure_to_tell_of() -> None:
    """The defaults: what a new channel says of itself before it replaces anything."""
    channel = DenseChannel(np.random.default_rng(0).dirichlet(np.ones(5), 4).T)
    w = np.full(5, 0.2)
    assert channel.support_law() is channel.factors((2, 2)) is None
    for capability in (HashPool, NearlyConstantRows, IndependentParts, ColumnProducts):
        assert not isinstance(channel, capability)
    assert channel.marginal(w, (2, 2), [0]) is None and channel.marginal(w, (4,), [0]) == (
        channel,
        w,
    )
    assert channel.groups() == (channel,) and channel.with_equal_groups() is channel
    assert channel.split_groups(w, 7) == [(channel, w, 7)]
    assert channel.complete() is channel and channel.complete_weights(w) is w
    assert channel.has_inverse() and channel.has_wald_intervals(w) and channel.has_moments
    assert not (channel.is_keyed or channel.reports_are_values or channel.rows_are_bit_sums)
    for method in (channel.support_shares, channel.supports):
        refused(ArgumentError, "reports that each stand for a set of values", method, w)


@pytest.mark.parametrize("name", list(STRUCTURED))
def test_the_support_law_is_that_of_the_support_counts(name: str) -> None:
    channel = STRUCTURED[name]
    theta = np.random.default_rng(1).dirichlet(np.ones(4))
    law = channel.support_law()
    assert (law is None) == (name in ("hashing", "geometric", "pair", "stack"))
    if law is not None:
        shares = channel.support_shares(channel.matvec(theta))
        assert shares == pytest.approx(law.q + law.gap * theta)


WHOLE_REPORTS = [name for name, c in STRUCTURED.items() if c.rows_per_report == 1]


@pytest.mark.parametrize("name", WHOLE_REPORTS)
def test_the_range_of_the_weights_is_that_of_the_inverse(name: str) -> None:
    """The inverse of the frequencies 1 of each report: a column for every report."""
    channel = STRUCTURED[name]
    bounds, inverse = channel.inverse_range(), channel.invert(np.eye(channel.shape[0]))
    assert bounds is not None
    assert np.min(bounds[0]) == pytest.approx(inverse.min())
    assert np.max(bounds[1]) == pytest.approx(inverse.max())
    assert channel.report_weight() == pytest.approx(np.ptp(inverse, axis=1).max())


def test_a_stack_of_observed_reports_is_no_channel_and_cannot_be_simulated() -> None:
    bits = SupportRows(np.array([[128], [64]], np.uint8), 4, 0.0, 2.0, 0.2, 0.5)
    full, theta, rng = DirectChannel(4, 0.1, 0.6), np.full(4, 0.25), np.random.default_rng(0)
    assert isinstance(stacked([full, full], [1, 2]), StackChannel)
    stack = stacked([full, bits], [1, 2])
    assert not isinstance(stack, Channel) and not hasattr(stack, "simulate")
    assert isinstance(stack.complete(), Channel)
    for operator in (bits, stack):
        refused(
            ArgumentError,
            "only the reports that came in",
            operator.simulate_tally,
            theta,
            10,
            rng,
        )
    w = stack.stack([full.matvec(theta), np.array([0.5, 0.5])])
    assert [people for _, _, people in stack.split_groups(w, 3)] == [1, 2]
    assert stack.with_equal_groups().invert(w) == pytest.approx(
        (full.invert(full.matvec(theta)) + bits.invert(np.array([0.5, 0.5]))) / 2
    )


def test_small_grids_are_multiplied_as_matrices() -> None:
    for side, wanted in ((2, DenseChannel), (16, DenseChannel), (17, PlanarChannel)):
        channel = PlanarLaplace(Grid(side, side), 0.7).channel()
        w = np.random.default_rng(side).dirichlet(np.ones(side**2))
        rows, weights = channel.restrict_to_observed(w)
        assert type(rows) is wanted and weights is w
        assert rows.rmatvec(w) == pytest.approx(channel.rmatvec(w), abs=1e-12) and rows.matvec(
            w
        ) == pytest.approx(channel.matvec(w), abs=1e-12)
