"""Estimates of groups: the shares of every group, each alone or partially pooled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, overload

import numpy as np

from warner._core import html
from warner._core.checks import choice, confidence_level, integer, show
from warner._core.errors import ArgumentError, ArgumentTypeError, WarnerError
from warner._core.progress import steps
from warner._core.table import frame_of_rows
from warner.estimators import Estimator
from warner.groups import charts
from warner.groups.pooling import (
    Coordinates,
    Pooled,
    along_time,
    exchangeable,
    pooled,
    to_simplex,
)
from warner.groups.table import GroupTable, Key
from warner.io.csv_format import cell
from warner.metrics import project
from warner.privacy.guarantees import Guarantee, compose
from warner.reports.tally import TalliesOfGroups, Tally
from warner.results import charts as pictures
from warner.results.estimate import Estimate, estimate as estimate_one
from warner.results.intervals import TARGETS, holding, normal_quantile, score, wald
from warner.results.ranks import place_of
from warner.results.recommend import estimator_of
from warner.results.tables import reports_of

POOLS = ("partial", "path", "none")
KINDS = ("posterior", "score", "wald")
_MOST_VALUES = 5  # of each group, in a notebook
_MOST_ROWS = 100  # in a notebook
_FEW_GROUPS = 3  # from here on, groups tell how much they differ


class GroupStatus(Enum):
    """How the estimate of a group was made; the text is for people."""

    POOLED = "estimated from its reports, and drawn towards the other groups"
    ALONE = "estimated from its reports alone"
    NO_REPORTS = "has no reports: its shares are not known, or those expected from other groups"


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """The estimated shares of G groups of people, with intervals, tables and charts.

    Made by ``estimate(groups)``.

    Attributes:
        probabilities: (G, K) the shares of each group; a row sums to 1.
        names: the names of the public columns.
        keys: G tuples, the public values of each group.
        sizes: (G,) the number of reports of each group.
        domain: the K values.
        pool: how groups were pooled: ``"partial"``, ``"path"`` or ``"none"``.
        statuses: how the estimate of each group was made.

    >>> from warner import Categorical, RandomizedResponse, estimate
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> wards = {"north": 300, "south": 600, "east": 500, "west": 400}
    >>> groups = {
    ...     ward: coin.tally(coin.randomize(["yes"] * yes + ["no"] * (1000 - yes)))
    ...     for ward, yes in wards.items()
    ... }
    >>> result = estimate(groups)
    >>> result.probabilities.shape, result.interval().shape
    ((4, 2), (4, 2, 2))
    >>> bool(result["north"][1] < result["south"][1])
    True
    """

    table: GroupTable = field(repr=False)
    pool: str
    probabilities: np.ndarray = field(repr=False)
    posterior: Pooled | None = field(default=None, repr=False)
    alone: tuple[Estimate | None, ...] = field(default=(), repr=False)
    time: str | None = None

    def __repr__(self) -> str:
        about = f"{len(self)} groups by {', '.join(self.names)}, K={self.domain.size}, n={self.n}"
        return f"GroupEstimates({about}, pool={self.pool!r})"

    def _repr_html_(self) -> str:
        rows = self.rows()
        shares = np.where(self.sizes[:, None] > 0, self.probabilities, 0.0)
        sums = shares.T @ self.sizes
        size = self.domain.size
        # Over time the rows of a value stand together, so that they read as a series.
        series = self.time is not None
        most = max(1, min(_MOST_VALUES, _MOST_ROWS // len(self))) if series else _MOST_VALUES
        shown = np.argsort(-sums, kind="stable")[:most].tolist()
        few = [row for i, row in enumerate(rows) if i % size in shown]
        if series:
            few = [row for x in shown for row in rows[x::size]]
        of_all, few = len(few), few[:_MOST_ROWS]
        largest = max((row["high"] for row in few), default=0.0) or 1.0
        cells = [
            [
                *map(cell, row.values()),
                html.interval_bar(row["estimate"] or 0.0, row["low"], row["high"], largest),
            ]
            for row in few
        ]
        values = f"{most} values" if most > 1 else "value"
        chosen = f" The {values} of {size:,} with the largest shares." * (size > most)
        if of_all > len(few):
            chosen += f" The first {len(few)} of {of_all:,} rows."
        average = ", which hold on average over groups" * (self.interval_kind() == "posterior")
        about = (
            f"{reports_of(self.n, self.table.whole.simulated)} of {len(self)} groups, "
            f"{self.interval_kind()} intervals of 95 %"
            f"{average}."
        )
        spent = f" {self.spent_text}" if self.time is not None else ""
        head = [*self.names, *list(rows[0])[len(self.names) :], ""]
        return html.table(head, cells, about + chosen + spent)

    @property
    def rounds(self) -> int:
        """The number of times at which one person can have been asked; 1 where no time is named."""
        if self.time is None:
            return 1
        column = self.names.index(self.time)
        return len({key[column] for key in self.keys})

    @property
    def spent(self) -> Guarantee:
        """The guarantee of a person who reported at every time, of all these reports together.

        Reports of one person at several times are composed: epsilons add up. Where no time is
        named, the groups are of different people, and it is the guarantee of one report.

        >>> from warner import Categorical, RandomizedResponse, Tally, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> weeks = [coin.tally(coin.randomize(["no", "yes"] * 50)) for _ in range(4)]
        >>> series = estimate(Tally.from_tallies("week", weeks), time="week")
        >>> series.rounds, 3.99 < series.spent.epsilon <= 4
        (4, True)
        """
        reports = max(self.rounds, self.table.per_person)
        return compose([self.table.guarantee] * reports)

    @property
    def spent_text(self) -> str:
        """What a person who reported at every time has spent, in words."""
        return (
            f"A person who reported at all {self.rounds} times has spent epsilon = "
            f"{self.spent.epsilon:.6g} in all."
        )

    def __len__(self) -> int:
        return len(self.table.keys)

    def __iter__(self) -> Iterator[Key]:
        """The public values of each group, as in ``keys``."""
        return iter(self.keys)

    def __contains__(self, key: object) -> bool:
        try:
            self.table.place(key)
        except ArgumentError:
            return False
        return True

    def __getitem__(self, key: Any) -> np.ndarray:
        """The shares (K,) of a group, by its public values."""
        return np.asarray(self.probabilities[self.table.place(key)])

    def _places(self, values: Sequence[Any]) -> list[int]:
        """The places of values that a caller names, each once."""
        listed = [values] if isinstance(values, str) else list(values)
        rule, remedy = "must be values of the domain", "Estimates list them under domain.labels"
        if not listed:
            raise ArgumentError("values", rule, "none", remedy)
        found = []
        for value in listed:
            place = place_of(self.domain, value)
            if place is None:
                raise ArgumentError("values", rule, repr(value), remedy)
            found.append(place)
        return list(dict.fromkeys(found))

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def keys(self) -> tuple[Key, ...]:
        return self.table.keys

    @property
    def sizes(self) -> np.ndarray:
        return self.table.sizes

    @property
    def domain(self) -> Any:
        return self.table.domain

    @property
    def n(self) -> int:
        """The number of reports of all groups."""
        return self.table.whole.n

    @property
    def concentration(self) -> float | None:
        """kappa of the Dirichlet prior: a group counts as kappa more answers. None without one."""
        known = self.posterior is not None and self.pool == "partial"
        return self.posterior.concentration if known and self.posterior is not None else None

    @property
    def statuses(self) -> tuple[GroupStatus, ...]:
        used = GroupStatus.ALONE if self.pool == "none" else GroupStatus.POOLED
        return tuple(used if n else GroupStatus.NO_REPORTS for n in self.sizes)

    def interval(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> np.ndarray:
        """Intervals of the shares of all groups.

        Args:
            level: coverage, in [0.5, 1).
            target: ``"population"``, or ``"respondents"`` for the people of each group who
                reported.
            kind: one of

                - ``"posterior"``, for pooled groups: posterior mean and standard deviation. It
                  holds on average over groups: of all groups the share ``level`` is covered. A
                  group that is unlike the others is missed more often. Over time so is a value that
                  moves much more than the others, most at the first and the last time.
                - ``"score"``, from the reports of the group alone. It holds for every group, and
                  is wider. It can leave out the pooled estimate. See
                  :func:`warner.results.intervals.score`;
                - ``"wald"``, from the reports of the group alone, around the unbiased estimate;
                - None: ``"posterior"`` where there is one and the target is the population. Else,
                  for groups that are estimated alone, that of each ``Estimate``; and score
                  intervals for pooled ones.

        Returns:
            (G, K, 2) low and high. A group without reports has 0 and 1, unless the interval is a
            posterior one.

        Raises:
            ArgumentError: a posterior interval for groups that were not pooled, or for the
                respondents.
        """
        z = normal_quantile(level)
        choice("target", target, TARGETS)
        choice("kind", kind, (*KINDS, None))
        if kind is None and self.posterior is not None and target == "population":
            kind = "posterior"
        if kind == "posterior":
            if self.posterior is None or target != "population":
                rule = "'posterior' needs pooled groups and the target 'population'"
                raise ArgumentError("kind", rule, None, "Use kind='score'")
            half = z * self.posterior.deviation
            middle = self.posterior.mean
            bounds = np.clip(np.stack([middle - half, middle + half], axis=2), 0.0, 1.0)
            flat = holding(bounds.reshape(-1, 2), self.probabilities.ravel())
            return flat.reshape(bounds.shape)
        bounds = np.tile([0.0, 1.0], (*self.probabilities.shape, 1))
        for g, part in steps(list(enumerate(self.table.parts)), "intervals of groups"):
            own = self.alone[g] if self.alone and kind is None else None
            if own is not None:
                bounds[g] = own.interval(level, target)
            elif part is not None:
                bounds[g] = (
                    wald(part, level, target)
                    if kind == "wald"
                    else score(part, self.probabilities[g], level, target)
                )
        return bounds

    def interval_kind(self, target: str = "population") -> str:
        """The intervals of :meth:`rows`: ``"posterior"``, ``"score"``, or ``"own"`` of each."""
        if self.posterior is not None and target == "population":
            return "posterior"
        return "own" if self.alone else "score"

    def rows(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> list[dict[str, Any]]:
        """The shares of all values in all groups as a table.

        Args:
            level, target, kind: as for :meth:`interval`.

        Returns:
            One dict per group and value: the public columns by name, then ``"value"``,
            ``"estimate"``, ``"low"``, ``"high"``, ``"reports"`` (of the group) and ``"status"``.
            The estimate is None where nothing is known of the group.
        """
        bounds = self.interval(level, target, kind)
        found = []
        for g, key in enumerate(self.keys):
            status = self.statuses[g]
            known = self.sizes[g] > 0 or self.pool != "none"
            for x, value in enumerate(self.domain.labels):
                found.append(
                    {
                        **dict(zip(self.names, key, strict=True)),
                        "value": value,
                        "estimate": float(self.probabilities[g, x]) if known else None,
                        "low": float(bounds[g, x, 0]),
                        "high": float(bounds[g, x, 1]),
                        "reports": int(self.sizes[g]),
                        "status": status.name.lower(),
                    }
                )
        return found

    def to_json(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> dict[str, Any]:
        """The estimates as JSON data, with the table of :meth:`rows`."""
        used = self.interval_kind(target) if kind is None else kind
        return {
            "format": "warner-groups",
            "schema": 1,
            "columns": list(self.names),
            "pool": self.pool,
            "concentration": self.concentration,
            "n": self.n,
            **({"simulated": True} if self.table.whole.simulated else {}),
            "interval": {
                "kind": used,
                "level": confidence_level(level),
                "target": target,
                "holds": "on average over groups" if used == "posterior" else "for every group",
            },
            "domain": self.domain.spec(),
            "shares": self.rows(level, target, kind),
        }

    def to_frame(
        self,
        backend: str = "pyarrow",
        level: float = 0.95,
        target: str = "population",
        **columns: Any,
    ) -> Any:
        """The rows as a data frame of a library that Narwhals can use.

        Args:
            backend: the library, such as pyarrow, polars or pandas.
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            columns: {name: value} of further columns, which come first.
        """
        return frame_of_rows(self.rows(level, target), backend, columns)

    def plot(
        self,
        path: str | None = None,
        level: float = 0.95,
        target: str = "population",
        top: int = charts.MOST_PANELS,
        values: Sequence[Any] | None = None,
    ) -> Any:
        """A chart with one panel for each value: groups as dots with bars, or a line over time.

        Args:
            path: the file to save the chart to (.png, .svg, .pdf, .html or .json); None saves no
                file.
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            top: the number of panels. Of more values those with the largest shares are drawn.
            values: the values to draw instead, in this order, such as ``["often"]``.

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: a path with another suffix, or values that are not in the domain.
            MissingExtraError: the extra 'plot' is not installed.
        """
        integer("top", top, 1)
        caption = {
            "posterior": f"{100 * level:.4g} % intervals, which hold on average over groups",
            "score": f"{100 * level:.4g} % intervals of each group",
            "own": f"{100 * level:.4g} % intervals of each group",
        }[self.interval_kind(target)]
        about = f"{reports_of(self.n, self.table.whole.simulated)}; {caption}"
        rows = self.rows(level, target)
        if values is not None:
            size, places = self.domain.size, self._places(values)
            rows = [rows[g * size + x] for g in range(len(self)) for x in places]
            top = max(len(places), 1)
            about += f"; {len(places)} of {size:,} values"
        picture = charts.chart(rows, self.names, self.time, about, top)
        if path is not None:
            pictures.save(picture, path)
        return picture


@overload
def estimate(
    tally: Mapping[Any, Tally],
    method: Estimator | str | None = None,
    attributes: Sequence[str] | None = None,
    values: Any = None,
    *,
    pool: str | None = None,
    time: str | None = None,
) -> GroupEstimates: ...


@overload
def estimate(
    tally: Tally,
    method: Estimator | str | None = None,
    attributes: Sequence[str] | None = None,
    values: Any = None,
    *,
    pool: str | None = None,
    time: str | None = None,
) -> Any: ...


@overload
def estimate(
    tally: Iterable[Tally],
    method: Estimator | str | None = None,
    attributes: Sequence[str] | None = None,
    values: Any = None,
) -> Estimate: ...


def estimate(
    tally: Any,
    method: Estimator | str | None = None,
    attributes: Sequence[str] | None = None,
    values: Any = None,
    *,
    pool: str | None = None,
    time: str | None = None,
) -> Estimate | GroupEstimates:
    """Estimate the distribution of the true values from the tally of their reports.

    Args:
        tally: a tally, or several. Tallies of one mechanism are added. Tallies of different
            mechanisms or budgets on one domain are estimated from together. A tally by public
            columns, or a mapping {public values: tally}, gives the estimates of its groups.
        method: an estimator such as ``MaximumLikelihood()``, or its name on the command line,
            such as ``"mle"`` or ``"em:100"``; None for the recommended one, see
            :func:`warner.results.recommend.recommended`. Pooled groups take none.
        attributes: for tallies of several attributes (PerAttribute), the names of those whose joint
            distribution is estimated, in this order; None for all.
        values: a list of the values that are possible; ``"reported"`` for those that some report
            names; None for all. See :func:`warner.results.estimate.estimate`. Not for groups.
        pool: for groups, ``"partial"`` draws the shares of each group towards the mean by as much
            as the reports warrant; ``"path"`` draws them towards the groups before and after in
            time; ``"none"`` estimates each group alone. None is ``"path"`` where ``time`` is named,
            else ``"partial"`` from three groups on. It is ``"none"`` for two groups, with a
            ``method``, and for reports whose noise has no known covariance.
        time: for groups on a path, the public column with the time: numbers or dates. Groups that
            are alike in the other columns are one path. The only column of a plain dict has no
            name: ``time="week"`` gives it one.

    Returns:
        Estimate: shares (K,) in the domain's order, with a status and intervals. Of groups,
        GroupEstimates: shares (G, K).

    Raises:
        ArgumentError: unknown attributes or values, more attributes than the tally has tables of,
            or fewer than two values.
        MismatchError: the tallies cannot be combined.
        EmptyError: there are no reports.
        IdentifiabilityError: the method inverts the channel, which has no inverse.

    Source of the pooled estimates: METHODS 10.5.

    >>> from warner import Integers, UnaryEncoding
    >>> mechanism = UnaryEncoding(Integers(0, 3), 2.0, variant="oue")
    >>> estimate(mechanism.tally(mechanism.randomize([0, 1, 2, 3] * 500))).probabilities.shape
    (4,)
    >>> weeks = {w: mechanism.tally(mechanism.randomize([0, 1, 2, 3] * 50)) for w in range(5)}
    >>> series = estimate(weeks, time="week")
    >>> series.pool, series.names
    ('path', ('week',))
    """
    if isinstance(tally, Mapping) or (isinstance(tally, Tally) and tally.columns):
        if values is not None:
            rule = "are not chosen for groups"
            raise ArgumentError("values", rule, None, "Estimate each group by itself")
        named = None if method is None else estimator_of(method)
        return _of_groups(tally, named, attributes, pool, time)
    for name, given in (("pool", pool), ("time", time)):
        if given is not None:
            rule = "goes with a tally by public columns, or a mapping {public values: tally}"
            raise ArgumentTypeError(name, rule)
    return estimate_one(tally, method, attributes, values)


def table_of(groups: Any, attributes: Sequence[str] | None = None) -> GroupTable:
    """The reports of groups, of a mapping of tallies or of their estimates."""
    if not isinstance(groups, GroupEstimates):
        return GroupTable.of(groups, attributes)
    if attributes is not None:
        rule = "are those of the estimates given"
        raise ArgumentError("attributes", rule, None, "Pass the tallies of the groups")
    return groups.table


def _of_groups(
    groups: TalliesOfGroups,
    method: Estimator | None,
    attributes: Sequence[str] | None,
    pool: str | None,
    time: str | None,
) -> GroupEstimates:
    """The estimates of groups, pooled as asked."""
    table = GroupTable.of(groups, attributes, only=time)
    chosen = _pool(table, method, choice("pool", pool, (*POOLS, None)), time)
    if chosen == "none":
        return _alone(table, groups, method, attributes)
    centre = _centre(table)
    try:
        noise = table.covariance(centre)
    except ArgumentError:
        # Bit sums of several attributes do not say how the noise of the shares is correlated.
        if pool is not None or time is not None:
            raise
        return _alone(table, groups, method, attributes)
    coordinates = Coordinates.of(centre, noise)
    z = coordinates.to(table.shares)
    z[table.sizes == 0] = 0.0
    if chosen == "path":
        column = _time_column(table, time)
        times, series = _paths(table, column)
        at = along_time(z, table.sizes, coordinates.ratios, times, series)
        time = table.names[column]
    else:
        at = exchangeable(z, table.sizes, coordinates.ratios, table.per_person)
    found = pooled(at, coordinates, table.sizes)
    weights = np.maximum(table.sizes, 1e-9)
    shares = to_simplex(found.mean, weights)
    return GroupEstimates(table, chosen, shares, found, (), time if chosen == "path" else None)


def _pool(table: GroupTable, method: Estimator | None, pool: str | None, time: str | None) -> str:
    """How groups are pooled, where the caller leaves it open."""
    if method is not None and pool in ("partial", "path"):
        rule = "is not used for pooled groups"
        raise ArgumentError("method", rule, repr(method), "Pass pool='none', or no method")
    if time is not None and pool in ("partial", "none"):
        rule = "goes with pool='path'"
        raise ArgumentError("time", rule, show(pool))
    if pool is not None:
        return pool
    if method is not None:
        return "none"
    if time is not None:
        return "path"
    return "partial" if np.count_nonzero(table.sizes) >= _FEW_GROUPS else "none"


def _alone(
    table: GroupTable,
    groups: TalliesOfGroups,
    method: Estimator | None,
    attributes: Sequence[str] | None,
) -> GroupEstimates:
    """Each group by itself; a group without reports gets equal shares and no interval."""
    size = table.domain.size
    shares = np.full((len(table.keys), size), 1 / size)
    own: list[Estimate | None] = []
    for g, tally in enumerate(steps(list(groups.values()), "estimating groups")):
        found = estimate_one(tally, method, attributes) if tally.n else None
        own.append(found)
        if found is not None:
            shares[g] = found.probabilities
    return GroupEstimates(table, "none", shares, None, tuple(own))


def _centre(table: GroupTable) -> np.ndarray:
    """The shares of all groups together, each above 0.

    It is the recommended estimate, or the projected inversion where that one fails. Half an answer
    is added for each value, so that no share is ruled out.
    """
    from warner.results.recommend import recommended

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
        rule = f"must be one of the public columns {', '.join(table.names)}"
        raise ArgumentError("time", rule, show(time))
    return table.names.index(time)


def _paths(table: GroupTable, column: int) -> tuple[np.ndarray, np.ndarray]:
    """The times (G,) as numbers, and the number (G,) of the path of each group."""
    times = np.array([moment(table.names[column], key[column]) for key in table.keys])
    rest = [key[:column] + key[column + 1 :] for key in table.keys]
    number = {key: i for i, key in enumerate(dict.fromkeys(rest))}
    return times, np.array([number[key] for key in rest])


def moment(name: str, value: Any) -> float:
    """A time as a number: a number itself, or the days of a date, also as text (2024-03-01).

    >>> moment("week", 3), moment("day", "1970-01-11"), moment("week", "1970-W02")
    (3.0, 10.0, 4.0)
    """
    import datetime

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
