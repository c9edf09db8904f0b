"""The likelihood of reports whose answers depend on covariates, by a multinomial logit.

    l(beta) = sum_i log sum_x A[y_i, x] pi_x(z_i),   pi(z) = softmax(0, beta_1 z, .., beta_E z)

A is the channel, y_i the report and z_i the covariates of person i. E = K - 1 values have
coefficients, and the reference has none. With the posterior q_ix of the values given the report,

    gradient      sum_i (q_i - pi_i) z_i'
    information   sum_i [diag(pi_i) - pi_i pi_i' - diag(q_i) + q_i q_i'] (x) z_i z_i'

The first two terms are the information of the answers themselves, and the last two the information
that the reports lack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from warner._core.survey_design import DrawnSample
from warner.channels import FloatArray, IntArray
from warner.estimators.base import Status, iterate

_BLOCK = 2**19  # elements of an array of rows of covariates by entries of a matrix


@dataclass(frozen=True, eq=False)
class Pairs:
    """The different pairs of a report and covariates, and how often each occurs."""

    rows: FloatArray  # (m, K) the likelihoods of the different reports, each up to a factor
    covariates: FloatArray  # (g, p) the different rows of covariates
    report: IntArray  # (r,) the row of ``rows`` of each pair
    group: IntArray  # (r,) the row of ``covariates`` of each pair, increasing
    counts: FloatArray  # (r,) how many people each pair has, or the sum of their weights
    of_person: IntArray  # (n,) the pair of each person

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        report: IntArray,
        covariates: FloatArray,
        weights: FloatArray | None = None,
    ) -> Pairs:
        """The pairs of n people, who may have weights.

        Shapes: rows (m, K), report (n,), covariates (n, p), weights (n,).
        """
        group, first = _different_rows(covariates)
        pair, of_person = np.unique(group * len(rows) + report, return_inverse=True)
        return cls(
            rows,
            np.ascontiguousarray(covariates[first]),
            pair % len(rows),
            pair // len(rows),
            np.bincount(of_person.ravel(), weights, len(pair)).astype(np.float64),
            of_person.ravel(),
        )

    def turned(self, turn: FloatArray) -> Pairs:
        """The same pairs with covariates Z T, for T (p, p)."""
        return replace(self, covariates=self.covariates @ turn)

    @property
    def size(self) -> int:
        """K, the number of values."""
        return int(self.rows.shape[1])

    @property
    def are_known(self) -> bool:
        """Whether every report tells the answer."""
        return bool((np.count_nonzero(self.rows, axis=1) == 1).all())

    @cached_property
    def people(self) -> FloatArray:
        """(g,) the number of people with each row of covariates."""
        return np.asarray(np.bincount(self.group, self.counts, len(self.covariates)), float)

    @cached_property
    def starts(self) -> IntArray:
        """(g,) the first pair of each row of covariates."""
        return np.searchsorted(self.group, np.arange(len(self.covariates)))

    def at(self, beta: FloatArray) -> Point:
        """The likelihood at coefficients beta (E, p)."""
        pi = softmax(self.covariates @ beta.T)
        posterior = self.rows[self.report] * pi[self.group]
        total = posterior.sum(axis=1)
        # A probability may be below the smallest float, if a trial step is too long.
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior /= total[:, None]
            return Point(self, pi, posterior, float(self.counts @ np.log(total)))

    def outer(self, factors: FloatArray, group: IntArray) -> FloatArray:
        """sum_i f_i f_i' (x) z_i z_i', (E p, E p), in blocks of i.

        Few factors are multiplied with each other, and then with the products of covariates. Many
        factors are multiplied with the covariates, and then with each other.

        Shapes: factors f (r, E), group (r,).
        """
        extra, width = factors.shape[1], self.covariates.shape[1]
        size = extra * width
        first, second = np.triu_indices(extra)
        has_few = extra + 1 <= 2 * width
        total = np.zeros((len(first), width * width) if has_few else (size, size))
        step = max(1, _BLOCK // max(size, width * width))
        for start in range(0, len(factors), step):
            f = factors[start : start + step]
            z = self.covariates[group[start : start + step]]
            if has_few:
                columns = np.ascontiguousarray(f.T)
                total += (columns[first] * columns[second]) @ _products(z, z)
            else:
                products = _products(f, z)
                total += products.T @ products
        if not has_few:
            return total
        blocks = np.empty((extra, extra, width, width))
        blocks[first, second] = blocks[second, first] = total.reshape(-1, width, width)
        return np.asarray(blocks.transpose(0, 2, 1, 3).reshape(size, size))

    def diagonal_blocks(self, weights: FloatArray) -> FloatArray:
        """The block-diagonal matrix of sum_g w_ge z_g z_g', (E p, E p), for weights w (g, E)."""
        extra, width = weights.shape[1], self.covariates.shape[1]
        total = np.zeros((extra, width * width))
        step = max(1, _BLOCK // width**2)
        for start in range(0, len(weights), step):
            z = self.covariates[start : start + step]
            total += weights[start : start + step].T @ _products(z, z)
        blocks = np.zeros((extra, width, extra, width))
        each = np.arange(extra)
        blocks[each, :, each, :] = total.reshape(extra, width, width)
        return blocks.reshape(extra * width, extra * width)


@dataclass(frozen=True, eq=False)
class Point:
    """The likelihood at some coefficients."""

    pairs: Pairs
    pi: FloatArray  # (g, K) the shares of the values at each row of covariates
    posterior: FloatArray  # (r, K) the shares given the report of each pair
    value: float  # l, in nats; -inf or NaN where coefficients are too large

    def derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The gradient of l and two matrices of information."""
        pairs = self.pairs
        expected = pairs.people[:, None] * self.pi
        counted = pairs.counts[:, None] * self.posterior
        seen = np.add.reduceat(counted, pairs.starts, axis=0)
        gradient = (seen - expected)[:, 1:].T @ pairs.covariates
        each = np.arange(len(self.pi))
        complete, missing = (
            pairs.diagonal_blocks(total[:, 1:])
            - pairs.outer(np.sqrt(counts)[:, None] * shares[:, 1:], group)
            for total, shares, counts, group in (
                (expected, self.pi, pairs.people, each),
                (seen, self.posterior, pairs.counts, pairs.group),
            )
        )
        return gradient.ravel(), complete - missing, complete

    def squared_scores(self) -> FloatArray:
        """The sum over the people of s_i s_i', s_i the gradient of person i, (E p, E p)."""
        pairs = self.pairs
        scores = (self.posterior - self.pi[pairs.group])[:, 1:]
        return pairs.outer(np.sqrt(pairs.counts)[:, None] * scores, pairs.group)

    def scores_of_clusters(self, drawn: DrawnSample) -> FloatArray:
        """The sums of w_i s_i over the people of each cluster, (G, E p)."""
        scores = (self.posterior - self.pi[self.pairs.group])[:, 1:]
        return self._of_clusters(drawn, scores)

    def degrees(self, drawn: DrawnSample, directions: FloatArray) -> FloatArray:
        """The degrees of freedom (J,) of the variances of a'beta, by the information of answers.

        Shapes: directions a (J, E p).
        """
        if drawn.design.cluster is None:
            return np.full(len(directions), float(drawn.degrees))
        pairs, (extra, width) = self.pairs, (self.pi.shape[1] - 1, self.pairs.covariates.shape[1])
        # Reports add the same noise in all clusters, so that the answers say which have weight.
        complete = self.derivatives()[2]
        inverse = np.linalg.pinv(complete, hermitian=True)
        shares = self.pi[pairs.group][:, 1:]
        degrees = []
        for direction in directions @ inverse:
            along = pairs.covariates[pairs.group] @ direction.reshape(extra, width).T
            informed = shares * (along - (shares * along).sum(axis=1, keepdims=True))
            v = self._of_clusters(drawn, informed)
            degrees.append(drawn.moments_of(np.column_stack([v @ direction, v]), inverse)[0])
        return np.array(degrees)

    def _of_clusters(self, drawn: DrawnSample, factors: FloatArray) -> FloatArray:
        """The sums of w_i f_i (x) z_i over the people of each cluster, (G, E p).

        Shapes: factors f (r, E) of the pairs.
        """
        from scipy.sparse import csr_array

        pairs = self.pairs
        shape = (len(drawn.stratum_of_unit), len(pairs.group))
        people = csr_array((drawn.weights, (drawn.unit, pairs.of_person)), shape=shape)
        covariates = pairs.covariates[pairs.group]
        return np.concatenate([people @ (f[:, None] * covariates) for f in factors.T], axis=1)


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    """The products of the entries of rows: (s, a) and (s, b) -> (s, a b)."""
    return np.asarray((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))


def softmax(eta: FloatArray) -> FloatArray:
    """The shares (g, E + 1) of log-odds eta (g, E) against a reference, which comes first."""
    logs = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    logs -= logs.max(axis=1, keepdims=True)
    shares = np.exp(logs)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _different_rows(matrix: FloatArray) -> tuple[IntArray, IntArray]:
    """The number of each row (n,) among the different ones, and where each occurs first, (g,)."""
    position, first = np.zeros(len(matrix), dtype=np.int64), np.zeros(1, dtype=np.int64)
    # Faster than sorting whole rows.
    for column in matrix.T:
        different, code = np.unique(column, return_inverse=True)
        _, first, position = np.unique(
            position * different.size + code, return_index=True, return_inverse=True
        )
    return position, first


# -----------------------------------------------------------------------------------------------
# The maximum of the likelihood of a regression, by Newton's method.


_MOST_STEPS = 200
_DECREMENT = 1e-14  # squared length of the step in standard errors, at which Newton's method ends
_SMALL_GAIN = 1e-4  # nats
_LONG_STEP = 0.5  # in log-odds
_HALVINGS = 40
# In log-odds. A longer step may end where all derivatives are 0, unless log-odds are large already.
_LONGEST_STEP = 5.0
_STARTS = 20  # beside the one at 0
_FEW_STARTS = 6  # where a step takes long
_LONG, _VERY_LONG = 2**17, 2**19  # pairs times coefficients
_RIDGE = 1e-12  # of the information of one log-odds, which is at most a quarter of the people
_SPREAD = 1.5  # standard deviation of the log-odds of a random start
_LARGE_ERROR = 0.25  # in log-odds: the logit is curved at this scale
_FLAT = 1e-9  # of the information of the answers themselves: below it, rounding
_ROUNDING = 1e-13  # of the log-likelihood


class Ending(Enum):
    """How a regression ended; the text states the cause and the remedy.

    >>> Ending.EXACT.value
    'exact: computed directly, without iteration'
    """

    EXACT = "exact: computed directly, without iteration"
    CONVERGED = "converged: the log-likelihood has a maximum at these coefficients"
    SEPARATED = (
        "separated: the log-likelihood still rises while some coefficients grow without bound, "
        "because the estimated share of a value is 0 at some covariates. Those coefficients and "
        "their errors have no meaning; use fewer covariates, merge values, or predict shares"
    )
    FLAT = (
        "flat: the log-likelihood is nearly constant along some direction, so the reports do not "
        "determine all coefficients. The errors along it are huge; use fewer covariates or merge "
        "values"
    )
    STEP_LIMIT = "step limit reached before the maximum: use fewer covariates or merge values"


@dataclass(frozen=True, eq=False)
class Maximum:
    """The end of the maximisation."""

    beta: FloatArray  # (E, p) coefficients
    point: Point
    covariance: FloatArray  # (E p, E p) the inverse of the observed information
    ending: Ending
    steps: int


@dataclass(frozen=True, eq=False)
class _State:
    """A point of the search, and the step from it."""

    beta: FloatArray  # (E, p)
    point: Point
    # (E p,) the eigenvalues of the observed information, in the metric of that of the answers
    scale: FloatArray
    vectors: FloatArray  # (E p, E p) their vectors V: the inverse is V diag(1 / scale) V'
    step: FloatArray  # (E, p) the step to take
    gain: float  # the gradient times the step, twice the gain in nats of a step of Newton

    @classmethod
    def of(cls, beta: FloatArray, point: Point) -> _State:
        """The state at coefficients, from the likelihood there."""
        from scipy import linalg

        gradient, observed, complete = point.derivatives()
        # The information of the answers is singular in floats where shares are nearly 0 or 1.
        ridge = _RIDGE * float(point.pairs.counts.sum())
        scale, vectors = linalg.eigh(observed, complete + ridge * np.eye(len(complete)))
        steepness = np.maximum(np.abs(scale), _FLAT)
        step = vectors @ ((vectors.T @ gradient) / steepness)
        return cls(beta, point, scale, vectors, step.reshape(beta.shape), float(gradient @ step))

    @property
    def is_concave(self) -> bool:
        """Whether the log-likelihood is concave here."""
        return bool(self.scale.min() > 0)

    def reach(self, beta: FloatArray) -> float:
        """The largest log-odds at coefficients (E, p), or the largest change by a step."""
        return float(np.abs(self.point.pairs.covariates @ beta.T).max())

    @property
    def is_endless(self) -> bool:
        """Whether the step is long and gains nearly nothing."""
        return self.gain < _SMALL_GAIN and self.reach(self.step) > _LONG_STEP

    def ending(self) -> Ending:
        """The reason why the search ended here."""
        if self.is_endless:
            is_large = self.reach(self.beta) > _LONGEST_STEP
            return Ending.SEPARATED if is_large else Ending.FLAT
        return Ending.FLAT if self.scale.min() <= _FLAT else Ending.CONVERGED


def maximize(pairs: Pairs) -> Maximum:
    """The largest maximum of the log-likelihood that is found."""
    shape = (pairs.size - 1, pairs.covariates.shape[1])
    first = _ascend(pairs, np.zeros(shape))
    if not first.is_doubtful:
        return first.maximum()
    # The log-likelihood is not concave where reports are noisy. If a standard error is above 0.25,
    # the search also starts at the same random places, fewer where a step takes long.
    rng = np.random.default_rng(0)
    work = len(pairs.group) * int(np.prod(shape))
    count = _STARTS if work <= _LONG else _FEW_STARTS if work <= _VERY_LONG else 0
    starts = [rng.normal(scale=_SPREAD, size=shape) for _ in range(count)]
    others = [_ascend(pairs, start) for start in starts if np.isfinite(pairs.at(start).value)]
    best = max([first, *others], key=lambda end: end.state.point.value)
    is_better = best.state.point.value > first.state.point.value + _SMALL_GAIN
    return (best if is_better else first).maximum()


@dataclass(frozen=True, eq=False)
class _End:
    """The end of one search."""

    state: _State
    steps: int
    is_limited: bool

    @property
    def is_doubtful(self) -> bool:
        """Whether another search may end at a larger maximum."""
        if self.state.point.pairs.are_known:
            return False  # the log-likelihood is concave
        errors = np.sqrt(self._covariance().diagonal())
        return self.is_limited or bool(errors.max() > _LARGE_ERROR)

    def _covariance(self) -> FloatArray:
        state = self.state
        return np.asarray((state.vectors / np.maximum(state.scale, _FLAT)) @ state.vectors.T)

    def maximum(self) -> Maximum:
        """The result of the search."""
        state = self.state
        ending = Ending.STEP_LIMIT if self.is_limited else state.ending()
        return Maximum(state.beta, state.point, self._covariance(), ending, self.steps)


def _ascend(pairs: Pairs, start: FloatArray) -> _End:
    """The end of Newton's method from a start (E, p), with steps halved until l rises."""

    def stop(here: _State, steps: int) -> Status | None:
        is_still = here.gain <= _DECREMENT
        # A step that changes log-odds by more than 0.5 and gains less than 1e-4 nats ends it: the
        # standard error is above 35 in log-odds, so the maximum is (nearly) at infinity.
        ends = is_still or (here.is_concave and here.is_endless)
        return Status.CONVERGED if ends else None

    def step(here: _State) -> _State | None:
        longest = max(_LONGEST_STEP, here.reach(here.beta))
        size = min(1.0, longest / max(here.reach(here.step), longest))
        for _ in range(_HALVINGS):
            beta = here.beta + size * here.step
            point = pairs.at(beta)
            enough = here.point.value + 1e-4 * size * here.gain
            if point.value >= enough - _ROUNDING * abs(enough):
                return _State.of(beta, point)
            size /= 2
        return None

    run = iterate(_State.of(start, pairs.at(start)), step, stop, _MOST_STEPS)
    return _End(run.state, run.steps, run.status is Status.STEP_LIMIT)
