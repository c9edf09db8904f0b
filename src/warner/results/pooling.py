"""Partial pooling: shares of groups, drawn towards their mean as reports warrant (METHODS 10.5).

    theta_g ~ mean m, covariance s P,   P = diag mu - mu mu',   s = 1 / (kappa + 1)
    T_g | theta_g ~ mean theta_g, covariance of n_g reports

This holds for Dirichlet shares with the concentration kappa. Only the first two moments are used,
so the posterior mean is the best linear estimate. On average over the prior, T_g has the
covariance C / n_g + s (1 - t / n_g) P, where C is that of one report at mu and a person sent up to
t reports. The covariance of theta_g and T_g is s P.

s is not a single estimate. Its posterior is a sum over a grid, from the normal likelihood of all
T_g with m integrated out, and a uniform prior on (0, 1). Where noise is large, a uniform variance
is Stein's harmonic prior [Morris 1983]. With few groups s is uncertain, and both the estimates and
the intervals say so. Each group has its own s, which is alike in all of them or normal on the log
scale. The result is a mean of pooled and separate estimates, by Stein's estimate of their errors.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from warner._core.checks import choice, show, unknown
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, WarnerError
from warner._core.progress import steps
from warner.estimators import Estimator
from warner.estimators.base import Fit, LikelihoodData, Status
from warner.mechanisms import Mechanism
from warner.metrics import project
from warner.privacy.guarantees import Guarantee
from warner.reports.public_columns import Key
from warner.results.from_tally import TOGETHER, GroupTable, all_people
from warner.results.intervals import (
    TARGETS,
    effect_of_design,
    error_of_share,
    interval,
    normal_quantile,
    score,
    share_row,
    standard_errors,
    wald,
)
from warner.results.named_summaries import has_bands
from warner.results.recommend import recommended
from warner.results.share_noise import covariance_of
from warner.results.solution import NormalPosterior, Solution

KINDS_OF_GROUPS = ("posterior", "score", "wald")

# -----------------------------------------------------------------------------------------------
# Coordinates in which the noise of group estimates and their differences are independent.
#
# The unbiased estimates T_g of n_g reports have the covariance C / n_g. The shares of groups vary
# around their mean with the covariance s P, P = diag mu - mu mu'. There is a basis B with
#
#     C = B B',   P = B diag(lambda) B'
#
# In the coordinates z, T = mu + B z, both are diagonal: z_gj has the variance 1 / n_g from the
# reports and s lambda_j from the groups. So all groups cost one product with B.


_TINY = 1e-300
_RANK = 1e-10  # relative size of a variance that counts as 0
_ROUNDING = 1e-7  # relative size of a standard deviation that is rounding


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A basis of the contrasts between shares, in which noise and prior are diagonal."""

    centre: np.ndarray  # mu (K,), the shares of all groups
    basis: np.ndarray  # B (K, J), where J is the rank of C, K - 1 if every share can be told
    ratios: np.ndarray  # lambda (J,), the variance of the prior in units of the noise of one report
    _inverse: np.ndarray
    _along: np.ndarray | None

    @classmethod
    def of(cls, centre: np.ndarray, covariance: np.ndarray) -> Coordinates:
        """The coordinates around a centre (K,) with the covariance C (K, K)."""
        # The noise of the sum is correlated with that of the shares, so it reduces that:
        # T - C 1 (1'T - 1) / (1'C 1), whose covariance is C - C 1 1'C / (1'C 1).
        row = covariance.sum(axis=1)
        total, along = float(row.sum()), None
        if total > _RANK * float(np.trace(covariance)):
            along = row / total
            covariance = covariance - np.multiply.outer(row, row) / total
        # The scale of each value is taken out, so that the rank does not depend on it.
        scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        scale = np.where(scale > _ROUNDING * scale.max(), scale, 1.0)
        size, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
        is_large = size > _RANK * max(float(size[-1]), 1e-300)
        is_large[: size.size - (centre.size - 1)] = False
        root = np.sqrt(size[is_large])
        basis = scale[:, None] * vectors[:, is_large] * root
        inverse = (vectors[:, is_large] / root) / scale[:, None]
        prior = inverse.T @ (centre[:, None] * inverse) - np.multiply.outer(
            inverse.T @ centre, inverse.T @ centre
        )
        ratios, turn = np.linalg.eigh((prior + prior.T) / 2)
        return cls(centre, basis @ turn, np.maximum(ratios, 0.0), inverse @ turn, along)

    @property
    def rank(self) -> int:
        """J."""
        return int(self.ratios.size)

    def to(self, shares: np.ndarray) -> np.ndarray:
        """The coordinates (G, J) of unbiased estimates or shares (G, K)."""
        inside = shares
        if self._along is not None:
            inside = shares - np.multiply.outer(shares.sum(axis=1) - 1, self._along)
        return np.asarray((inside - self.centre) @ self._inverse)

    def along(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance (J, J) of the coordinates, from another one (K, K) of the shares."""
        turn = self._inverse
        if self._along is not None:
            turn = turn - np.multiply.outer(np.ones(turn.shape[0]), self._along @ turn)
        return np.asarray(turn.T @ covariance @ turn)

    def back(self, z: np.ndarray) -> np.ndarray:
        """The shares (G, K) at coordinates (G, J); each row sums to 1."""
        return np.asarray(self.centre + z @ self.basis.T)


_GRID = 25  # values of log s in each round
_ROUNDS = 8  # of refining the grid
_LEAST_WEIGHT = 1e-3  # of a grid value in any group
_ENOUGH = 5  # grid values that matter; their spacing is then at most a standard deviation
_LOWEST = 1e-4  # of s n lambda: pooling is then complete
# Standard deviations of log s between groups. Some groups can be unlike all others.
_UNLIKE = (0.0, 0.7, 1.4)
_RISK_SCALE = 8.0  # of the weights exp(-risk / scale) of pooled and separate estimates
_PER_VALUE = 30  # reports of a group for each value, from which on its noise counts as normal
_MANY_GROUPS = 30  # from here on the shares of all people are kept; few groups err less without
_RAKES = 50  # rounds of raking
_ALONE = "each group is then estimated by itself"


@dataclass(frozen=True, eq=False)
class Pooled:
    """The posterior of the shares of G groups."""

    mean: np.ndarray  # (G, K)
    deviation: np.ndarray  # (G, K)
    spread: float  # the mean of s over the groups
    gain: np.ndarray  # (G, J) by how much estimates follow their own reports, in coordinates

    @property
    def concentration(self) -> float:
        """kappa of the Dirichlet prior, 1 / s - 1."""
        return 1 / self.spread - 1

    @property
    def of_shares(self) -> NormalPosterior:
        """The posterior of the shares of all groups."""
        return NormalPosterior(self.mean, self.deviation)


@dataclass(frozen=True, eq=False)
class Moments:
    """The posterior at one value of s, in coordinates."""

    # (S,) of each group, or of each path of groups, up to a constant; and of what they share
    log_likelihoods: np.ndarray
    common: float
    mean: np.ndarray  # mean and variance are (G, J)
    variance: np.ndarray


def exchangeable(
    z: np.ndarray, sizes: np.ndarray, ratios: np.ndarray, per_person: int
) -> Callable[[float], Moments]:
    """The posterior of groups without an order, as a function of s; z (G, J), ratios (J,)."""
    n = np.maximum(sizes, 1)[:, None].astype(np.float64)
    has_reports = (sizes > 0)[:, None]
    fresh = np.maximum(1 - per_person / n, 0.0)

    def at(s: float) -> Moments:
        prior = s * ratios
        variance = prior * fresh + 1 / n
        weight = np.where(has_reports, 1 / variance, 0.0)
        total = weight.sum(axis=0)
        pull = (weight * z).sum(axis=0)
        # The mean m has the prior of a group that is as free as can be, s = 1.
        free = 1 + ratios * total
        m, m_variance = ratios * pull / free, ratios / free
        each = np.where(has_reports, np.log(variance) + (z - m) ** 2 * weight, 0.0).sum(axis=1)
        # With the sum over groups: the likelihood with m integrated out.
        common = (np.log(free) + m**2 / np.maximum(ratios, _TINY)).sum()
        gain = prior * weight
        mean = m + gain * (z - m)
        spread = prior * (1 - gain) + (1 - gain) ** 2 * m_variance
        return Moments(-each / 2, -float(common) / 2, mean, spread)

    return at


def along_time(
    z: np.ndarray,
    sizes: np.ndarray,
    ratios: np.ndarray,
    times: np.ndarray,
    series: np.ndarray,
) -> Callable[[float], Moments]:
    """The posterior as a function of s of groups on paths ``series`` (G,) in ``times`` (G,)."""
    # A path is a random walk on contrasts, with steps of covariance s d P, where d is the time in
    # units of the middle distance; its first group is as free as can be, s = 1. Coordinates are
    # independent local level models: a Kalman filter and a backward pass.
    order = np.lexsort((times, series))
    first = np.r_[True, np.diff(series[order]) > 0]
    gaps = np.where(first, 0.0, np.r_[0.0, np.diff(times[order])])
    middle = float(np.median(gaps[~first])) if (~first).any() else 1.0
    gaps = gaps / (middle if middle > 0 else 1.0)
    zs, precision = z[order], sizes[order].astype(np.float64)

    def at(s: float) -> Moments:
        mean, variance = np.empty_like(zs), np.empty_like(zs)
        log = np.zeros(int(series.max()) + 1)
        level, spread = np.zeros(ratios.size), ratios
        for i in range(len(zs)):
            level, spread = (
                (np.zeros(ratios.size), ratios)
                if first[i]
                else (level, spread + s * gaps[i] * ratios)
            )
            if precision[i] > 0:
                total = spread + 1 / precision[i]
                error = zs[i] - level
                log[series[order[i]]] += (np.log(total) + error**2 / total).sum()
                gain = spread / total
                level, spread = level + gain * error, spread / precision[i] / total
            mean[i], variance[i] = level, spread
        for i in range(len(zs) - 2, -1, -1):
            if first[i + 1]:
                continue
            ahead = variance[i] + s * gaps[i + 1] * ratios
            back = np.divide(variance[i], ahead, out=np.ones_like(ahead), where=ahead > 0)
            mean[i] += back * (mean[i + 1] - mean[i])
            variance[i] += back**2 * (variance[i + 1] - ahead)
        found_mean, found_variance = np.empty_like(mean), np.empty_like(variance)
        found_mean[order], found_variance[order] = mean, np.maximum(variance, 0.0)
        return Moments(-log / 2, 0.0, found_mean, found_variance)

    return at


def pooled(
    at: Callable[[float], Moments],
    coordinates: Coordinates,
    sizes: np.ndarray,
    series: np.ndarray | None = None,
) -> Pooled:
    """The posterior of the shares, averaged over s; ``sizes`` and ``series`` are (G,)."""
    unit = float(np.median(sizes[sizes > 0])) * max(float(np.median(coordinates.ratios)), _TINY)
    values, each = _posterior_of_spread(at, unit)
    weights = each if series is None else each[:, series]
    shape = (len(sizes), coordinates.centre.size)
    mean, square, variance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    gain = np.zeros((len(sizes), coordinates.rank))
    squares = coordinates.basis.T**2
    for s, weight in steps(list(zip(values, weights, strict=True)), "pooling groups"):
        moments, w = at(float(s)), weight[:, None]
        shares = coordinates.back(moments.mean)
        mean += w * shares
        square += w * shares**2
        variance += w * (moments.variance @ squares)
        # The covariance of a share with its own report, over the variance of that report.
        gain += w * np.minimum(moments.variance * sizes[:, None], 1.0)
    variance += np.maximum(square - mean**2, 0.0)
    spread = float((values @ weights).mean())
    return Pooled(mean, np.sqrt(variance), spread, gain)


def _posterior_of_spread(
    at: Callable[[float], Moments], unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Values of s (D,) and their posterior weights (D, S) in each group, or path of groups.

    log s is normal between groups, with one of a few standard deviations and any mean. The grid is
    refined around the values that matter.
    """
    low, high = min(np.log(_LOWEST / unit), -1.0), 0.0
    for _ in steps(range(_ROUNDS), "prior of groups"):
        grid = np.linspace(low, high, _GRID)
        moments = [at(float(s)) for s in np.exp(grid)]
        logs = np.stack([m.log_likelihoods for m in moments])
        # The uniform density of s, per unit of log s.
        level = grid + np.array([m.common for m in moments])
        weights = _mixed_over_groups(logs, level, grid)
        matter = np.flatnonzero(weights.max(axis=1) > _LEAST_WEIGHT)
        if matter.size >= _ENOUGH:
            break
        step = (high - low) / (_GRID - 1)
        low, high = grid[matter[0]] - step, min(grid[matter[-1]] + step, 0.0)
    likely = weights[matter]
    return np.exp(grid[matter]), likely / likely.sum(axis=0)


def _mixed_over_groups(logs: np.ndarray, level: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The posterior weights (D, S) of values of s in each group, from ``logs`` (D, S)."""
    priors = []  # log-probabilities (D,) of the values in a group, for each law between groups
    for deviation in _UNLIKE:
        if deviation == 0:
            with np.errstate(divide="ignore"):
                priors.append(np.log(np.eye(grid.size)))
            continue
        away = -(((grid[:, None] - grid) / deviation) ** 2) / 2
        priors.append(away - np.logaddexp.reduce(away, axis=1)[:, None])
    laws = np.concatenate(priors)
    evidence = np.array([np.logaddexp.reduce(logs + law[:, None], axis=0).sum() for law in laws])
    evidence += np.tile(level, len(_UNLIKE))
    chances = np.exp(evidence - evidence.max())
    chances /= chances.sum()
    weights = np.zeros_like(logs)
    for chance, law in zip(chances, laws, strict=True):
        if chance > _LEAST_WEIGHT**2:
            each = np.exp(logs + law[:, None] - np.logaddexp.reduce(logs + law[:, None], axis=0))
            weights += chance * each
    return np.asarray(weights / weights.sum(axis=0))


def beside_separate(
    posterior: Pooled, coordinates: Coordinates, z: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, Pooled]:
    """The shares (G, K) between pooled and separate estimates, and the posterior around them.

        shares = sum_e x_e exp(-risk_e / 8) / sum_e exp(-risk_e / 8)
        risk_e = sum_g n_g / c (|x_eg - T_g|^2 + 2 tr(D_eg C) / n_g),   c = tr C / J

    x_e are the two estimates projected on the simplex, T_g (J,) the reports of a group, and D_eg
    the derivative of its estimate by T_g. So risk is Stein's unbiased estimate of the error, up to
    a constant, in units of the noise of a group. Shares near 0 have less noise once they are
    projected, and the posterior of s does not know this. Stein's estimate holds for normal noise:
    groups of fewer than 30 K reports are left out, and stay as they were pooled.
    """
    squares = coordinates.basis.T**2
    scale = float(squares.sum()) / max(coordinates.rank, 1)
    reported = coordinates.back(z)
    is_normal = sizes >= _PER_VALUE * reported.shape[1]
    shares, risks = [], []
    for centre, gain in ((posterior.mean, posterior.gain), (reported, np.ones_like(z))):
        shares.append(project(centre.T).T)
        inside = (shares[-1] > 0).astype(np.float64)
        follows = ((gain @ squares) * inside).sum(axis=1)
        follows -= ((inside @ coordinates.basis) ** 2 * gain).sum(axis=1) / inside.sum(axis=1)
        away = sizes * ((shares[-1] - reported) ** 2).sum(axis=1) + 2 * follows
        risks.append(float(away[is_normal].sum()) / scale)
    weight = 1 / (1 + np.exp(np.clip((risks[0] - risks[1]) / _RISK_SCALE, -700, 700)))
    apart = np.where(is_normal, 1 - weight, 0.0)[:, None]
    mean = (1 - apart) * posterior.mean + apart * reported
    noise = squares.sum(axis=0) / np.maximum(sizes, 1)[:, None]
    variance = (1 - apart) * posterior.deviation**2 + apart * noise
    variance += apart * (1 - apart) * (posterior.mean - reported) ** 2
    mixed = Pooled(mean, np.sqrt(variance), posterior.spread, posterior.gain)
    return (1 - apart) * shares[0] + apart * shares[1], mixed


def kept_mean(out: np.ndarray, shares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Distributions (G, K) of groups, moved until people together have the shares (G, K).

    >>> shares = np.array([[1.1, -0.1], [0.7, 0.3]])
    >>> kept_mean(project(shares.T).T, shares, np.array([1, 1])).round(3).tolist()
    [[1.0, 0.0], [0.8, 0.2]]
    """
    from warner.estimators.raked_tables import raked

    people = sizes / sizes.sum()
    target = project(people @ shares)
    # Projection alone raises small shares, because only noise below 0 is cut. So the table is raked
    # to rows that sum to 1 and the mean over all people.
    joint = raked(people[:, None] * out, {(1,): target, (0,): people}, _RAKES)
    total = joint.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(joint, total, out=out.copy(), where=total > 0))


# -----------------------------------------------------------------------------------------------
# The groups of an estimate.


class GroupStatus(Enum):
    """How the estimate of a group was made; the text is for people."""

    POOLED = "estimated from its reports, and moved towards the other groups"
    ALONE = "estimated from its reports alone"
    NO_REPORTS = "has no reports of its own"


@dataclass(frozen=True, repr=False)
class PooledShares(Estimator):
    """The method of shares that are drawn towards those of other groups."""

    pool: str

    summary = "shares of groups, moved towards each other as much as the reports suggest"

    def __repr__(self) -> str:
        return f"PooledShares({self.pool!r})"

    def _fit(self, data: LikelihoodData) -> Fit:
        rule = "needs several groups, but these reports are of one group"
        remedy = "Pass the tally of all groups, or use kind='score'"
        raise ArgumentTypeError("pool", rule, self.pool, remedy)


@dataclass(frozen=True, eq=False)
class GroupAxis:
    """The groups of an estimate of several, and how they were pooled."""

    table: GroupTable  # the reports of the groups
    pool: str  # how they were pooled
    probabilities: np.ndarray  # (G, K) the shares of the groups
    posterior: Pooled | None = None  # what pooling made of all groups; None where each was alone
    members: tuple[Any, ...] = ()  # those of groups that were estimated alone; None without reports
    time: str | None = None  # the public column with the time
    together: Any = None  # the estimate of all people together, where tables end with it

    def __len__(self) -> int:
        return len(self.table.keys)

    @property
    def last(self) -> list[tuple[Key, Any]]:
        """All people together as one more group, where tables end with them; else []."""
        return [] if self.together is None else [(all_people(self.table.names), self.together)]

    @property
    def concentration(self) -> float | None:
        """kappa of the Dirichlet prior: a group counts as kappa more answers. None without one."""
        return self.posterior.concentration if self.posterior and self.pool == "partial" else None

    @property
    def statuses(self) -> tuple[GroupStatus, ...]:
        """How the estimate of each group was made."""
        used = GroupStatus.ALONE if self.pool == "none" else GroupStatus.POOLED
        return tuple(used if n else GroupStatus.NO_REPORTS for n in self.table.sizes)

    @property
    def rounds(self) -> int:
        """The number of times at which one person can have been asked; 1 where no time is named."""
        if self.time is None:
            return 1
        column = self.table.names.index(self.time)
        return len({key[column] for key in self.table.keys})

    @property
    def spent(self) -> Guarantee:
        """What the reports on this question guarantee a person who reported at every time.

        Reports of one person at several times are composed: epsilons add up. Reports of
        :class:`~warner.mechanisms.Permanent` tell no more than the permanent reports, see its
        ``of_values``. Where no time is named, the groups are of different people, and it is the
        guarantee of one report.

        >>> from warner import Categorical, RandomizedResponse, Tally, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> weeks = [coin.tally(coin.randomize(["no", "yes"] * 50)) for _ in range(4)]
        >>> series = estimate(Tally.from_tallies("week", weeks), time="week").groups
        >>> series.rounds, 3.99 < series.spent.epsilon <= 4
        (4, True)
        """
        return self._spent_by(self._mechanisms)

    @property
    def spent_in_all(self) -> Guarantee:
        """The same of all reports, where each person also reported on other questions.

        >>> from warner import Categorical, PerAttribute, RandomizedResponse, Tally, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> two = PerAttribute({"smokes": coin, "drinks": coin})
        >>> people = {"smokes": ["no", "yes"] * 50, "drinks": ["no"] * 100}
        >>> weeks = [two.tally(two.randomize(people)) for _ in range(4)]
        >>> series = estimate(Tally.from_tallies("week", weeks), attributes="smokes", time="week")
        >>> round(series.groups.spent.epsilon, 6), round(series.groups.spent_in_all.epsilon, 6)
        (4.0, 8.0)
        """
        return self._spent_by(self.table.mechanisms)

    @property
    def _mechanisms(self) -> tuple[Mechanism, ...]:
        """Those of the reports on the questions that are estimated."""
        if not self.table.attributes:
            return self.table.mechanisms
        return tuple(each.about(self.table.attributes) for each in self.table.mechanisms)

    def _spent_by(self, mechanisms: Sequence[Mechanism]) -> Guarantee:
        """The weakest guarantee of mechanisms that different people used at every time."""
        reports = max(self.rounds, self.table.per_person)
        spent = [mechanism.of_reports(reports) for mechanism in mechanisms]
        return max(spent, key=lambda guarantee: guarantee.total)

    @property
    def spent_text(self) -> str:
        """What a person who reported at every time has spent, in words."""
        from warner.mechanisms.one_of import permanent_of

        mechanism = self._mechanisms[0]  # the only one of groups in time
        these = "these questions" if self.table.domain.attributes else "this question"
        better = "A smaller epsilon protects better."
        if mechanism != self.table.mechanisms[0]:
            total = f"{self.spent_in_all.epsilon:.6g}"
            better = (
                f"On all questions together, the person has spent at most epsilon = {total}. "
                f"{better}"
            )
        times = "both times" if self.rounds == 2 else f"all {self.rounds} times"
        if permanent := permanent_of("", mechanism).values():
            stays = max(one.of_rounds(self.rounds).epsilon for one in permanent)
            return (
                f"A person who reported {times} and always gave the same answer "
                f"has spent epsilon = {stays:.6g} on {these}. A person whose answer changed "
                f"has spent more, at most epsilon = {self.spent.epsilon:.6g}. This limit is for "
                f"two people whose answers changed in the same rounds. {better}"
            )
        return (
            f"A person who reported {times} has spent epsilon = "
            f"{self.spent.epsilon:.6g} on {these}. {better}"
        )

    def interval(self, level: float, target: str, kind: str | None) -> np.ndarray:
        """Intervals (G, K, 2) of the shares of all groups: see :meth:`warner.Estimate.interval`."""
        normal_quantile(level)
        choice("target", target, TARGETS)
        choice("kind", kind, (*KINDS_OF_GROUPS, None))
        if kind is None and self.posterior is not None and target == "population":
            kind = "posterior"
        if kind == "posterior":
            if self.posterior is None or target != "population":
                pooled = self.posterior is not None
                other = f"target={target!r}" if pooled else "groups that are not pooled"
                rule = f"cannot be 'posterior' with {other}"
                raise ArgumentError("kind", rule, None, "Use kind='score'")
            return self.posterior.of_shares.interval(level, self.probabilities)
        bounds = np.tile([0.0, 1.0], (*self.probabilities.shape, 1))
        for g, data in enumerate(steps(self.table.parts, "intervals of groups")):
            member = self.members[g] if self.members and kind is None else None
            if member is not None:
                bounds[g] = interval(member, level, target)
            elif data is not None and kind == "wald":
                bounds[g] = wald(data, level, target)
            elif data is not None:
                bounds[g] = score(data, self.probabilities[g], level, target)
        return bounds

    def interval_kind(self, target: str) -> str:
        """The intervals of a table: ``"posterior"``, ``"score"``, or ``"own"`` of each group."""
        if self.posterior is not None and target == "population":
            return "posterior"
        return "own" if self.members else "score"

    @property
    def average_text(self) -> str:
        """Over what posterior intervals hold on average, in words."""
        if self.time is None:
            return "hold on average over groups"
        # A band over all times at once would be wider.
        return f"hold on average over groups, for one {self.time} at a time"

    def rows(self, level: float, target: str, kind: str | None) -> list[dict[str, Any]]:
        """The shares of all values in all groups: see :meth:`warner.Estimate.rows`."""
        bounds = self.interval(level, target, kind)
        labels, table = self.table.domain.labels, self.table
        rows = []
        for g, key in enumerate(table.keys):
            public = dict(zip(table.names, key, strict=True))
            is_estimated = table.sizes[g] > 0 or self.pool != "none"
            about = {"reports": int(table.sizes[g]), "status": self.statuses[g].name.lower()}
            data = table.parts[g]
            effects = None if data is None or data.survey is None else data.design_effects
            member = self.members[g] if self.members else None
            errors = np.full(len(labels), np.nan)
            if member is not None:
                errors = standard_errors(member, target, kind)
            for x, value in enumerate(labels):
                share = self.probabilities[g, x] if is_estimated else None
                row = share_row(value, share, bounds[g, x])
                effect = None if effects is None else effects[x]
                error = error_of_share(errors[x])
                rows.append({**public, **row, **error, **about, **effect_of_design(effect)})
        of_whole = None if kind == "posterior" else kind  # which only pooled groups have
        for key, whole in self.last:
            about = dict(zip(table.names, key, strict=True))
            about |= {"reports": whole.n, "status": TOGETHER}
            for row in whole.rows(level, target, of_whole):
                rows.append({name: (about | row)[name] for name in rows[0]})
        return rows

    def solution(self, key: Any) -> Solution:
        """The solution of one group."""
        g = self.table.place(key)
        data = self.table.parts[g]
        if data is None:
            rule, remedy = "has no reports", "To see what is known about the group, call rows()"
            raise EmptyError(f"group {self.table.labels[g]}", rule, None, remedy)
        if self.posterior is None:
            member: Solution = self.members[g]
            return member
        fit = Fit(self.probabilities[g].copy(), Status.COMPLETED)
        posterior = self.posterior.of_shares
        normal = NormalPosterior(posterior.mean[g], posterior.deviation[g])
        return Solution(fit, data, PooledShares(self.pool), self.table.named(g), normal=normal)


def pooled_axis(table: GroupTable, pool: str, time: str | None) -> GroupAxis:
    """The pooled estimates of groups, refused where their noise has no known covariance."""
    centre = _centre(table)
    # Bit sums of several attributes do not say how the noise of the shares is correlated.
    coordinates = Coordinates.of(centre, covariance_of(table.whole, centre))
    z = coordinates.to(table.shares)
    z[table.sizes == 0] = 0.0
    if pool == "path":
        column = _time_column(table, time)
        times, series = _paths(table, column)
        at = along_time(z, table.sizes, coordinates.ratios, times, series)
        time = table.names[column]
    else:
        series = None
        at = exchangeable(z, table.sizes, coordinates.ratios, table.per_person)
    posterior = pooled(at, coordinates, table.sizes, series)
    shares, posterior = beside_separate(posterior, coordinates, z, table.sizes)
    if len(table.sizes) >= _MANY_GROUPS and (posterior.mean < 0).any():
        shares = kept_mean(shares, posterior.mean, np.maximum(table.sizes, 1e-9))
    return GroupAxis(table, pool, shares, posterior, (), time if pool == "path" else None)


def chosen_pool(
    table: GroupTable, method: Estimator | None, pool: str | None, time: str | None
) -> str:
    """How groups are pooled, where the caller leaves it open."""
    argument = "pool" if time is None else "time"
    if table.cells is not None:
        if pool not in (None, "none") or time is not None:
            rule = "cannot be used with this survey design"
            remedy = f"Leave out the argument {argument}"
            got = f"a survey {table.cells.drawn.design.text}"
            raise ArgumentError(argument, rule, got, remedy)
        return "none"
    if pool in ("partial", "path") or (time is not None and pool is None):
        remedy = f"Leave out the argument {argument}: {_ALONE}"
        if len(table.mechanisms) > 1:
            rule = "needs reports of one mechanism and one epsilon"
            raise ArgumentError(argument, rule, None, remedy)
        if has_bands(table.domain):
            # The noise of neighbouring values is alike, and projected shares become clumps.
            rule = (
                "cannot be used for numbers in bins or for many numbers, because shares would be "
                "wrong"
            )
            raise ArgumentError(argument, rule, f"{table.domain.size:,} values", remedy)
    if method is not None and pool in ("partial", "path"):
        rule = "cannot be chosen for pooled groups"
        raise ArgumentError("method", rule, repr(method), "Leave out the argument method")
    if time is not None and pool == "partial":
        rule = "can be used only with pool='path' or pool='none'"
        raise ArgumentError("time", rule, show(pool), "Leave out the argument pool")
    if time is not None:
        _time_column(table, time)
    if pool is not None:
        return pool
    # Groups that nobody asked to be pooled have the estimates that each has by itself.
    return "none" if time is None else "path"


def _centre(table: GroupTable) -> np.ndarray:
    """The recommended shares of all groups together, moved above 0 by half an answer for each."""
    data = table.whole
    try:
        shares = np.maximum(recommended(data.domain, data.channel).fit(data).shares, 0.0)
    except WarnerError:
        shares = project(data.channel.invert(data.weights))
    counts = data.n * shares / shares.sum() + 0.5
    return np.asarray(counts / counts.sum())


def _time_column(table: GroupTable, time: str | None) -> int:
    """The position of the column of the time."""
    if time is None and len(table.names) == 1:
        return 0
    if time not in table.names:
        raise unknown("time", time, table.names, "the public columns")
    return table.names.index(time)


def _paths(table: GroupTable, column: int) -> tuple[np.ndarray, np.ndarray]:
    """The times (G,) as numbers, and the number (G,) of the path of each group."""
    times = np.array([time_as_number(table.names[column], key[column]) for key in table.keys])
    rest = [key[:column] + key[column + 1 :] for key in table.keys]
    number = {key: i for i, key in enumerate(dict.fromkeys(rest))}
    return times, np.array([number[key] for key in rest])


def time_as_number(name: str, value: Any) -> float:
    """A time as a number: a number itself, or the days of a date, also as text (2024-03-01).

    >>> time_as_number("week", 3), time_as_number("week", "1970-W02")
    (3.0, 4.0)
    """
    if isinstance(value, int | float | np.integer | np.floating) and np.isfinite(value):
        return float(value)
    text = value.isoformat() if isinstance(value, datetime.date) else value
    if isinstance(text, str):
        if len(text) == 7 and text[4] == "-" and text[5:].isdigit():
            text = f"{text}-01"
        try:
            days = datetime.date.fromisoformat(text[:10]).toordinal()
            return float(days - datetime.date(1970, 1, 1).toordinal())
        except ValueError:
            pass
    rule = "must hold numbers or dates, such as 2024-03-01, 2024-W09 or 2024-03"
    raise ArgumentError(name, rule, show(value))
