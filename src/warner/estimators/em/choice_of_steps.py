"""The number of EM steps, chosen by the likelihood of held-out reports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warner._core.progress import steps as progress_of
from warner.channels import LikelihoodOperator
from warner.estimators.em.step import em_step
from warner.estimators.fit import Status
from warner.estimators.iteration import iterate
from warner.estimators.mle.objective import safe_divide

_FOLDS = 5
# Standard errors by which held-out reports must be likelier than at the start; below, one step.
_CLEAR = 2.0
_MOST = 20_000  # the largest number of steps tried
_OFTEN = 1.05  # the ratio of the steps after which held-out likelihoods are computed
# The search ends after this many steps at least, and this many times the best number so far.
_LEAST, _PATIENCE = 300, 2.0
# From independence this many times the best number are taken: too few steps leave bias, and extra
# steps add little variance.
_BEYOND = 2
# The search ends where doubling the steps gains fewer nats than this over all held-out reports:
# from independence, with _LONG steps the first to be doubled, and from the uniform start.
_LONG, _GAIN_FROM_INDEPENDENCE = 200, 1.0
_GAIN_FROM_UNIFORM = 0.01
_STEADY = 1e-8  # the search ends where no step moves a share by more
_ROUNDING = 1e-13  # nats per row, by which rounding may lower a likelihood
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class _Paths:
    """EM on the reports outside each of F folds, all after the same number of steps.

    Attributes:
        thetas: (K, F).
        d: A thetas, (m, F).
        paces: (F,), see ``warner.estimators.em.step.advance``.
        steady: whether the last step hardly moved any share.
    """

    thetas: np.ndarray
    d: np.ndarray
    paces: np.ndarray
    steady: bool = False


class _Search:
    """The best number of steps so far, and whether to go on.

    Args:
        folds: (m, F), counts of the rows in each fold.
        d: (m, F), A theta at the start.
        uniform: whether the start is the uniform distribution.
        size: K.
    """

    def __init__(self, folds: np.ndarray, d: np.ndarray, uniform: bool, size: int) -> None:
        self._held_out = folds > 0
        self._counts = folds[self._held_out]
        self._at_start = np.log(np.maximum(d[self._held_out], _TINY))
        self.best = int(uniform)
        self.clear = False
        self._best_value = -np.inf
        self._next = float(self.best)
        # From independence the best number is the smaller, the more cells share the reports, and
        # with very many cells a step takes long.
        few = int(np.clip(_LEAST * 10**4 / size, _LEAST / 10, _LEAST))
        self._least = _LEAST if uniform else few
        self._doubled = _LEAST if uniform else _LONG
        self._required = _GAIN_FROM_UNIFORM if uniform else _GAIN_FROM_INDEPENDENCE
        self._at_half = -np.inf

    def is_due(self, step: int) -> bool:
        """Whether held-out likelihoods are computed after ``step`` steps."""
        return step >= self._next

    def ends(self, paths: _Paths, step: int) -> bool:
        """Whether the search ends after ``step`` steps; the best number is updated."""
        if not self.is_due(step):
            return False
        gain = np.log(np.maximum(paths.d[self._held_out], _TINY)) - self._at_start
        value = float(self._counts @ gain)
        if value > self._best_value:
            self.best, self._best_value = step, value
            self.clear = value > _CLEAR * float(np.sqrt(self._counts @ gain**2))
        if step > max(self._least, _PATIENCE * self.best):
            return True
        if step >= self._doubled:
            if value - self._at_half < self._required:
                return True
            self._doubled, self._at_half = 2 * step, value
        self._next = max(step + 1, step * _OFTEN)
        return False


def chosen_steps(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    start_from: Callable[[np.ndarray], np.ndarray] | None = None,
) -> int:
    """The number of EM steps after which held-out reports are likeliest.

        argmax_t sum_f sum_y c_fy log (A theta_t,-f)_y

    A (m, K) is the channel. c_fy is the count of row y in fold f, and theta_t,-f (K,) is the result
    of t steps on the other folds. Each count is split multinomially among the folds. Given the
    distribution of reports, the folds are then independent. The split is a function of the counts.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        n: number of reports.
        start_from: takes the frequencies (m,) of the reports that are not held out, and returns the
            start (K,). The start then does not depend on the held-out reports. None for the uniform
            distribution.

    Returns:
        The number of steps. It is at least 1 from the uniform start.
    """
    uniform = start_from is None
    folds, rest = split_into_folds(np.rint(w * (n * channel.rows_per_report)).astype(np.int64))
    if not folds.shape[1]:
        return int(uniform)
    if (seen := channel.seen_rows()) is not None:
        channel, folds, rest = seen[0], folds[seen[1]], rest[seen[1]]
    size = channel.shape[1]
    if start_from is None:
        thetas = np.full((size, folds.shape[1]), 1 / size)
    else:
        thetas = np.stack([start_from(weights) for weights in rest.T], axis=1)
    paces = np.full(thetas.shape[1], float(channel.rows_per_report))
    start = _Paths(thetas, channel.matvec(thetas), paces)
    search = _Search(folds, start.d, uniform, size)

    def stop(paths: _Paths, steps: int) -> Status | None:
        return Status.STOPPED if paths.steady or search.ends(paths, steps) else None

    iterate(start, lambda paths: _advance(channel, rest, paths), stop, _MOST)
    if not uniform:
        return min(_MOST, _BEYOND * search.best)
    return search.best if search.clear else 1


def chosen_steps_of_each(channel: LikelihoodOperator, w: np.ndarray, n: int) -> np.ndarray:
    """:func:`chosen_steps` from the uniform start for several sets of reports together.

    A step is one product with the folds of all sets. A set whose search has ended is left out.

    Args:
        channel: A (m, K), with one row for each report.
        w: frequencies (m, B) of the rows in each set.
        n: number of reports of each set.

    Returns:
        The number of steps (B,).
    """
    size, steps = channel.shape[1], np.ones(w.shape[1], dtype=np.int64)
    split = [split_into_folds(counts) for counts in np.rint(w * n).astype(np.int64).T]
    if (seen := channel.seen_rows()) is not None:
        channel = seen[0]
        split = [(folds[seen[1]], rest[seen[1]]) for folds, rest in split]
    live = [b for b, (folds, _) in enumerate(split) if folds.shape[1]]
    if not live:
        return steps
    widths = np.array([split[b][0].shape[1] for b in live])
    starts = np.cumsum(widths) - widths
    rest = np.concatenate([split[b][1] for b in live], axis=1)
    thetas = np.full((size, rest.shape[1]), 1 / size)
    d = channel.matvec(thetas)
    searches = {
        b: _Search(split[b][0], d[:, at : at + split[b][0].shape[1]], True, size)
        for b, at in zip(live, starts, strict=True)
    }
    steady = np.zeros(len(live), dtype=bool)
    for step in progress_of(range(_MOST + 1), "iterations"):
        due = [at for at, b in enumerate(live) if steady[at] or searches[b].is_due(step)]
        ended = set()
        for at in due:
            own = slice(starts[at], starts[at] + widths[at])
            paths = _Paths(thetas[:, own], d[:, own], np.ones(widths[at]), bool(steady[at]))
            if steady[at] or searches[live[at]].ends(paths, step):
                ended.add(at)
        if ended:
            left = np.array([at not in ended for at in range(len(live))])
            kept = np.repeat(left, widths)
            rest, thetas, d = (np.ascontiguousarray(v[:, kept]) for v in (rest, thetas, d))
            live = [b for b, stays in zip(live, left, strict=True) if stays]
            widths = widths[left]
            starts = np.cumsum(widths) - widths
        if not live:
            break
        s = channel.rmatvec(safe_divide(rest, d))
        moved = (thetas * np.abs(s - 1)).max(axis=0)
        steady = np.maximum.reduceat(moved, starts) < _STEADY
        thetas = em_step(thetas, s)
        d = channel.matvec(thetas)
    for b, search in searches.items():
        steps[b] = search.best if search.clear else 1
    return steps


def split_into_folds(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts (m, F) of the folds that are used, and frequencies (m, F) of the rest of each."""
    seed = np.frombuffer(hashlib.sha256(counts.tobytes()).digest(), dtype=np.uint32)
    rng = np.random.default_rng(seed)
    folds = rng.multinomial(counts, np.full(_FOLDS, 1 / _FOLDS)).astype(np.float64)
    rest = counts[:, None] - folds
    totals = rest.sum(axis=0)
    used = (totals > 0) & (folds.sum(axis=0) > 0)
    return folds[:, used], rest[:, used] / np.where(used, totals, 1.0)[used]


