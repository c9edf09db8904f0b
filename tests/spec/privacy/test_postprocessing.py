"""Post-processing keeps a guarantee only where it keeps data types."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers, UtilityOptimizedRR
from warner.privacy.report_laws import ambiguous_report


def test_post_processing_keeps_the_guarantee_only_where_it_keeps_data_types() -> None:
    channel = UtilityOptimizedRR(Integers(0, 3), 1.0, [0, 1]).probabilities().astype(float)
    sensitive_mask = np.array([True, True, False, False])
    blur = np.array([[0.7, 0.4, 0, 0], [0.3, 0.6, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    after = warner.privacy.postprocessing.post_process(
        blur, channel, sensitive_mask, sensitive_mask
    )
    assert (
        after == pytest.approx(blur @ channel)
        and (after[:2].max(axis=1) / after[:2].min(axis=1) <= np.e + 1e-12).all()
    )
    mixing = np.array([[1.0, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]])
    assert not warner.privacy.postprocessing.preserves_data_types(
        mixing, sensitive_mask, sensitive_mask
    )
    with pytest.raises(warner.errors.ArgumentError, match="guarantee is not kept"):
        warner.privacy.postprocessing.post_process(mixing, channel, sensitive_mask, sensitive_mask)
    with pytest.raises(warner.errors.ArgumentError, match="not utility-optimised"):
        warner.privacy.postprocessing.post_process(
            np.eye(2),
            np.array([[1.0, 0.5, 0.5], [0, 0.5, 0.5]]),
            [True, False, False],
            [True, False],
        )
    with pytest.raises(warner.WarnerError):
        warner.privacy.postprocessing.post_process([[2.0]], channel, sensitive_mask, sensitive_mask)


@pytest.mark.parametrize("factor", [1.0, 1 - 1e-14, 1 - 1e-10])
def test_decomposition_survives_rounding(factor: float) -> None:
    """Columns all alike but for rounding: what a value says more often than any other is then
    rounding too.
    """
    column = np.random.default_rng(0).dirichlet(np.ones(1000)) * factor
    channel = np.stack([column, column * (1 + 1e-16), column], axis=1)
    uldp, _, post = warner.privacy.postprocessing.decompose(channel, [True, False, False])
    assert post.sum(axis=0) == pytest.approx(
        np.ones(post.shape[1])
    ) and post @ uldp == pytest.approx(channel / channel.sum(axis=0), abs=1e-12)
    for wrong in ([1, 0, 0], [True], "abc", None, [False] * 3, [[True], [True, False]]):
        with pytest.raises(warner.errors.ArgumentError, match="booleans"):
            warner.privacy.postprocessing.decompose(channel, wrong)


@pytest.mark.parametrize("seed", range(20))
def test_one_sided_mechanisms_are_utility_optimised_ones_and_a_post_processing(seed: int) -> None:
    """[P2 prop 13] on random OSLDP channels: the product is the channel, and the first factor keeps
    both conditions at the same epsilon.
    """
    rng = np.random.default_rng(seed)
    size, reports, members = (
        int(rng.integers(3, 8)),
        int(rng.integers(3, 9)),
        int(rng.integers(1, 3)),
    )
    sensitive_mask = np.arange(size) < members
    channel = rng.dirichlet(np.full(reports, 0.7), size).T
    unseen = rng.random(reports) < 0.4  # what sensitive values never say
    unseen[0] = False
    channel[np.ix_(unseen, sensitive_mask)] = 0
    channel /= channel.sum(axis=0)
    seen = channel[:, sensitive_mask].max(axis=1) > 0
    epsilon = np.log(
        np.max(channel[seen][:, sensitive_mask].max(axis=1) / channel[seen].min(axis=1))
    )
    uldp, protected, post = warner.privacy.postprocessing.decompose(channel, sensitive_mask)
    assert post @ uldp == pytest.approx(channel, abs=1e-12)
    assert (
        uldp.sum(axis=0) == pytest.approx(np.ones(size))
        and post.sum(axis=0) == pytest.approx(np.ones(len(uldp)))
        and (post >= 0).all()
    )
    assert ambiguous_report(uldp, sensitive_mask, protected) is None
    assert (
        np.log((uldp[protected].max(axis=1) / uldp[protected].min(axis=1)).max()) <= epsilon + 1e-9
    )
