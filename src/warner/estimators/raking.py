"""The joint distribution of many attributes from their margins: evidence, ascent, estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log, prod, sqrt
from typing import ClassVar

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentTypeError, IdentifiabilityError
from warner._core.progress import in_blocks
from warner.channels import (
    Channel,
    DenseCompositeChannel,
    KroneckerChannel,
    LikelihoodOperator,
    summed,
)
from warner.estimators.base import (
    Estimator,
    Fit,
    LikelihoodData,
    Run,
    Status,
    certify,
    iterate,
    require_possible,
    safe_divide,
    status_of_parts,
)
from warner.estimators.em import ExpectationMaximization, mixed_with_uniform, split_into_folds
from warner.estimators.empirical_bayes import EmpiricalBayes
from warner.estimators.log_spline import LogSpline
from warner.estimators.raked_tables import (
    Axes,
    blocks_of,
    margin,
    margins,
    product_of,
    raked,
    spread,
)

# Entries of a matrix that is formed where attributes were not randomised separately.
_LARGEST = 2**24
_TOGETHER = 2**20  # entries at a time
_STRICT = 0.5  # t over log(M)
_NO_ENERGY = 1e-20  # of rounding alone: no report says anything of the interaction


def supported_part(
    data: LikelihoodData,
    singles: Sequence[np.ndarray],
    base: np.ndarray | None = None,
    rivals: int = 1,
) -> float:
    """The factor c in [0, 1] by which the interaction of all attributes is multiplied."""
    energy, noise = energy_and_noise(data, singles, base)
    if noise is None:
        return 1.0
    freedom = prod(single.size - 1 for single in singles)
    tail = _STRICT * log(rivals)
    least = 1 + 2 * sqrt(tail / freedom) + 2 * tail / freedom if rivals > 1 else 0.0
    if energy <= max(least * noise, _NO_ENERGY):
        return 0.0
    return max(0.0, 1 - freedom / (freedom + 1) * noise / energy)


def energy_and_noise(
    data: LikelihoodData, singles: Sequence[np.ndarray], base: np.ndarray | None = None
) -> tuple[float, float | None]:
    """The energy Q of the score's interaction, and its mean where attributes are independent."""
    shape = [single.size for single in singles]
    theta = product_of(singles)
    channel, w = data.channel, data.weights
    start = theta if base is None else base
    score = channel.rmatvec(safe_divide(w, channel.matvec(start.ravel()))).reshape(shape)
    energy = float((theta * _interaction(score, singles) ** 2).sum())
    noise = 0.0
    for group, weights, people in channel.split_groups(w, data.n):
        of_group = _noise(group, weights, singles)
        if of_group is None:
            return energy, None
        # The score is the sum of the groups' scores, each weighted by its share of the rows.
        rows = people * group.rows_per_report
        noise += rows / (data.n * channel.rows_per_report) ** 2 * of_group
    return energy, noise


def _noise(
    channel: LikelihoodOperator, w: np.ndarray, singles: Sequence[np.ndarray]
) -> float | None:
    """E Q for one observation of a row; None where it cannot be computed."""
    shape = [single.size for single in singles]
    factors = channel.factors(shape)
    if factors is not None:
        squares = [
            _dependent_bits(factor) * _squares(factor, single)
            for factor, single in zip(factors, singles, strict=True)
        ]
        return float(w @ product_of(squares).ravel())
    rows, size = channel.shape
    if rows * size > _LARGEST:
        return None
    theta = product_of(singles)
    d = channel.matvec(theta.ravel())
    seen = np.divide(w, d**2, out=np.zeros_like(d), where=d > 0)
    noise = 0.0
    for of_block, block in channel.blocks():
        weights = seen[of_block]
        for some in in_blocks(len(block), _TOGETHER, size):
            # It is 0 for people who were not asked all of this: their scores have no interaction.
            rest = _interaction(block[some].T.reshape(*shape, -1), singles)
            noise += float(np.tensordot(theta, rest**2, theta.ndim) @ weights[some])
    return _dependent_bits(channel) * noise


def _interaction(score: np.ndarray, singles: Sequence[np.ndarray]) -> np.ndarray:
    """A score without what it says of fewer than all attributes, which are its first axes."""
    for axis, single in enumerate(singles):
        weights = spread(single, (axis,), score.ndim)
        score = score - (score * weights).sum(axis=axis, keepdims=True)
    return score


