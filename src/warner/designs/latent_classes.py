r"""Groups of people whose reports depend on hidden classes, such as honest people and cheaters.

Each person is of one of C classes, which say how people answer a card. The card of group g has its
own chances, and whoever is asked was put in a group by lot. So the shares theta of the classes are
those of both groups, and the reports of a group have the law

    Pr(report y | group g) = sum_c A_g[y, c] theta_c,   theta >= 0,   sum_c theta_c = 1

The matrices of the groups stand one below the other: what one group leaves undetermined, all groups
together may determine. A share that is asked for sums some theta, among all people or among some
classes:

    v = sum_{c in S} theta_c / sum_{c in B} theta_c

Its interval holds all v that the likelihood does not reject,

    { v : 2 (max L - max { L(theta) : sum_{c in S} theta_c = v sum_{c in B} theta_c }) <= k(v) }

The condition cuts the simplex in a polytope, whose corners mix two classes at most. So L under the
condition is again that of mixtures, of the corners' laws. k(v) is the quantile of chi-square with
one degree of freedom. Where shares are near 0 it may be too small, because several classes can
leave the simplex at once. Therefore k(v) is no less than the quantile of the statistic itself for
reports drawn at v, with the likelihood taken as quadratic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from warner._core.checks import choice, confidence_level, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    IdentifiabilityError,
    ImpossibleReportError,
    MismatchError,
)
from warner._core.names import Hinting
from warner._core.table import Column, Table, Tabular
from warner.channels import DenseChannel, FloatArray, stacked
from warner.domains import Integers
from warner.estimators import MaximumLikelihood
from warner.estimators.base import Fit, LikelihoodData
from warner.estimators.plausibility import DOUBTFUL, IMPOSSIBLE
from warner.results.intervals import interval_column, normal_quantile

_DRAWS = 1000  # of reports, for the quantile k(v)
_LEAST = 1e-12  # probability of a report in the variances of frequencies
_RANK = 1e-9  # of singular values; smaller ones are rounding
_CONDITION = 1e3  # the weight of a condition over that of the frequencies
_FAR = 1e6  # a statistic beyond all quantiles, for reports that are impossible
_CLOSE = 0.01  # of the quantile k(v)
_MOST_QUANTILES = 4
_ASKED = "Are the groups in the order of the design, and the words those of the card?"
_MAXIMUM = MaximumLikelihood(gap=1e-13)


@dataclass(frozen=True)
class GroupLaw:
    """What the people of one group report.

    Attributes:
        words: (m,) the reports, in the words of the card.
        table: (m, C) the exact chance of each report for a person of each class.
    """

    words: tuple[str, ...]
    table: tuple[tuple[Fraction, ...], ...]

    @cached_property
    def matrix(self) -> FloatArray:
        """The chances as floats (m, C)."""
        return np.array(self.table, dtype=np.float64)


@dataclass(frozen=True)
class ShareOf:
    """A share that a design asks for.

    Attributes:
        classes: the classes that are counted.
        meaning: what the share is, in words.
        among: the classes that it is a share of; empty for all people.
    """

    classes: tuple[str, ...]
    meaning: str
    among: tuple[str, ...] = ()


class LatentClasses(Hinting):
    """A design whose reports depend on hidden classes of people.

        Pr(report y | group g) = sum_c A_g[y, c] theta_c

    Args:
        classes: the names of the C classes.
        answers: the true answer of the people of each class; None where it is not determined.
        groups: the laws A_g of the groups, which people are put in by lot.
        shares: what is asked for, by name.
        note: what the estimates assume, in a sentence for those who read them.

    Raises:
        IdentifiabilityError: groups that do not determine a share.

    >>> from fractions import Fraction
    >>> half, one, zero = Fraction(1, 2), Fraction(1), Fraction(0)
    >>> told = [
    ...     GroupLaw(("no", "yes"), ((one - p, zero, one), (p, one, zero)))
    ...     for p in (Fraction(1, 4), Fraction(3, 4))
    ... ]
    >>> shares = {"yes": ShareOf(("yes",), "carry it and say so")}
    >>> design = LatentClasses(("no", "yes", "cheats"), ("no", "yes", None), told, shares)
    >>> result = design.estimate([{"yes": 410, "no": 590}, {"yes": 752, "no": 248}])
    >>> round(result["yes"], 3), round(result["yes"].error, 4)
    (0.239, 0.0243)
    """

    references: tuple[str, ...] = ()

    def __init__(
        self,
        classes: Sequence[str],
        answers: Sequence[Any],
        groups: Sequence[GroupLaw],
        shares: Mapping[str, ShareOf],
        note: str = "",
    ) -> None:
        self.classes = tuple(classes)
        self.answers = tuple(answers)
        self.groups = tuple(groups)
        self.shares = dict(shares)
        self.note = note
        steps = np.concatenate([group.matrix @ _basis(len(classes)) for group in self.groups])
        self.rank = int(np.linalg.matrix_rank(steps, _RANK))
        for name, share in self.shares.items():
            # A share is determined where its sums are, which are linear in the laws of the groups.
            both = [self._counted(share.classes), self._counted(share.among or self.classes)]
            along = np.vstack([steps, np.array(both) @ _basis(len(classes))])
            if np.linalg.matrix_rank(along, _RANK) > self.rank:
                rule = f"do not determine the share {show(name)}"
                remedy = "Use chances that differ between the groups"
                raise IdentifiabilityError("chances of the groups", rule, None, remedy)

    def _counted(self, names: Sequence[str]) -> FloatArray:
        """1 for each class that is named, else 0, (C,)."""
        return np.array([float(name in names) for name in self.classes])

    def estimate(
        self, counts: Sequence[Mapping[str, int]], *, trusted: bool = False
    ) -> ClassShares:
        """The shares, from the counts of the reports of each group.

        Args:
            counts: for each group, in the order of the design, ``{word: number of people}``.
            trusted: whether to take counts that no people make by chance.

        Returns:
            ClassShares: ``result[name]`` is a share, a float with ``error`` and ``interval()``.

        Raises:
            ArgumentError: another number of groups, or words that are not on the card.
            EmptyError: a group without people.
            MismatchError: counts that no people make by chance.
        """
        if isinstance(counts, Mapping | str) or not isinstance(counts, Sequence):
            rule, remedy = "must be a list with the counts of each group", _example(self)
            raise ArgumentTypeError("counts", rule, kind(counts), remedy)
        if len(counts) != len(self.groups):
            rule = f"must have the counts of {len(self.groups)} groups"
            raise ArgumentError("counts", rule, str(len(counts)), _example(self))
        each = [
            counts_in_words(f"counts of group {i}", one, group.words)
            for i, (one, group) in enumerate(zip(counts, self.groups, strict=True), 1)
        ]
        for i, of_group in enumerate(each, 1):
            if not of_group.sum():
                rule = "has no people, and a design of several groups needs each of them"
                raise EmptyError(f"group {i}", rule)
        data = data_of([group.matrix for group in self.groups], each)
        result = ClassShares(self, data, _MAXIMUM.fit(data))
        if result.p_value < IMPOSSIBLE and not trusted:
            rule = "are such as no people make by chance"
            remedy = f"{_ASKED} To take the counts as they are: trusted=True"
            raise MismatchError("counts", rule, None, remedy)
        return result


def _example(design: LatentClasses) -> str:
    """A call with counts of the right form."""
    one = ", ".join(f'"{word}": {10 * (i + 1)}' for i, word in enumerate(design.groups[0].words))
    return f"Write estimate([{{{one}}}, ...])"


def counts_in_words(name: str, counts: Any, words: Sequence[str]) -> FloatArray:
    """The counts (m,) of a mapping from words to numbers of people."""
    if not isinstance(counts, Mapping):
        rule = f"must be counts by {', '.join(map(show, words))}"
        raise ArgumentTypeError(name, rule, kind(counts))
    listed = ", ".join(map(show, words))
    unread = [str(word) for word in counts if str(word) not in words]
    if unread:
        raise ArgumentError(name, f"must be of {listed}", ", ".join(map(show, unread)))
    numbers = {str(word): count for word, count in counts.items()}
    for word, count in numbers.items():
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if not whole or count < 0:
            raise ArgumentError(f"{name}, {show(word)}", "must be a number of people", show(count))
    return np.array([float(numbers.get(word, 0)) for word in words])


def data_of(matrices: Sequence[FloatArray], counts: Sequence[FloatArray]) -> LikelihoodData:
    """The reports of groups, as data of one stack of channels."""
    people = [round(float(of_group.sum())) for of_group in counts]
    channel = stacked([DenseChannel(matrix) for matrix in matrices], people)
    weights = channel.stack([c / n for c, n in zip(counts, people, strict=True)])
    size = channel.shape[1]
    return LikelihoodData(channel, weights, sum(people), Integers(0, max(size, 2) - 1))


class FitTest(NamedTuple):
    """The test of a design against any other law of the reports.

    Attributes:
        statistic: twice the log-likelihood that the design lacks.
        degrees: the number of frequencies that the design does not leave free.
        p: the probability of a statistic as large, if the design is right.
    """

    statistic: float
    degrees: int
    p: float


class EstimatedShare(float):
    """An estimated share, with its standard error and interval.

    Attributes:
        error: the standard error; NaN where nothing is known.
    """

    error: float
    _limits: Callable[[float], FloatArray]

    def __new__(
        cls, value: float, error: float, limits: Callable[[float], FloatArray]
    ) -> EstimatedShare:
        self = super().__new__(cls, value)
        self.error, self._limits = error, limits
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[override]
        return float(self), self.error, self._limits

    def interval(self, level: float = 0.95) -> FloatArray:
        """The interval (2,) of the true share.

        Args:
            level: the coverage, in [0.5, 1).

        Raises:
            ArgumentError: a level outside [0.5, 1).
        """
        return self._limits(confidence_level(level))


def share_rows(shares: Any, meanings: Mapping[str, str], level: float) -> list[dict[str, Any]]:
    """The rows of named shares; an estimate or error that is not known is None."""
    rows = []
    for name, meaning in meanings.items():
        share: EstimatedShare = shares[name]
        low, high = share.interval(level).tolist()
        numbers = {"estimate": float(share), "error": share.error}
        row = {key: None if np.isnan(number) else number for key, number in numbers.items()}
        rows.append({"share": name, **row, "low": low, "high": high, "meaning": meaning})
    return rows


def shares_table(
    rows: Sequence[Mapping[str, Any]], level: float, notes: Sequence[str], title: str
) -> Table:
    """The table of :func:`share_rows`."""
    columns = [
        Column("share"),
        Column("estimate", unit="share"),
        Column("error", "standard error", "share"),
        interval_column(confidence_level(level)),
        Column("meaning"),
    ]
    return Table(columns, rows, notes, title)


@dataclass(frozen=True, eq=False)
class ClassShares(Tabular):
    """The estimated shares of a design with hidden classes.

    ``result[name]`` is a share, a float with ``error`` and ``interval()``; iterating gives names.

    Attributes:
        design: the design.
        data: the reports of all groups.
        fit: the maximum of the likelihood: ``fit.shares`` are those of the classes, (C,). Where the
            reports do not determine them one by one, they are some that are most likely.
    """

    design: LatentClasses
    data: LikelihoodData = field(repr=False)
    fit: Fit = field(repr=False)

    def __getitem__(self, name: str) -> EstimatedShare:
        of, among = self.sums(name)
        theta = self.fit.shares
        base = float(among @ theta)
        value = error = np.nan
        if base > 0:
            value = float(of @ theta) / base
            each = self.linear(theta, of - value * among)[1]
            error = float(np.sqrt((each / np.maximum(self.people - 1, 1)).sum())) / base
        return EstimatedShare(value, error, partial(self.interval_of, name, value))

    def __iter__(self) -> Any:
        return iter(self.design.shares)

    @property
    def n(self) -> int:
        """The number of people in all groups."""
        return self.data.n

    @cached_property
    def log_likelihood(self) -> float:
        """The log-likelihood in nats, without multinomial constants."""
        return log_likelihood(self._matrices, self._counts, self.fit.shares)

    @cached_property
    def people(self) -> FloatArray:
        """The number of people in each group, (G,)."""
        return np.array([c.sum() for c in self._counts])

    @cached_property
    def _matrices(self) -> list[FloatArray]:
        return [group.matrix for group in self.design.groups]

    @cached_property
    def _counts(self) -> list[FloatArray]:
        split = self.data.channel.split_groups(self.data.weights, self.data.n)
        return [np.round(weights * n) for _, weights, n in split]

    @cached_property
    def _surplus(self) -> float:
        """Twice the log-likelihood that the design lacks against any frequencies."""
        free = sum(float(c[c > 0] @ np.log(c[c > 0] / c.sum())) for c in self._counts)
        return max(0.0, 2 * (free - self.log_likelihood))

    @property
    def p_value(self) -> float:
        """A bound of the probability that counts of this design are as far from all that it makes.

        It is 1 where the design makes exactly these frequencies, and for a design that is tested by
        ``fit_test``.
        """
        degrees = sum(len(c) - 1 for c in self._counts)
        return float(chdtrc(degrees, self._surplus)) if degrees == self.design.rank else 1.0

    @property
    def doubt(self) -> str:
        """Why the counts are doubtful, for readers; "" where they are not."""
        if self.p_value >= DOUBTFUL:
            return ""
        often = f"1 in {1 / self.p_value:,.0f}" if self.p_value > 1e-12 else "almost no"
        return f"These counts are doubtful: {often} surveys of this design come out like this. {_ASKED}"

    @property
    def fit_test(self) -> FitTest | None:
        """The test of the design; None where it leaves all frequencies free.

        Of the extended crosswise design it asks whether people follow the instructions.
        """
        degrees = sum(len(c) - 1 for c in self._counts) - self.design.rank
        if degrees == 0:
            return None
        return FitTest(self._surplus, degrees, float(chdtrc(degrees, self._surplus)))

    def sums(self, name: str) -> tuple[FloatArray, FloatArray]:
        """The weights (C,) of the classes that a share counts, and of those it is a share of."""
        choice("share", name, tuple(self.design.shares))
        share, counted = self.design.shares[name], self.design._counted
        return counted(share.classes), counted(share.among or self.design.classes)

    def linear(self, theta: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The best unbiased estimate l'f of c'theta from the frequencies f of reports.

        Also the variance (G,) of one report of each group.

        Shapes: theta (C,), weights c (C,) -> l (m,).
        """
        chances = [matrix @ theta for matrix in self._matrices]
        root = np.concatenate(
            [np.sqrt(n / np.maximum(p, _LEAST)) for p, n in zip(chances, self.people, strict=True)]
        )
        basis = _basis(theta.size)
        steps = root[:, None] * np.concatenate(self._matrices) @ basis
        estimate = root * (np.linalg.pinv(steps, _RANK).T @ (basis.T @ weights))
        parts = np.split(estimate, np.cumsum([len(p) for p in chances])[:-1])
        each = [p @ (part - p @ part) ** 2 for p, part in zip(chances, parts, strict=True)]
        return estimate, np.array(each)

    def lacking(self, name: str, share: float) -> tuple[float, FloatArray]:
        """The likelihood-ratio statistic of a share, and its condition c'theta = 0."""
        of, among = self.sums(name)
        weights = of - share * among
        theta = self._at(weights)
        if theta is None:
            return np.inf, weights
        under = log_likelihood(self._matrices, self._counts, theta)
        return 2 * (self.log_likelihood - under), weights

    def accepts(self, name: str, share: float, level: float = 0.95) -> bool:
        """Whether the likelihood-ratio test of "the true share is this" does not reject.

        Args:
            name: of the share.
            share: the number, in [0, 1].
            level: 1 minus the probability of rejecting a true share.
        """
        lacking, weights = self.lacking(name, share)
        usual = normal_quantile(level) ** 2
        return lacking <= usual or lacking <= self.quantile(weights, level)

    def interval_of(self, name: str, value: float, level: float) -> FloatArray:
        """The likelihood-ratio interval (2,) of a share, around its estimate."""
        usual = normal_quantile(level) ** 2
        if np.isnan(value):
            return np.array([0.0, 1.0])

        def end(limit: float) -> float:
            quantile, share = usual, limit
            for _ in range(_MOST_QUANTILES):
                share = self._end(name, value, limit, quantile)
                needed = self.quantile(self.lacking(name, share)[1], level)
                if needed <= (1 + _CLOSE) * quantile:
                    break
                quantile = needed
            return share

        return np.array([end(0.0), end(1.0)])

    def _end(self, name: str, value: float, limit: float, quantile: float) -> float:
        """The last share from the estimate to a limit whose statistic is at most the quantile."""
        from scipy.optimize import brentq

        def excess(share: float) -> float:
            return min(self.lacking(name, share)[0], _FAR) - quantile

        return limit if excess(limit) <= 0 else float(brentq(excess, value, limit, xtol=1e-9))

    def _at(self, weights: FloatArray) -> FloatArray | None:
        """The most likely theta (C,) with c'theta = 0; None where none makes these reports."""
        corners = _corners(weights)
        if corners.shape[1] < 2:
            return corners[:, 0] if corners.shape[1] else None
        cut = data_of([matrix @ corners for matrix in self._matrices], self._counts)
        try:
            return np.asarray(corners @ _MAXIMUM.fit(cut).shares)
        except ImpossibleReportError:
            return None

    def quantile(self, weights: FloatArray, level: float) -> float:
        """The quantile of the likelihood-ratio statistic of c'theta = 0, of quadratic likelihoods.

        It is computed from draws of reports, with the square of the unbiased estimate of c'theta as
        a control, whose law is chi-square.
        """
        from scipy.optimize import brentq, nnls

        theta = self._at(weights)
        if theta is None:
            return 0.0
        rng = np.random.default_rng(0)  # the same draws at every call
        chances = [np.maximum(matrix @ theta, 0.0) for matrix in self._matrices]
        groups = list(zip(self.people, chances, strict=True))
        drawn = np.concatenate([rng.multinomial(n, p / p.sum(), _DRAWS) / n for n, p in groups], 1)
        law = np.concatenate(chances)
        people = np.concatenate([np.full(len(p), n) for n, p in groups])
        scale = np.sqrt(people / np.maximum(law, _LEAST))
        whole = np.concatenate(self._matrices)
        condition = _CONDITION * scale.max()

        def distances(laws: FloatArray) -> FloatArray:
            rows = np.vstack([scale[:, None] * laws, np.full(laws.shape[1], condition)])
            each = (nnls(rows, np.append(scale * f, condition))[1] for f in drawn)
            return np.array([distance**2 for distance in each])

        statistics = distances(whole @ _corners(weights)) - distances(whole)
        estimate, each = self.linear(theta, weights)
        variance = float((each / self.people).sum())
        controls = ((drawn - law) @ estimate) ** 2 / variance if variance > 0 else statistics * 0

        def beyond(quantile: float) -> float:
            differences = (statistics > quantile).mean() - (controls > quantile).mean()
            return float(chdtrc(1, quantile) + differences) - (1 - level)

        largest = float(max(statistics.max(), controls.max())) + 100.0
        return float(brentq(beyond, 0.0, largest)) if beyond(0.0) > 0 else 0.0

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The shares as a table.

        Args:
            level: coverage of the intervals, in [0.5, 1).

        Returns:
            One dict for each share, with the keys ``"share"``, ``"estimate"``, ``"error"``,
            ``"low"``, ``"high"`` and ``"meaning"``. An estimate or error that is not known is None.
        """
        meanings = {name: share.meaning for name, share in self.design.shares.items()}
        return share_rows(self, meanings, level)

    def table(self, level: float = 0.95) -> Table:
        """The shares as a table for people, pages and files.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        test = self.fit_test
        tested = ""
        if test is not None:
            tested = (
                f"Test of the design: chi-square {test.statistic:.3g} on {test.degrees}, "
                f"p = {test.p:.3g}."
            )
        notes = [self.doubt, tested, self.design.note]
        people = " and ".join(f"{c.sum():,.0f}" for c in self._counts)
        title = f"{self.design!r}, groups of {people} people"
        return shares_table(self.rows(level), level, notes, title)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The shares as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        test = self.fit_test
        return {
            "format": "warner-classes",
            "schema": 1,
            "design": repr(self.design),
            "n": self.n,
            "groups": [int(c.sum()) for c in self._counts],
            "log_likelihood": self.log_likelihood,
            "fit_test": None if test is None else test._asdict(),
            "interval": {"kind": "likelihood_ratio", "level": level},
            "shares": self.rows(level),
        }


