"""Expectation maximisation, stopped early: a regularised estimate, and never called the maximum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from warner._core.checks import choice, integer
from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels import (
    Channel,
    DirectChannel,
    HadamardChannel,
    SupportChannel,
    marginal,
    summed,
)
from warner.domains import Domain, Product
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status
from warner.estimators.independent import Independent
from warner.estimators.inversion import Inversion
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import (
    advance,
    assess,
    finish,
    log_likelihood,
    moved_or_not,
    over,
    relaxed,
    require_possible,
)

_FOLDS = 5
_CLEAR = 2.0  # standard errors by which held-out reports must be likelier than under the uniform distribution, or one step is taken
_MOST = 20_000  # steps that "auto" may take
_OFTEN = 1.05  # held-out likelihoods are looked at after steps in this ratio
_PATIENCE, _LEAST = (
    2.0,
    300,
)  # past the best step so far by this ratio, and after so many steps at least, "auto" ends
_BEYOND = 2  # times the best number of steps are taken from independence: what is left out there is bias, and a few steps more cost little
_LONG = 200  # steps from independence from which doubling them must gain _GAIN nats over all held-out reports, or it ends
_GAIN, _NOTHING = (
    1.0,
    0.01,
)  # that many nats; from the uniform start, from _LEAST steps on, ever smaller gains end it too
_EVEN = 0.01  # of the uniform distribution in a start at the product of marginals: a share that starts at 0 stays there
_CLOSED = (
    DirectChannel,
    SupportChannel,
    HadamardChannel,
)  # whose inverse is a closed form and not worse than the reports are
_STEADY = 1e-8  # and where no step moves a share by more
_STILL = 1e-3  # in l1, or one report's share if that is less: steps that move theta by less have not moved it
_ROUNDING = 1e-13  # nats per row, by which rounding may lower a likelihood


@dataclass(frozen=True)
class ExpectationMaximization(Estimator):
    """``steps`` steps theta <- theta * A' (w / A theta) from a start (iterative Bayesian update, IBU).

    Where the tally knows reports by their bit sums only, a report counts for several rows, and this step is too short by
    their number. It is then made that many times as long, and shortened again where the quasi-likelihood would fall, so that a
    number of steps means what it means on whole reports (``warner.estimators.mle.objective.advance``).

    Plain EM needs 10^4 to 10^5 steps to come near the maximiser, so the number of steps is a choice of how much to smooth;
    the fit's ``gap`` says how far from the maximum it stopped. For the maximum itself use MaximumLikelihood.

    With ``"auto"`` the data choose: reports are dealt at random into 5 folds, EM runs on all but one, and the number of steps
    after which the folds left out are likeliest together is the number taken on all reports, at most 20,000; the fit's ``iterations``
    says how many. The dealing is a function of the tally, so the same tally gives the same estimate. A tally of counts deals as
    well as the reports themselves: each count is split multinomially, which for bit sums deals every bit by itself. It costs three to
    four times as much as EM with that number of steps, and at least 300 of them.

    Args:
        steps: how many steps, at least 1, or ``"auto"``.
        keep_path: also return log-likelihood and gap after every step, as the fit's ``path`` (steps + 1, 2), for plots.
        start: ``"uniform"``, or for several attributes ``"independent"``, the product of their estimated marginals (and 1 % of the uniform
            distribution). Few steps then mean little dependence, not little of anything, and with ``"auto"`` each fold has its own start,
            no step at all may be the best number, and twice the best number are taken. On a domain of one attribute, and where reports do
            not tell attributes apart, the two are the same.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: [P1 sec 3.2], [P4 sec IV]; METHODS 0.

    >>> ExpectationMaximization(100), ExpectationMaximization("auto")
    (ExpectationMaximization(steps=100), ExpectationMaximization(steps='auto'))
    """

    summary: ClassVar[str] = "expectation maximisation, stopped early: a regularised estimate"

    steps: int | Literal["auto"]
    keep_path: bool = field(default=False, repr=False)
    start: str = "uniform"

    def __post_init__(self) -> None:
        if isinstance(self.steps, str):
            if self.steps != "auto":
                raise ArgumentError(
                    message("steps", "must be a whole number or 'auto'", repr(self.steps))
                )
        else:
            integer("steps", self.steps, 1)
        choice("start", self.start, ("uniform", "independent"))
        choice("keep_path", self.keep_path, (False, True))

    def __repr__(self) -> str:
        start = "" if self.start == "uniform" else f", start={self.start!r}"
        return f"ExpectationMaximization(steps={self.steps!r}{start})"

    def _fit(self, data: LikelihoodData) -> Fit:
        if (
            self.start == "independent"
            and isinstance(data.domain, Product)
            and (turned := self._by_name(data, data.domain))
        ):
            return turned
        channel, w = data.channel, data.weights
        rows, weights = channel.restrict_to_observed(w)
        require_possible(rows, weights)
        begin: Callable[[np.ndarray], np.ndarray] | None = None
        if self.start == "independent" and _tells_apart(rows, weights, data.domain):
            begin = lambda v: _apart(replace(data, channel=rows, weights=v))
        steps = (
            chosen_steps(rows, weights, data.n, begin)
            if isinstance(self.steps, str)
            else self.steps
        )
        theta = np.full(channel.shape[1], 1 / channel.shape[1]) if begin is None else begin(weights)
        first, pace = theta, rows.rows_per_report
        path = []
        s, value = assess(rows, weights, theta)
        for _ in range(steps):
            path.append((data.n * value, max(0.0, float(s.max()) - 1) * channel.rows_per_report))
            theta, s, value, pace = advance(rows, weights, theta, s, value, pace)
        fit = moved_or_not(
            finish(data, theta / theta.sum(), Status.STOPPED, steps),
            first,
            data.n,
            min(_STILL, 1 / data.n),
        )
        kept = None
        if self.keep_path:
            # Rows that tell the same were taken together, which moves every log-likelihood by one number.
            moved = (fit.log_likelihood or 0.0) - data.n * log_likelihood(rows, weights, fit.shares)
            kept = np.array(
                [*((value + moved, gap) for value, gap in path), (fit.log_likelihood, fit.gap)]
            )
        return replace(fit, path=kept)

    def _by_name(self, data: LikelihoodData, domain: Product) -> Fit | None:
        """The fit with attributes in the order of their names, turned back, so that reports are dealt alike in whatever order they are asked for."""
        names = list(domain.domains)
        order = sorted(range(len(names)), key=names.__getitem__)
        found = (
            None
            if names == sorted(names)
            else marginal(data.channel, data.weights, domain.shape, order)
        )
        if found is None:
            return None
        other = Product(**{names[axis]: domain.domains[names[axis]] for axis in order})
        fit = self._fit(LikelihoodData(found[0], found[1], data.n, other))
        return replace(
            fit,
            probabilities=summed(
                fit.shares, other.shape, [order.index(axis) for axis in range(len(names))]
            ),
        )


@dataclass(frozen=True)
class _Marginal(Estimator):
    """A marginal to start from: by inversion where each report tells of few values, else by steps of its own."""

    def _fit(self, data: LikelihoodData) -> Fit:
        plain = isinstance(data.channel, _CLOSED)
        return (Inversion("project") if plain else ExpectationMaximization("auto")).fit(data)


def _tells_apart(channel: Channel, w: np.ndarray, domain: Domain) -> bool:
    """Whether there are marginals to start from, made from reports of one attribute or by a closed form."""
    return isinstance(domain, Product) and (
        isinstance(channel, _CLOSED) or marginal(channel, w, domain.shape, [0]) is not None
    )


def _apart(data: LikelihoodData) -> np.ndarray:
    """The product of the marginals, with no share at 0."""
    shares = Independent(method=_Marginal()).fit(data).shares
    return (1 - _EVEN) * shares + _EVEN / shares.size


def chosen_steps(
    channel: Channel, w: np.ndarray, n: int, begin: Callable[[np.ndarray], np.ndarray] | None = None
) -> int:
    """The number of EM steps after which held-out reports are likeliest: argmax_t sum_f sum_y c_fy log (A theta_t,-f)_y.

    c_f (m,) are the counts of fold f, theta_t,-f what t steps on the other folds make. Dealing splits each count multinomially,
    so given the law of reports the folds are independent. ``begin`` makes a fold's start from the weights of the others, so that it
    knows nothing of what is held out; None for the uniform one.
    """
    counts = np.rint(w * (n * channel.rows_per_report)).astype(np.int64)
    seed = np.frombuffer(hashlib.sha256(counts.tobytes()).digest(), dtype=np.uint32)
    folds = (
        np.random.default_rng(seed)
        .multinomial(counts, np.full(_FOLDS, 1 / _FOLDS))
        .astype(np.float64)
    )
    rest = counts[:, None] - folds
    totals = rest.sum(axis=0)
    used = (totals > 0) & (folds.sum(axis=0) > 0)
    if not used.any():
        return int(begin is None)
    folds, rest = folds[:, used], rest[:, used] / totals[used]
    if begin is None:
        thetas = np.full((channel.shape[1], folds.shape[1]), 1 / channel.shape[1])
    else:
        thetas = np.stack([begin(weights) for weights in rest.T], axis=1)
    least = int(begin is None)
    # From independence the best number is the smaller, the more cells share the reports; with very many a step takes long too.
    patient = (
        _LEAST
        if begin is None
        else int(np.clip(_LEAST * 10**4 / channel.shape[1], _LEAST / 10, _LEAST))
    )
    best, best_value, following, clear = least, -np.inf, float(least), False
    doubled, then, gained = (
        (_LEAST, -np.inf, _NOTHING) if begin is None else (_LONG, -np.inf, _GAIN)
    )
    seen = folds > 0
    d = channel.matvec(thetas)
    even = np.log(np.maximum(d[seen], 1e-300))
    paces = np.full(thetas.shape[1], float(channel.rows_per_report))
    for step in range(_MOST + 1):
        if step >= following:
            gain = np.log(np.maximum(d[seen], 1e-300)) - even
            value = float(folds[seen] @ gain)
            if value > best_value:
                best, best_value, clear = (
                    step,
                    value,
                    value > _CLEAR * float(np.sqrt(folds[seen] @ gain**2)),
                )
            if step > max(patient, _PATIENCE * best):
                break
            if step >= doubled:
                if value - then < gained:
                    break
                doubled, then = 2 * step, value
            following = max(step + 1, step * _OFTEN)
        s = channel.rmatvec(over(rest, d))
        if channel.rows_per_report == 1:
            thetas = thetas * s
            d = channel.matvec(thetas)
        else:
            thetas, d, paces = _advanced(channel, rest, thetas, s, d, paces)
        if float((thetas * np.abs(s - 1)).max()) * channel.rows_per_report < _STEADY:
            break
    if begin is not None:
        return min(_MOST, _BEYOND * best)
    return best if clear else 1


def _advanced(
    channel: Channel,
    w: np.ndarray,
    thetas: np.ndarray,
    s: np.ndarray,
    d: np.ndarray,
    paces: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``objective.advance`` of several columns at once: (thetas, A thetas, paces) after one step."""
    moved, d_moved, paces = thetas.copy(), d.copy(), paces.copy()
    left = np.arange(thetas.shape[1])
    while left.size:
        columns = [relaxed(thetas[:, f], s[:, f], paces[f]) for f in left]
        moved[:, left] = np.stack(columns, axis=1)
        d_moved[:, left] = channel.matvec(np.ascontiguousarray(moved[:, left]))
        ratio = np.maximum(d_moved[:, left], 1e-300) / np.maximum(d[:, left], 1e-300)
        gain = (w[:, left] * np.log(ratio)).sum(axis=0)
        left = left[(gain < -_ROUNDING) & (paces[left] > 1)]
        paces[left] = np.maximum(1.0, paces[left] / 2)
    return moved, d_moved, np.minimum(channel.rows_per_report, 2 * paces)


def climb(
    channel: Channel, w: np.ndarray, n: int, theta: np.ndarray, tolerance: float, most: int
) -> tuple[np.ndarray, float, int, Status]:
    """EM from theta until a step raises the log-likelihood of all n reports by less than ``tolerance``: (theta, l, steps, how it ended)."""
    s, value = assess(channel, w, theta)
    pace = channel.rows_per_report
    for step in range(1, most + 1):
        before = value
        theta, s, value, pace = advance(channel, w, theta, s, value, pace)
        if value == -np.inf or n * (value - before) < tolerance:
            return theta / theta.sum(), value, step, Status.STOPPED
    return theta / theta.sum(), value, most, Status.STEP_LIMIT
