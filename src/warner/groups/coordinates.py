"""Coordinates in which the noise of group estimates and their differences are independent.

The unbiased estimates T_g of n_g reports have the covariance C / n_g. The shares of groups vary
around their mean with the covariance s P, P = diag mu - mu mu'. There is a basis B with

    C = B B',   P = B diag(lambda) B'

In the coordinates z, T = mu + B z, both are diagonal: z_gj has the variance 1 / n_g from the
reports and s lambda_j from the groups. So all groups cost one product with B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_RANK = 1e-10  # relative size of a variance that counts as 0
_ROUNDING = 1e-7  # relative size of a standard deviation that is rounding


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A basis of the contrasts between shares, in which noise and prior are diagonal.

    Attributes:
        centre: mu (K,), the shares of all groups.
        basis: B (K, J), where J is the rank of C, K - 1 if every share can be told.
        ratios: lambda (J,), the variance of the prior in units of the noise of one report.
    """

    centre: np.ndarray
    basis: np.ndarray
    ratios: np.ndarray
    _inverse: np.ndarray
    _along: np.ndarray | None

    @classmethod
    def of(cls, centre: np.ndarray, covariance: np.ndarray) -> Coordinates:
        """The coordinates around a centre.

        Shares sum to 1, and unbiased estimates may not. The deviation of the sum is noise that is
        correlated with the noise of the shares, so it is used to reduce that:
        T - C 1 (1'T - 1) / (1'C 1), whose covariance is C - C 1 1'C / (1'C 1).

        Shapes: centre (K,), C = covariance (K, K).
        """
        row = covariance.sum(axis=1)
        total, along = float(row.sum()), None
        if total > _RANK * float(np.trace(covariance)):
            along = row / total
            covariance = covariance - np.multiply.outer(row, row) / total
        # The scale of each value is taken out, so that the rank does not depend on it.
        scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        scale = np.where(scale > _ROUNDING * scale.max(), scale, 1.0)
        size, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
        kept = size > _RANK * max(float(size[-1]), 1e-300)
        kept[: size.size - (centre.size - 1)] = False
        root = np.sqrt(size[kept])
        basis = scale[:, None] * vectors[:, kept] * root
        inverse = (vectors[:, kept] / root) / scale[:, None]
        prior = inverse.T @ (centre[:, None] * inverse) - np.multiply.outer(
            inverse.T @ centre, inverse.T @ centre
        )
        ratios, turn = np.linalg.eigh((prior + prior.T) / 2)
        return cls(centre, basis @ turn, np.maximum(ratios, 0.0), inverse @ turn, along)

    @property
    def rank(self) -> int:
        """J."""
        return int(self.ratios.size)

    def to(self, shares: np.ndarray) -> np.ndarray:
        """The coordinates (G, J) of unbiased estimates or shares (G, K)."""
        inside = shares
        if self._along is not None:
            inside = shares - np.multiply.outer(shares.sum(axis=1) - 1, self._along)
        return np.asarray((inside - self.centre) @ self._inverse)

    def back(self, z: np.ndarray) -> np.ndarray:
        """The shares (G, K) at coordinates (G, J); each row sums to 1."""
        return np.asarray(self.centre + z @ self.basis.T)
