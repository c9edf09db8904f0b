"""What is maximised, and the certificate (METHODS 0).

    maximise l(theta) = sum_y w_y log (A theta)_y   over the simplex

The score s = A' (w / A theta) has theta . s = 1, and by concavity no distribution beats theta by more than
gap = max_x s_x - 1 nats per row. Every solver stops on that number, and every fit reports it.
"""

from __future__ import annotations

import numpy as np

from warner._check import ImpossibleReportError, message
from warner.channel import Channel
from warner.estimators.evidence import Evidence
from warner.estimators.fit import Fit, Status

WHOLE, SUPPORTS = "likelihood of the reports", "quasi-likelihood of the support counts"


def over(w: np.ndarray, d: np.ndarray) -> np.ndarray:
    """w / d, 0 for reports that were not seen or cannot be."""
    return np.divide(w, d, out=np.zeros_like(d), where=(w > 0) & (d > 0))


def assess(channel: Channel, w: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """The score s = A' (w / A theta), (K,), and l(theta); rows that were not seen do not count.

    l is in nats per report up to a constant, -inf where a seen report has probability 0. Where reports count for several rows,
    rows are rescaled to be probabilities: log(copies * row).
    """
    seen = w > 0
    d = channel.matvec(theta)
    s = channel.rmatvec(over(w, d))
    some = d[seen] * channel.copies
    return s, float(channel.copies * (w[seen] @ np.log(some))) if (some > 0).all() else -np.inf


def score(channel: Channel, w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """s = A' (w / A theta), (K,)."""
    return assess(channel, w, theta)[0]


def log_likelihood(channel: Channel, w: np.ndarray, theta: np.ndarray) -> float:
    """l(theta) = sum_y w_y log (A theta)_y in nats per report."""
    return assess(channel, w, theta)[1]


def gap(channel: Channel, w: np.ndarray, theta: np.ndarray) -> float:
    """Nats per report by which the maximum can exceed l(theta), theta on the simplex; infinite where l(theta) is -inf."""
    s, value = assess(channel, w, theta)
    return max(0.0, float(s.max()) - 1) * channel.copies if value > -np.inf else np.inf


def name_of(channel: Channel) -> str:
    """Which likelihood the channel's rows give."""
    return SUPPORTS if channel.copies > 1 else WHOLE


def finish(evidence: Evidence, theta: np.ndarray, status: Status, iterations: int | None) -> Fit:
    """A fit with its certificate; ``evidence`` holds the likelihood that was maximised."""
    channel = evidence.channel
    s, value = assess(channel, evidence.weights, theta)
    missing = max(0.0, float(s.max()) - 1) * channel.copies if value > -np.inf else np.inf
    return Fit(theta, status, missing, iterations, evidence.n * value, name_of(channel))


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


def sharpen(channel: Channel, w: np.ndarray, theta: np.ndarray, target: float) -> np.ndarray:
    """theta with the shares that a solver left all but 0 at exactly 0, unless that costs more than the gap allowed.

    A value is absent at the maximum where its score is below 1 by more than its share. In the degenerate case (METHODS 4.5) both
    are 0 together, so ever smaller shares are tried besides, the most first.
    """
    s = score(channel, w, theta)
    allowed = max(target, max(0.0, float(s.max()) - 1) * channel.copies)
    tried: set[bytes] = set()
    for absent in (1 - s > theta, *(theta < cut for cut in (1e-3, 1e-4, 1e-5, 1e-6, 1e-9))):
        sharp = np.where(absent, 0.0, theta)
        if (sharp == theta).all() or sharp.sum() <= 0 or absent.tobytes() in tried:
            continue
        tried.add(absent.tobytes())
        sharp /= sharp.sum()
        if gap(channel, w, sharp) <= allowed:
            theta = sharp
    return theta
