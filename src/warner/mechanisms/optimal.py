"""The mechanism of a question for which a chosen loss is least, with a certificate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import distribution, integer, numbers_of, show
from warner._core.errors import ArgumentError, ArgumentTypeError, BudgetError
from warner._core.exact import ONE, check_representable, divide, exp
from warner._core.extras import scipy
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.direct import MatrixMechanism
from warner.mechanisms.row_bounds import bound_of_all
from warner.mechanisms.row_design import (
    EXHAUSTIVE,
    Problem,
    best_design,
    multipliers,
    polished,
    solve_weights,
    tight_rows,
    variance,
)
from warner.privacy.guarantees import sensitive_mask

LARGEST = 64  # values
# Nats between which 64-bit floats tell the best rows from others. Beyond them the rows of the
# nearer end are taken, which are as good but for a part of about 0.01.
_LEAST, _MOST = 0.01, 10.0
_LOSSES = ("shares", "distribution", "mean")
# Weights are rounded to it before they are completed exactly: far more than machines differ by, and
# far less than what matters to the variance.
_GRID = 2.0**-22
_MOST_TIGHT = 4000  # rows, among which the fewest are sought
_PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_SUPPORT = 1e-6  # of the largest weight
_FAR = 0.2  # the gap beyond which a mechanism is called the best found


class Certificate(NamedTuple):
    """How far a mechanism is from the best that keeps the same guarantee.

    Attributes:
        value: the variance of one report's contribution to the loss, of this mechanism.
        lower_bound: no channel with the same guarantee has less.
        gap: value / lower_bound - 1.

    >>> str(Certificate(value=2.1, lower_bound=2.0, gap=0.05))
    'within 5 % of the best that this guarantee allows'
    """

    value: float
    lower_bound: float
    gap: float

    def __str__(self) -> str:
        if self.gap > _FAR:
            least = f"{100 * self.lower_bound / self.value:.2g} %"
            return f"the best that was found; no other can have less than {least} of its variance"
        if self.gap < 1e-4:
            return "the best that this guarantee allows"
        return f"within {100 * self.gap:.2g} % of the best that this guarantee allows"


class Optimal(MatrixMechanism):
    """The mechanism with the least variance of what one wants to know, among all that keep epsilon.

        minimise    max over priors of trace(W J^-1) - theta' W theta
        over        A = sum_i w_i 1_i q_i',   q_i in {1, e}^K,   e = exp(epsilon)
        J           = A' diag(A theta)^-1 A,  the information of one report

    A quadratic loss ``(estimate - truth)' W (estimate - truth)`` then is least to first order, for
    every unbiased estimator and many people. With few people another mechanism may err less.

    Args:
        domain: K values, 2 to 64.
        epsilon: budget in nats.
        loss: ``"shares"``, the squared errors of all shares together (W = 1); ``"distribution"``,
            those of the distribution function, for values in order; ``"mean"``, that of the mean,
            for numbers; or W, (K, K), symmetric and positive semidefinite.
        prior: the shares theta (K,) at which the variance is least, each above 0; or several,
            (C, K), whose largest variance is least; None for equal shares.
        sensitive: the values to protect; None for all. A report may name any other value (ULDP).
        rows: the rows that an earlier search found, as :meth:`stated_rows` has them; None to
            search. Two kinds of processors can find other rows that are as good, and their reports
            do not add up. So a study that several computers use states its rows.

    Up to 20 values the search goes through all rows, and the certificate's gap is rounding.

    A report is the index of a row. With ``loss="shares"`` and equal shares the result is
    randomised response or subset selection, with sensitive values utility-optimised subset
    selection.

    Raises:
        ArgumentError: a loss, prior or domain outside these.
        ArgumentTypeError: a loss of order or of numbers, and values that have none.
        BudgetError: epsilon not positive, or outside the range of 64-bit sampling.

    Source: extreme channels: Kairouz, Oh and Viswanath (2016), Holohan, Leith and Mason (2017); the
    program is an A-optimal design (Pukelsheim 2006).

    >>> from warner import Integers
    >>> scale = Optimal(Integers(1, 5), 1.0, loss="distribution")
    >>> round(scale.certificate.value, 2), str(scale.certificate)
    (10.45, 'the best that this guarantee allows')
    """

    references = ("kairouz2016extremal", "holohan2017", "pukelsheim2006")

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        loss: str | ArrayLike = "shares",
        prior: ArrayLike | None = None,
        sensitive: Sequence[Any] | None = None,
        rows: Sequence[str] | None = None,
    ) -> None:
        Mechanism.__init__(self, domain, epsilon)
        remedy = "Use SquareWave" if domain.is_numeric else "Use SubsetSelection"
        integer("number of values", domain.size, 2, LARGEST, remedy)
        plain = isinstance(loss, str) and loss == "shares" and prior is None and sensitive is None
        if domain.size > EXHAUSTIVE and plain:
            rule = f"must have at most {EXHAUSTIVE} values for loss='shares'"
            raise ArgumentError("domain", rule, str(domain.size), "Use SubsetSelection")
        check_representable(self.requested, divide(1, exp(self.requested) + domain.size - 1))
        stated = {
            "loss": loss if isinstance(loss, str) else numbers_of("loss", loss).tolist(),
            **({} if prior is None else {"prior": numbers_of("prior", prior).tolist()}),
        }
        mask = None if sensitive is None else sensitive_mask(domain, sensitive)
        judged = loss_matrix(domain, loss), _priors(domain, prior)
        if rows is None:
            patterns, weights = _solved(
                self.requested,
                *(array.tobytes() for array in judged),
                domain.size,
                None if mask is None else mask.tobytes(),
            )
        else:
            patterns, weights = _stated(rows, domain.size, mask)
        stated |= {"rows": patterns, "weights": weights}
        try:
            self._become(domain, epsilon, sensitive, stated)
        except (ArgumentError, BudgetError) as error:
            rule = "do not give a mechanism for these values with this epsilon"
            remedy = "To compute the rows again, leave out the argument"
            raise ArgumentError("rows", rule, None, remedy) from error

    def _become(
        self,
        domain: Domain,
        epsilon: float,
        sensitive: Sequence[Any] | None,
        stated: Mapping[str, Any],
    ) -> None:
        """Become the mechanism of the rows and weights that a header states."""
        self._stated = dict(stated)
        matrix = self._rows(float(_lowered(epsilon))) * self._weights()[:, None]
        super().__init__(domain, matrix, epsilon, sensitive)

    def _rows(self, e: float) -> np.ndarray:
        """The rows (m, K), with this number in place of the symbol "e"."""
        entries = {"1": 1.0, "e": e, "-": 0.0}
        return np.array([[entries[symbol] for symbol in row] for row in self._stated["rows"]])

    def _weights(self) -> np.ndarray:
        """The weights (m,) of the rows."""
        return np.array([int(w, 16) for w in self._stated["weights"]], dtype=float) / ONE

    def parameters(self) -> dict[str, Any]:
        protected = {} if self.sensitive_mask is None else {"sensitive": self.sensitive}
        return {**self._stated, **protected}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        made = cls.__new__(cls)
        stated = {name: value for name, value in parameters.items() if name != "sensitive"}
        made._become(domain, epsilon, parameters.get("sensitive"), stated)
        return made

    def options(self) -> dict[str, Any]:
        """The arguments ``loss`` and ``prior`` as they were given."""
        return {name: self._stated[name] for name in ("loss", "prior") if name in self._stated}

    def __repr__(self) -> str:
        stated = {k: v for k, v in self.parameters().items() if k not in ("rows", "weights")}
        more = "".join(f", {name}={show(value)}" for name, value in stated.items())
        return f"{type(self).__name__}({self.domain!r}, {self.requested!r}{more})"

    @property
    def rows(self) -> list[str]:
        """The reports: "e" where a value makes a report e times as likely as a value with "1" does.

        A "-" stands where a value never makes the report.
        """
        return list(self._stated["rows"])

    def stated_rows(self) -> list[str]:
        """The rows with their weights over 2^64, as the argument ``rows`` takes them.

        >>> from warner import Integers
        >>> coin = Optimal(Integers(0, 1), 1.0)
        >>> Optimal(Integers(0, 1), 1.0, rows=coin.stated_rows()) == coin
        True
        """
        pairs = zip(self._stated["rows"], self._stated["weights"], strict=True)
        return [f"{row} {weight}" for row, weight in pairs]

    @cached_property
    def certificate(self) -> Certificate:
        """How far this mechanism is from the best; computed from its rows, whoever found them."""
        e = float(_lowered(self.requested))
        problem = _problem(
            e,
            loss_matrix(self.domain, self._stated["loss"]),
            _priors(self.domain, self._stated.get("prior")),
            self.sensitive_mask,
        )
        rows, weights = self._rows(e), self._weights()
        value = variance(problem, rows, weights)
        # The bound holds at any weights, and is closest at those before their rounding.
        least = bound_of_all(problem, rows, polished(problem.solid(), rows, weights))
        return Certificate(value, least, max(value / least - 1, 0.0))


def _lowered(epsilon: float) -> Decimal:
    """exp(epsilon), lowered by what the rounding of columns to integers may add."""
    # The rarest entries are about 1 / e, and are rounded by 2^-64.
    e = exp(epsilon)
    return e * (1 - Decimal(2) ** -40 - e * Decimal(2) ** -64)


def _problem(
    e: float, loss: np.ndarray, priors: np.ndarray, sensitive: np.ndarray | None
) -> Problem:
    """What is minimised. Shapes: loss (K, K), priors (C, K), sensitive (K,)."""
    shown = np.zeros(priors.shape[1], dtype=bool) if sensitive is None else ~sensitive
    return Problem.of(e, priors, loss, shown)


def loss_matrix(domain: Domain, loss: str | ArrayLike) -> np.ndarray:
    """W of a loss by name or as a matrix, (K, K)."""
    size = domain.size
    if not isinstance(loss, str):
        matrix = numbers_of("loss", loss)
        if matrix.shape != (size, size) or not np.isfinite(matrix).all():
            rule = f"must be one of {', '.join(_LOSSES)}, or a matrix of shape ({size}, {size})"
            raise ArgumentError("loss", rule, str(matrix.shape))
        scale = float(np.abs(matrix).max())
        if np.abs(matrix - matrix.T).max() > 1e-12 * scale or (
            np.linalg.eigvalsh(matrix)[0] < -1e-12 * scale
        ):
            rule = "must be a symmetric matrix without negative eigenvalues (positive semidefinite)"
            raise ArgumentError("loss", rule)
        if scale == 0:
            raise ArgumentError("loss", "must not consist of zeros only")
        return np.asarray((matrix + matrix.T) / 2)
    if loss == "shares":
        return np.eye(size)
    if loss == "distribution":
        if not domain.is_ordered:
            rule = 'must have an order for loss="distribution"'
            remedy = "Pass Integers or Interval, or ordered=True to Categorical"
            raise ArgumentTypeError("domain", rule, type(domain).__name__, remedy)
        sums = np.tril(np.ones((size, size)))[:-1]
        return np.asarray(sums.T @ sums)
    if loss == "mean":
        points = domain.points
        if points is None or points.shape[1] != 1:
            rule, remedy = 'must be numbers for loss="mean"', "Pass Integers or Interval"
            raise ArgumentTypeError("domain", rule, type(domain).__name__, remedy)
        return np.outer(points[:, 0], points[:, 0])
    rule = f"must be one of {', '.join(_LOSSES)}, or a matrix"
    squares = 'Write loss="shares", which is l2: the squared errors of all shares, added up'
    same = {"l2": squares, "mse": f"{squares}. Divide by {size} for mse"}
    raise ArgumentError("loss", rule, show(loss), same.get(loss))


def _stated(
    rows: Sequence[str], size: int, sensitive: np.ndarray | None
) -> tuple[list[str], list[str]]:
    """The patterns and weights of stated rows."""
    opened = np.zeros(size, dtype=bool) if sensitive is None else ~sensitive
    pattern = re.compile(rf"([1e]{{{size}}}|-*1-*) (0x[0-9a-f]{{1,16}})")
    matches = [pattern.fullmatch(row) if isinstance(row, str) else None for row in rows]
    pairs = [match.groups() for match in matches if match is not None]
    names = [row for row, _ in pairs if "-" in row]
    if len(pairs) < len(rows) or any(
        len(row) != size or not opened[row.index("1")] for row in names
    ):
        rule = (
            f'must each be {size} letters "1" or "e", then a space, and then a weight such as 0x1f'
        )
        raise ArgumentError("rows", rule, None, "Copy the rows from stated_rows()")
    return [row for row, _ in pairs], [weight for _, weight in pairs]


def _priors(domain: Domain, prior: ArrayLike | None) -> np.ndarray:
    """The shares at which the variance is judged, (C, K)."""
    if prior is None:
        return np.full((1, domain.size), 1 / domain.size)
    several = np.atleast_2d(numbers_of("prior", prior))
    checked = np.stack([distribution("prior", row, domain.size) for row in several])
    if (checked <= 0).any():
        rule, remedy = "must not have a share of 0", "Pass a small share instead, such as 0.001"
        raise ArgumentError("prior", rule, None, remedy)
    return checked


@lru_cache(maxsize=32)
def _solved(
    epsilon: float, losses: bytes, priors: bytes, size: int, mask: bytes | None
) -> tuple[list[str], list[str]]:
    """The rows as texts, and their weights as hexadecimal integers over 2^64."""
    e = _lowered(epsilon)
    sensitive = None if mask is None else np.frombuffer(mask, dtype=bool)
    shares = np.frombuffer(priors).reshape(-1, size)
    nearest = float(_lowered(min(max(epsilon, _LEAST), _MOST)))
    problem = _problem(nearest, np.frombuffer(losses).reshape(size, size), shares, sensitive)
    rows, weights = best_design(problem)
    heavy = weights > _SUPPORT * weights.max()
    rows, weights = rows[heavy], weights[heavy]
    if size <= EXHAUSTIVE:
        solid = problem.solid()
        rows = _fewest(solid, rows, polished(solid, rows, weights))
        weights = polished(solid, rows, solve_weights(solid, rows, 1e-10).weights)
    order = np.lexsort(rows.T)
    rows, weights = rows[order], weights[order]
    if nearest != float(e):
        rows, weights = _at(rows, weights, nearest, float(e))
    symbols = ["".join("-" if v == 0 else "1" if v == 1 else "e" for v in row) for row in rows]
    exact = _completed(symbols, rows, weights, e)
    return symbols, [hex(int(w * ONE)) for w in exact]


def _at(
    rows: np.ndarray, weights: np.ndarray, nearest: float, e: float
) -> tuple[np.ndarray, np.ndarray]:
    """The rows (m, K) with another e, with weights (m,) in the same proportions."""
    rows = np.where(rows == nearest, e, rows)
    naming = (rows == 0).any(axis=1)
    sums = weights[~naming] @ rows[~naming]
    weights = weights / sums.max()
    named = rows[naming].argmax(axis=1)
    weights[naming] = 1 - sums[named] / sums.max()
    return rows, weights


def _fewest(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rows, as few as give the same information, chosen alike on every machine."""
    # The weights with the same information are a polytope. A vertex has few rows, and a cost that
    # no symmetry of the problem shares picks one.
    size = problem.size
    upper = np.triu_indices(size)
    priors = problem.priors[multipliers(problem, rows, weights).mixture > 1e-6]

    def sums(rows: np.ndarray) -> np.ndarray:
        products = rows[:, upper[0]] * rows[:, upper[1]]
        return np.hstack([rows, *(products / (rows @ prior)[:, None] for prior in priors)]).T

    same = sums(rows) @ weights
    tight = tight_rows(problem, rows, weights)
    rows = tight if len(tight) <= _MOST_TIGHT else rows
    code = (rows > 1) @ (2.0 ** np.arange(size) / 2.0**size) + 0.1 * (rows == 0).any(axis=1)
    cost = 1 + (code * 0.6180339887498949 * 2.0**size) % 1
    vertex = scipy.optimize.linprog(
        cost, A_eq=sums(rows), b_eq=same, method="highs-ds", options=_PRECISE
    )
    if vertex.x is None:  # the solver's precision was not enough
        return rows
    fewest = rows[vertex.x > _SUPPORT * vertex.x.max()]
    return fewest if len(_independent(fewest)) == size else rows


