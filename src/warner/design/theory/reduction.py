"""The error of estimates that give several values one share [P3 sec IV]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, distribution, numbers_of, real
from warner._core.errors import ArgumentError, ArgumentTypeError

FORMS = ("exact", "published")


def reduction_error(
    error: float, theta: ArrayLike, labels: ArrayLike, form: str = "exact"
) -> float:
    """The expected squared error after values are merged into components of equal shares.

        published   (K' / K) error + (1 / K) sum_j h_j sigma_j^2
        exact       ((K' - 1) / (K - 1)) error + (1 / K) sum_j h_j sigma_j^2

    K values are merged into K' components. Component j has h_j values, whose true shares have the
    variance sigma_j^2 (with divisor h_j). The first term is the noise. The second term is the
    squared bias, which more people do not reduce.

    Both forms assume that all estimates are equally noisy. The published first term also assumes
    that they are uncorrelated. But the estimates sum to 1, so each pair has the correlation
    -1 / (K - 1), and merging removes K - K' of K - 1 degrees of freedom. With one component all
    shares are 1 / K for any reports. The noise is then 0, but the published term is error / K.
    Components that are chosen by the same reports, as in [P3 alg 1], have more bias than fixed
    ones.

    Args:
        error: the mean over values of the expected squared error before merging, in share^2.
        theta: (K,) the true distribution.
        labels: (K,) whole numbers, equal for values of one component.
        form: ``"exact"`` or ``"published"``.

    Returns:
        The mean over values of the expected squared error, in share^2.

    Raises:
        ArgumentError: a negative error, or labels of another number.

    Source: [P3 prop 1, eq 11]; METHODS 9.11.

    >>> reduction_error(0.02, [0.5, 0.3, 0.1, 0.1], [0, 1, 2, 2], form="published")
    0.015
    >>> round(reduction_error(0.02, [0.4, 0.4, 0.1, 0.1], [0, 0, 1, 1]), 6)
    0.006667
    """
    choice("form", form, FORMS)
    if real("error", error) < 0:
        raise ArgumentError("error", "must not be negative", repr(error))
    shares = distribution("theta", theta)
    names = numbers_of("labels", labels)
    if names.shape != shares.shape:
        raise ArgumentError("labels", f"must have shape {shares.shape}", str(names.shape))
    if not (np.isfinite(names).all() and (names == np.rint(names)).all()):
        raise ArgumentTypeError("labels", "must be whole numbers")
    component = np.unique(names, return_inverse=True)[1]
    sizes = np.bincount(component)
    means = np.bincount(component, shares) / sizes
    bias = float(((shares - means[component]) ** 2).mean())
    count, size = sizes.size, shares.size
    if form == "published":
        return count / size * error + bias
    return (count - 1) / max(size - 1, 1) * error + bias
