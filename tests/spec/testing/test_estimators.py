"""The battery accepts right estimators, and says of wrong ones which property fails, and how far."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import warner
from tests.own_parts import Shrunk
from tests.registry import ESTIMATORS
from warner import testing
from warner.estimators import Estimator, Inversion, KeyMeans, PerKey, SampleMean
from warner.estimators.base import Fit, LikelihoodData, Status


@pytest.mark.parametrize("estimator", [*ESTIMATORS, SampleMean(), KeyMeans(), PerKey()], ids=repr)
def test_every_estimator_of_the_package_is_accepted(estimator: Estimator) -> None:
    testing.check_estimator(estimator)


def test_an_estimator_of_ones_own_is_accepted() -> None:
    found = testing.check_estimator(Shrunk(0.2))
    assert "12 of 13" in found.findings[0].finding and "COMPLETED" in str(found)


def _failed(estimator: Estimator) -> dict[str, str]:
    with pytest.raises(testing.PropertyError) as caught:
        testing.check_estimator(estimator)
    return {each.property: each.finding for each in caught.value.checked.failures}


@dataclass(frozen=True)
class NotNormalised(Shrunk):
    """Its shares sum to 0.9."""

    def _fit(self, data: LikelihoodData) -> Fit:
        fit = super()._fit(data)
        return replace(fit, probabilities=0.9 * fit.shares)


@dataclass(frozen=True)
class Draws(Shrunk):
    """Draws without a seed."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(np.random.default_rng().dirichlet(np.ones(data.domain.size)), Status.COMPLETED)


@dataclass(frozen=True)
class Overwrites(Shrunk):
    """Uses the frequencies as its workspace."""

    def _fit(self, data: LikelihoodData) -> Fit:
        fit = super()._fit(data)
        data.weights[:] = 0
        return fit


@dataclass(frozen=True)
class ClaimsTheMaximum(Shrunk):
    """Says that it converged to the maximum of the likelihood."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return replace(super()._fit(data), status=Status.CONVERGED, gap=1e-9)


@dataclass(frozen=True)
class TooShort(Shrunk):
    """Leaves out the last value."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(super()._fit(data).shares[:-1], Status.COMPLETED)


@dataclass(frozen=True)
class DividesByZero(Shrunk):
    """Fails for one report."""

    def _fit(self, data: LikelihoodData) -> Fit:
        if data.n == 1:
            raise ZeroDivisionError("n - 1")
        return super()._fit(data)


@dataclass(frozen=True)
class NamesItsStatus(Shrunk):
    """A text is no status."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return replace(super()._fit(data), status="converged")  # type: ignore[arg-type]


@dataclass(frozen=True)
class RefusesAll(Shrunk):
    """Fits no problem."""

    def _fit(self, data: LikelihoodData) -> Fit:
        raise warner.errors.ArgumentError("domain: must be another.")


class NotFrozen(Inversion):
    """Has a summary that ends with a full stop."""

    summary = "Inversion."


@pytest.mark.parametrize(
    "wrong, name, finding",
    [
        (NotNormalised(), "shares are a distribution, or the status says not", "off by 0.1"),
        (Draws(), "equal reports give equal shares", "a second fit differs by 0."),
        (Overwrites(), "the reports are not changed", "randomised response"),
        (ClaimsTheMaximum(), "the gap and the log-likelihood are true", "nats below the largest"),
        (TooShort(), "shares have their shape and are finite", "the shape is (5,), not (6,)"),
        (DividesByZero(), "it runs", "on one report it raised ZeroDivisionError: n - 1"),
        (NamesItsStatus(), "the status is a Status", "not a warner.Status"),
        (NotFrozen(), "the estimator describes itself", "full stop"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Estimator) else "",
)
def test_wrong_estimators_are_rejected(wrong: Estimator, name: str, finding: str) -> None:
    assert finding in _failed(wrong)[name]


def test_an_estimator_that_refuses_everything_is_rejected_and_a_class_refused() -> None:
    assert "it refuses every problem" in _failed(RefusesAll())["it runs"]
    with pytest.raises(warner.errors.ArgumentTypeError, match="instance"):
        testing.check_estimator(Shrunk)  # type: ignore[arg-type]
