"""Mixture reduction [P3]: values of small weight share one estimate, while BIC falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import choice, integer, kind, real, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    ImpossibleReportError,
    ValuesError,
)
from warner.channels import LikelihoodOperator, MergedChannel
from warner.domains import Domain, Integers
from warner.estimators.base import Estimator, repr_of_changes
from warner.estimators.em import run_em
from warner.estimators.fit import Fit, Status, status_of_parts
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.maximum_likelihood import MaximumLikelihood
from warner.estimators.mle.objective import certify, require_possible, score_and_log_likelihood
from warner.metrics.simplex import project

# -----------------------------------------------------------------------------------------------
# Components of a mixture that are known beforehand: values that share one, and absent values.


def is_list(values: Any) -> bool:
    """Whether an argument is a list of values; a text is not a list."""
    return isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)


def known_components(
    domain: Domain, groups: Sequence[Sequence[Any]], absent: Sequence[Any]
) -> np.ndarray:
    """The number of the component of every value, from prior knowledge.

    Returns (K,).

    >>> from warner import Integers
    >>> known_components(Integers(0, 4), [[1, 2]], [4]).tolist()
    [0, 1, 1, 2, -1]
    """
    labels = np.arange(domain.size)
    taken = np.zeros(domain.size, dtype=bool)
    named = [("groups", group) for group in groups] + [("absent", absent)]
    for name, values in named:
        if not len(values):
            continue
        index = np.unique(_places(domain, name, values))
        if taken[index].any():
            raise ArgumentError(name, "must name a value in one place only", show(list(values)))
        taken[index] = True
        labels[index] = index[0] if name == "groups" else -1
    if (labels < 0).all():
        raise ArgumentError("absent", "must leave a value", f"all {domain.size}")
    return numbered(labels)


def _places(domain: Domain, name: str, values: Sequence[Any]) -> np.ndarray:
    """The indices of values that an analyst names."""
    try:
        return domain.encode(list(values))
    except ValuesError as error:
        value = values[error.position]
        rule = f"must be values of the domain of {domain.size}"
    raise ArgumentError(name, rule, show(value))


def numbered(labels: np.ndarray) -> np.ndarray:
    """Labels (K,) numbered 0, 1, .. in their order; negative ones become -1."""
    used, numbers = np.unique(labels, return_inverse=True)
    return numbers - int(used[0] < 0)


def require_present(merged: MergedChannel, weights: np.ndarray) -> None:
    """Refuse absent values without which an observed report is impossible.

    Shapes: weights (m,).
    """
    if ((weights > 0) & (merged.matvec(np.ones(merged.shape[1])) <= 0)).any():
        raise ImpossibleReportError(
            "absent",
            "names values without which a report that was seen is impossible",
            None,
            "Leave out fewer values",
        )


_ENTRIES = 2**22  # of the columns that are formed at a time


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A fitted mixture.

    Attributes:
        labels: (K,), the component of every value, -1 for none.
        weights: (K',), of the components.
        bic: -2 n l + K' ln n.
        steps: of the fit.
        status: how the fit ended.
    """

    labels: np.ndarray
    weights: np.ndarray
    bic: float
    steps: int
    status: Status


