"""Shares of stand-ins are given back to the values that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers, UtilityOptimizedRR
from warner.mechanisms import PersonalizedULDP

DOMAIN = Integers(0, 9)


def _city(n: int, seed: int = 0) -> tuple[warner.Tally, np.ndarray, np.ndarray, np.ndarray]:
    """Reports of n people, each with a home of her own; the truth, where people at home are, and
    the true shares of what was mapped.
    """
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(10, 2.0))
    city = PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 2.0, [3]), ["home", "work"])
    values = rng.choice(10, n, p=theta)
    at_home = (rng.random(n) < 0.3) & (values != 3)
    devices = {x: city.device({"home": [x]}) for x in range(10) if x != 3}
    total, truth, homes = (
        None,
        np.bincount(values, minlength=10) / n,
        np.bincount(values[at_home], minlength=10) / at_home.sum(),
    )
    for x, device in devices.items():
        mine = values[at_home & (values == x)]
        if mine.size:
            part = city.tally(device.randomize(mine, rng))
            total = part if total is None else total + part
    rest = city.tally(city.device().randomize(values[~at_home], rng))
    assert total is not None
    mapped = np.append(np.bincount(values[~at_home], minlength=10), [at_home.sum(), 0]) / n
    return total + rest, truth, homes, mapped


@pytest.mark.parametrize("method", [warner.Inversion(), warner.MaximumLikelihood(), None], ids=repr)
def test_shares_of_stand_ins_are_given_back(method: warner.estimators.Estimator | None) -> None:
    tally, truth, homes, mapped = _city(200_000)
    result = warner.estimate(tally, method)
    assert result.domain.labels[-2:] == ["@home", "@work"]
    known = result.redistribute({"home": homes})
    assert known.probabilities == pytest.approx(
        truth, abs=0.015
    ) and known.probabilities.sum() == pytest.approx(result.probabilities.sum())
    assert (
        known.tag_shares["home"] > 0.2 and abs(known.tag_shares["work"]) < 0.02
    )  # a tag without users
    assert known.worst_case == pytest.approx(2 * sum(abs(v) for v in known.tag_shares.values()))
    blind = result.redistribute()
    r = result.probabilities
    open_ = np.arange(10) != 3
    assert blind.probabilities == pytest.approx(
        r[:10] + (r[10] + r[11]) * np.where(open_, r[:10], 0) / r[:10][open_].sum()
    )
    # [P2 theorem 1] with the true losses, and its worst case.
    loss, error = float(np.abs(r - mapped).sum()), float(np.abs(known.probabilities - truth).sum())
    assert error <= known.bound(loss, {"home": 0.0}) <= known.bound(loss) == loss + known.worst_case
    wrong = result.redistribute({"home": homes[::-1]})
    assert np.abs(wrong.probabilities - truth).sum() <= wrong.bound(
        loss, {"home": float(np.abs(homes - homes[::-1]).sum())}
    )
    low, high = known.interval(replicates=30, rng=np.random.default_rng(0)).T
    assert (
        (low <= known.probabilities + 1e-9).all() and (known.probabilities <= high + 1e-9).all()
    ) or method is not None


def test_background_knowledge_is_checked() -> None:
    result = warner.estimate(_city(2000)[0])
    for wrong in (
        {"home": [0.5] * 10},
        {"home": [1.0]},
        {"gym": [0.1] * 10},
        {"home": [-0.1, 1.1, *[0] * 8]},
        {"home": "x"},
        {"home": [np.nan] * 10},
    ):
        with pytest.raises(warner.errors.WarnerError):
            result.redistribute(wrong)
    plain = UtilityOptimizedRR(DOMAIN, 1.0, [3])
    with pytest.raises(warner.errors.MismatchError, match="no tags"):
        warner.estimate(plain.tally(plain.randomize([1, 2]))).redistribute()
    for loss in ({"home": 3.0}, {"gym": 0.1}):
        with pytest.raises(warner.errors.ArgumentError, match="background"):
            result.redistribute().bound(0.1, loss)
    for bad_loss in (-1, float("nan"), "x"):
        with pytest.raises(warner.errors.WarnerError):
            result.redistribute().bound(bad_loss)  # type: ignore[arg-type]
    for is_enumerable in ([1], "home", 5):
        with pytest.raises(warner.errors.ArgumentTypeError, match="dict"):
            result.redistribute(is_enumerable)  # type: ignore[arg-type]
    closed = PersonalizedULDP(
        UtilityOptimizedRR(warner.Categorical(list("abc")), 0.1, list("abc")), ["h"]
    )
    negative = warner.estimate(
        closed.tally(closed.device().randomize(["b"] * 100, np.random.default_rng(0))),
        warner.Inversion(),
    )
    shares = negative.redistribute().matrix[:, -1]
    assert (shares >= 0).all() and shares.sum() == pytest.approx(1)
