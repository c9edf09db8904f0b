"""All orders and scales: their grid, their probabilities, and draws from their mixture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from warner.estimators.log_spline.basis import (
    Design,
    design,
    design_of_cells,
    design_with_silence,
)
from warner.estimators.log_spline.cells import Cells
from warner.estimators.log_spline.likelihood import Likelihood
from warner.estimators.log_spline.penalized_maximum import Model, maximize_penalized

_BASIS = 40  # B-splines to begin with
_ORDERS = (1, 2, 3)
# Standard deviations of log theta around its polynomial, in steps of sqrt(10). With 0.1 the curve
# is a polynomial. 100 is that of a normal shape whose standard deviation is 2 % of the domain.
_SCALES = tuple(10.0 ** (k / 2) for k in range(-2, 5))
# The prior of a scale on the grid is s^_POWER. With 1 (flat in s) few reports gave rough estimates:
# the squared error of smooth shapes was up to twice that of smoothed EM. With 0 (flat in log s)
# peaks were flattened.
_POWER = 0.5
# Twice this is the finest basis: larger matrices cost more than they gain.
_FINEST = 160
# Share of coefficients that the reports must determine for a finer basis to be tried.
_DETERMINED = 1 / 3
_RISE = 1.0  # nats by which the evidence must rise for a finer basis
# The least number of cells for each spline, where shares are even within cells.
_CELLS_OF_SPLINE = 4
_BLOCK = 2**19  # numbers of draws that are formed at a time
_NEGLIGIBLE = 12.0  # nats below the best model at which an order's scales end


def fit_grid(
    likelihood: Likelihood, cells: Cells | None = None, silence: bool = False
) -> list[Model]:
    """Fit every order and scale, on the coarsest basis that a finer one does not improve.

    Args:
        likelihood: the likelihood of the reports.
        cells: the cells whose shares the likelihood is of; None where it is of values.
        silence: whether the last value is silence, which has no place among the others.

    Returns:
        One model for each order and scale.
    """
    size = likelihood.rows.shape[1] - silence
    finest = size if cells is None else size // _CELLS_OF_SPLINE
    basis = min(_BASIS, size)
    while True:
        models = _grid(likelihood, basis, cells, silence)
        best = models[int(np.argmax(posterior(models)))]
        if basis == size or basis > _FINEST or best.determined() < _DETERMINED * best.phi.size:
            return models
        basis = min(2 * basis, size)
        if basis > finest:
            return models
        x = _design(likelihood, basis, best.order, cells, silence)
        finer = maximize_penalized(likelihood, x, best.order, best.scale)
        if finer.evidence <= best.evidence + _RISE:
            return models


def _design(
    likelihood: Likelihood, basis: int, order: int, cells: Cells | None, silence: bool
) -> Design:
    """The columns on the values or cells that the likelihood is of."""
    if cells is None:
        made = design_with_silence if silence else design
        return made(likelihood.rows.shape[1], basis, order)
    return design_of_cells(cells, basis, order)


def posterior(models: list[Model]) -> np.ndarray:
    """The posterior probabilities of the models: evidence times prior, divided by the sum.

    The density of s is proportional to s^(-1/2), and so its prior on a geometric grid to s^(1/2).

    Args:
        models: the result of :func:`fit_grid`.

    Returns:
        One probability for each model.
    """
    logs = np.array([model.evidence + _POWER * np.log(model.scale) for model in models])
    chances = np.exp(logs - logs.max())
    out: np.ndarray = chances / chances.sum()
    return out


def _grid(likelihood: Likelihood, basis: int, cells: Cells | None, silence: bool) -> list[Model]:
    """The models of every order, its scales from small to large.

    Each scale starts from the maximum of the one before. An order ends where larger scales cannot
    reach the best model.
    """
    models: list[Model] = []
    best = -np.inf
    for order in _ORDERS[: basis - 1]:
        x = _design(likelihood, basis, order, cells, silence)
        phi, before = None, -np.inf
        for scale in _SCALES:
            model = maximize_penalized(likelihood, x, order, scale, phi)
            models.append(model)
            best = max(best, model.evidence + _POWER * np.log(scale))
            if (
                model.evidence < before
                and model.evidence + _POWER * np.log(_SCALES[-1]) < best - _NEGLIGIBLE
            ):
                break
            phi, before = model.phi, model.evidence
    return models


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the mixture of the models' Laplace posteriors: (count, rng) to (count, K).

    A draw is theta* f, f constant in each cell of values. So all draws of f take little memory, and
    the draws of theta can be formed a few values, or one distribution, at a time.

    Attributes:
        models: the models of the mixture.
        chances: their probabilities.
        tilt: (K,) factors of the shares, which move the centre of the draws to the estimate; None
            where the estimate is the mixture's.
    """

    models: list[Model]
    chances: np.ndarray
    tilt: np.ndarray | None = None

    def __call__(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack(list(self.one_by_one(count, rng)))

    def one_by_one(self, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The same draws, (K,) each."""
        parts = self._parts(count, rng)
        which = [(part, at) for part in parts for at in range(part.factors.shape[1])]
        for number in rng.permutation(count):
            part, at = which[number]
            yield part.shares * part.spread(part.factors[:, at])

    def by_values(self, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """The same draws of some values after the other: a slice of them, and (values, count).

        The draws of all values are in one order, which is not that of :meth:`one_by_one`.
        """
        parts = self._parts(count, rng)
        ends = np.cumsum([part.factors.shape[1] for part in parts])
        size, step = parts[0].shares.size, max(1, _BLOCK // count)
        for start in range(0, size, step):
            some = slice(start, min(start + step, size))
            out = np.empty((some.stop - start, count))
            for part, end in zip(parts, ends, strict=True):
                at = out[:, end - part.factors.shape[1] : end]
                np.multiply(part.shares[some, None], part.factors_of(some), out=at)
            yield some, out

    def _parts(self, count: int, rng: np.random.Generator) -> list[_Part]:
        """The draws of each model that has any."""
        parts = []
        for model, some in zip(self.models, rng.multinomial(count, self.chances), strict=True):
            if some:
                normal = np.linalg.solve(
                    model.factor.T, rng.standard_normal((model.phi.size, some))
                )
                columns, cells = model.design.columns, model.design.cells
                u = (columns - model.theta @ columns) @ normal
                factors = u + np.sqrt(1 + u**2)
                shares = model.design.theta_of_values(model.phi) if cells else model.theta
                shares = shares if self.tilt is None else shares * self.tilt
                masses = np.add.reduceat(shares, cells.index) if cells else shares
                factors /= (masses[:, None] * factors).sum(axis=0)
                parts.append(_Part(shares, factors, cells))
        return parts


@dataclass(frozen=True, eq=False)
class _Part:
    """The draws of one model: shares times factors.

    Attributes:
        shares: (K,), those of the model.
        factors: (C, draws), of cells of values.
        cells: the cells; None where each value is one.
    """

    shares: np.ndarray
    factors: np.ndarray
    cells: Cells | None

    def spread(self, of_cells: np.ndarray) -> np.ndarray:
        """Numbers of cells (C,) as numbers of values, (K,)."""
        return of_cells if self.cells is None else self.cells.spread(of_cells)

    def factors_of(self, some: slice) -> np.ndarray:
        """The factors of some values, (values, draws)."""
        if self.cells is None:
            return self.factors[some]
        cell = np.searchsorted(self.cells.index, np.arange(some.start, some.stop), side="right")
        return np.take(self.factors, cell - 1, axis=0)
