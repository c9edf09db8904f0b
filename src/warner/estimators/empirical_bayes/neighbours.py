"""A prediction of each share from the other values, by their order.

Shares may change slowly along the order, or repeat, such as heaps at round numbers. Their spectrum
then has few large powers. Noise has the same power at every frequency. Filtering the spectrum
predicts each share from the other values. A regression on the data measures how good the prediction
is. Where it is of no use, as for labels in no order, there is no prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner.estimators.empirical_bayes.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class NeighbourPrediction:
    """A second observation of each share, from the other values.

        min(theta_x, cap) = value_x + a normal error

    This holds for the share theta_x of every value x, except for a few outliers.

    Attributes:
        value: (K,) the predicted shares.
        variance: the variance of the error.
        cap: shares above it are too few and too large to be predicted from the others.
    """

    value: np.ndarray
    variance: float
    cap: float

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """The likelihood of the predictions at possible shares.

        Shapes: atoms (J,) -> (K, J).
        """
        away = self.value[:, None] - np.minimum(atoms, self.cap)
        out: np.ndarray = np.exp(-(away**2) / (2 * self.variance)) + SETTINGS.odd_value
        return out

    def subset(self, index: np.ndarray) -> NeighbourPrediction:
        """The predictions of the values at the indices ``index``."""
        return NeighbourPrediction(self.value[index], self.variance, self.cap)


def predict_from_neighbours(y: np.ndarray, variance: np.ndarray) -> NeighbourPrediction | None:
    """Predict each share from the other values.

    Estimates above a cap are cut to v = min(y, cap). Otherwise the few largest would dominate the
    spectrum. Let d = v - mean(v), let m be d after filtering, and let h be the mean derivative of
    m_x by d_x. Then z = m - h d is uncorrelated with the noise of v_x (Stein), and
    v = mean + beta z + error + noise is a regression. Its slope beta measures how well z predicts.
    The mean square of its residuals, less the variance of the noise, is the variance T of the
    errors. With var theta = beta^2 var z + T,

        z | theta ~ N(b (theta - mean), s^2)
        b = beta var z / var theta,   s^2 = var z - b^2 var theta

    and mean + z / b is an observation of theta with variance s^2 / b^2. T is raised by one standard
    error, that of the mean square of K residuals.

    Shapes: y (K,), variance (K,).
    """
    size = y.size
    cap = _cut_at(y) if size >= SETTINGS.least_values_in_order else None
    if cap is None:
        return None
    v = np.minimum(y, cap)
    noise = float(variance[y < cap].sum())
    d = v - v.mean()
    m, share = filtered(d, noise)
    z = m - share * d
    power, total, noise = float(z @ z) / size, float(d @ d) / size, noise / size
    if power <= 0:
        return None
    beta = float(d @ z) / size / power
    by_chance = max(1 - noise / total, 1 - SETTINGS.values_of_chance / size, 0.0)
    doubt = (
        max(total - beta**2 * power, 0.0) / (size * power) * (1 + SETTINGS.chance_order * by_chance)
    )
    if beta <= 0 or beta**2 <= SETTINGS.clear_slope * doubt:
        return None
    beta *= 1 - SETTINGS.clear_slope * doubt / beta**2
    rest = total - beta**2 * power
    error = max(rest - noise, 0.0) + max(rest, noise) * float(np.sqrt(2 / size))
    spread = error + beta**2 * power
    b = beta * power / spread
    variance_left = (power - b**2 * spread) / b**2
    return NeighbourPrediction(
        v.mean() + z / b,
        max(variance_left, SETTINGS.finest_prediction**2 * float(variance.min())),
        cap,
    )


def _cut_at(y: np.ndarray) -> float | None:
    """The largest cap under which no few values make up the spread.

    None where half the values would have to be cut.
    """
    for cap in np.sort(y)[::-1][: y.size // 2]:
        squares = (np.minimum(y, cap) - np.minimum(y, cap).mean()) ** 2
        if float(squares @ squares) <= SETTINGS.peakedness * float(squares.sum()) ** 2:
            return float(cap)
    return None


def filtered(d: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
    """Filter the spectrum of a vector.

    U is the discrete Fourier transform of d, and p = |U|^2 / noise is its power at a frequency. The
    filter is F = gain(p) U. Let m be the result. Its mean derivative is
    h = sum_x (dm_x / dd_x) / K. At a complex frequency the derivatives of F sum to
    2 gain + 2 p gain'. At the real frequency k = K / 2 they sum to gain + 2 p gain'. The derivative
    gain' is the posterior variance of the gain, see ``gains``.

    Shapes: d (K,) -> (K,).
    """
    spectrum = np.fft.rfft(d)
    p = np.abs(spectrum[1:]) ** 2 / max(noise, 1e-300)
    gain, slope = gains(p)
    twice = np.full(p.size, 2.0)
    if d.size % 2 == 0:
        twice[-1] = 1.0
    share = float(twice @ gain + 2 * p @ slope) / d.size
    spectrum[0] = 0.0
    spectrum[1:] *= gain
    return np.fft.irfft(spectrum, d.size), share


def gains(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance of the gain P / (P + noise) at each of F frequencies.

    P is the power of the truth. The observed power p = |U|^2 / noise is exponential with mean
    1 + P / noise. The prior of P is learnt from all other frequencies, with more weight on the near
    ones. It has mass at 0 and at 1/8, 1/4, .. times the power of the noise.

    Shapes: p (F,) -> (F,).
    """
    high = max(4, int(np.log2(max(float(p.max()), 2.0)) + 2))
    keep = 1 / (1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, high)]))
    base = np.full(keep.size, 0.5 / (keep.size - 1))
    base[0] = 0.5
    k = np.arange(1, p.size + 1)
    first, last = (
        np.searchsorted(k, k / SETTINGS.near_frequencies),
        np.searchsorted(k, k * SETTINGS.near_frequencies, side="right"),
    )
    near = np.maximum(last - first - 1, 1)
    near_weight = np.minimum(near, SETTINGS.near_weight) / near
    # Powers come first here, so that sums over frequencies run along neighbouring numbers.
    keep, base = keep[:, None], base[:, None]
    likelihood = keep * np.exp(-np.minimum(p * keep, 700.0))
    posteriors = likelihood * base
    posteriors /= posteriors.sum(axis=0)
    moved, sums = np.empty_like(posteriors), np.zeros(p.size + 1)
    for _ in range(SETTINGS.power_sweeps):
        for power, one in enumerate(posteriors):
            np.cumsum(one, out=sums[1:])
            everywhere = sums[-1] - one
            everywhere += SETTINGS.power_pseudo_observations * base[power]
            everywhere /= p.size - 1 + SETTINGS.power_pseudo_observations
            here = np.take(sums, last)
            here -= np.take(sums, first)
            here -= one
            np.maximum(here, 0.0, out=here)
            here *= near_weight
            here += everywhere
            np.multiply(likelihood[power], here, out=moved[power])
        moved /= moved.sum(axis=0)
        steady = max(float(np.abs(a - b).max()) for a, b in zip(moved, posteriors, strict=True))
        posteriors, moved = moved, posteriors
        if steady < 1e-3:
            break
    mean = (1 - keep[:, 0]) @ posteriors
    return mean, np.maximum((1 - keep[:, 0]) ** 2 @ posteriors - mean**2, 0.0)