def _completed(
    symbols: list[str], rows: np.ndarray, weights: np.ndarray, e: Decimal
) -> list[Decimal]:
    """Weights on a grid, but for K of them, with which each column sums to 1 to 50 digits."""
    # Decimal arithmetic gives the same digits on every machine.
    size = rows.shape[1]
    basis = _independent(rows)
    entry = {"1": Decimal(1), "e": e, "-": Decimal(0)}
    with localcontext() as context:
        context.prec = 60
        exact = [Decimal(round(float(w) / _GRID)) * Decimal(_GRID) for w in weights]
        missing = [
            Decimal(1)
            - sum(
                w * entry[row[x]]
                for i, (w, row) in enumerate(zip(exact, symbols, strict=True))
                if i not in set(basis)
            )
            for x in range(size)
        ]
        system = [[entry[symbols[i][x]] for i in basis] + [missing[x]] for x in range(size)]
        for x, w in zip(basis, _gauss(system), strict=True):
            exact[x] = w
    return exact


def _independent(rows: np.ndarray) -> list[int]:
    """The first K rows that are far from the span of those before them."""
    rows = np.where(rows > 1, 3.0, rows)  # alike for every e
    span = np.zeros((0, rows.shape[1]))
    chosen: list[int] = []
    for i, row in enumerate(rows):
        rest = row - span.T @ (span @ row)
        if np.linalg.norm(rest) > 1e-3 * np.linalg.norm(row):
            span = np.vstack([span, rest / np.linalg.norm(rest)])
            chosen.append(i)
    return chosen


def _gauss(system: list[list[Decimal]]) -> list[Decimal]:
    """The solution of linear equations, each a list of coefficients and the right side."""
    size = len(system)
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(system[i][column]))
        system[column], system[pivot] = system[pivot], system[column]
        head = system[column]
        for equation in system[column + 1 :]:
            factor = equation[column] / head[column]
            for k in range(column, size + 1):
                equation[k] -= factor * head[k]
    solution = [Decimal(0)] * size
    for i in range(size - 1, -1, -1):
        others = sum((system[i][k] * solution[k] for k in range(i + 1, size)), Decimal(0))
        solution[i] = (system[i][size] - others) / system[i][i]
    return solution
