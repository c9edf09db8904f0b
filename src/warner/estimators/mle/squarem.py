"""Accelerated EM: for channels too large for anything but products (METHODS 4.4)."""

from __future__ import annotations

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.mle.objective import assess

_PRODUCTS = 5000  # scores that may be computed
_TINY = 1e-300


def accelerated(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """EM extrapolated by the squared step length of Varadhan and Roland (2008), SQUAREM; (theta, scores computed, reached).

    One EM step is theta * s(theta). With two of them, r the first step and v the second minus the first, the next point is
    theta + 2 a r + a^2 v with a = |r| / |v|, in logarithms of theta so that it stays positive; a is lowered towards 1, which
    is plain EM, until the likelihood is no lower than after the first step. Every score gives the certificate of the point it was computed at.
    """
    theta = np.full(channel.shape[1], 1 / channel.shape[1])
    s, value = assess(channel, w, theta)
    count = 1
    while (float(s.max()) - 1) * channel.rows_per_report > target and count < _PRODUCTS:
        start = np.log(np.maximum(theta, _TINY))
        r = np.log(np.maximum(s, _TINY))
        theta = theta * s
        s, value = assess(channel, w, theta)
        count += 1
        v = np.log(np.maximum(s, _TINY)) - r
        # Shares weigh as they do in the likelihood: those that have all but vanished do not set the step.
        length = float(np.sqrt((theta @ r**2) / max(theta @ v**2, _TINY)))
        while length > 1.01:
            exponent = start + 2 * length * r + length**2 * v
            trial = np.exp(exponent - exponent.max())
            trial /= trial.sum()
            s_trial, value_trial = assess(channel, w, trial)
            count += 1
            if value_trial >= value:
                theta, s, value = trial, s_trial, value_trial
                break
            length = (1 + length) / 2 if length < 4 else length / 4
    return theta / theta.sum(), count, (float(s.max()) - 1) * channel.rows_per_report <= target