def _dependent_bits(channel: LikelihoodOperator) -> float:
    """The factor by which the bits of one report add more noise than that many reports would.

    Independent bits add none. Where the number of ones is fixed, any two of K bits have the
    correlation -1 / (K - 1). The variance of a contrast of bits is then K / (K - 1) times the sum
    of their variances.
    """
    bits = channel.rows_per_report
    return bits / max(bits - 1, 1) if channel.ones_are_fixed else 1.0


def _squares(channel: LikelihoodOperator | Channel, theta: np.ndarray) -> np.ndarray:
    """q (m,): sum_x theta_x (A[y, x] / (A theta)_y - 1)^2."""
    d = channel.matvec(theta)
    second = np.empty_like(d)
    for rows, block in channel.blocks():
        second[rows] = block**2 @ theta
    return np.divide(second, d**2, out=np.ones_like(d), where=d > 0) - 1


_MOST_LOST = 0.9  # the largest part of a share that one step takes
_SHORTEST = 1e-6  # a step that must be shortened more is not taken
_TINY = 1e-300
_BEYOND = 2  # times the best number of steps are taken, as EM does from independence


@dataclass(frozen=True, eq=False)
class AscentState:
    """A point on the path."""

    theta: np.ndarray  # (K,) the shares
    d: np.ndarray  # A theta, (m,)
    value: float  # the log-likelihood in nats per report, without the constant
    gain: float = np.inf  # the rise in the last step, inf at the start
    gain_before: float = np.inf  # the rise in the step before that
    direction: np.ndarray | None = None  # (K,) of the last step; None at the start
    gradient: np.ndarray | None = None  # (K,) s - 1 before the last step
    energy: float = 0.0  # sum theta (s - 1)^2 before the last step


