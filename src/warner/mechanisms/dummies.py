"""Reports of a dummy, which a mechanism can send where there is no answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from warner._core.sampling import Source


@dataclass(frozen=True, eq=False)
class Dummies:
    """The reports of a dummy, with probabilities D[y] that depend on no answer.

    A mechanism offers them where epsilon bounds any two of its values, its report is one column
    ``report``, and the largest ratios to its reports A[y, x] are known exactly. Their product is at
    most exp(epsilon).

    Attributes:
        above: the largest A[y, x] / D[y] over all reports y and values x.
        below: the largest D[y] / A[y, x].
        sample: draws n reports from a source, as the schema's columns.
        shares: D (m,), as floats, in the order of the rows of the channel.
        exact: D (m,), as Fractions, in the order of ``outputs``.
    """

    above: Fraction
    below: Fraction
    sample: Callable[[int, Source], dict[str, np.ndarray]]
    shares: Callable[[], np.ndarray]
    exact: Callable[[], np.ndarray]
