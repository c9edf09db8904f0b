"""Small domains: the posterior of the shares given that they sum to one, on a lattice (METHODS 5).

Few values are not enough to learn a prior from. Also, the law of a share given the sum differs much
from its law without this condition. So the prior is a mixture of symmetric Dirichlet laws, of which
the flat one weighs most. The condition on the sum is computed exactly by convolution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner.estimators.empirical_bayes.settings import SETTINGS

_TINY = 1e-300


def lattice(least: float) -> int | None:
    """The number J of steps of the unit interval that resolve the noise."""
    steps = int(2 ** np.ceil(np.log2(SETTINGS.lattice_steps / least)))
    return max(steps, SETTINGS.coarsest_lattice) if steps <= SETTINGS.finest_lattice else None


@dataclass(frozen=True, eq=False)
class SmallDomainPosterior:
    """The posterior of K shares on a lattice of step 1/J.

    Attributes:
        likelihood: (K, J + 1), the likelihood at the shares 0, 1/J, .., 1.
        weights: (C,) the posterior weights of the C concentrations of the prior.
        laws: (K, J + 1), the law of each share, given all data and the sum.
    """

    likelihood: np.ndarray
    weights: np.ndarray
    laws: np.ndarray

    @classmethod
    def of(cls, likelihood: np.ndarray) -> SmallDomainPosterior:
        """Compute the posterior.

        With f_x the likelihood of share x times its prior, the law of theta_x given the sum is
        f_x(t) times the convolution of the other f at 1 - t.

        Shapes: likelihood (K, J + 1).
        """
        size, points = likelihood.shape
        length = 1 << (size * points - 1).bit_length()
        scores, posteriors = [], []
        for concentration in SETTINGS.dirichlet_concentrations:
            prior = _prior(concentration, size, points)
            spectra = np.fft.rfft(prior * likelihood, length, axis=1)
            before, after = np.ones_like(spectra), np.ones_like(spectra)
            for x in range(1, size):
                before[x] = before[x - 1] * spectra[x - 1]
                after[size - 1 - x] = after[size - x] * spectra[size - x]
            others = np.maximum(np.fft.irfft(before * after, length, axis=1), 0.0)
            laws = prior * likelihood * others[:, points - 1 :: -1]
            whole = float(np.fft.irfft(np.fft.rfft(prior, length) ** size, length)[points - 1])
            masses = laws.sum(axis=1, keepdims=True)
            evidence = np.log(max(float(masses.mean()), _TINY)) - np.log(max(whole, _TINY))
            scores.append(evidence + _log_weight(concentration))
            posteriors.append(laws / np.maximum(masses, _TINY))
        weights = np.exp(np.array(scores) - max(scores))
        weights /= weights.sum()
        return cls(likelihood, weights, np.einsum("c,ckj->kj", weights, np.array(posteriors)))

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw distributions from the posterior.

        A concentration is drawn first. Then the shares are drawn one after the other, each given
        the earlier shares and the sum of the shares that are left.
        """
        size, points = self.likelihood.shape
        out = np.empty((count, size))
        which = rng.choice(len(SETTINGS.dirichlet_concentrations), count, p=self.weights)
        for c in np.unique(which):
            f = self.likelihood * _prior(SETTINGS.dirichlet_concentrations[c], size, points)
            rests = [f[-1]]
            for x in range(size - 2, 0, -1):
                both = np.fft.irfft(
                    np.fft.rfft(f[x], 2 * points) * np.fft.rfft(rests[-1], 2 * points), 2 * points
                )[:points]
                rests.append(np.maximum(both, 0.0) / both.max())
            rows = np.flatnonzero(which == c)
            left = np.full(rows.size, points - 1)
            for x in range(size - 1):
                index = left[:, None] - np.arange(points)
                mass = np.cumsum(
                    np.where(index >= 0, f[x] * rests[size - 2 - x][index], 0.0), axis=1
                )
                steps = np.minimum(
                    (mass <= rng.random((rows.size, 1)) * mass[:, -1:]).sum(axis=1), left
                )
                out[rows, x] = steps
                left = left - steps
            out[rows, -1] = left
        lattice_shares: np.ndarray = out / (points - 1)
        return lattice_shares


def _log_weight(concentration: float) -> float:
    """The logarithm of the weight of a concentration before the data, up to a constant."""
    return float(abs(np.log2(concentration)) * np.log(SETTINGS.dirichlet_weight))


def _prior(concentration: float, size: int, points: int) -> np.ndarray:
    """(J + 1,) Gamma masses of the lattice's cells, of mean 1/K, the largest 1.

    Given their sum this is a Dirichlet law. The power is exact over a cell, the exponential is
    taken at the points.
    """
    edges = np.concatenate([[0.0], np.arange(points) + 0.5]) / points
    logs = (
        np.log(np.maximum(np.diff(edges**concentration), _TINY))
        - concentration * size * np.arange(points) / points
    )
    out: np.ndarray = np.exp(logs - logs.max())
    return out
