"""What the order of the values says: a guess of each share from the others, by the spectrum of the unbiased estimates.

Shares that change slowly along the order, or repeat (heaps at round numbers, a size class within each state), have a spectrum of few large
powers; noise has the same power in all. Filtering the spectrum predicts each share from the other values. What such a prediction
is worth is measured on the data, and where it is worth nothing (labels in no order) there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAST = 32  # values, twice as many as there are frequencies; below, what a spectrum seems to say is mostly chance
_NEAR = 1.5  # frequencies within this factor of each other have like powers, as in smooth spectra, which fall like powers of the frequency
_LOCAL = 4.0  # how many observations those near count for at most; a single line (a period) has none and goes by all frequencies
_PSEUDO = 2.0  # observations that the base of the prior of powers counts for, half of it on no power at all
_SWEEPS = 25
# No guesses below this square of beta / its standard error; above, beta^2 is reduced by as much. Without order the ratio is a chi-square of 1 degree,
# above 5 once in forty, half of those with the wrong sign.
_CLEAR = 5.0
# The standard error is for a z of its own. Shares in chance order make z too, whose covariance with them is a sum over K / 2 frequencies of
# exponential powers, (gain - h) p: the second moment of p is twice its square, of p^2 gain rising with p more; (1 + 3) covers shuffles.
_SELF = 3.0
_FEW = 0.1  # the sum of fourth powers over the square of the sum of squares, at most: then no less than ten values make up the spread
_ODD = 0.01  # what a guess says of a share that is far from it, over what it says at itself: odd values are not in line with the others
_FINEST = 0.2  # standard deviations of the noise; guesses are not taken as finer, which atoms of 0.4 could not tell


@dataclass(frozen=True, eq=False)
class Guess:
    """A second observation of each share, from the other values: min(theta_x, cap) = value_x + normal error, but for odd values.

    Attributes:
        value: (K,).
        variance: of its error.
        cap: shares above it are too few and too large to be told from the others.
    """

    value: np.ndarray
    variance: float
    cap: float

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """(K, J), up to one factor."""
        away = self.value[:, None] - np.minimum(atoms, self.cap)
        out: np.ndarray = np.exp(-(away**2) / (2 * self.variance)) + _ODD
        return out

    def part(self, index: np.ndarray) -> Guess:
        """Of some of the values."""
        return Guess(self.value[index], self.variance, self.cap)


def guessed(y: np.ndarray, variance: np.ndarray) -> Guess | None:
    """Guesses from K unbiased estimates y and the variances of their noise, (K,); None where they would say nothing.

    y above a cap is cut, v = min(y, cap): else the few largest values would make up the spectrum. With m the filtered v - mean and h
    what each value adds to its own, z = m - h (v - mean) is uncorrelated with the noise of v_x (Stein), so v = mean + beta z + error + noise
    is a regression whose slope says what z is worth, and whose residuals, less the noise, how large the errors are, T. With
    var theta = beta^2 var z + T, turned round,

        z | theta ~ N(b (theta - mean), s^2),   b = beta var z / var theta,   s^2 = var z - b^2 var theta

    and mean + z / b is an observation of theta with variance s^2 / b^2. T is taken one standard error high, that of the mean square of K residuals.
    """
    size = y.size
    cap = _cap(y) if size >= LEAST else None
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
        * (1 + _SELF * max(0.0, 1 - noise / total))
    )
    if beta <= 0 or beta**2 <= _CLEAR * doubt:
        return None
    beta *= 1 - _CLEAR * doubt / beta**2
    rest = total - beta**2 * power
    error = max(rest - noise, 0.0) + max(rest, noise) * float(np.sqrt(2 / size))
    spread = error + beta**2 * power
    b = beta * power / spread
    own = (power - b**2 * spread) / b**2
    return Guess(v.mean() + z / b, max(own, _FINEST**2 * float(variance.min())), cap)


def _cap(y: np.ndarray) -> float | None:
    """The largest value to cut at such that no few values make up the spread; None where half the values would have to be cut."""
    for cap in np.sort(y)[::-1][: y.size // 2]:
        squares = (np.minimum(y, cap) - np.minimum(y, cap).mean()) ** 2
        if float(squares @ squares) <= _FEW * float(squares.sum()) ** 2:
            return float(cap)
    return None


def filtered(d: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
    """d (K,), of mean 0, filtered: m; and h, what each value adds to its own on the mean, sum_x dm_x / dd_x / K.

    F = gain(p) U, p = |U|^2 / noise, of a complex number has derivatives that sum to 2 gain + 2 p gain', of the real one at k = K / 2 to
    gain + 2 p gain', and gain' is the posterior variance of the gain (``gains``).
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
    """Posterior mean and variance (F,) of P / (P + noise) at each frequency, from p = |U|^2 / noise, exponential of mean 1 + P / noise.

    The prior of the powers is learnt from the other frequencies, all of them and once more those near, on powers 0 and 1/8, 1/4, .. of
    the noise's.
    """
    high = max(4, int(np.log2(max(float(p.max()), 2.0)) + 2))
    keep = 1 / (1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, high)]))
    likelihood = keep * np.exp(-np.minimum(p[:, None] * keep, 700.0))
    base = np.full(keep.size, 0.5 / (keep.size - 1))
    base[0] = 0.5
    k = np.arange(1, p.size + 1)
    first, last = np.searchsorted(k, k / _NEAR), np.searchsorted(k, k * _NEAR, side="right")
    near = np.maximum(last - first - 1, 1)[:, None]
    posteriors = likelihood * base
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    for _ in range(_SWEEPS):
        sums = np.concatenate([np.zeros((1, keep.size)), np.cumsum(posteriors, axis=0)])
        everywhere = (np.maximum(sums[-1] - posteriors, 0.0) + _PSEUDO * base) / (
            p.size - 1 + _PSEUDO
        )
        here = np.maximum(sums[last] - sums[first] - posteriors, 0.0) * (
            np.minimum(near, _LOCAL) / near
        )
        moved = likelihood * (everywhere + here)
        moved /= moved.sum(axis=1, keepdims=True)
        steady = bool(np.abs(moved - posteriors).max() < 1e-3)
        posteriors = moved
        if steady:
            break
    mean = posteriors @ (1 - keep)
    return mean, np.maximum(posteriors @ (1 - keep) ** 2 - mean**2, 0.0)