def _advance(channel: LikelihoodOperator, w: np.ndarray, paths: _Paths) -> _Paths:
    """One step on every path: ``warner.estimators.em.step.advance`` of several columns at once."""
    s = channel.rmatvec(safe_divide(w, paths.d))
    if channel.rows_per_report == 1:
        thetas = em_step(paths.thetas, s)
        d, paces = channel.matvec(thetas), paths.paces
    else:
        thetas, d, paces = _lengthened(channel, w, paths, s)
    moved = float((thetas * np.abs(s - 1)).max()) * channel.rows_per_report
    return _Paths(thetas, d, paces, moved < _STEADY)


def _lengthened(
    channel: LikelihoodOperator, w: np.ndarray, paths: _Paths, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thetas, A thetas and paces after a step as long as each path's likelihood allows."""
    thetas, d, paces = paths.thetas.copy(), paths.d.copy(), paths.paces.copy()
    left = np.arange(thetas.shape[1])
    while left.size:
        columns = [em_step(paths.thetas[:, f], s[:, f], paces[f]) for f in left]
        thetas[:, left] = np.stack(columns, axis=1)
        d[:, left] = channel.matvec(np.ascontiguousarray(thetas[:, left]))
        ratio = np.maximum(d[:, left], _TINY) / np.maximum(paths.d[:, left], _TINY)
        gain = (w[:, left] * np.log(ratio)).sum(axis=0)
        left = left[(gain < -_ROUNDING) & (paces[left] > 1)]
        paces[left] = np.maximum(1.0, paces[left] / 2)
    return thetas, d, np.minimum(channel.rows_per_report, 2 * paces)
