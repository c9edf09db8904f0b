"""The likelihood of reports whose answers depend on covariates, and its maximum.

Many values and many people are computed fast where the model is a multinomial logit:

    l(beta) = sum_i log sum_x A[y_i, x] pi_x(z_i),   pi(z) = softmax(0, beta_1 z, .., beta_E z)

A is the channel, y_i the report and z_i the covariates of person i. E = K - 1 values have
coefficients, and the reference has none. With the posterior q_ix of the values given the report,

    gradient      sum_i (q_i - pi_i) z_i'
    information   sum_i [diag(pi_i) - pi_i pi_i' - diag(q_i) + q_i q_i'] (x) z_i z_i'

The first two terms are the information of the answers themselves, and the last two the information
that the reports lack. Every other model is a :class:`Mixture` of pieces, see
:mod:`warner.regression.pieces`, with random intercepts of groups (:class:`RandomIntercepts`) where
people of a group are alike. All of them are climbed by one Newton's method, :func:`maximize`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from warner._core.extras import scipy
from warner._core.progress import in_blocks, steps
from warner._core.survey_design import DrawnSample
from warner.channels import FloatArray, IntArray
from warner.estimators.base import Status, iterate
from warner.regression.pieces import Piece, Terms, softmax

_BLOCK = 2**19  # elements of an array of rows of covariates by entries of a matrix
_LARGEST_BLOCK = 2**22  # elements of an array of people by classes by entries of a matrix


class Likelihood(ABC):
    """The log-likelihood of n people as a function of P coefficients."""

    total: float  # the number of people, or the sum of their weights
    has_one_search: bool  # whether a search from the start alone ends at the largest maximum
    start: FloatArray  # (P,) where a search begins
    work: int  # how long a step takes: people times predictors

    @abstractmethod
    def at(self, theta: FloatArray) -> Point:
        """The likelihood at coefficients (P,)."""

    @abstractmethod
    def reach(self, theta: FloatArray) -> float:
        """The largest linear predictor at coefficients (P,), or the largest change by a step."""

    @property
    def inner(self) -> int:
        """How many of the first coefficients have no limit, at which their scores are all 0."""
        return len(self.start)

    def placed(self, theta: FloatArray) -> Likelihood:
        """The same likelihood, computed by numbers that suit some coefficients."""
        return self


class Point(ABC):
    """The likelihood at some coefficients."""

    value: float  # l, in nats; -inf or NaN where coefficients are too large

    @abstractmethod
    def derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The gradient of l (P,) and two matrices (P, P): the information, and that of answers."""

    @abstractmethod
    def squared_scores(self) -> FloatArray:
        """The sum over independent people, or groups, of s s', s the gradient of one, (P, P)."""

    @abstractmethod
    def scores_of_clusters(self, drawn: DrawnSample) -> FloatArray:
        """The sums of w_i s_i over the people of each cluster, (G, P)."""

    @abstractmethod
    def informed(self, drawn: DrawnSample, direction: FloatArray) -> FloatArray:
        """The information of the answers in a direction (P,), summed over clusters, (G, P)."""

    def degrees(self, drawn: DrawnSample, directions: FloatArray) -> FloatArray:
        """Degrees of freedom (J,) of variances of a'theta by the answers' information; a (J, P)."""
        if drawn.design.cluster is None:
            return np.full(len(directions), float(drawn.degrees))
        # Reports add the same noise in all clusters, so that the answers say which have weight.
        inverse = np.linalg.pinv(self.derivatives()[2], hermitian=True)
        degrees = []
        for direction in directions @ inverse:
            v = self.informed(drawn, direction)
            degrees.append(drawn.moments_of(np.column_stack([v @ direction, v]), inverse)[0])
        return np.array(degrees)


# -----------------------------------------------------------------------------------------------
# A multinomial logit of many values.


