"""What is maximised, and the certificate (METHODS 0).

    maximise l(theta) = sum_y w_y log (A theta)_y   over the simplex

where rows are probabilities of reports; otherwise a factor of each row turns them into probabilities (Channel.log_factors).
The score s = A' (w / A theta) has theta . s = 1, and by concavity no distribution beats theta by more than
gap = max_x s_x - 1 nats per row. Every solver stops on that number, and every fit reports it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warner._core.errors import (
    ImpossibleReportError,
    message,
)
from warner.channels import LikelihoodOperator
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData

WHOLE, SUPPORTS = "likelihood of the reports", "quasi-likelihood of the support counts"
_MOST_LOST = 0.9  # of a share, in one relaxed step
_ROUNDING = 1e-13  # of a likelihood, by which rounding may lower it
_NOTHING = 1e-3  # nats over all reports: a start that is so close to the maximum needs no step


def over(w: np.ndarray, d: np.ndarray) -> np.ndarray:
    """w / d, 0 for reports that were not seen or cannot be."""
    return np.divide(w, d, out=np.zeros_like(d), where=(w > 0) & (d > 0))


def assess(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, float]:
    """The score s = A' (w / A theta), (K,), and l(theta); rows that were not seen do not count.

    l is in nats per report, the mean of the logarithms of the reports' own probabilities, and -inf where a seen report has
    probability 0. A row is the probability of a report divided by ``rows_per_report`` and by the channel's factor for that row.
    """
    seen = w > 0
    d = channel.matvec(theta)
    s = channel.rmatvec(over(w, d))
    some = d[seen] * channel.rows_per_report
    if not (some > 0).all():
        return s, -np.inf
    return s, float(
        channel.rows_per_report * (w[seen] @ (np.log(some) + channel.log_factors_of(seen)))
    )


def relaxed(theta: np.ndarray, s: np.ndarray, pace: float) -> np.ndarray:
    """theta (1 + pace (s - 1)), the EM step made ``pace`` times as long; it sums to one as theta does, (K,).

    Where that step would take more than nine tenths from a share, it is shortened, but never below EM's own.
    """
    if pace <= 1:
        return theta * s
    lowest = float(s[theta > 0].min(initial=1.0))
    if lowest < 1:
        pace = max(1.0, min(pace, _MOST_LOST / (1 - lowest)))
    moved = theta * (1 + pace * (s - 1))
    # The sum is one but for rounding, which a step from a sum of 1 + r would make 1 + (1 - pace) r.
    return np.asarray(moved / moved.sum())


def advance(
    channel: LikelihoodOperator,
    w: np.ndarray,
    theta: np.ndarray,
    s: np.ndarray,
    value: float,
    pace: float,
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """One step of EM from theta with score s and likelihood l = value: (theta, s, l, pace) after it.

    Where a report counts for several rows, EM over rows takes every row for a person's whole report, and its steps are
    ``rows_per_report`` times too short. EM over whole reports moves theta by theta (S - 1), S the score of whole reports. To first
    order S - 1 = copies (s - 1): for unary encoding, as K grows, and for subset selection but for a factor K / (K - 1). So the
    step is ``relaxed`` by the pace ``rows_per_report``. EM's own step never lowers the likelihood; while a longer step does,
    the pace is halved, down to 1. The next step starts from twice the pace that was accepted.
    """
    while True:
        moved = relaxed(theta, s, pace)
        s_moved, value_moved = assess(channel, w, moved)
        if pace <= 1 or value_moved >= value - _ROUNDING * abs(value):
            return moved, s_moved, value_moved, min(channel.rows_per_report, 2 * pace)
        pace = max(1.0, pace / 2)


def moved_or_not(fit: Fit, start: np.ndarray, n: int, least: float) -> Fit:
    """The fit with the status NOT_MOVED where theta is within ``least`` of the start in l1 and the maximum is elsewhere."""
    missing = np.inf if fit.gap is None else fit.gap
    still = float(np.abs(fit.shares - start).sum()) < least and n * missing > _NOTHING
    return replace(fit, status=Status.NOT_MOVED) if still else fit


def score(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """s = A' (w / A theta), (K,)."""
    return assess(channel, w, theta)[0]


def log_likelihood(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> float:
    """l(theta) in nats per report: times n, the sum of the logarithms of all reports' probabilities."""
    return assess(channel, w, theta)[1]


def gap(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> float:
    """Nats per report by which the maximum can exceed l(theta), theta on the simplex; infinite where l(theta) is -inf."""
    s, value = assess(channel, w, theta)
    return max(0.0, float(s.max()) - 1) * channel.rows_per_report if value > -np.inf else np.inf


def name_of(channel: LikelihoodOperator) -> str:
    """Which likelihood the channel's rows give."""
    return SUPPORTS if channel.rows_per_report > 1 else WHOLE


def finish(data: LikelihoodData, theta: np.ndarray, status: Status, iterations: int | None) -> Fit:
    """A fit with its certificate; ``evidence`` holds the likelihood that was maximised."""
    channel = data.channel
    s, value = assess(channel, data.weights, theta)
    missing = max(0.0, float(s.max()) - 1) * channel.rows_per_report if value > -np.inf else np.inf
    return Fit(theta, status, missing, iterations, data.n * value, name_of(channel))


def require_possible(channel: LikelihoodOperator, w: np.ndarray) -> None:
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


def sharpen(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, target: float
) -> np.ndarray:
    """theta with the shares that a solver left all but 0 at exactly 0, unless that costs more than the gap allowed.

    A value is absent at the maximum where its score is below 1 by more than its share. In the degenerate case (METHODS 4.5) both
    are 0 together, so ever smaller shares are tried besides, the most first.
    """
    s = score(channel, w, theta)
    allowed = max(target, max(0.0, float(s.max()) - 1) * channel.rows_per_report)
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
