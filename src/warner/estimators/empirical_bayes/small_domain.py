"""Small domains: the posterior of the shares given that they sum to one, on a lattice (METHODS 5).

With few values there is no learning a prior from them, and the law of each given the sum is far
from its law alone. So the prior is an even mixture of symmetric Dirichlet laws, and convolution
makes the sum exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner.estimators.empirical_bayes.settings import SETTINGS

_TINY = 1e-300


def lattice(least: float) -> int | None:
    """J, the steps of the unit interval that resolve noise of the standard deviation ``least``.

    None where that is too many; shares then hardly shrink.
    """
    steps = int(2 ** np.ceil(np.log2(SETTINGS.lattice_steps / least)))
    return max(steps, SETTINGS.coarsest_lattice) if steps <= SETTINGS.finest_lattice else None


@dataclass(frozen=True, eq=False)
class SmallDomainPosterior:
    """theta on a lattice of step 1/J.

    Attributes:
        likelihood: (K, J + 1), at shares 0, 1/J, .., 1.
        weights: (C,) of the concentrations, after the data.
        laws: (K, J + 1), of each share, given all data and the sum.
    """

    likelihood: np.ndarray
    weights: np.ndarray
    laws: np.ndarray

    @classmethod
    def of(cls, likelihood: np.ndarray) -> SmallDomainPosterior:
        """The posterior from likelihoods (K, J + 1).

        With f = likelihood times prior, the law of theta_x given the sum is
        f_x(t) (convolution of the other f)(1 - t).
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
            scores.append(np.log(max(float(masses.mean()), _TINY)) - np.log(max(whole, _TINY)))
            posteriors.append(laws / np.maximum(masses, _TINY))
        weights = np.exp(np.array(scores) - max(scores))
        weights /= weights.sum()
        return cls(likelihood, weights, np.einsum("c,ckj->kj", weights, np.array(posteriors)))

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, K) draws: a concentration, then value by value.

        Each value is drawn given the values before it and the sum of the others.
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