@dataclass(frozen=True, eq=False)
class Pairs(Likelihood):
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
        """The pairs of n people with weights (n,): rows (m, K), report (n,), covariates (n, p)."""
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
    def has_one_search(self) -> bool:  # type: ignore[override]
        # The log-likelihood is concave where every report tells the answer.
        return bool((np.count_nonzero(self.rows, axis=1) == 1).all())

    @cached_property
    def people(self) -> FloatArray:
        """(g,) the number of people with each row of covariates."""
        return np.asarray(np.bincount(self.group, self.counts, len(self.covariates)), float)

    @cached_property
    def starts(self) -> IntArray:
        """(g,) the first pair of each row of covariates."""
        return np.searchsorted(self.group, np.arange(len(self.covariates)))

    @property
    def total(self) -> float:  # type: ignore[override]
        return float(self.counts.sum())

    @property
    def start(self) -> FloatArray:  # type: ignore[override]
        return np.zeros((self.size - 1) * self.covariates.shape[1])

    @property
    def work(self) -> int:  # type: ignore[override]
        return len(self.group) * self.start.size

    def equations(self, theta: FloatArray) -> FloatArray:
        """The coefficients (E, p) of the equations, from (E p,)."""
        return np.reshape(theta, (self.size - 1, -1))

    def reach(self, theta: FloatArray) -> float:
        return float(np.abs(self.covariates @ self.equations(theta).T).max())

    def at(self, theta: FloatArray) -> PairsPoint:
        pi = softmax(self.covariates @ self.equations(theta).T)
        posterior = self.rows[self.report] * pi[self.group]
        total = posterior.sum(axis=1)
        # A probability may be below the smallest float, if a trial step is too long.
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior /= total[:, None]
            return PairsPoint(self, pi, posterior, float(self.counts @ np.log(total)))

    def outer(self, factors: FloatArray, group: IntArray) -> FloatArray:
        """sum_i f_i f_i' (x) z_i z_i', (E p, E p), in blocks of i; factors f (r, E), group (r,).

        Few factors are multiplied with each other first, and many with the covariates.
        """
        extra, width = factors.shape[1], self.covariates.shape[1]
        size = extra * width
        first, second = np.triu_indices(extra)
        has_few = extra + 1 <= 2 * width
        total = np.zeros((len(first), width * width) if has_few else (size, size))
        for some in in_blocks(len(factors), _BLOCK, max(size, width * width)):
            f = factors[some]
            z = self.covariates[group[some]]
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
        for some in in_blocks(len(weights), _BLOCK, width**2):
            z = self.covariates[some]
            total += weights[some].T @ _products(z, z)
        blocks = np.zeros((extra, width, extra, width))
        each = np.arange(extra)
        blocks[each, :, each, :] = total.reshape(extra, width, width)
        return blocks.reshape(extra * width, extra * width)


@dataclass(frozen=True, eq=False)
class PairsPoint(Point):
    """The likelihood of a multinomial logit at some coefficients."""

    pairs: Pairs
    pi: FloatArray  # (g, K) the shares of the values at each row of covariates
    posterior: FloatArray  # (r, K) the shares given the report of each pair
    value: float

    def derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
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
        pairs = self.pairs
        scores = (self.posterior - self.pi[pairs.group])[:, 1:]
        return pairs.outer(np.sqrt(pairs.counts)[:, None] * scores, pairs.group)

    def scores_of_clusters(self, drawn: DrawnSample) -> FloatArray:
        return self._of_clusters(drawn, (self.posterior - self.pi[self.pairs.group])[:, 1:])

    def informed(self, drawn: DrawnSample, direction: FloatArray) -> FloatArray:
        pairs = self.pairs
        shares = self.pi[pairs.group][:, 1:]
        along = pairs.covariates[pairs.group] @ pairs.equations(direction).T
        answers = shares * (along - (shares * along).sum(axis=1, keepdims=True))
        return self._of_clusters(drawn, answers)

    def _of_clusters(self, drawn: DrawnSample, factors: FloatArray) -> FloatArray:
        """The sums (G, E p) of w_i f_i (x) z_i over the people of each cluster; f (r, E)."""
        pairs = self.pairs
        shape = (len(drawn.stratum_of_unit), len(pairs.group))
        people = scipy.sparse.csr_array((drawn.weights, (drawn.unit, pairs.of_person)), shape=shape)
        covariates = pairs.covariates[pairs.group]
        return np.concatenate([people @ (f[:, None] * covariates) for f in factors.T], axis=1)


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    """The products of the entries of rows: (s, a) and (s, b) -> (s, a b)."""
    return np.asarray((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))


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
# Mixtures over hidden classes, of any pieces.