def start_ascent(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> AscentState:
    """The state before the first step from theta (K,)."""
    d = channel.matvec(theta)
    return AscentState(theta, d, _log_likelihood(w, d))


def ascend(channel: LikelihoodOperator, w: np.ndarray, state: AscentState) -> AscentState | None:
    """Take one step, which never lowers the likelihood."""
    theta, d = state.theta, state.d
    gradient = channel.rmatvec(safe_divide(w, d)) - 1
    steepest = theta * gradient
    energy = float(steepest @ gradient)
    if energy <= 0:
        return None
    v = steepest
    if state.direction is not None and state.gradient is not None:
        conjugacy = float(steepest @ (gradient - state.gradient)) / state.energy
        v = steepest + max(0.0, conjugacy) * state.direction
        v -= v.sum() * theta
        if v @ gradient <= 0:
            v = steepest
    moved = channel.matvec(v)
    slope, bend = float(v @ gradient), float(safe_divide(w, d**2) @ moved**2)
    if slope <= 0 or bend <= 0:
        return None
    falling = v < 0
    longest = float((theta[falling] / -v[falling]).min(initial=np.inf))
    length = min(slope / bend, _MOST_LOST * longest)
    while length * bend > _SHORTEST * slope:
        after = d + length * moved
        value = _log_likelihood(w, after)
        if value >= state.value:
            shares = np.maximum(theta + length * v, 0.0)
            gain = value - state.value
            return AscentState(shares, after, value, gain, state.gain, v, gradient, energy)
        length /= 2
    return None


def ascent(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    theta: np.ndarray,
    tolerance: float,
    most: int,
    observe: Callable[[AscentState], None] | None = None,
) -> Run[AscentState]:
    """Take steps until two in turn raise the log-likelihood of all reports by less than this."""

    def stop(state: AscentState, steps: int) -> Status | None:
        small = n * max(state.gain, state.gain_before) < tolerance
        return Status.STOPPED if small else None

    start = start_ascent(channel, w, theta)
    return iterate(start, lambda state: ascend(channel, w, state), stop, most, observe)


def held_out_ascent(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    base: np.ndarray,
    most: int,
    folds: int,
) -> tuple[np.ndarray, int]:
    """As many steps from ``base`` as held-out reports support, and as much of their way.

        base + c (theta_t - base),   t = 0 .. most,   c in {1/4, 1/2, 3/4, 1}

    Reports are split into 5 folds as in :func:`warner.estimators.em.chosen_steps`.
    t and c make held-out folds likeliest, after t steps on the others. Then 2 t steps are taken on
    all reports, at most ``most``: too few steps leave bias, and extra ones add little variance.

    Shapes: channel (m, K), w (m,), base (K,) -> (K,).
    """
    counts = np.rint(w * (n * channel.rows_per_report)).astype(np.int64)
    held_out, rest = split_into_folds(counts)
    factors = np.arange(1, 5) / 4
    gains = np.zeros((most + 1, factors.size))
    for counted, weights in zip(held_out.T[:folds], rest.T[:folds], strict=True):
        gains += _held_out_gains(channel, counted, weights, n, base, most, factors)
    steps, chosen = np.unravel_index(int(gains.argmax()), gains.shape)
    if gains[steps, chosen] <= 0:
        return base, 0
    run = ascent(channel, w, n, base, 0.0, min(most, _BEYOND * int(steps)))
    return base + factors[chosen] * (run.state.theta - base), run.steps


def _held_out_gains(
    channel: LikelihoodOperator,
    counted: np.ndarray,
    weights: np.ndarray,
    n: int,
    base: np.ndarray,
    most: int,
    factors: np.ndarray,
) -> np.ndarray:
    """The gains (most + 1, factors) of one fold over ``base``, in nats."""
    seen = counted > 0
    counts = counted[seen]
    gains: list[np.ndarray] = []
    before: list[np.ndarray] = []

    def observe(state: AscentState) -> None:
        d = state.d[seen]
        if not before:
            before.append(d)
        ratio = np.maximum(d, 0.0) / np.maximum(before[0], _TINY)
        mixed = np.maximum(1 + factors[:, None] * (ratio - 1), _TINY)
        gains.append(np.log(mixed) @ counts)

    ascent(channel, weights, n, base, 0.0, most, observe)
    # A path that ended at a maximum stays there.
    gains += [gains[-1]] * (most + 1 - len(gains))
    return np.array(gains)


def _log_likelihood(w: np.ndarray, d: np.ndarray) -> float:
    """sum_y w_y log d_y over the observed rows; -inf where one has no probability."""
    seen = w > 0
    if (d[seen] <= 0).any():
        return -np.inf
    return float(w[seen] @ np.log(d[seen]))


# Estimates a distribution from the reports on one attribute.
OneAttribute = Callable[[LikelihoodData], Fit]

# A pair's steps end where two in turn gain less than this, in nats over all reports. Chosen on
# made-up tables (bench/joint_margins): 0.5 leaves strong dependence unlearnt, 0.02 errs 1 % more.
_GAIN = 0.1
_MOST_PAIR_STEPS = 100
# Steps on the whole table: at most 30, and 5 folds. There are fewer where the work is exceeded: a
# step visits each cell and each row once for each attribute.
_MOST_STEPS, _FOLDS = 30, 5
_WORK = 1e8
_LEAST_STEPS = 2
_MOST_TRIPLES = 600  # triples of attributes that are looked at
_LARGEST_MATRIX = 2**16  # entries of a factor that is multiplied as a matrix


@dataclass(frozen=True)
class RakedJoint(Estimator):
    """The joint distribution of several attributes, raked to estimates of its margins.

        theta = argmin KL(theta, phi)   subject to   theta_ab = m_ab for all pairs a, b

    Each margin of one attribute is estimated on its own, m_a. A pair of attributes is

        m_ab = m_a m_b + c_ab (t_ab - m_a m_b)

    t_ab is close to the maximum of the likelihood of the reports on the two attributes, raked to
    m_a and m_b. c_ab in [0, 1] is the part of the dependence that the reports support, from the
    noise of the score (``warner.estimators.raking``). The table without any further
    dependence, the log-linear model of all pairs, is raked from the product of the m_a. Three
    attributes that depend on each other beyond it get a target m_abc in the same way, where that
    dependence exceeds what chance gives among all triples. From the table raked to these targets,
    steps of expectation maximisation lead to phi, as many as held-out reports allow
    (``warner.estimators.raking``). At last phi is raked to the pairs and triples again.

    So the estimate of one attribute, and of any two, is the same as if it were asked for alone,
    except where no joint distribution has all these pairs. More attributes do not make the estimate
    of few worse.

    The number of steps is at most 30. On large tables there are fewer steps and folds. A table of
    10^6 cells takes two steps or more, on one fold. Raking ends after 60 rounds, or fewer on large
    tables. Of more than 600 triples, those whose pairs depend most on each other are looked at.

    Where reports do not tell attributes apart, the result is that of
    ``ExpectationMaximization("auto", start="independent")``. On a domain of one attribute it is the
    estimate of this attribute.

    Args:
        single: estimates one attribute from its reports: a function from LikelihoodData to a Fit,
            such as the method ``fit`` of an estimator. None takes LogSpline() for numbers in
            order, ``ExpectationMaximization("auto")`` for places and EmpiricalBayes() for labels.
            ``warner.estimate`` passes its own choice.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.
        ArgumentTypeError: ``single`` is no function.

    Source: Deming and Stephan (1940) for raking, Csiszar (1975) for its limit, James and Stein
    (1961) for shrinkage; METHODS 5, 10.3; the rest is this package's.

    >>> from warner import Categorical, PerAttribute, Product, RandomizedResponse, estimate
    >>> yes_no = Categorical(["no", "yes"])
    >>> people = Product(smokes=yes_no, drinks=yes_no)
    >>> each = dict.fromkeys(["smokes", "drinks"], lambda domain: RandomizedResponse(domain, 2.0))
    >>> survey = PerAttribute(people, each)
    >>> answers = [{"smokes": "no", "drinks": "no"}, {"smokes": "yes", "drinks": "yes"}] * 2000
    >>> both = estimate(survey.tally(survey.randomize(answers)), RakedJoint())
    >>> bool(both.probabilities[0] > 0.4), both.marginal("smokes").probabilities.shape
    (True, (2,))
    """

    references = ("deming1940", "csiszar1975", "james1961")

    summary: ClassVar[str] = (
        "one table of all combinations, which fits the estimates of each question and of each pair "
        "of questions. Where the reports say little about a pair, its two questions are taken to "
        "be nearly unrelated. Links between three or more questions are kept as far as they also "
        "fit reports that were set aside for this check"
    )

    single: OneAttribute | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.single is not None and not callable(self.single):
            rule = "must be a function from LikelihoodData to a Fit"
            remedy = "Pass the method fit of an estimator, as in EmpiricalBayes().fit"
            raise ArgumentTypeError("single", rule, kind(self.single), remedy)

    def _fit(self, data: LikelihoodData) -> Fit:
        domain = data.domain
        if not domain.attributes:
            return self._one(data)
        if len(domain.shape) == 1:
            return self._one(data.on_attributes([0]) or data)
        if not data.channel.has_likelihood or any(
            data.on_attributes([axis]) is None for axis in range(len(domain.shape))
        ):
            return ExpectationMaximization("auto", start="independent").fit(data)
        require_possible(*data.channel.restrict_to_observed(data.weights))
        turned, back = data.in_order_of_names()
        table, status, steps = self._table(turned)
        shares = summed(table.ravel(), table.shape, back)
        return certify(data, shares / shares.sum(), status, steps)

    def _one(self, data: LikelihoodData) -> Fit:
        """The estimate of one attribute."""
        if self.single is not None:
            return self.single(data)
        if data.domain.is_ordered:
            return LogSpline().fit(data)
        if data.domain.dimension or data.domain.attributes:
            return ExpectationMaximization("auto").fit(data)
        return EmpiricalBayes().fit(data)

    def _table(self, data: LikelihoodData) -> tuple[np.ndarray, Status, int]:
        """The table of all attributes, how it ended, and the number of steps on the whole."""
        singles, statuses = [], []
        for axis in range(len(data.domain.shape)):
            of_axis = data.on_attributes([axis])
            assert of_axis is not None
            try:
                fit = self._one(of_axis)
            except IdentifiabilityError:
                # Estimates that shrink unbiased ones need an inverse; the likelihood does not.
                fit = ExpectationMaximization("auto").fit(of_axis)
            singles.append(fit.shares)
            statuses.append(fit.status)
        status = status_of_parts([*statuses, Status.CONVERGED])
        pairs: dict[Axes, np.ndarray] = {}
        dependence: dict[Axes, float] = {}
        steps = 0
        for axes, of_pair in _subsets(data, 2):
            base = product_of([singles[axis] for axis in axes])
            margins_of_pair = [singles[axis] for axis in axes]
            pairs[axes], dependence[axes], steps = _learnt(of_pair, base, margins_of_pair)
        if len(singles) == 2:
            return pairs[(0, 1)], status, steps
        base = raked(product_of(singles), pairs)
        triples: dict[Axes, np.ndarray] = {}
        looked_at = margins(base, _most_dependent(len(singles), dependence))
        for axes, of_triple in _subsets(data, 3):
            if axes in looked_at:
                three = [singles[axis] for axis in axes]
                table, supported, _ = _learnt(of_triple, looked_at[axes], three, len(looked_at))
                if supported > 0:
                    triples[axes] = table
        alone: dict[Axes, np.ndarray] = {(axis,): single for axis, single in enumerate(singles)}
        if triples:
            base = raked(base, {**pairs, **triples})
        base = raked(base, alone)
        base /= base.sum()
        whole, steps = _whole(data, base)
        if not steps:
            return base, status, steps
        targets = margins(base, [*pairs, *triples])
        return raked(whole.reshape(base.shape), targets), status, steps


def _subsets(data: LikelihoodData, order: int) -> Iterator[tuple[Axes, LikelihoodData]]:
    """The reports on each subset of ``order`` attributes, summed from blocks of several subsets."""
    done: set[Axes] = set()
    size = len(data.domain.shape)
    for block in blocks_of(size, order):
        of_block = data if len(block) == size else data.on_attributes(block)
        assert of_block is not None
        for inside in combinations(range(len(block)), order):
            axes = tuple(block[i] for i in inside)
            if axes not in done:
                done.add(axes)
                of_axes = of_block.on_attributes(inside)
                assert of_axes is not None
                yield axes, of_axes


def _most_dependent(ndim: int, dependence: dict[Axes, float]) -> list[Axes]:
    """The triples whose pairs depend most on each other, as many as are looked at."""
    triples: list[Axes] = list(combinations(range(ndim), 3))
    if len(triples) <= _MOST_TRIPLES:
        return triples
    sums = [sum(dependence[pair] for pair in combinations(axes, 2)) for axes in triples]
    order = np.argsort(-np.array(sums), kind="stable")
    return [triples[i] for i in order[:_MOST_TRIPLES]]


def _learnt(
    data: LikelihoodData, base: np.ndarray, singles: list[np.ndarray], rivals: int = 1
) -> tuple[np.ndarray, float, int]:
    """The table of two or three attributes, the supported part of its dependence, and the steps."""
    start = mixed_with_uniform(base.ravel())
    positive = [mixed_with_uniform(single) for single in singles]
    supported = supported_part(data, positive, start, rivals)
    if supported <= 0:
        return base, 0.0, 0
    rows, weights = _fast_products(data).restrict_to_observed(data.weights)
    most = int(np.clip(_steps(rows, base.ndim), _LEAST_STEPS, _MOST_PAIR_STEPS))
    run = ascent(rows, weights, data.n, start, _GAIN, most)
    smaller = combinations(range(base.ndim), base.ndim - 1)
    targets = {axes: margin(base, axes) for axes in smaller}
    dependent = raked(run.state.theta.reshape(base.shape), targets)
    return base + supported * (dependent - base), supported, run.steps


def _whole(data: LikelihoodData, base: np.ndarray) -> tuple[np.ndarray, int]:
    """Steps from the model of all pairs, as many as held-out reports support and time allows."""
    rows, weights = _fast_products(data).restrict_to_observed(data.weights)
    affordable = _steps(rows, base.ndim)
    folds = int(np.clip(affordable // _MOST_STEPS, 1, _FOLDS))
    most = int(np.clip(affordable / folds, _LEAST_STEPS, _MOST_STEPS))
    start = mixed_with_uniform(base.ravel())
    return held_out_ascent(rows, weights, data.n, start, most, folds)


def _fast_products(data: LikelihoodData) -> LikelihoodOperator:
    """The channel with small factors as matrices: hashes multiply one vector at a time."""
    factors = data.channel.factors(data.domain.shape)
    if factors is None:
        return data.channel
    return KroneckerChannel(
        [
            factor
            if factor.reports_are_values or factor.shape[0] * factor.shape[1] > _LARGEST_MATRIX
            else DenseCompositeChannel(factor.dense(), factor.rows_per_report)
            for factor in factors
        ]
    )


def _steps(channel: LikelihoodOperator, attributes: int) -> float:
    """How many steps the work allows."""
    return _WORK / (sum(channel.shape) * attributes)