@dataclass(frozen=True, repr=False)
class MixtureReduction(Estimator):
    """Mixture reduction: values of small weight are merged into components, while BIC falls.

        maximise l(M t) over the weights t (K',) of K' components

    l is the log-likelihood in nats per report, and M[x, j] = 1 / h_j for the h_j values x of
    component j. At first every value is a component. After each fit, components of weight below
    ``tau`` standard deviations are merged. The values of a component have equal shares. The next
    fit starts from the weights of the last one. The method ends when BIC = -2 n l + K' ln n rises,
    and the last reduction is then undone. It also ends at ``k_min`` components, or when no
    components are light enough. The fit's ``components`` is the number left.

    [P3 alg 1] stops when BIC rises, and [P3 alg 3] as printed when BIC falls. Lower is better, so
    here both stop when BIC rises. If no window is below the threshold, [P3 alg 3] as printed never
    ends. Here the window is halved, and below 2 values the method ends.

    Args:
        inner: how weights are fitted. ``"em"`` is expectation maximisation from the current
            weights, until a step raises the log-likelihood of all n reports by less than
            ``tolerance``. Stopping early regularises. ``"mle"`` is the exact maximum. Any estimator
            can be given too. None is EM as published, but the exact maximum for bit sums, where EM
            is K times slower.
        operation: ``"merge"`` merges components. ``"prune"`` instead gives them share 0. None does
            neither, so that there is only the inner fit.
        select: which components one round merges or prunes. ``"lowest"`` takes the lightest ones:
            at most half of all components below the threshold, and at least two. ``"half"`` takes
            those of the lighter half that are below the threshold (binary search). ``"window"``
            takes the ceil(K / 2^round) adjacent values of least weight, if each is a component of
            its own and their total weight is below the threshold. None takes windows where values
            are points on a line, and otherwise the lowest.
        tau: the threshold in standard deviations of a share. They are those of the unbiased
            estimate at a true share of 0 (P3 eqs 4, 5). Some channels, such as square wave and
            piecewise, have no closed form of this. For them it is the Cramer-Rao bound of one share
            at the uniform distribution (the inverse of P3 eq 13, whose numerator should be
            squared). The deviation of a component is the mean over its values.
        k_min: the least number of components. None for K / 4, rounded up.
        premerge: whether all values whose unbiased estimate is not positive, or is tiny, start in
            one component (merge) or are left out (prune). Values of ``groups`` stay in their group.
        tiny: an unbiased estimate up to this many standard deviations is tiny. With 0 only
            estimates that are not positive are. The deviations are those of ``tau``.
        groups: prior knowledge as lists of values. The values of one list are one component from
            the start, and share one estimate. With ``operation=None`` these components are final.
            Otherwise the reduction starts from them.
        absent: prior knowledge: values that nobody has. They are left out, with share 0.
        tolerance: nats over all n reports. [P3] names no number; its code takes 1e-3 e^epsilon for
            randomised response.

    The fit's ``bic`` is the BIC of the components left, with the log-likelihood of all n reports.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value, or under
            every value that is not ``absent``.
        IdentifiabilityError: ``premerge`` where the channel has no inverse.
        ArgumentError: a value of ``groups`` or ``absent`` that is not in the domain, or one that
            stands there twice; or every value is absent.

    Source: [P3 algs 1-3, sec IV, V]; METHODS 5, 9.

    >>> MixtureReduction(), MixtureReduction("mle", operation=None)
    (MixtureReduction(), MixtureReduction(inner='mle', operation=None))
    >>> MixtureReduction(operation=None, groups=[["rare", "very rare"]], absent=["unused"])
    MixtureReduction(operation=None, groups=(('rare', 'very rare'),), absent=('unused',))
    """

    references = ("P3",)

    summary: ClassVar[str] = (
        "values of little weight share one estimate, or are left out; components says how many "
        "estimates there are"
    )

    inner: Any = None
    operation: str | None = "merge"
    select: str | None = None
    tau: float = 2.0
    k_min: int | None = None
    premerge: bool = False
    tolerance: float = 1e-3
    tiny: float = 0.0
    groups: Sequence[Sequence[Any]] = ()
    absent: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if not (self.inner is None or self.inner in ("em", "mle")) and not isinstance(
            self.inner, Estimator
        ):
            raise ArgumentError(
                "inner", "must be None, 'em', 'mle' or an estimator object", kind(self.inner)
            )
        choice("operation", self.operation, ("merge", "prune", None))
        choice("select", self.select, ("lowest", "half", "window", None))
        choice("premerge", self.premerge, (False, True))
        for name in ("tau", "tolerance"):
            if real(name, getattr(self, name)) <= 0:
                raise ArgumentError(name, "must be positive", show(getattr(self, name)))
        if self.k_min is not None:
            integer("k_min", self.k_min, 1)

        if real("tiny", self.tiny) < 0:
            raise ArgumentError("tiny", "must not be negative", show(self.tiny))
        if self.tiny and not self.premerge:
            raise ArgumentError("tiny", "goes with premerge", show(self.tiny), "Pass premerge=True")
        if not is_list(self.groups) or not all(map(is_list, self.groups)):
            raise ArgumentTypeError(
                "groups",
                "must be lists of values",
                kind(self.groups),
                "For example [['a', 'b'], ['c', 'd']]",
            )
        if not is_list(self.absent):
            raise ArgumentTypeError(
                "absent", "must be a list of values", kind(self.absent), "For example ['a']"
            )
        object.__setattr__(self, "groups", tuple(tuple(group) for group in self.groups))
        object.__setattr__(self, "absent", tuple(self.absent))

    def __repr__(self) -> str:
        return repr_of_changes(self)

    def _fit(self, data: LikelihoodData) -> Fit:
        size = data.domain.size
        rows, weights = data.channel.restrict_to_observed(data.weights)
        require_possible(rows, weights)
        observed = replace(data, channel=rows, weights=weights)
        labels = known_components(data.domain, self.groups, self.absent)
        if (labels < 0).any():
            require_present(MergedChannel(rows, labels), weights)
        if self.premerge and self.operation is not None:
            labels = self._premerged(labels, data, observed)
        start = MergedChannel(rows, labels).gather(np.full(size, 1 / size))
        if self.absent:
            start /= start.sum()
        now = self._fitted(observed, labels, start)
        steps = now.steps
        least = -(-size // 4) if self.k_min is None else self.k_min
        if self.operation is not None and now.weights.size > least:
            tau = self.tau * deviations(data, rows, weights)
            level = 1
            while now.weights.size > least:
                chosen, level = self._chosen(observed, now, tau, least, level)
                if chosen is None:
                    break
                following = self._following(observed, now, chosen)
                steps += following.steps
                if following.bic > now.bic:
                    break
                now, level = following, level + 1
        theta = MergedChannel(rows, now.labels).spread(now.weights)
        less = now.weights.size < size
        status = status_of_parts([now.status]) if less else now.status
        fit = certify(data, theta / theta.sum(), status, steps)
        return replace(
            fit, components=now.weights.size if less else None, bic=_bic(fit, data.n, now)
        )

    def _premerged(
        self, labels: np.ndarray, data: LikelihoodData, observed: LikelihoodData
    ) -> np.ndarray:
        """Labels with the single values of no or of tiny unbiased estimates reduced."""
        estimates = data.channel.invert(data.weights)
        most: np.ndarray | float = 0.0
        if self.tiny:
            most = self.tiny * deviations(data, observed.channel, observed.weights)
        alone = np.bincount(labels[labels >= 0])[labels] == 1
        return self._reduced(labels, (estimates <= most) & alone & (labels >= 0))

    def _reduced(self, labels: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Labels with the components of ``values`` (K,) merged or left out.

        They are numbered by their first values. Unchanged where none would be left.
        """
        left = np.where(
            values,
            -1 if self.operation == "prune" else labels[values].min(initial=labels.size),
            labels,
        )
        if (left < 0).all():
            return labels
        return numbered(left)

    def _following(self, data: LikelihoodData, now: _Mixture, chosen: np.ndarray) -> _Mixture:
        """The mixture with the components of some values (K,) reduced, fitted again."""
        theta = MergedChannel(data.channel, now.labels).spread(now.weights)
        labels = self._reduced(now.labels, chosen)
        start = MergedChannel(data.channel, labels).gather(theta)
        return self._fitted(
            data,
            labels,
            start / start.sum() if start.sum() > 0 else np.full(start.size, 1 / start.size),
        )

    def _fitted(self, data: LikelihoodData, labels: np.ndarray, start: np.ndarray) -> _Mixture:
        merged = MergedChannel(data.channel, labels)
        if self.inner == "em" or (self.inner is None and merged.rows_per_report == 1):
            whole = merged.shape == data.channel.shape
            run = run_em(
                data.channel if whole else merged,
                data.weights,
                data.n,
                start,
                self.tolerance,
            )
            t, value, steps, status = run.state.shares, run.state.value, run.steps, run.status
        else:
            t, steps, status = self._by_estimator(data, merged)
            value = score_and_log_likelihood(merged, data.weights, t)[1]
        return _Mixture(labels, t, -2 * data.n * value + t.size * np.log(data.n), steps, status)

    def _by_estimator(
        self, data: LikelihoodData, merged: MergedChannel
    ) -> tuple[np.ndarray, int, Status]:
        """Weights by another estimator: (weights, steps, how it ended)."""
        estimator = self.inner if isinstance(self.inner, Estimator) else MaximumLikelihood()
        counts = (
            averaged(data.channel, data.weights, merged)
            if isinstance(estimator, MaximumLikelihood)
            else None
        )
        if counts is not None:
            fit = estimator.fit(replace(data, weights=counts))
            t = merged.gather(fit.shares)
        else:
            fit = estimator.fit(
                LikelihoodData(merged, data.weights, data.n, Integers(0, merged.shape[1] - 1))
            )
            t = fit.shares
        return t, fit.iterations or 0, fit.status

    def _chosen(
        self, data: LikelihoodData, now: _Mixture, tau: np.ndarray, least: int, level: int
    ) -> tuple[np.ndarray | None, int]:
        """The values (K,) reduced next, or None, and the level of the window."""
        merging = self.operation == "merge"
        most = (
            now.weights.size - least + merging
        )  # that may go without going below the least number
        points = data.domain.points
        select = self.select or (
            "window" if points is not None and points.shape[1] == 1 else "lowest"
        )
        merged = MergedChannel(data.channel, now.labels)
        if select == "window":
            single = (merged.sizes[now.labels] == 1) & (now.labels >= 0)
            return _window(merged.spread(now.weights), single, tau, most, level, 1 + merging)
        below = now.weights < merged.gather(tau) / merged.sizes
        order = np.argsort(now.weights, kind="stable")
        if select == "half":
            order = order[: now.weights.size // 2]
        order = order[below[order]]
        if select == "lowest":
            order = order[: max(1 + merging, order.size // 2)]
        order = order[:most]
        return (np.isin(now.labels, order), level) if order.size > merging else (None, level)


def _bic(fit: Fit, n: int, mixture: _Mixture) -> float | None:
    """-2 n l + K' ln n of a fit, as papers print it; None where l is -inf."""
    value = fit.log_likelihood
    if value is None or not np.isfinite(value):
        return None
    return float(-2 * value + mixture.weights.size * np.log(n))


def _window(
    theta: np.ndarray, single: np.ndarray, tau: np.ndarray, most: int, level: int, fewest: int
) -> tuple[np.ndarray | None, int]:
    """The window of ceil(K / 2^level) adjacent single values of least weight.

    It is halved until its weight is below the mean of tau in it.
    """
    size = theta.size
    while True:
        width = min(-(-size // 2**level), most)
        if width < fewest:
            return None, level
        sums, taus, free = (_sums(v, width) for v in (theta, tau, single.astype(np.float64)))
        sums = np.where(free > width - 0.5, sums, np.inf)
        first = int(np.argmin(sums))
        if sums[first] < taus[first] / width:
            return (np.arange(size) >= first) & (np.arange(size) < first + width), level
        if width == 1 or 2**level >= size:
            return None, level
        level += 1


def _sums(v: np.ndarray, width: int) -> np.ndarray:
    """Sums over all windows of ``width`` entries, (K,) -> (K - width + 1,)."""
    total = np.append(0.0, np.cumsum(v))
    out: np.ndarray = total[width:] - total[:-width]
    return out


def averaged(
    channel: LikelihoodOperator, w: np.ndarray, merged: MergedChannel
) -> np.ndarray | None:
    """Weights (m,) under which the maximum on all values is the maximum on merged values.

    For randomised response, l = sum_y w_y log(theta_y + a_y) is concave. Suppose that all values of
    a component have the same a_y, and replace their counts by the mean count. Then l does not
    change when these values are exchanged. So its maximiser gives them equal shares, at which l is
    that of the original counts. The same holds for bit sums (METHODS 4.1, 5). A value that is left
    out has count 0. It gets share 0 under randomised response, but not under bit sums.

    Shapes: channel (m, K), w (m,).
    """
    exchangeable = channel.reports_are_values or (
        channel.rows_are_bit_sums and not (merged.labels < 0).any()
    )
    law = channel.support_law()
    if not exchangeable or law is None:
        return None
    first = np.unique(merged.labels, return_index=True)[1][merged.labels]
    if not (np.array_equal(law.q, law.q[first]) and np.array_equal(law.gap, law.gap[first])):
        return None
    tables = w.reshape(-1, channel.shape[1])
    counts = np.concatenate([merged.spread(merged.gather(table)) for table in tables])
    total = float(counts.sum())
    return counts / total if total > 0 else None


def deviations(data: LikelihoodData, rows: LikelihoodOperator, weights: np.ndarray) -> np.ndarray:
    """Standard deviations (K,) of single shares; see ``tau`` of MixtureReduction.

    The root of the Cramer-Rao bound of one share, all others known, at the uniform distribution u
    is 1 / sqrt(n I_x) with I_x = rows_per_report * sum_y w_y A[y, x]^2 / (A u)_y^2.

    Shapes: rows (m, K), weights w (m,).
    """
    channel = data.channel
    if channel.has_closed_moments:
        try:
            variance = channel.variance_at_zero(project(channel.invert(data.weights)))
            return np.sqrt(variance / data.n)
        except IdentifiabilityError:
            pass
    size = rows.shape[1]
    d = rows.matvec(np.full(size, 1 / size))
    v = np.divide(weights, d**2, out=np.zeros_like(d), where=weights > 0)
    step = max(1, _ENTRIES // rows.shape[0])
    information = [
        v @ rows.columns(np.arange(size)[i : i + step]) ** 2 for i in range(0, size, step)
    ]
    return 1 / np.sqrt(data.n * rows.rows_per_report * np.concatenate(information))
