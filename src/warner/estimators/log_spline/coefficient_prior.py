"""The prior of the coefficients of a log-spline."""

from __future__ import annotations

import numpy as np

from warner.estimators.log_spline.basis import Design


class CoefficientPrior:
    """The prior of phi: independent normals for the spline, a multivariate Cauchy per group.

    Args:
        x: the columns X (K, P) and their kinds.
        scale: s, the standard deviation of the coefficients of the spline.
    """

    def __init__(self, x: Design, scale: float) -> None:
        self.x, self.scale = x, scale
        # What does not depend on phi, the normalisers.
        self._constant = -float(x.spline.sum()) * float(np.log(scale * np.sqrt(2 * np.pi)))
        for group in x.groups:
            self._constant += _log_cauchy(len(group))

    def value(self, phi: np.ndarray) -> float:
        groups = sum((1 + len(g)) / 2 * float(np.log1p(phi[g] @ phi[g])) for g in self.x.groups)
        return (
            self._constant - float((phi[self.x.spline] ** 2).sum()) / (2 * self.scale**2) - groups
        )

    def curvature(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The precision (P,), and the Hessian (P, P) of -log prior, at phi.

        The gradient of the log prior is -precision * phi. The diagonal matrix of precisions is the
        Hessian of -log of a normal law. This law equals the prior at phi and is below it elsewhere.
        The matrix is always positive, unlike the Hessian of a Cauchy.

        Args:
            phi: (P,) coefficients.
        """
        precision = np.full(phi.size, 1 / self.scale**2)
        hessian = np.zeros((phi.size, phi.size))
        for g in self.x.groups:
            part = (1 + len(g)) / (1 + phi[g] @ phi[g])
            precision[g] = part
            hessian[np.ix_(g, g)] -= 2 * part / (1 + phi[g] @ phi[g]) * np.outer(phi[g], phi[g])
        return precision, hessian + np.diag(precision)


def _log_cauchy(dimensions: int) -> float:
    """log of the normaliser of (1 + |a|^2)^(-(1 + d) / 2) in d dimensions.

    It is Gamma((1 + d) / 2) / pi^((1 + d) / 2).
    """
    from scipy.special import gammaln

    half = (1 + dimensions) / 2
    return float(gammaln(half) - half * np.log(np.pi))
