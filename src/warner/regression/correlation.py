"""The correlation of hidden answers with each other, and with what is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import choice
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.extras import scipy
from warner._core.survey_design import DrawnSample, SurveyDesign
from warner._core.table import Column, Table, Tabular
from warner.channels import FloatArray
from warner.estimators.inversion import unbiased_scores
from warner.regression.likelihood import Pairs, maximize
from warner.regression.people import Answers, People, Problem, are_on_paper, doubts_of
from warner.regression.pieces import share_of
from warner.regression.shares import Parts
from warner.reports.reports import Reports
from warner.results.intervals import normal_quantile
from warner.results.likelihood_limits import last_not_rejected
from warner.results.tables import FOLLOWED, reports_of

_METHODS = ("moments", "likelihood")
_LARGEST = 1 - 1e-6  # a correlation whose z of Fisher is finite
_WIDE = 20.0  # in log-odds
_BLOCKS = 50  # of people, of which a jackknife leaves out one


@dataclass(frozen=True, eq=False)
class Correlations(Tabular):
    """Pearson's correlations of hidden answers, and of numbers that are seen.

    Attributes:
        names: (m,) the hidden answers, then the columns that are seen.
        values: (m, m) the correlations; 1 on the diagonal.
        errors: (m, m) their standard errors; 0 on the diagonal and between columns that are seen.
            Beside a correlation by likelihood stands the error of the moments' correlation; NaN
            where the moments have no correlation.
        n: the number of people.
        method: ``"moments"`` or ``"likelihood"``.
        survey: the weights, clusters and strata of the people; None without any.
        simulated: whether the reports are a simulation.
        doubts: what readers have to know of the reports, weights and columns, as sentences.
        on_paper: whether some of the people randomised their answers themselves.
    """

    names: tuple[str, ...]
    values: FloatArray
    errors: FloatArray
    n: int
    method: str
    survey: DrawnSample | None = field(repr=False)
    simulated: bool = field(repr=False)
    tables: Mapping[tuple[int, int], TwoByTwo] = field(repr=False)
    doubts: tuple[str, ...] = field(default=(), repr=False)
    on_paper: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
        self.errors.setflags(write=False)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Confidence intervals (m, m, 2) inside [-1, 1], each of a level in [0.5, 1) by itself.

        By the likelihood they hold every correlation whose log-likelihood is at most half a
        quantile of chi-square below the largest one; by moments they are symmetric for Fisher's z,
        artanh(r).
        """
        degrees = math.inf if self.survey is None else float(self.survey.degrees)
        r = np.clip(self.values, -_LARGEST, _LARGEST)
        reach = normal_quantile(level, degrees) * self.errors / (1 - r**2)
        ends = np.stack([np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach)], axis=-1)
        is_exact = self.errors == 0
        ends[is_exact] = self.values[is_exact][:, None]
        for (i, j), table in self.tables.items():
            ends[i, j] = ends[j, i] = table.interval(level)
        return ends

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """A dict for each pair: first, second, estimate, error, low, high; level in [0.5, 1)."""
        ends = self.interval(level)
        return [
            {
                "first": self.names[i],
                "second": self.names[j],
                "estimate": float(self.values[i, j]),
                "error": float(self.errors[i, j]),
                "low": float(ends[i, j, 0]),
                "high": float(ends[i, j, 1]),
            }
            for i in range(len(self.names))
            for j in range(i + 1, len(self.names))
        ]

    def table(self, level: float = 0.95) -> Table:
        """The rows at a level in [0.5, 1) as a table, with sentences that say how to read it."""
        drawn = "" if self.survey is None else f", {self.survey.text}"
        how = "maximum likelihood" if self.method == "likelihood" else "moments"
        columns = [
            Column("first"),
            Column("second"),
            Column("estimate", "correlation", unit="number"),
            Column("error", unit="number", priority=1),
            Column("interval", f"{100 * level:.4g} % interval", "number", ends=("low", "high")),
        ]
        sentence = (
            f"{reports_of(self.n, self.simulated)}{drawn}. Pearson's correlation of the answers, "
            f"not of the reports, estimated by {how}. Each interval holds for one correlation, not "
            "for all at once."
        )
        notes = [sentence, *self.doubts, *([FOLLOWED] if self.on_paper else [])]
        summary = [("People", f"{self.n:,}")]
        return Table(columns, self.rows(level), notes, "", self.simulated, summary=summary)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The correlations as JSON data, with intervals at a level in [0.5, 1)."""
        return {
            "format": "warner-correlations",
            "schema": 1,
            "n": self.n,
            "method": self.method,
            **({"simulated": True} if self.simulated else {}),
            "level": level,
            **({} if self.survey is None else self.survey.to_json()),
            **({"doubts": list(self.doubts)} if self.doubts else {}),
            "correlations": [
                {**row, "error": row["error"] if math.isfinite(row["error"]) else None}
                for row in self.rows(level)
            ],
        }


def correlate(
    reports: Reports | Mapping[str, Any],
    columns: Any = None,
    method: str = "moments",
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> Correlations:
    """Correlate hidden answers with each other, and with numbers that are seen.

        r = cov(s_a, s_b) / sqrt(V_a V_b),   V = mean s2 - (mean s)^2

    Each report y has numbers s(y) and s2(y) whose means over the reports of an answer x are x and
    x^2, as in :class:`warner.estimators.SampleMean`. So the covariance of reports is that of the
    answers, and V is the variance of the answers without the noise. Of two values the second counts
    as 1 and the first as 0. For a number that is seen, s is the number itself. Errors are from the
    influence of each person on r.

    With ``method="likelihood"``, correlations of two hidden answers with two values each are those
    of the table of 2 x 2 shares that makes the reports most likely. They lie in [-1, 1], and are
    those of moments where these are shares. Their intervals are from the likelihood ratio.

    Args:
        reports: ``{name: reports}`` of several questions to the same people, in one order; or
            reports of several attributes that are randomised separately.
        columns: columns of numbers that are seen, in the order of the reports, and those that
            ``weights``, ``cluster`` and ``strata`` name. None for none.
        method: ``"moments"`` or ``"likelihood"``.
        trusted: whether to take reports that no answers make by chance.
        weights, cluster, strata: of a survey, as in :func:`warner.regress`; with moments.

    Returns:
        Correlations: r with errors and intervals.

    Raises:
        ArgumentError: fewer than two answers or columns; answers of more than two values that are
            no numbers; an estimated variance that is not positive, as where a question is answered
            by nobody with yes, unless by the likelihood; a share that two groups tell together
            and that is 0 or 1 within its error; the likelihood of a survey with a design.
        ArgumentTypeError: no reports, or a column of texts.
        IdentifiabilityError: reports that do not determine the answers.

    Source: Himmelfarb and Edgell (1980); Fox and Tracy (1984); METHODS 10.6.

    >>> from warner import Categorical, RandomizedResponse
    >>> from warner.regression.correlation import correlate
    >>> yes = RandomizedResponse(Categorical(["no", "yes"]), 5.0)
    >>> answers = ["yes", "no"] * 500
    >>> hidden = {"smokes": yes.randomize(answers), "drinks": yes.randomize(answers)}
    >>> r = correlate(hidden, {"age": [30.0, 50.0] * 500})
    >>> r.names, bool(r.values[0, 1] > 0.8), bool(r.values[0, 2] < -0.8)
    (('smokes', 'drinks', 'age'), True, True)
    """
    choice("method", method, _METHODS)
    survey = SurveyDesign.of(weights, cluster, strata)
    if survey is not None and method == "likelihood":
        rule = "needs people who were drawn one by one with equal probabilities"
        raise ArgumentError(
            "method='likelihood'", rule, f"a survey design ({survey.text})", "Use method='moments'"
        )
    people = People.of(reports, {} if columns is None else columns, None, survey)
    names = list(people.named) if people.named else people.attributes
    if not names:
        rule = "must be of several questions, with a name for each"
        raise ArgumentError("reports", rule, None, "Pass {name: reports, ...}")
    seen = {} if columns is None else people.columns
    seen = {name: c for name, c in seen.items() if name not in people.set_aside}
    if len(names) + len(seen) < 2:
        rule = "must be of two questions, or of one question together with a column of values"
        remedy = "Add the reports of another question, or pass columns={name: values}"
        raise ArgumentError("reports", rule, None, remedy)
    hidden = [_scores(people, name, trusted) for name in names]
    numbers = [*hidden, *(_seen(name, column) for name, column in seen.items())]
    everybody = np.arange(people.total)
    drawn = people.sample(everybody, 1)
    mass = np.ones(people.total) if drawn is None else drawn.weights
    m = len(numbers)
    values, errors = np.eye(m), np.zeros((m, m))
    tables = {}
    for i in range(m):
        for j in range(i + 1, m):
            if numbers[i].groups or numbers[j].groups:
                pair = (numbers[i], numbers[j]) if numbers[i].groups else (numbers[j], numbers[i])
                if survey is not None or pair[1].groups:
                    rule = (
                        f"comes from a design with two groups, as {pair[1].name!r} does, and two "
                        "such answers cannot be correlated"
                        if survey is None
                        else "comes from a design with two groups, and such an answer cannot be "
                        "correlated in a survey with weights, clusters or strata"
                    )
                    remedy = "Leave out this answer"
                    raise ArgumentError(f"answer {pair[0].name!r}", rule, None, remedy)
                r, near = _in_groups(*pair, mass)
                error, error_of_share = _jackknife(*pair, near)
                share = float(share_of(near[:1], "logit")[0][0])
                if share * (1 - share) <= 2 * error_of_share:
                    rule = (
                        "has an estimated share that is too near 0 or 1, and too uncertain, for "
                        "correlations"
                    )
                    estimated = f"{share:.4g}, error {error_of_share:.2g}"
                    raise ArgumentError(
                        f"answer {pair[0].name!r}", rule, estimated, "Ask more people"
                    )
                values[i, j] = values[j, i] = min(1.0, max(-1.0, r))
                errors[i, j] = errors[j, i] = error
                continue
            is_pair = method == "likelihood" and j < len(names)
            is_pair = is_pair and _are_binary(hidden[i], hidden[j])
            try:
                r, influence = _correlation(numbers[i], numbers[j], mass)
            except ArgumentError:
                if not is_pair:
                    raise
                r, influence = math.nan, np.full(people.total, math.nan)  # the likelihood has r
            if i < len(names):
                parts = (mass * influence)[:, None]
                squares = parts**2 if drawn is None else drawn.root(drawn.summed(parts)) ** 2
                errors[i, j] = errors[j, i] = math.sqrt(float(squares.sum()))
            if is_pair:
                tables[i, j] = TwoByTwo.of(hidden[i].answers, hidden[j].answers)
                r = tables[i, j].correlation
            values[i, j] = values[j, i] = r
    every = (*names, *seen)
    of_reports = (doubt for each in hidden for doubt in each.doubts)
    of_columns = () if columns is None else people.doubts(drawn)
    simulated, doubts = people.simulated, (*of_columns, *of_reports)
    on_paper = any(each.on_paper for each in hidden)
    return Correlations(
        every, values, errors, people.total, method, drawn, simulated, tables, doubts, on_paper
    )


class _Numbers(NamedTuple):
    """Unbiased copies of the numbers of people, and of their squares; NaN of whoever has none."""

    name: str
    first: FloatArray  # (n,)
    second: FloatArray  # (n,)
    answers: Answers | None = None
    groups: Sequence[Problem] = ()  # of a design whose groups tell the answer only together
    doubts: tuple[str, ...] = ()  # what readers have to know of the counts
    on_paper: bool = False  # whether some of the people randomised their answers themselves


def _scores(people: People, name: str, trusted: bool) -> _Numbers:
    """The numbers of a hidden answer."""
    attribute, named = (None, name) if people.named else (name, None)
    problems = people.problems(attribute, trusted, named)
    domain = problems[0].domain
    if problems[0].classes.nuisances:
        if why := problems[0].classes.without_answer:
            rule, remedy = f"cannot be correlated: {why}", f"Make {name!r} the outcome of regress()"
            raise ArgumentError(f"answer {name!r}", rule, None, remedy)
        none = np.full(people.total, np.nan)
        return _Numbers(
            name, none, none, None, problems, doubts_of(problems), are_on_paper(problems)
        )
    if domain.points is not None and domain.points.shape[1] == 1:
        points = domain.points[:, 0]
    elif domain.size == 2:
        points = np.arange(2.0)
    else:
        rule = "must have only two values, or values that are numbers"
        raise ArgumentError(
            f"answer {name!r}", rule, f"{domain.size} labels", "Merge the values into two"
        )
    first, second = np.full((2, people.total), np.nan)
    for problem in problems:
        first[problem.people] = unbiased_scores(problem.channel, points)[problem.row]
        second[problem.people] = unbiased_scores(problem.channel, points**2)[problem.row]
    answers = people.of_each(attribute, trusted, named)
    return _Numbers(name, first, second, answers, doubts=answers.doubts, on_paper=answers.on_paper)


def _seen(name: str, column: FloatArray) -> _Numbers:
    """The numbers of a column."""
    if column.dtype.kind != "f":
        rule, remedy = (
            "must hold numbers, because only numbers can be correlated",
            "Leave out this column, or write its values as 0 and 1",
        )
        raise ArgumentTypeError(f"column {name!r}", rule, "text", remedy)
    if (column == column[0]).all():
        rule = "must not have the same value in all rows"
        raise ArgumentError(f"column {name!r}", rule, None, "Leave out this column")
    centred = column - column.mean()  # so that squares keep their digits
    return _Numbers(name, centred, centred**2)


def _correlation(one: _Numbers, other: _Numbers, mass: FloatArray) -> tuple[float, FloatArray]:
    """r, and the influence (n,) of each person on it, divided by the sum of the weights."""
    have = np.isfinite(one.first) & np.isfinite(other.first)
    weights = np.where(have, mass, 0.0)
    weights = weights / weights.sum()
    spreads, centred, influences = [], [], []
    for numbers in (one, other):
        first, second = np.where(have, numbers.first, 0.0), np.where(have, numbers.second, 0.0)
        mean = float(weights @ first)
        variance = float(weights @ second) - mean**2
        if variance <= 0:
            rule = "has an estimated variance of 0 or less, so that it has no correlation"
            remedy = "Ask more people"
            if _are_binary(one, other) and (mass == 1).all():
                remedy = "Use method='likelihood', or ask more people"
            raise ArgumentError(f"answer {numbers.name!r}", rule, f"{variance:.3g}", remedy)
        spreads.append(variance)
        centred.append(first - mean)
        influences.append((second - mean**2 - 2 * mean * (first - mean)) / variance - 1)
    product = centred[0] * centred[1]
    covariance = float(weights @ product)
    r = covariance / math.sqrt(spreads[0] * spreads[1])
    relative = (product - covariance) / math.sqrt(spreads[0] * spreads[1])
    influence = relative - r / 2 * (influences[0] + influences[1])
    share = np.where(have, 1.0, 0.0) / float(mass @ have)
    return min(1.0, max(-1.0, r)), influence * share


def _in_groups(
    one: _Numbers, other: _Numbers, mass: FloatArray, near: FloatArray | None = None
) -> tuple[float, FloatArray]:
    """r of an answer that several groups tell together, and log-odds near which a search can begin.

    With estimates of what the design adds, such as honesty, each group's reports y are a + b x +
    noise, so (y - a) / b is an unbiased copy of x, weighted by how well the group tells it.
    """
    classes = one.groups[0].classes
    counts = [
        np.bincount(p.row, mass[p.people], p.channel.shape[0]).astype(float) for p in one.groups
    ]
    laws = [p.channel.rows(np.arange(p.channel.shape[0])) for p in one.groups]
    parts = Parts()
    parts.hidden(classes, np.ones((sum(map(len, laws)), 1)), "logit")
    mixture = parts.mixture(np.concatenate(laws), np.concatenate(counts))
    if near is not None:
        mixture = replace(mixture, start=near, has_one_search=True)
    best = maximize(mixture)
    yes, *others = share_of(best.beta, "logit")[0]
    if yes * (1 - yes) * sum(len(p.row) for p in one.groups) < 1:
        rule = "has an estimated share of 0 or 1, so that it has no correlation"
        raise ArgumentError(f"answer {one.name!r}", rule, f"{yes:.4g}", "Ask more people")
    classes_of = np.ones(len(classes.answer))
    for nuisance, share in zip(classes.nuisances, others, strict=True):
        classes_of *= np.array([1 - share, share, 1.0])[nuisance.label]
    total, precision = 0.0, 0.0
    for problem, law in zip(one.groups, laws, strict=True):
        low, high = (law[1] @ (classes_of * (classes.answer == x)) for x in (0, 1))
        weights = mass[problem.people] / mass[problem.people].sum()
        first, second = other.first[problem.people], other.second[problem.people]
        copy = (problem.row - low) / (high - low)
        centred = copy - weights @ copy
        says = low + (high - low) * yes
        spread = says * (1 - says) / (high - low) ** 2  # not of the reports, which can be all alike
        variance = float(weights @ second - (weights @ first) ** 2)
        r = float(weights @ (centred * first)) / math.sqrt(yes * (1 - yes) * variance)
        each = mass[problem.people].sum() / spread
        total, precision = total + each * r, precision + each
    return total / precision, best.beta  # beyond 1 by chance: its error is that of this number


def _jackknife(one: _Numbers, other: _Numbers, near: FloatArray) -> tuple[float, float]:
    """The standard errors of r and of the share of :func:`_in_groups`, leaving out blocks."""
    n = len(one.first)
    blocks = np.zeros(n, dtype=np.int64)
    for problem in one.groups:
        blocks[problem.people] = np.arange(len(problem.people)) % _BLOCKS
    left = [(blocks != b).astype(np.float64) for b in range(_BLOCKS)]
    again = [_in_groups(one, other, mass, near) for mass in left]
    each = np.array([(r, share_of(beta[:1], "logit")[0][0]) for r, beta in again])
    squares = ((each - each.mean(axis=0)) ** 2).sum(axis=0)
    error, error_of_share = np.sqrt((_BLOCKS - 1) / _BLOCKS * squares).tolist()
    return error, error_of_share


def _are_binary(one: _Numbers, other: _Numbers) -> bool:
    return all(x.answers is not None and x.answers.domain.size == 2 for x in (one, other))


@dataclass(frozen=True, eq=False)
class TwoByTwo:
    """The likelihood of the correlation of two hidden answers with two values each.

    With log-odds a - b and a + b of the two answers, a correlation r > 0 is possible where |b| is
    at most -ln r. So b = -ln r tanh c makes every pair (a, c) possible. For r < 0 the second answer
    is turned over.
    """

    rows: FloatArray  # (m, 2, 2) the likelihoods of the different pairs of reports
    counts: FloatArray  # (m,) how many people have each
    correlation: float  # of the shares that make the reports most likely
    largest: float  # the largest log-likelihood, in nats

    @classmethod
    def of(cls, one: Answers | None, other: Answers | None) -> TwoByTwo:
        """The likelihood of two answers of the same people."""
        assert one is not None and other is not None
        pair = one.report * len(other.rows) + other.report
        used, report, counts = np.unique(pair, return_inverse=True, return_counts=True)
        first, second = np.divmod(used, len(other.rows))
        rows = one.rows[first][:, :, None] * other.rows[second][:, None, :]
        alone = np.ones((len(pair), 1))
        pairs = Pairs.of(rows.reshape(-1, 4), np.asarray(report.ravel(), dtype=np.int64), alone)
        best = maximize(pairs)
        shares = pairs.at(best.beta).pi[0].reshape(2, 2)
        return cls(rows, counts.astype(np.float64), _phi(shares), best.point.value)

    def profile(self, r: float) -> float:
        """The largest log-likelihood where the correlation is r, in nats."""
        rows = self.rows if r >= 0 else self.rows[:, :, ::-1]
        size = abs(r)
        bound = min(-math.log(max(size, math.exp(-_WIDE))), _WIDE)

        def loss(at: FloatArray) -> float:
            b = bound * math.tanh(at[1])
            p, q = (1 / (1 + math.exp(-_clipped(at[0] + s * b))) for s in (-1, 1))
            both = p * q + size * math.sqrt(p * (1 - p) * q * (1 - q))
            shares = np.array([[1 - p - q + both, q - both], [p - both, both]])
            likelihoods = (rows * np.maximum(shares, 0.0)).sum(axis=(1, 2))
            return -float(self.counts @ np.log(np.maximum(likelihoods, 1e-300)))

        starts = [(a, c) for a in (-2.0, 0.0, 2.0) for c in (-0.5, 0.5)]
        ends = (scipy.optimize.minimize(loss, start, method="Nelder-Mead") for start in starts)
        best = min(ends, key=lambda end: end.fun)
        return -float(scipy.optimize.minimize(loss, best.x, method="BFGS").fun)

    def interval(self, level: float) -> tuple[float, float]:
        """The correlations that a likelihood-ratio test does not reject."""
        quantile = normal_quantile(level) ** 2

        def statistic(r: float) -> float:
            return 2 * (self.largest - self.profile(r))

        low, high = (
            last_not_rejected(statistic, quantile, self.correlation, limit, 1e-5)
            for limit in (-_LARGEST, _LARGEST)
        )
        return -1.0 if low == -_LARGEST else low, 1.0 if high == _LARGEST else high


def _phi(shares: FloatArray) -> float:
    """The correlation of a table of 2 x 2 shares; 0 where an answer has one value alone."""
    p, q = float(shares[1].sum()), float(shares[:, 1].sum())
    spread = p * (1 - p) * q * (1 - q)
    return float((shares[1, 1] - p * q) / math.sqrt(spread)) if spread > 1e-20 else 0.0


def _clipped(log: float) -> float:
    return min(max(log, -300.0), 300.0)