def log_likelihood(
    matrices: Sequence[FloatArray], counts: Sequence[FloatArray], theta: FloatArray
) -> float:
    """sum_g sum_y n_gy log(A_g theta)_y, -inf where a report is impossible."""
    total = 0.0
    for matrix, count in zip(matrices, counts, strict=True):
        chances = (matrix @ theta)[count > 0]
        if (chances <= 0).any():
            return -np.inf
        total += float(count[count > 0] @ np.log(chances))
    return total


def _basis(size: int) -> FloatArray:
    """An orthonormal basis (C, C - 1) of the vectors with the sum 0."""
    square = np.concatenate([np.ones((size, 1)), np.eye(size)[:, :-1]], axis=1)
    return np.asarray(np.linalg.qr(square)[0][:, 1:])


def _corners(weights: FloatArray) -> FloatArray:
    """The corners (C, r) of the distributions theta with c'theta = 0, for c (C,).

    >>> _corners(np.array([-1.0, 1.0, 0.0])).T
    array([[0. , 0. , 1. ],
           [0.5, 0.5, 0. ]])
    """
    near = 1e-12 * max(float(np.abs(weights).max()), 1.0)
    below, above = np.flatnonzero(weights < -near), np.flatnonzero(weights > near)
    corners = list(np.eye(weights.size)[np.abs(weights) <= near])
    for i in below:
        for j in above:
            corner = np.zeros(weights.size)
            corner[i], corner[j] = weights[j], -weights[i]
            corners.append(corner / corner.sum())
    return np.array(corners).reshape(-1, weights.size).T
