"""What the order of the values says: a prediction of each share from the others.

Shares that change slowly along the order, or repeat (heaps at round numbers, a size class within
each state), have a spectrum with few large powers. Noise has the same power at every frequency.
Filtering the spectrum predicts each share from the other values. The data measure what such a
prediction is worth. Where it is worth nothing (labels in no order) there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner.estimators.empirical_bayes.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class NeighbourPrediction:
    """A second observation of each share, from the other values.

    min(theta_x, cap) = value_x + a normal error, except for odd values.

    Attributes:
        value: (K,).
        variance: of the error.
        cap: shares above it are too few and too large to be told from the others.
    """

    value: np.ndarray
    variance: float
    cap: float

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """(K, J), up to one factor."""
        away = self.value[:, None] - np.minimum(atoms, self.cap)
        out: np.ndarray = np.exp(-(away**2) / (2 * self.variance)) + SETTINGS.odd_value
        return out

    def subset(self, index: np.ndarray) -> NeighbourPrediction:
        """Of some of the values."""
        return NeighbourPrediction(self.value[index], self.variance, self.cap)


def predict_from_neighbours(y: np.ndarray, variance: np.ndarray) -> NeighbourPrediction | None:
    """Predictions from K unbiased estimates y and the variances of their noise, (K,).

    Estimates above a cap are cut, v = min(y, cap), or the few largest would make up the spectrum.
    Let m be the filtered d = v - mean, and h the share of itself that each value adds. Then
    z = m - h d is uncorrelated with the noise of v_x (Stein), and v = mean + beta z + error + noise
    is a regression. Its slope says what z is worth. Its residuals, less the noise, give the size T
    of the errors. With var theta = beta^2 var z + T,

        z | theta ~ N(b (theta - mean), s^2)
        b = beta var z / var theta,   s^2 = var z - b^2 var theta

    and mean + z / b is an observation of theta with variance s^2 / b^2. T is raised by one standard
    error, that of the mean square of K residuals.

    Returns:
        The predictions, or None where they would say nothing.
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
    doubt = (
        max(total - beta**2 * power, 0.0)
        / (size * power)
        * (1 + SETTINGS.chance_order * max(0.0, 1 - noise / total))
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
    """The filtered d (K,), of mean 0, and the share h that each value adds to itself.

    h = sum_x dm_x / dd_x / K is the mean. F = gain(p) U, p = |U|^2 / noise, of a complex number has
    derivatives that sum to 2 gain + 2 p gain'; of the real one at k = K / 2, to gain + 2 p gain'.
    gain' is the posterior variance of the gain, see ``gains``.
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
    """Posterior mean and variance (F,) of P / (P + noise) at each frequency.

    p = |U|^2 / noise is exponential with mean 1 + P / noise. The prior of the powers P is learnt
    from the other frequencies, all of them and once more the near ones. It lives on the powers 0
    and 1/8, 1/4, .. of the noise's.
    """
    high = max(4, int(np.log2(max(float(p.max()), 2.0)) + 2))
    keep = 1 / (1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, high)]))
    likelihood = keep * np.exp(-np.minimum(p[:, None] * keep, 700.0))
    base = np.full(keep.size, 0.5 / (keep.size - 1))
    base[0] = 0.5
    k = np.arange(1, p.size + 1)
    first, last = (
        np.searchsorted(k, k / SETTINGS.near_frequencies),
        np.searchsorted(k, k * SETTINGS.near_frequencies, side="right"),
    )
    near = np.maximum(last - first - 1, 1)[:, None]
    posteriors = likelihood * base
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    for _ in range(SETTINGS.power_sweeps):
        sums = np.concatenate([np.zeros((1, keep.size)), np.cumsum(posteriors, axis=0)])
        everywhere = (
            np.maximum(sums[-1] - posteriors, 0.0) + SETTINGS.power_pseudo_observations * base
        ) / (p.size - 1 + SETTINGS.power_pseudo_observations)
        here = np.maximum(sums[last] - sums[first] - posteriors, 0.0) * (
            np.minimum(near, SETTINGS.near_weight) / near
        )
        moved = likelihood * (everywhere + here)
        moved /= moved.sum(axis=1, keepdims=True)
        steady = bool(np.abs(moved - posteriors).max() < 1e-3)
        posteriors = moved
        if steady:
            break
    mean = posteriors @ (1 - keep)
    return mean, np.maximum(posteriors @ (1 - keep) ** 2 - mean**2, 0.0)
