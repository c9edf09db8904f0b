"""Shares of a whole population from groups whose parts in it are known.

People who answer are seldom a fair part of the population: too many from one ward, too few from
another. Where the population's numbers by public columns are known, groups are weighted so that
they agree with them:

    theta = sum_g W_g T_g,   Var theta = sum_g W_g^2 C_g / n_g

W_g is the weight of group g, T_g its unbiased estimate, and C_g the variance of one report in it.
The variance is that for given group sizes, as is usual for post-stratification. It does not know
of differences between people who answer and people who do not, within a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from warner._core.checks import choice, kind, real, show, unknown
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError
from warner._core.names import explained
from warner._core.progress import steps
from warner._core.table import Table, Tabular
from warner.metrics import project
from warner.results.estimate import group_table
from warner.results.from_tally import GroupTable, label
from warner.results.intervals import (
    STANDARD_ERROR,
    TARGETS,
    error_of_share,
    holding,
    normal_quantile,
    share_columns,
    share_row,
)
from warner.results.tables import reports_of

_ROUNDS = 1000  # of raking
_SETTLED = 1e-10  # difference of a margin from its target
_ENOUGH = 1e-6  # difference that is reported as not reached
_TOTALS = 1e-6  # relative difference of the totals of two margins


class WeightStatus(Enum):
    """How weights were made; the text is for people."""

    EXACT = "every margin is met"
    NOT_CONVERGED = (
        "the margins are not met, because they contradict each other or do not fit the groups; "
        "check the margins"
    )


@dataclass(frozen=True, eq=False)
class WeightedEstimate(Tabular):
    """The shares of a population, from weighted groups. Made by :func:`weighted`.

    Attributes:
        probabilities: (K,) the shares: ``unbiased``, projected on the simplex.
        unbiased: (K,) sum_g W_g T_g, whose entries can be negative.
        domain: the K values.
        weights: W (G,), with the sum 1.
        keys: the groups.
        n: the number of reports.
        status: whether the margins are met.

    >>> from warner import Categorical, RandomizedResponse, weighted
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> north = coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 100))
    >>> south = coin.tally(coin.randomize(["yes"] * 100 + ["no"] * 900))
    >>> result = weighted({"north": north, "south": south}, {"group": {"north": 3, "south": 1}})
    >>> bool(abs(result.probabilities[1] - 0.7) < 0.1), result.weights.tolist()
    (True, [0.75, 0.25])
    """

    groups: GroupTable = field(repr=False)
    weights: np.ndarray = field(repr=False)
    status: WeightStatus
    margins: tuple[str, ...]

    @property
    def unbiased(self) -> np.ndarray:
        return np.asarray(self.weights @ self.groups.shares)

    @property
    def probabilities(self) -> np.ndarray:
        return project(self.unbiased)

    @property
    def domain(self) -> Any:
        return self.groups.domain

    @property
    def keys(self) -> tuple[tuple[Any, ...], ...]:
        return self.groups.keys

    @property
    def n(self) -> int:
        return self.groups.whole.n

    @property
    def design_effect(self) -> float:
        """By how much unequal weights raise the variance: n sum_g n_g u_g^2 / (sum_g n_g u_g)^2.

        u_g = W_g / n_g is the weight of one person of group g [Kish 1965]. It is 1 for equal
        weights.
        """
        sizes = self.groups.sizes
        used = sizes > 0
        return float(self.n * (self.weights[used] ** 2 / sizes[used]).sum())

    @property
    def effective_n(self) -> float:
        """The number of reports with equal weights that would tell as much."""
        return self.n / self.design_effect

    def variances(self, target: str = "population") -> np.ndarray:
        """The variance (K,) of each unbiased share, for given group sizes.

        The variance of one report in a group is estimated without bias from its reports, as
        (second moment - T^2) n_g / (n_g - 1). In a group of one report, it is that at the shares
        of all people.
        """
        choice("target", target, TARGETS)
        table = self.groups
        everyone = project(self.unbiased)
        least = 1 / (table.whole.n + 1)
        everyone = (1 - least) * everyone + least / everyone.size
        shared = table.channel.variance(everyone)
        total = np.zeros(everyone.size)
        for g, data in steps(list(enumerate(table.parts)), "variances of groups"):
            if data is None or self.weights[g] == 0:
                continue
            n, shares = data.n, table.shares[g]
            variance = shared
            if n > 1:
                second = data.channel.inverse_moments(shares)[0]
                variance = (second - shares**2) * n / (n - 1)
            if target == "respondents":
                variance = variance - (everyone - everyone**2)
            elif table.per_person > 1:
                more = table.per_person - 1
                variance = variance + more * data.channel.part_of_values(everyone, shared)
            # A share that no report of a small group supports has no variance in it by chance.
            low = shared * (0.0 if target == "respondents" else 1 / (n + 1))
            total += self.weights[g] ** 2 * np.maximum(variance, low) / n
        return total

    def interval(self, level: float = 0.95, target: str = "population") -> np.ndarray:
        """Intervals (K, 2) around the unbiased shares, widened to hold ``probabilities``.

        Args:
            level: coverage, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
        """
        half = normal_quantile(level) * np.sqrt(self.variances(target))
        centre = np.clip(self.unbiased, 0.0, 1.0)
        bounds = np.clip(np.stack([centre - half, centre + half], axis=1), 0.0, 1.0)
        return holding(bounds, self.probabilities)

    def rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """The shares as a table, as of :meth:`warner.Estimate.rows`."""
        limits_of, errors = self.interval(level, target), np.sqrt(self.variances(target))
        parts = zip(self.domain.labels, self.probabilities, limits_of, errors, strict=True)
        return [
            share_row(value, share, limits, self.n) | error_of_share(error)
            for value, share, limits, error in parts
        ]

    def __repr__(self) -> str:
        return f"WeightedEstimate({len(self.keys)} groups, K={self.domain.size}, n={self.n})"

    def table(self, level: float = 0.95, target: str = "population") -> Table:
        """The rows as a table."""
        about, simulated = self.text, self.groups.whole.simulated
        columns = [*share_columns(level), STANDARD_ERROR]
        return Table(columns, self.rows(level, target), (), about, simulated)

    @property
    def text(self) -> str:
        """The weighting in plain words."""
        return (
            f"{reports_of(self.n, self.groups.whole.simulated)} of {len(self.keys):,} groups, "
            f"weighted by "
            f"{', '.join(self.margins)}: {self.status.value}. Design effect "
            f"{self.design_effect:.3g}: because of the weights, these reports tell as much as "
            f"{self.effective_n:,.0f} reports of equal weight."
        )

    def to_json(self, level: float = 0.95, target: str = "population") -> dict[str, Any]:
        """The estimate as JSON data."""
        return {
            "format": "warner-weighted",
            "schema": 1,
            "n": self.n,
            **({"simulated": True} if self.groups.whole.simulated else {}),
            "status": self.status.name.lower(),
            "status_text": self.status.value,
            "margins": list(self.margins),
            "design_effect": self.design_effect,
            "effective_n": self.effective_n,
            "interval": {"kind": "wald", "level": level, "target": target},
            "domain": self.domain.spec(),
            "groups": [
                {**dict(zip(self.groups.names, key, strict=True)), "weight": float(w)}
                for key, w in zip(self.keys, self.weights, strict=True)
            ],
            "shares": self.rows(level, target),
        }


@explained
def weighted(
    groups: Any,
    margins: Mapping[Any, Mapping[Any, float]] | None = None,
    *,
    weights: Mapping[Any, float] | None = None,
    attributes: Sequence[str] | None = None,
) -> WeightedEstimate:
    """Estimate the shares of a population whose numbers by public columns are known.

    One margin of all public columns is post-stratification: the weight of a group is its part of
    the population. Several margins are raked: starting at the groups' numbers of reports, weights
    are multiplied by one factor for each value of each column in turn, until every margin is met
    (iterative proportional fitting) [Deming and Stephan 1940].

    Args:
        groups: {public values: tally}, or what ``estimate`` made of it.
        margins: {column: {value: number of people}}. The numbers of a margin are counts or shares;
            all margins have one total. A tuple of columns has tuples of values.
        weights: {public values: weight} instead, the survey weight of each person of a group.
        attributes: for tallies of several attributes, the names of those that are estimated.

    Returns:
        WeightedEstimate.

    Raises:
        ArgumentError: an unknown column or value, a negative number, totals that differ, or both
            margins and weights.
        EmptyError: people of the population in groups without reports.
        MismatchError: groups of different mechanisms.

    Source: METHODS 10.5.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> people = [("north", "f"), ("north", "m"), ("south", "f")]
    >>> groups = {key: coin.tally(coin.randomize(["yes", "no"] * 50)) for key in people}
    >>> both = {"column 1": {"north": 60, "south": 40}, "column 2": {"f": 70, "m": 30}}
    >>> weighted(groups, both).weights.round(3).tolist()
    [0.3, 0.3, 0.4]
    """
    table = group_table(groups, attributes).require_shares()
    if (margins is None) == (weights is None):
        rule = "must be given, because there are no weights"
        remedy = "Pass margins={column: {value: number of people}}, or weights"
        if weights is not None:
            rule = "cannot be used together with weights"
            remedy = "Leave out the argument margins or weights"
        raise ArgumentError("margins", rule, None, remedy)
    if weights is not None:
        group_weights = _person_weights(table, weights) * table.sizes
        return WeightedEstimate(
            table, _one(group_weights), WeightStatus.EXACT, ("the weights given",)
        )
    assert margins is not None
    targets = [_target(table, columns, numbers) for columns, numbers in _checked(margins)]
    first = targets[0]
    for target in targets[1:]:
        if abs(target.total - first.total) > _TOTALS * first.total:
            rule = "must all have the same total"
            got = f"{first.total:.10g} by {first.name}, {target.total:.10g} by {target.name}"
            raise ArgumentError("margins", rule, got, "Give numbers of the same population")
    group_weights, met = _raked(table.sizes.astype(np.float64), targets)
    status = WeightStatus.EXACT if met else WeightStatus.NOT_CONVERGED
    return WeightedEstimate(table, group_weights, status, tuple(t.name for t in targets))


@dataclass(frozen=True, eq=False)
class Target:
    """A margin of the population: the cell (G,) of each group, and the shares of cells."""

    name: str
    cell: np.ndarray
    shares: np.ndarray
    total: float


def _checked(
    margins: Mapping[Any, Mapping[Any, float]],
) -> list[tuple[tuple[str, ...], Mapping[Any, float]]]:
    """The margins, with tuples of columns."""
    if not isinstance(margins, Mapping) or not margins:
        rule = "must be a dict {column: {value: number of people}}"
        raise ArgumentTypeError("margins", rule, _kind_of_dict(margins))
    checked = []
    for columns, numbers in margins.items():
        if not isinstance(numbers, Mapping) or not numbers:
            rule = "must be a dict {value: number of people}"
            raise ArgumentTypeError(f"margin {columns}", rule, _kind_of_dict(numbers))
        checked.append((columns if isinstance(columns, tuple) else (columns,), numbers))
    return checked


def _kind_of_dict(value: Any) -> str:
    return "an empty dict" if isinstance(value, Mapping) and not value else kind(value)


def _target(table: GroupTable, columns: tuple[str, ...], numbers: Mapping[Any, float]) -> Target:
    """A margin in terms of the groups."""
    name = " x ".join(map(str, columns))
    for column in columns:
        if column not in table.names:
            raise unknown("margins", column, table.names, "the public columns")
    places = [table.names.index(column) for column in columns]
    values_of_groups = [tuple(key[i] for i in places) for key in table.keys]
    reported = {key for key, n in zip(values_of_groups, table.sizes, strict=True) if n}
    cells: dict[tuple[Any, ...], float] = {}
    for value, number in numbers.items():
        key = value if isinstance(value, tuple) else (value,)
        amount = real(f"margin {name}", number)
        if amount < 0:
            got = f"{amount:.10g} for {show(value)}"
            raise ArgumentError(f"margin {name}", "must have numbers of at least 0", got)
        if len(key) != len(columns):
            rule = (
                f"must have one value of each column ({', '.join(map(str, columns))}) in each key"
            )
            raise ArgumentError(f"margin {name}", rule, show(value))
        if amount > 0 and key not in reported:
            rule = f"has people of {label(key)}, but no group with reports has that value"
            remedy = f"Join {label(key)} with another value, in the groups and in the margin"
            raise EmptyError(f"margin {name}", rule, None, remedy)
        cells[key] = amount
    missing = sorted(label(key) for key in reported - cells.keys())
    if missing:
        rule = "must have a number for every value of the groups"
        remedy = f"Add the number of people of {missing[0]} to the margin"
        raise ArgumentError(f"margin {name}", rule, f"none for {', '.join(missing[:5])}", remedy)
    total = sum(cells.values())
    if not 0 < total < np.inf:
        rule = "must have a sum that is positive and finite"
        raise ArgumentError(f"margin {name}", rule, show(total))
    number_of_cell = {key: i for i, key in enumerate(cells)}
    spare = len(number_of_cell)  # the cell of groups without reports that the margin does not name
    cell = np.array([number_of_cell.get(key, spare) for key in values_of_groups])
    shares = np.array([*(amount / total for amount in cells.values()), 0.0])
    return Target(name, cell, shares, total)


def _raked(sizes: np.ndarray, targets: list[Target]) -> tuple[np.ndarray, bool]:
    """Weights (G,) with the sum 1 that meet all margins, and whether they do."""
    weights = sizes / sizes.sum()
    for _ in steps(range(_ROUNDS), "raking"):
        worst = 0.0
        for target in targets:
            now = np.bincount(target.cell, weights, target.shares.size)
            worst = max(worst, float(np.abs(now - target.shares).max()))
            factor = np.divide(target.shares, now, out=np.zeros_like(now), where=now > 0)
            weights = weights * factor[target.cell]
        if worst < _SETTLED or len(targets) == 1:
            break
    off = max(
        float(np.abs(np.bincount(t.cell, weights, t.shares.size) - t.shares).max()) for t in targets
    )
    return _one(weights), off < _ENOUGH


def _one(weights: np.ndarray) -> np.ndarray:
    """Weights divided by their sum."""
    total = float(weights.sum())
    if not total > 0:
        rule = "must be above 0 in at least one group with reports"
        raise ArgumentError("weights", rule, f"the sum {show(total)}")
    return weights / total


def _person_weights(table: GroupTable, weights: Mapping[Any, float]) -> np.ndarray:
    """The weight (G,) of a person of each group."""
    if not isinstance(weights, Mapping):
        first = table.keys[0][0] if len(table.keys[0]) == 1 else table.keys[0]
        rule = "must be a dict with the weight of each person in a group, by the group"
        remedy = f"For example {{{first!r}: 1.5, ...}}"
        raise ArgumentTypeError("weights", rule, kind(weights), remedy)
    numbers = np.full(len(table.keys), np.nan)
    for key, weight in weights.items():
        numbers[table.place(key, "weights")] = real("weights", weight, least=0)
    missing = np.isnan(numbers) & (table.sizes > 0)
    if missing.any():
        rule = "must have a weight for every group with reports"
        got = f"none for {label(table.keys[int(np.argmax(missing))])}"
        raise ArgumentError("weights", rule, got)
    numbers = np.where(np.isnan(numbers), 0.0, numbers)
    return numbers / (float(numbers.max()) or 1.0)  # so that sums do not overflow
