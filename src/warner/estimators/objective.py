"""What is maximised, and the certificate (METHODS 0).

    maximise l(theta) = sum_y w_y log (A theta)_y   over the simplex

The score s = A' (w / A theta) has theta . s = 1, and by concavity no distribution beats theta by more than
gap = max_x s_x - 1 nats per row. Every solver stops on that number, and every fit reports it.
"""

from __future__ import annotations

import numpy as np

from warner._check import ImpossibleReportError, message
from warner.channel import Channel
from warner.estimate import Fit, Status
from warner.evidence import Evidence

WHOLE, SUPPORTS = "likelihood of the reports", "quasi-likelihood of the support counts"


def score(channel: Channel, w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """s = A' (w / A theta), (K,); rows that were not seen do not count."""
    d = channel.matvec(theta)
    return channel.rmatvec(np.divide(w, d, out=np.zeros_like(d), where=w > 0))


def gap(channel: Channel, w: np.ndarray, theta: np.ndarray) -> float:
    """Nats per report by which the maximum can exceed l(theta), theta on the simplex."""
    return max(0.0, float(score(channel, w, theta).max()) - 1) * channel.copies


def log_likelihood(channel: Channel, w: np.ndarray, theta: np.ndarray) -> float:
    """sum_y w_y log (A theta)_y in nats per report, up to a constant; -inf where a seen report has probability 0.

    Where reports count for several rows, rows are rescaled to be probabilities: log(copies * row).
    """
    seen = w > 0
    d = channel.matvec(theta)[seen] * channel.copies
    return float(channel.copies * (w[seen] @ np.log(d))) if (d > 0).all() else -np.inf


def name_of(channel: Channel) -> str:
    """Which likelihood the channel's rows give."""
    return SUPPORTS if channel.copies > 1 else WHOLE


def finish(evidence: Evidence, theta: np.ndarray, status: Status, iterations: int | None) -> Fit:
    """A fit with its certificate; ``evidence`` holds the likelihood that was maximised."""
    channel, w = evidence.channel, evidence.weights
    return Fit(theta, status, gap(channel, w, theta), iterations, evidence.n * log_likelihood(channel, w, theta), name_of(channel))


def require_possible(channel: Channel, w: np.ndarray) -> None:
    """Refuse reports that have probability zero under every value."""
    impossible = (w > 0) & (channel.matvec(np.ones(channel.shape[1])) <= 0)
    if impossible.any():
        raise ImpossibleReportError(
            message(
                "reports",
                f"{np.count_nonzero(impossible)} of the reports seen have probability 0 under every value",
                None,
                "They cannot come from this mechanism: check the channel",
            )
        )
