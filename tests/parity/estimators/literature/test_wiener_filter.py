"""The Wiener filter against its published form."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity.estimators.literature._data import _facts
from warner import Integers
from warner.channels import DirectChannel, SupportChannel
from warner.estimators.literature import filtered
from warner.metrics import project


def _published(g: np.ndarray, p: float, q: float, n: int, steps: int) -> np.ndarray:
    """The improved iterative Wiener filter on the shares g of support, by the whole circulant
    matrix and its eigenvalues.
    """
    size = g.size
    turn = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size)
    h, spectrum = turn @ np.where(np.arange(size) == 0, p, q), turn @ g
    noise = (size * q * (1 - q) + (p - q) * (1 - p - q)) / n
    power = abs(spectrum / h) ** 2
    for step in range(steps):
        wiener = h.conj() * power / (abs(h) ** 2 * power + noise)
        found = wiener * spectrum
        if step < steps - 1:
            power = abs(found) ** 2 + noise * power / (abs(h) ** 2 * power + noise)
    return np.real(turn.conj() @ found) / size


@pytest.mark.parametrize("size", [7, 16])
@pytest.mark.parametrize("steps", [1, 2, 30])
def test_the_filter_is_the_published_one_but_for_the_total(size: int, steps: int) -> None:
    n = 3000
    for variant in (None, "sue", "oue"):
        mechanism = (
            warner.RandomizedResponse(Integers(1, size), 1.0)
            if variant is None
            else warner.UnaryEncoding(Integers(1, size), 1.0, variant=variant)
        )
        data = _facts(mechanism, n)
        channel = data.channel
        assert isinstance(channel, DirectChannel | SupportChannel)
        q, p = float(channel.q[0]), float(channel.q[0] + channel.gap[0])
        published = _published(channel.support_shares(data.weights), p, q, n, steps)
        ours = (
            warner.estimators.literature.WienerFilter(steps, constraint=None)
            .fit(data)
            .probabilities
        )
        assert ours - ours.mean() == pytest.approx(published - published.mean(), abs=1e-12)
        assert ours.sum() == pytest.approx(1, abs=1e-12) and published.sum() == pytest.approx(
            1, abs=0.2
        )
        assert warner.estimators.literature.WienerFilter(steps).fit(
            data
        ).probabilities == pytest.approx(project(ours), abs=1e-12)


def test_the_limit_of_the_filter_is_its_closed_form() -> None:
    rng = np.random.default_rng(2)
    v = project(rng.normal(0.05, 0.1, 40))
    for noise in (0.0, 0.02, 0.1, 10.0):
        assert filtered(v, noise, 20_000) == pytest.approx(filtered(v, noise), abs=1e-3)
    assert filtered(v, 0.0) == pytest.approx(v, abs=1e-12)
    assert filtered(v, 10.0) == pytest.approx(np.full(40, 1 / 40), abs=1e-12)
