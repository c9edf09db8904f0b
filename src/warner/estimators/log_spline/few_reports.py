"""With few reports a log-spline is averaged with smoothed EM."""

from __future__ import annotations

import numpy as np

from warner.channels import on_cells
from warner.domains import Domain, Integers, Optional
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.literature.smoothed_em import SmoothedEM
from warner.estimators.log_spline.cells import Cells
from warner.estimators.log_spline.likelihood import Likelihood

# The weight of smoothed EM where the reports say nothing. Wasserstein distance is convex, so the
# average is never farther from the truth than the weighted mean of the two distances.
_MOST = 0.7
# The standard error of the slope of log theta at which the weight has fallen to 0.
_PRECISE = 0.05
# Neighbouring values are told apart where J(v) is at least a quarter of J(z). In the pure family it
# is J(z), and a third of it where only reports near the ends were seen.
_LOCAL = 4.0
_LEAST = 5  # values; fewer have no neighbours to smooth over
# Smoothed EM smooths over neighbouring cells, so the number of cells decides how much. With 512
# cells its squared error of smooth shapes was several times that of the log-spline.
_CELLS = 128


def weight_of_smoothed_em(
    likelihood: Likelihood, cells: Cells | None = None, silence: bool = False
) -> float:
    """How much of the estimate is smoothed EM's.

        w = 0.7 max(0, 1 - 0.05 sqrt(J(z))) max(0, 1 - 4 J(v) / J(z))
        J(t) = n sum_y d_y (A (u t))_y^2 / d_y^2,   d = A u

    u is the uniform distribution on K values, A the channel, z the value's number and v = (1, -1,
    1, -1, ...), both scaled to mean 0 and mean square 1. J(z) is the information about the slope of
    log theta. So w falls with the information in the reports, not with their number. J(v) is small
    where reports blur neighbouring values. Where they do not, as in randomised response, J(v) is
    J(z) and w is 0: such reports show single high shares, which smoothed EM would spread.

    Args:
        likelihood: the likelihood of the reports.
        cells: the cells whose shares the likelihood is of; None where it is of values.
        silence: whether the last value is silence. Its share is then half, and does not change.

    Returns:
        A number from 0 to 0.7.
    """
    rows = likelihood.rows
    size = rows.shape[1] - silence if cells is None else cells.size
    if size < _LEAST:
        return 0.0
    z = np.linspace(-1, 1, size)
    z /= np.sqrt((z**2).mean())
    uniform = np.full(size, 1 / size)
    if cells is not None:
        z, uniform = cells.averages(z[:, None])[:, 0], cells.sizes / size
    v = np.where(np.arange(z.size) % 2, -1.0, 1.0)
    directions = uniform[:, None] * np.stack([z, v - uniform @ v], axis=1)
    if silence:
        uniform = np.append(uniform, 1.0) / 2
        directions = np.append(directions / 2, np.zeros((1, 2)), axis=0)
    d = rows.matvec(uniform)
    expected = Likelihood(rows, d / d.sum(), likelihood.count)
    slope, fine = np.diag(expected.information(d, directions))
    if slope <= 0:
        return 0.0
    apart = max(0.0, 1 - _LOCAL * float(fine / slope))
    return _MOST * max(0.0, 1 - _PRECISE * float(np.sqrt(slope))) * apart


def averaged(data: LikelihoodData, theta: np.ndarray, weight: float) -> np.ndarray:
    """The average of an estimate theta (K,) and smoothed EM, (1 - weight) theta + weight EMS.

    From 256 values smoothed EM has 128 to 255 cells of consecutive values, whose shares are
    even within cells.

    Args:
        data: the channel, the frequencies of the reports and n.
        theta: (K,) shares.
        weight: the weight of smoothed EM.
    """
    silence = data.domain.silence is not None
    size = theta.size - silence
    width = size // _CELLS
    if width <= 1:
        return _average(theta, SmoothedEM().fit(data).shares, weight)
    starts = range(0, size, width)
    # Silence is a cell of its own.
    cells = Cells(theta.size, (*starts, size) if silence else tuple(starts))
    rows, weights = on_cells(data.channel, data.weights, cells.index)
    domain: Domain = Integers(0, len(starts) - 1)
    if silence:
        domain = Optional(domain)
    shares = SmoothedEM().fit(LikelihoodData(rows, weights, data.n, domain)).shares
    return _average(theta, cells.spread(np.asarray(shares / cells.sizes)), weight)


def _average(theta: np.ndarray, smooth: np.ndarray, weight: float) -> np.ndarray:
    out: np.ndarray = (1 - weight) * theta + weight * smooth
    out /= out.sum()
    return out