class Predictor(NamedTuple):
    """A linear predictor t_i = X_i theta_c of each person."""

    matrix: FloatArray  # X (n, p)
    columns: IntArray  # c (p,) the places of its coefficients


@dataclass(frozen=True, eq=False)
class Mixture(Likelihood):
    """l(theta) = sum_i w_i log sum_c A[y_i, c] prod_pieces d(c; t_i)."""

    rows: FloatArray  # (n, C) the likelihoods of the report of each person, up to a factor
    weights: FloatArray  # (n,) of the people
    predictors: Sequence[Predictor]  # those of the pieces, in their order
    pieces: Sequence[Piece]
    start: FloatArray  # (P,) where a search begins
    has_one_search: bool = False  # whether that is near the largest maximum

    @property
    def total(self) -> float:  # type: ignore[override]
        return float(self.weights.sum())

    @property
    def work(self) -> int:  # type: ignore[override]
        return self.rows.size * self.start.size

    def linear(self, theta: FloatArray) -> FloatArray:
        """The linear predictors (n, M)."""
        return np.stack([x @ theta[columns] for x, columns in self.predictors], axis=1)

    def reach(self, theta: FloatArray) -> float:
        return float(np.abs(self.linear(theta)).max())

    def at(self, theta: FloatArray) -> MixturePoint:
        return MixturePoint(self, *self.people_at(self.linear(theta)))

    def of(self, people: slice | IntArray) -> Mixture:
        """The likelihood of some of the people, each as often as it is named."""
        return replace(
            self,
            rows=self.rows[people],
            weights=self.weights[people],
            predictors=[Predictor(x[people], columns) for x, columns in self.predictors],
            pieces=[piece.of(people) for piece in self.pieces],
        )

    def people_at(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Of each person: l_i (n,), l_i' (n, M), l_i'' (n, M, M), and the information (n, M, M).

        With the posterior q of the classes given all that is seen of a person, by Louis' formula

            l_i' = E_q s,   l_i'' = E_q h + Var_q s,   information of the answers E_q f
        """
        n, width = t.shape
        parts = list(in_blocks(n, _LARGEST_BLOCK, self.rows.shape[1] * width**2))
        if len(parts) > 1:
            each = [self.of(some).people_at(t[some]) for some in parts]
            value, mean, curvature, information = map(np.concatenate, zip(*each, strict=True))
            return value, mean, curvature, information
        terms, value, posterior = self._posterior(t)
        starts = np.cumsum([0, *(piece.size for piece in self.pieces)])
        scores = np.zeros((n, posterior.shape[1], width))
        for term, start in zip(terms, starts, strict=False):
            for c, places in enumerate(term.places + start):
                scores[:, c, places] += term.score[:, c]
        mean = np.einsum("nc,ncm->nm", posterior, scores)
        centred = scores - mean[:, None]
        curvature = (posterior[..., None] * centred).transpose(0, 2, 1) @ centred
        information = np.zeros((n, width, width))
        for term, start in zip(terms, starts, strict=False):
            for c, places in enumerate(term.places + start):
                is_common = term.hessian.shape[1] == 1
                weight = 1.0 if is_common else posterior[:, c, None, None]
                block = (slice(None), places[:, None], places)
                curvature[block] += weight * term.hessian[:, c]
                information[block] += weight * term.information[:, c]
                if is_common:
                    break
        return value, mean, curvature, information

    def values_at(self, t: FloatArray) -> FloatArray:
        """l_i (n,) at predictors (n, M)."""
        return self._posterior(t)[1]

    def _posterior(self, t: FloatArray) -> tuple[list[Terms], FloatArray, FloatArray]:
        """The terms of the pieces, l_i (n,), and the posterior (n, C) of the classes."""
        ends = np.cumsum([piece.size for piece in self.pieces])
        terms = [p.at(t[:, end - p.size : end]) for p, end in zip(self.pieces, ends, strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self.rows) + sum(term.logs for term in terms)
            largest = logs.max(axis=1, keepdims=True)
            posterior = np.exp(logs - largest)
            sums = posterior.sum(axis=1, keepdims=True)
            return terms, (largest + np.log(sums))[:, 0], posterior / sums

    def chained(self, slopes: FloatArray) -> FloatArray:
        """The derivatives (n, P) by the coefficients, from those (n, M) by the predictors."""
        total = np.zeros((len(slopes), self.start.size))
        for slope, (x, columns) in zip(slopes.T, self.predictors, strict=True):
            total[:, columns] += slope[:, None] * x
        return total

    def summed(self, matrices: FloatArray) -> FloatArray:
        """sum_i X_i' h_i X_i, (P, P), for h (n, M, M)."""
        total = np.zeros((self.start.size, self.start.size))
        for m, (x, columns) in enumerate(self.predictors):
            for k, (other, others) in enumerate(self.predictors[: m + 1]):
                h = matrices[:, m, k]
                if h.any():
                    block = (x * h[:, None]).T @ other
                    total[np.ix_(columns, others)] += block
                    if k < m:
                        total[np.ix_(others, columns)] += block.T
        return total


@dataclass(frozen=True, eq=False)
class MixturePoint(Point):
    """The likelihood of a mixture at some coefficients."""

    mixture: Mixture
    logs: FloatArray  # (n,) l_i
    slopes: FloatArray  # (n, M)
    curvature: FloatArray  # (n, M, M)
    information: FloatArray  # (n, M, M)

    @property
    def value(self) -> float:  # type: ignore[override]
        return float(self.mixture.weights @ self.logs)

    def derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        mixture, weights = self.mixture, self.mixture.weights
        gradient = weights @ mixture.chained(self.slopes)
        each = weights[:, None, None]
        observed = -mixture.summed(each * self.curvature)
        return gradient, observed, mixture.summed(each * self.information)

    def squared_scores(self) -> FloatArray:
        scores = self.mixture.chained(self.slopes)
        return np.asarray(scores.T @ (self.mixture.weights[:, None] * scores))

    def scores_of_clusters(self, drawn: DrawnSample) -> FloatArray:
        return self._of_clusters(drawn, self.slopes)

    def informed(self, drawn: DrawnSample, direction: FloatArray) -> FloatArray:
        along = self.mixture.linear(direction)
        return self._of_clusters(drawn, np.einsum("nmk,nk->nm", self.information, along))

    def _of_clusters(self, drawn: DrawnSample, slopes: FloatArray) -> FloatArray:
        return drawn.summed(self.mixture.weights[:, None] * self.mixture.chained(slopes))


# -----------------------------------------------------------------------------------------------
# People of a group who are alike: a random intercept, by adaptive Gauss-Hermite quadrature.


_NODES = 30
_MODE_STEPS = 25
_LEAST_CURVATURE = 0.2  # of the logarithm of the integrand; that of the normal law alone is 1
_START_OF_SD = 0.5
_MOST_PLACINGS = 12
_STILL = 1e-7  # a change of coefficients, in standard errors, at which nodes stay


@dataclass(frozen=True, eq=False)
class RandomIntercepts(Likelihood):
    """l(theta, s) = sum_j W_j log E prod_{i in j} p_i(t_i + s u_j)^(w_i),   u_j standard normal.

    p_i is the likelihood of person i of a :class:`Mixture`, j the group of the person. The mean
    over u_j is a sum over nodes that lie around the mode of each group, at the coefficients where
    they were placed. The standard deviation s is the last coefficient, and enters as its square.
    """

    mixture: Mixture  # the likelihood of people who know their u, with the weights within groups
    shifted: Sequence[int]  # the numbers of the predictors that u moves
    group: IntArray  # (n,) the group of each person, 0..J-1
    weights: FloatArray  # (J,) those of the groups
    nodes: FloatArray  # (J, Q) values of u
    logs: FloatArray  # (J, Q) the logarithms of their weights
    start: FloatArray
    alone: Maximum  # the maximum without random intercepts, near which the search begins

    @classmethod
    def of(
        cls, mixture: Mixture, shifted: Sequence[int], group: IntArray, weights: FloatArray
    ) -> RandomIntercepts:
        """The likelihood with nodes for the start of a search."""
        none = np.empty((len(weights), 0))
        alone = maximize(mixture)
        start = np.append(alone.beta, _START_OF_SD)
        return cls(mixture, list(shifted), group, weights, none, none, start, alone).placed(start)

    @property
    def total(self) -> float:  # type: ignore[override]
        return self.mixture.total

    @property
    def work(self) -> int:  # type: ignore[override]
        return self.mixture.work * _NODES

    @property
    def inner(self) -> int:
        return len(self.start) - 1

    @property
    def has_one_search(self) -> bool:  # type: ignore[override]
        return True

    def placed(self, theta: FloatArray) -> RandomIntercepts:
        """The same likelihood, with nodes around the modes of the groups at some coefficients."""
        mixture, spread, people = self.mixture, theta[-1], self.mixture.weights
        linear, groups = mixture.linear(theta[:-1]), len(self.weights)
        mode, curvature = np.zeros(groups), np.empty(groups)
        for _ in range(_MODE_STEPS):
            _, slopes, curvatures, _ = mixture.people_at(
                self._moved(linear, spread * mode[self.group])
            )
            slope = slopes[:, self.shifted].sum(axis=1) * spread
            bend = curvatures[:, self.shifted][:, :, self.shifted].sum(axis=(1, 2)) * spread**2
            gradient = np.bincount(self.group, people * slope, groups) - mode
            bends = np.bincount(self.group, people * bend, groups)
            curvature = np.maximum(1.0 - bends, _LEAST_CURVATURE)
            step = np.clip(gradient / curvature, -1.0, 1.0)
            mode = mode + step
            if np.abs(step).max() < _STILL:
                break
        points, masses = np.polynomial.hermite_e.hermegauss(_NODES)
        scale = 1 / np.sqrt(curvature)[:, None]
        nodes = mode[:, None] + scale * points
        # The normal density at the node, divided by that of the rule.
        logs = np.log(masses * scale / np.sqrt(2 * np.pi)) + 0.5 * (points**2 - nodes**2)
        return replace(self, nodes=nodes, logs=logs)

    def _moved(self, linear: FloatArray, shift: FloatArray) -> FloatArray:
        """Linear predictors (n, M) with the shifts (n,) of people."""
        moved = linear.copy()
        moved[:, self.shifted] += shift[:, None]
        return moved

    def at_nodes(
        self, theta: FloatArray
    ) -> Iterator[tuple[slice, Mixture, FloatArray, FloatArray]]:
        """The places of some q nodes, the people at them, u (q n,) and linear predictors (q n, M).

        So few people take hardly longer at all nodes than at one, and many take no more memory.
        """
        linear = self.mixture.linear(theta[:-1])
        n, width = linear.shape
        for some in in_blocks(self.nodes.shape[1], _BLOCK, self.mixture.rows.size * width**2):
            u = self.nodes[self.group, some].T.ravel()
            people = np.tile(np.arange(n), len(u) // n)
            moved = self._moved(linear[people], theta[-1] * u)
            yield some, self.mixture.of(people), u, moved

    def of_groups(self, numbers: FloatArray) -> FloatArray:
        """The sums (q, J) over the people of each group, of numbers (q n,) at q nodes."""
        nodes, groups = len(numbers) // len(self.group), len(self.weights)
        cell = self.group + groups * np.arange(nodes)[:, None]
        sums = np.bincount(cell.ravel(), numbers, nodes * groups)
        return np.asarray(sums, dtype=float).reshape(nodes, groups)

    def reach(self, theta: FloatArray) -> float:
        return max(self.mixture.reach(theta[:-1]), abs(float(theta[-1])))

    def at(self, theta: FloatArray) -> RandomPoint:
        logs = self.logs.copy()
        for some, people, _, moved in self.at_nodes(theta):
            logs[:, some] += self.of_groups(people.weights * people.values_at(moved)).T
        largest = logs.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            shares = np.exp(logs - largest)
            sums = shares.sum(axis=1, keepdims=True)
            total = float(self.weights @ (largest + np.log(sums))[:, 0])
            return RandomPoint(self, theta, shares / sums, total)


@dataclass(frozen=True, eq=False)
class RandomPoint(Point):
    """The likelihood with random intercepts at some coefficients."""

    likelihood: RandomIntercepts
    theta: FloatArray
    shares: FloatArray  # (J, Q) the posterior of the nodes
    value: float

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """W_j s_j (J, P) of the groups, the information, and that of the answers."""
        whole = self.likelihood
        size = len(self.theta)
        scores = np.zeros((len(whole.weights), size))
        squares, curvature, information = np.zeros((3, size, size))
        for some, people, u, moved in whole.at_nodes(self.theta):
            _, slopes, curvatures, informations = people.people_at(moved)
            # The standard deviation has the covariate u.
            predictors = [
                Predictor(np.column_stack([x, u]), np.append(columns, size - 1))
                if m in whole.shifted
                else Predictor(x, columns)
                for m, (x, columns) in enumerate(people.predictors)
            ]
            people = replace(people, predictors=predictors, start=self.theta)
            chained = people.weights[:, None] * people.chained(slopes)
            of_groups = np.stack([whole.of_groups(c) for c in chained.T], axis=2)
            weight = (whole.weights[:, None] * self.shares[:, some]).T
            weighted = weight[..., None] * of_groups
            scores += weighted.sum(axis=0)
            squares += of_groups.reshape(-1, size).T @ weighted.reshape(-1, size)
            each = (weight[:, whole.group].ravel() * people.weights)[:, None, None]
            curvature += people.summed(each * curvatures)
            information += people.summed(each * informations)
        mean = scores / whole.weights[:, None]
        among = squares - mean.T @ scores  # the variance of the scores over the nodes
        return scores, -(curvature + among), information

    def derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        scores, observed, information = self._sums
        return scores.sum(axis=0), observed, information

    def squared_scores(self) -> FloatArray:
        scores = self._sums[0]
        return np.asarray(scores.T @ scores)

    def scores_of_clusters(self, drawn: DrawnSample) -> FloatArray:
        group = self.likelihood.group
        unit = np.zeros(len(self.shares), dtype=np.int64)
        unit[group] = drawn.unit
        units = len(drawn.stratum_of_unit)
        return np.stack([np.bincount(unit, c, units) for c in self._sums[0].T], axis=1)

    def informed(self, drawn: DrawnSample, direction: FloatArray) -> FloatArray:
        raise NotImplementedError

    def degrees(self, drawn: DrawnSample, directions: FloatArray) -> FloatArray:
        # Groups lie in clusters, so that each coefficient is decided by their differences.
        return np.full(len(directions), float(drawn.degrees))


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
    CONVERGED = (
        "no other coefficients close to these would fit the reports better (the fit converged)"
    )
    SEPARATED = (
        "separated: some coefficients grow without end, because the estimated share of a value is "
        "0 among some people. These coefficients and their errors have no meaning, but predicted "
        "shares do; use fewer covariates or merge values"
    )
    FLAT = (
        "flat: very different coefficients fit the reports almost equally well, so some "
        "coefficients are not known at all, and their errors are huge; use fewer covariates or "
        "merge values"
    )
    STEP_LIMIT = (
        "the calculation stopped before it was finished, so the result is not final: use fewer "
        "covariates or merge values"
    )

    @property
    def is_final(self) -> bool:
        """Whether the coefficients are what was looked for, and have a meaning."""
        return self in (Ending.EXACT, Ending.CONVERGED)


@dataclass(frozen=True, eq=False)
class Maximum:
    """The end of the maximisation."""

    beta: FloatArray  # (P,) coefficients
    point: Point
    covariance: FloatArray  # (P, P) the inverse of the observed information
    ending: Ending
    steps: int


@dataclass(frozen=True, eq=False)
class _State:
    """A point of the search, and the step from it."""

    likelihood: Likelihood
    beta: FloatArray  # (P,)
    point: Point
    # (P,) the eigenvalues of the observed information, in the metric of that of the answers
    scale: FloatArray
    vectors: FloatArray  # (P, P) their vectors V: the inverse is V diag(1 / scale) V'
    step: FloatArray  # (P,) the step to take
    gain: float  # the gradient times the step, twice the gain in nats of a step of Newton

    @classmethod
    def of(cls, likelihood: Likelihood, beta: FloatArray, point: Point) -> _State:
        """The state at coefficients, from the likelihood there."""
        gradient, observed, complete = point.derivatives()
        # The information of the answers is singular in floats where shares are nearly 0 or 1.
        ridge = _RIDGE * likelihood.total
        scale, vectors = scipy.linalg.eigh(observed, complete + ridge * np.eye(len(complete)))
        steepness = np.maximum(np.abs(scale), _FLAT)
        step = vectors @ ((vectors.T @ gradient) / steepness)
        return cls(likelihood, beta, point, scale, vectors, step, float(gradient @ step))

    @property
    def is_endless(self) -> bool:
        """Whether the step is long and gains nearly nothing."""
        return self.gain < _SMALL_GAIN and self.likelihood.reach(self.step) > _LONG_STEP

    def ending(self) -> Ending:
        """The reason why the search ended here."""
        if self.is_endless:
            is_large = self.likelihood.reach(self.beta) > _LONGEST_STEP
            return Ending.SEPARATED if is_large else Ending.FLAT
        return Ending.FLAT if self.scale.min() <= _FLAT else Ending.CONVERGED


def maximize(likelihood: Likelihood) -> Maximum:
    """The largest maximum of the log-likelihood that is found."""
    best = _highest(likelihood)
    for _ in range(_MOST_PLACINGS):
        placed = likelihood.placed(best.beta)
        if placed is likelihood:
            break
        before, best = best, _ascend(placed, best.beta).maximum()
        best = replace(best, steps=before.steps + best.steps)
        errors = np.sqrt(np.maximum(best.covariance.diagonal(), 0.0))
        if (np.abs(best.beta - before.beta) <= _STILL * errors).all():
            break
    return best


def _highest(likelihood: Likelihood) -> Maximum:
    """The highest end of searches from several places, where one search is not enough."""
    first = _ascend(likelihood, likelihood.start)
    if not first.is_doubtful:
        return first.maximum()
    # The log-likelihood is not concave where reports are noisy. If a standard error is above 0.25,
    # the search also starts at the same random places, fewer where a step takes long.
    rng = np.random.default_rng(0)
    work, size = likelihood.work, len(likelihood.start)
    count = _STARTS if work <= _LONG else _FEW_STARTS if work <= _VERY_LONG else 0
    starts = [likelihood.start + rng.normal(scale=_SPREAD, size=size) for _ in range(count)]
    others = [
        _ascend(likelihood, start)
        for start in steps(starts, "searches from other places")
        if np.isfinite(likelihood.at(start).value)
    ]
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
        if self.state.likelihood.has_one_search:
            return False
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


def _ascend(likelihood: Likelihood, start: FloatArray) -> _End:
    """The end of Newton's method from a start (P,), with steps halved until l rises."""

    def stop(here: _State, steps: int) -> Status | None:
        is_still = here.gain <= _DECREMENT
        # A step that changes log-odds by more than 0.5 and gains less than 1e-4 nats ends it: the
        # standard error is above 35 in log-odds, so the maximum is (nearly) at infinity.
        ends = is_still or (here.scale.min() > 0 and here.is_endless)
        return Status.CONVERGED if ends else None

    def step(here: _State) -> _State | None:
        longest = max(_LONGEST_STEP, likelihood.reach(here.beta))
        size = min(1.0, longest / max(likelihood.reach(here.step), longest))
        for _ in range(_HALVINGS):
            beta = here.beta + size * here.step
            point = likelihood.at(beta)
            enough = here.point.value + 1e-4 * size * here.gain
            if point.value >= enough - _ROUNDING * abs(enough):
                return _State.of(likelihood, beta, point)
            size /= 2
        return None

    run = iterate(_State.of(likelihood, start, likelihood.at(start)), step, stop, _MOST_STEPS)
    return _End(run.state, run.steps, run.status is Status.STEP_LIMIT)
