"""From tallies to the data of an estimation problem: a channel, frequencies of its rows, and n."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FrameWarning,
    IdentifiabilityError,
    MismatchError,
    ValuesError,
    warn,
)
from warner._core.text import canonical, meant
from warner.channels import LikelihoodOperator
from warner.domains import Domain
from warner.estimators.base import LikelihoodData
from warner.estimators.plausibility import Plausibility, plausibility_of_data
from warner.mechanisms import Mechanism, from_header
from warner.reports.public_columns import Groups, Key, columns_of_both, order_of
from warner.reports.reports import Reports
from warner.reports.tally import (
    TalliesOfGroups,
    Tally,
    merge,
    question_of,
    require_one_round,
    require_same_origin,
    require_tally,
    warn_of_unknown_rounds,
)
from warner.reports.tally_kinds import BitSums, BlockTables, DistinctReports, require_different

if TYPE_CHECKING:
    from warner._core.survey_design import DrawnSample, SurveyDesign

POOLS = ("partial", "path", "none")  # how groups are estimated together
TOGETHER = "together"  # the status of rows of all people, below those of groups


def all_people(names: Sequence[str]) -> Key:
    """What stands in the public columns of rows of all people together."""
    return ("all people",) * len(names)


def likelihood_data(
    tally: Tally | Iterable[Tally], attributes: Sequence[str] | None = None
) -> LikelihoodData:
    """The data of an estimation problem, (m, K), from a tally or from several together.

    Tallies of one mechanism are added; those of different mechanisms or budgets are stacked.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> data = likelihood_data(coin.tally(coin.randomize(["yes"] * 100)))
    >>> data.n, data.channel.shape
    (100, (2, 2))
    """
    if not isinstance(tally, Tally):
        return _several(tally, attributes)
    if tally.columns:
        rule, got = "must be of all people together", f"a tally by {', '.join(tally.names)}"
        remedy = "Use tally.total(), or estimate(tally) for the estimates of its groups"
        raise ArgumentTypeError("tally", rule, got, remedy)
    mechanism = from_header(tally.header)
    if tally.n <= 0:
        raise EmptyError("tally", "has no reports", None, "Count at least one report")
    channel, counts, domain = mechanism.channel_for(tally, attributes)
    # Of blocks of questions, the people who were asked some of these.
    n = channel.n_people(round(counts.sum() / channel.rows_per_report))
    if (
        counts.shape != channel.shape[:1]
        or (counts < 0).any()
        or round(counts.sum() - n * channel.rows_per_report) != 0
        or (n > tally.n if isinstance(tally.kind, BlockTables) else n != tally.n)
        or not tally.is_consistent
    ):
        raise tally.impossible()
    weights = counts / counts.sum()
    most = tally.reports_per_person
    return LikelihoodData(channel, weights, n, domain, tally.simulated, most, sent=tally.n)


def plausibility(tally: Tally | Iterable[Tally]) -> Plausibility:
    """Whether some answers can have made the reports of a tally, or of several.

    The test is that of :mod:`warner.estimators.plausibility`. ``estimate`` makes it too.

    Returns:
        Plausibility: a ``p_value``, and a ``note`` where true reports hardly ever come out so.

    Raises:
        EmptyError: no reports.
        FrameWarning: questions that were not drawn as the mechanism draws them.

    >>> from warner import Categorical, RandomizedResponse
    >>> smoking = RandomizedResponse(Categorical(["never", "sometimes", "often"]), 1.0)
    >>> reports, answers = smoking.randomize(["never"] * 2000), smoking.reports([0] * 2000)
    >>> plausibility(smoking.tally(reports)).p_value > 1e-9
    True
    >>> plausibility(smoking.tally(answers)).p_value < 1e-9
    True
    """
    tallies = [tally] if isinstance(tally, Tally) else list(tally)
    _warn_of_draws(tallies)
    if isinstance(tally, Tally) and tally.ways is not None:
        attributes = from_header(tally.header).attribute_domains
        each = [plausibility_of_data(likelihood_data(tally.total(), [a])) for a in attributes]
        return Plausibility.of(one.p_value for one in each)
    whole = tally.total() if isinstance(tally, Tally) else tallies
    result = plausibility_of_data(likelihood_data(whole))
    return _with_cause(result, [whole] if isinstance(whole, Tally) else whole)


def _warn_of_draws(tallies: Sequence[Tally]) -> None:
    """Warn where chance did not draw the questions that people were asked."""
    counted = [tally.total() for tally in tallies if tally.n]
    for places in _alike(counted):
        total = _total([counted[i] for i in places])
        if said := from_header(total.header).uneven_draw(total):
            warn(said, FrameWarning)


def _with_cause(result: Plausibility, tallies: Sequence[Tally]) -> Plausibility:
    """The same plausibility, with what may have gone wrong on paper."""
    if not result.on_paper or len({canonical(one.header) for one in tallies}) > 1:
        return result
    counts = np.sum([one.total().counts for one in tallies], axis=0).ravel()
    design: Any = from_header(tallies[0].header)
    cause = design.likely_slip(counts) if result.is_doubtful else ""
    return replace(result, cause=cause, hint=design.mirrored(counts))


def tested(
    tally: Tally | Iterable[Tally],
    data: LikelihoodData | None = None,
    name: str | None = None,
    among: int = 1,
) -> Plausibility:
    """The plausibility of a tally or several, refused where no answers make such reports."""
    tallies = [tally] if isinstance(tally, Tally) else list(tally)
    if among == 1:  # once for all groups
        warn_of_unknown_rounds([one for one in tallies if one.may_mix_rounds])
        _warn_of_draws(tallies)
    result = (
        plausibility(tally) if data is None else _with_cause(plausibility_of_data(data), tallies)
    )
    result = replace(result, p_value=min(1.0, among * result.p_value))
    if not all(one.is_trusted for one in tallies):
        result.require(name or ("counts" if result.on_paper else "tally"))
    return result


_MOST_NAMED = 5  # doubtful groups
_MOST_TESTED = 1000  # groups, so that tests take no longer than estimates of the groups


def tested_groups(
    tallies: Sequence[Sequence[Tally]],
    parts: Sequence[LikelihoodData | None],
    keys: Sequence[Key],
    of: str = "",
) -> tuple[Plausibility | None, ...]:
    """The plausibility of each group, tested as all people together are; None where not tested.

    Only the largest groups are tested. Among many groups some look unusual by chance, so each
    p-value is multiplied by their number. A single group is all people.
    """
    sizes = [0 if data is None else data.n for data in parts]
    filled = [g for g in np.argsort(sizes, kind="stable")[::-1] if sizes[g]][:_MOST_TESTED]
    results: list[Plausibility | None] = [None] * len(parts)
    if len(filled) > 1:
        for g in filled:
            data = parts[g]
            assert data is not None
            name = f"group {label(keys[g])!r}{of}"
            results[g] = tested(tallies[g], data, name, among=len(filled))
    return tuple(results)


def require_plausible(tally: Tally, name: str) -> None:
    """Refuse a tally of which no answers make the counts of a group, or those of all people."""
    if tally.columns and tally.ways is None:
        groups = [[tally[key]] for key in tally]
        parts = [likelihood_data(group) if group[0].n else None for group in groups]
        tested_groups(groups, parts, list(tally), f" of {name}")
    plausibility(tally).require(name)


def possible_values(data: LikelihoodData, values: Any) -> np.ndarray:
    """The indices (k,) of the values that an estimate may give a share."""
    if isinstance(values, str) and values == "reported":
        shares = None
        with contextlib.suppress(ArgumentError):
            shares = data.channel.naive_estimate(data.weights)
        if shares is None:
            rule = "cannot be 'reported', because these reports do not name values"
            raise ArgumentError("values", rule, None, "Pass a list of the values")
        indices = np.flatnonzero(shares > 0)
        if len(indices) < 2:
            rule = "cannot be 'reported', because reports name fewer than 2 values"
            got = str(len(indices))
            raise ArgumentError("values", rule, got, "Pass a list of the values")
        return indices
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        rule = "must be a list of values, or 'reported'"
        raise ArgumentTypeError("values", rule, kind(values))
    listed = values if isinstance(values, np.ndarray) else list(values)
    problem: str | None = None
    shown: str | None = None
    indices = np.zeros(0, dtype=np.int64)
    try:
        indices = np.unique(data.domain.encode(listed))
    except EmptyError:
        pass
    except ValuesError as error:
        problem = f"must all be among the {data.domain.size} values of the question"
        shown = show(listed[error.position])
    if problem is None and len(indices) < len(listed):
        problem = f"must not name a {'bin of values' if data.domain.is_binned else 'value'} twice"
    elif problem is None and len(indices) < 2:
        problem, shown = "must be at least 2 values", str(len(listed))
    if problem is not None:
        raise ArgumentError("values", problem, shown)
    return indices


def _several(tallies: Iterable[Tally], attributes: Sequence[str] | None) -> LikelihoodData:
    """The data of tallies of one or more mechanisms."""
    totals = by_mechanism(tallies)
    # A mechanism that nobody used is skipped. If all are empty, the first raises its own error.
    used = [total for total in totals if total.n > 0] or totals
    if not used:
        raise EmptyError("tallies", "must not be empty")
    return side_by_side([likelihood_data(total, attributes) for total in used])


def by_mechanism(tallies: Iterable[Tally], by: Sequence[str] = ()) -> list[Tally]:
    """The sum of the tallies of each mechanism and budget, in groups by some public columns."""
    listed = _listed(tallies)
    require_same_origin([tally.simulated for tally in listed], "tallies")
    require_one_round(tally.round for tally in listed)
    warn_of_unknown_rounds(listed, by)
    sums = [merge([listed[i] for i in places]) for places in _alike(listed)]
    return [tally.by(*by) for tally in sums] if by else sums


def by_group(tallies: Sequence[Tally]) -> dict[Key, list[Tally]]:
    """The tallies of each group of people, of tallies by the same public columns."""
    columns = tallies[0].columns
    for tally in tallies[1:]:
        columns = columns_of_both(columns, tally.columns)
    keys = list(dict.fromkeys(chain.from_iterable(tallies)))
    groups: dict[Key, list[Tally]] = {keys[i]: [] for i in order_of(columns, keys).tolist()}
    for tally in tallies:
        for key, of_group in tally.items():
            groups[key].append(of_group)
    return groups


def within_values(groups: TalliesOfGroups, columns: Sequence[str]) -> dict[Key, TalliesOfGroups]:
    """The groups by the other public columns, for each of the values that these columns have."""
    if isinstance(groups, Mapping):
        split = {name: tally.by(*columns) for name, tally in groups.items()}
        return {
            values: {name: tally[values] for name, tally in split.items() if values in tally}
            for values in by_group(list(split.values()))
        }
    parts = [groups] if isinstance(groups, Tally) else groups
    names = parts[0].names
    others = [name for name in names if name not in columns]
    keys_of: dict[Key, list[Key]] = {}
    for key in by_group(parts):
        keys_of.setdefault(tuple(key[names.index(c)] for c in columns), []).append(key)
    return {
        values: [
            tally.only(some).by(*others)
            for tally in parts
            if (some := [key for key in keys if key in tally])
        ]
        for values, keys in keys_of.items()
    }


def is_of_groups(tally: Any) -> bool:
    """Whether something is a tally by public columns, several of them, or a mapping."""
    listed = tally if isinstance(tally, list | tuple) else [tally]
    by_column = any(isinstance(each, Tally) and each.columns for each in listed)
    return isinstance(tally, Mapping) or by_column


def _listed(tallies: Iterable[Tally]) -> list[Tally]:
    """The tallies as a list, refused where there is anything else."""
    if not isinstance(tallies, Iterable) or isinstance(tallies, Reports):
        require_tally(tallies)
    listed = list(tallies)
    for tally in listed:
        require_tally(tally)
    return listed


def _alike(tallies: Sequence[Tally]) -> list[list[int]]:
    """The positions of the tallies that can be added, of each mechanism and budget."""
    alike: dict[str, list[int]] = {}
    last, text = None, ""
    for i, tally in enumerate(tallies):
        # Reports that are kept while they are few are summed beside those that were not kept.
        is_kept = isinstance(tally.kind, DistinctReports) and tally.kind.while_few
        what = tally.header, (BitSums() if is_kept else tally.kind).name
        # Groups share one header, whose text takes long where there are many values.
        if what != last:
            last, text = what, canonical([*what])
        alike.setdefault(text, []).append(i)
    return list(alike.values())


def side_by_side(parts: Sequence[LikelihoodData], mix: str = "precision") -> LikelihoodData:
    """The reports of different people on one domain, whatever the mechanisms."""
    from warner.channels import stacked

    if len(parts) == 1:
        return parts[0]
    if len({data.domain.digest for data in parts}) > 1:
        rule = "must all be of one question, with the same values"
        raise MismatchError("tallies", rule, None, "Estimate each question by itself")
    # Of drawn questions each tally is a stack by itself: all groups stand side by side.
    groups_of = [data.channel.split_groups(data.weights, data.n) for data in parts]
    channels, each, people = zip(*chain.from_iterable(groups_of), strict=True)
    channel, n = stacked(channels, people, mix), sum(people)
    weights = channel.stack(each)
    most = max(data.reports_per_person for data in parts)
    sent = sum(data.sent or data.n for data in parts)
    return LikelihoodData(channel, weights, n, parts[0].domain, parts[0].simulated, most, sent=sent)


# -----------------------------------------------------------------------------------------------
# The reports of several groups as arrays: group sizes, unbiased estimates, and their noise.


# The columns of tables of groups. A public column of such a name is called otherwise.
RESERVED = (
    *("value", "estimate", "low", "high", "error", "reports", "status", "attribute", "weight"),
    *("item", "summary", "measure", "shrunk_from"),
)


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The reports of G groups about one question, which one or several mechanisms randomised."""

    names: tuple[str, ...]  # the public columns
    keys: tuple[Key, ...]  # their values in each group
    sizes: np.ndarray  # int64 (G,), the number of reports of each group
    # (G, K) the unbiased estimates; 0 for a group without reports, and NaN where the reports tell
    # single questions apart, but not combinations
    shares: np.ndarray
    whole: LikelihoodData  # the data of all groups together
    parts: tuple[LikelihoodData | None, ...]  # of each group; None without reports
    plausibility: Plausibility  # how plausible the reports of all groups together are
    of_groups: tuple[Plausibility | None, ...]  # of each group; None where that is not tested
    mechanisms: tuple[Mechanism, ...]  # of the reports
    cells: SurveyCells | None = None  # of a survey with a design, what the groups were made of
    attributes: tuple[str, ...] = ()  # the questions that were chosen; () for all in the reports
    question: str = ""  # the name of all of them together, where the tallies say it
    # {group: the data of each question}, of people of whom some two questions were asked of nobody
    alone: Mapping[int, tuple[LikelihoodData | None, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        by = ", ".join(self.names)
        return (
            f"GroupTable({len(self.keys)} groups by {by}, K={self.domain.size}, n={self.whole.n})"
        )

    @property
    def domain(self) -> Domain:
        """The K values."""
        return self.whole.domain

    @property
    def channel(self) -> LikelihoodOperator:
        """The channel of all groups together."""
        return self.whole.channel

    @property
    def per_person(self) -> int:
        """The most reports that one person sent."""
        return self.whole.reports_per_person

    @property
    def labels(self) -> list[str]:
        """The groups as texts."""
        return [label(key) for key in self.keys]

    @property
    def doubt(self) -> str:
        """Why the reports of all people, or of some groups, are doubtful; "" where none are."""
        each = zip(self.labels, self.of_groups, strict=True)
        notes = {name: one for name, one in each if one is not None and one.note}
        names = sorted(notes, key=lambda name: notes[name].p_value)
        survey = self.whole.survey
        listed = ["" if survey is None else survey.drawn.doubt, self.plausibility.note or ""]
        listed += [f"{name}: {notes[name].note}" for name in names[:1]]
        if others := names[1:]:
            more = ", ..." * (len(others) > _MOST_NAMED)
            listed.append(
                "These groups are doubtful in the same way: "
                f"{', '.join(others[:_MOST_NAMED])}{more}."
            )
        return " ".join(text for text in listed if text)

    @classmethod
    def of(
        cls, groups: Any, attributes: Sequence[str] | None = None, only: str | None = None
    ) -> GroupTable:
        """The table of a mapping from public values to tallies, or of tallies by public columns."""
        cells, keys = _tallies_of(groups)
        names = _names_of(groups, len(keys[0]), only)
        listed = [(g, tally) for g, of_group in enumerate(cells) for tally in of_group]
        totals, wholes = [], []
        each: list[list[LikelihoodData]] = [[] for _ in keys]
        for places in _alike([tally for _, tally in listed]):
            alike = [listed[i][1] for i in places]
            if (total := _total(alike)).n == 0:
                continue
            totals.append(total)
            wholes.append(likelihood_data(total, attributes))
            of_groups = _parts(alike, total, wholes[-1], attributes)
            for i, data in zip(places, of_groups, strict=True):
                each[listed[i][0]] += [] if data is None else [data]
        if not totals:
            rule = "have no reports: the count is 0 in every group"
            remedy = "Count reports by group: mechanism.tally(reports, by={...})"
            raise EmptyError("groups", rule, None, remedy)
        whole = side_by_side(wholes)
        plausible = tested(totals, whole, "groups")
        parts = [side_by_side(of_group) if of_group else None for of_group in each]
        sizes, shares = _sizes_and_shares(parts, whole.domain.size)
        mechanisms = tuple(from_header(total.header) for total in totals)
        doubts = plausible, tested_groups(cells, parts, keys)
        question = question_of(tally for _, tally in listed)
        several = () if attributes is not None else tuple(whole.domain.attributes)
        alone = {
            g: tuple(_on_question(of_group, name) for name in several)
            for g, of_group in enumerate(cells)
            if several and parts[g] is None and any(tally.n for tally in of_group)
        }
        rest = *doubts, mechanisms, None, _questions(attributes), question, alone
        return cls(names, keys, sizes, shares, whole, tuple(parts), *rest)

    @classmethod
    def surveyed(
        cls,
        tally: Any,
        survey: SurveyDesign,
        by: str | Sequence[str] | None = None,
        attributes: Sequence[str] | None = None,
    ) -> GroupTable:
        """The table of groups of a survey: by the public columns that its design does not name.

        Without groups it has the one key ``()``.
        """
        cells = SurveyCells.of(tally, survey, by, attributes)
        keys = cells.groups
        number = {key: g for g, key in enumerate(keys)}
        of_cell = np.array([number[key] for key in cells.keys])
        cells.drawn.require_clusters(of_cell, [label(key) for key in keys])
        parts = tuple(cells.data_of(of_cell == g) for g in range(len(keys)))
        sizes = np.array([data.n for data in parts])
        shares = np.stack([data.channel.invert(data.weights) for data in parts])
        whole = cells.data_of(np.ones(len(cells.keys), dtype=bool))
        used = tuple(from_header(tally.header) for tally in cells.tallies)
        # People are tested as they are: weights change how many people a share stands for.
        each = (cells.some(of_cell == g) for g in range(len(keys)))
        tallies = [[tally.total() for tally in of_group] for of_group in each]
        unweighted = [likelihood_data(of_group, attributes) for of_group in tallies]
        doubts = cells.plausibility, tested_groups(tallies, unweighted, keys)
        rest = *doubts, used, cells, _questions(attributes), question_of(cells.tallies)
        return cls(cells.by, keys, sizes, shares, whole, parts, *rest)

    def require_shares(self) -> GroupTable:
        """This table, refused where reports tell single questions apart, but not combinations."""
        if not np.isnan(self.shares).any():
            return self
        names = list(self.domain.attributes)
        rule = f"must be given, because the reports cannot distinguish all {self.domain.size:,} "
        remedy = f"For example attributes={show(names[0])}"
        rule += "combinations of answers"
        raise IdentifiabilityError("attributes", rule, None, remedy)

    def on_attributes(self, axes: Sequence[int]) -> GroupTable:
        """The table of some attributes that can be told apart, in this order."""
        whole = self.whole.on_attributes(axes)
        assert whole is not None
        # A group of whom nobody was asked about these has no reports about them.
        parts = tuple(
            data.on_attributes(axes)
            if data is not None
            else self.alone[g][axes[0]]
            if g in self.alone and len(axes) == 1
            else None
            for g, data in enumerate(self.parts)
        )
        sizes, shares = _sizes_and_shares(parts, whole.domain.size)
        attributes = tuple(list(self.domain.attributes)[axis] for axis in axes)
        return replace(
            self, sizes=sizes, shares=shares, whole=whole, parts=parts, attributes=attributes
        )

    def only(self, groups: Sequence[Any] | None) -> GroupTable:
        """The table of some of the groups, in the order in which they are named; None for all."""
        if groups is None:
            return self
        places = list(dict.fromkeys(self.place(key, "between") for key in groups))
        if len(places) < 2:
            remedy = f"For example between={self.labels[:2]}"
            raise ArgumentError("between", "must name two groups or more", show(groups), remedy)
        filled = [data for g in places if (data := self.parts[g]) is not None]
        whole, people = self.whole, sum(data.n for data in filled)
        if self.cells is not None:
            chosen = {self.keys[g] for g in places}
            whole = self.cells.data_of(np.array([key in chosen for key in self.cells.keys]))
        elif all(data.channel is whole.channel for data in filled):
            weights = sum(data.n * data.weights for data in filled) / max(people, 1)
            whole = replace(whole, n=people, weights=np.asarray(weights))
        else:
            whole = side_by_side(filled)
        return replace(
            self,
            keys=tuple(self.keys[g] for g in places),
            sizes=self.sizes[places],
            shares=self.shares[places],
            whole=whole,
            parts=tuple(self.parts[g] for g in places),
            of_groups=tuple(self.of_groups[g] for g in places),
            alone={i: self.alone[g] for i, g in enumerate(places) if g in self.alone},
        )

    def position(self, key: Any) -> int | None:
        """The position of a group, by its public values or their text; None without one."""
        values = key if isinstance(key, tuple) else (key,)
        if values in self.keys:
            return self.keys.index(values)
        labels = self.labels
        return labels.index(key) if isinstance(key, str) and labels.count(key) == 1 else None

    def named(self, g: int) -> str:
        """The group of people, for the title of its table, such as "ward north"."""
        from warner._core.table import as_text

        pairs = zip(self.names, self.keys[g], strict=True)
        return ", ".join(f"{name} {as_text(value)}" for name, value in pairs)

    def place(self, key: Any, name: str = "group") -> int:
        """The position of a group, which must be one."""
        if (position := self.position(key)) is not None:
            return position
        shown = "; ".join(self.labels[:8]) + ("; ..." if len(self.labels) > 8 else "")
        rule = f"must be one of the groups {shown}"
        remedy = meant(str(key), self.labels)
        if not remedy and name == "group":
            remedy = f"Choose the group first, then a value: result[{self.labels[0]!r}][value]"
        raise ArgumentError(name, rule, repr(key), remedy)


_MOST_WEIGHT = 2.0**52  # of all people, so that sums are exact in floats


@dataclass(frozen=True, eq=False)
class SurveyCells:
    """The people of a survey who are alike in their weight, cluster, stratum and group."""

    tallies: tuple[Tally, ...]  # of each mechanism, by these public columns alone
    mechanism: np.ndarray  # (m,) the number of the tally of each cell, ascending
    by: tuple[str, ...]  # the columns of groups
    keys: tuple[Key, ...]  # the group of each cell
    groups: tuple[Key, ...]  # the groups, each once, in order
    shares: np.ndarray  # (m, K) the unbiased estimates of the cells
    drawn: DrawnSample  # their weights, clusters and strata
    plausibility: Plausibility  # how plausible the reports of all people together are
    attributes: Sequence[str] | None  # the attributes that are estimated; None for all
    per_report: float  # the number of rows of the channel in which a report counts

    @classmethod
    def of(
        cls,
        tally: Any,
        survey: SurveyDesign,
        by: str | Sequence[str] | None,
        attributes: Sequence[str] | None,
    ) -> SurveyCells:
        """The cells of a tally by the public columns of a design, and by those of groups."""
        is_listed = isinstance(tally, list | tuple) and is_of_groups(tally)
        sums = by_mechanism(tally) if is_listed else [tally]
        if not isinstance(tally := sums[0], Tally):
            rule = "must be one tally by the public columns of the survey design"
            remedy = "Count the reports by them: mechanism.tally(reports, by={...})"
            raise ArgumentTypeError("tally", rule, kind(tally), remedy)
        for one in sums:
            survey.require_columns(one.names, "the tally")
        others = tuple(name for name in tally.names if name not in survey.columns)
        columns = others if by is None else (by,) if isinstance(by, str) else tuple(by)
        needed = list(dict.fromkeys([*columns, *survey.columns]))
        most = max(one.reports_per_person for one in sums)
        if most > 1 and survey.cluster is None:
            rule = "must be given, because some people sent several reports"
            got = f"up to {most} reports of one person"
            remedy = "Name a column that has one value in all reports of a person"
            raise ArgumentError("cluster", rule, got, remedy)
        used = [one for one in sums if one.n]
        if not used:
            raise EmptyError("tally", "has no reports", None, "Count at least one report")
        totals = [one.total() for one in used]
        wholes = [likelihood_data(total, attributes) for total in totals]
        whole = side_by_side(wholes)
        plausible = tested(totals, whole, "groups")
        if whole.channel.is_keyed:
            rule = "cannot be used where reports are keys with values"
            remedy = "Leave out weights, clusters and strata"
            raise ArgumentError("survey design", rule, survey.text, remedy)
        of_labels = whole.channel.is_on_paper or not whole.domain.dimension
        if len(used) > 1 and not (of_labels and len(whole.channel.groups()) == len(used)):
            rule = (
                "must have the same mechanism and the same epsilon if they are weighted together, "
                "unless each person answered all questions, with labels as answers"
            )
            got, remedy = f"tallies of {len(used)} mechanisms", "Estimate each tally by itself"
            raise MismatchError("tallies", rule, got, remedy)
        of_each = zip((one.by(*needed) for one in used), wholes, strict=True)
        parts = [_of_cells(by_cell, data, attributes) for by_cell, data in of_each]
        cells, *numbers = zip(*parts, strict=True)
        sizes, shares = map(np.concatenate, numbers)
        listed = list(chain.from_iterable(cells))
        values = {name: [key[needed.index(name)] for key in listed] for name in survey.columns}
        drawn = survey.sample(values, sizes)
        keys = tuple(tuple(key[: len(columns)]) for key in listed)
        names = tuple(f"{c} (public)" if c in RESERVED else c for c in columns)
        mechanism = np.repeat(np.arange(len(cells)), [len(one) for one in cells])
        groups = tuple(by_group([one.by(*columns) for one in cells])) if columns else ((),)
        per_report = float(whole.channel.rows_per_report)
        rest = shares, drawn, plausible, attributes, per_report
        return cls(tuple(cells), mechanism, names, keys, groups, *rest)

    def some(self, rows: np.ndarray) -> list[Tally]:
        """The tallies of the mechanisms that people of some cells used. Shapes: rows (m,)."""
        ends = np.cumsum([len(tally) for tally in self.tallies])[:-1]
        chosen = zip(self.tallies, np.split(rows, ends), strict=True)
        return [
            tally.only([key for key, is_in in zip(tally, of_tally, strict=True) if is_in])
            for tally, of_tally in chosen
            if of_tally.any()
        ]

    def data_of(self, rows: np.ndarray) -> LikelihoodData:
        """The weighted reports of the cells ``rows`` (m,), with the noise of the design."""
        from warner.estimators.survey_noise import SurveyNoise

        places = np.flatnonzero(rows)
        # Tallies count in whole numbers: the weights of all people are 2^52 or less together.
        sizes, weights = self.drawn.sizes[places], self.drawn.weights[places]
        most = _MOST_WEIGHT / max(1.0, float(self.per_report))
        counts = np.maximum(np.rint(weights * (most / float(sizes @ weights))), 1)
        parts, start = [], 0
        for tally in self.some(rows):
            times = counts[start : start + len(tally)].astype(np.int64)
            parts.append(likelihood_data(tally.times(times).total(), self.attributes))
            start += len(tally)
        data = side_by_side(parts, "people")
        unbiased = data.channel.invert(data.weights)
        of_rows = self.shares[places], self.mechanism[places]
        noise = SurveyNoise.of(self.drawn, places, unbiased, *of_rows)
        return replace(data, n=int(sizes.sum()), survey=noise)


def _of_cells(
    tally: Tally, whole: LikelihoodData, attributes: Sequence[str] | None
) -> tuple[Tally, np.ndarray, np.ndarray]:
    """The tally of the m groups with people, their numbers (m,) and unbiased estimates (m, K)."""
    sizes, scale, total = tally.sizes, whole.channel.rows_per_report, tally.total()
    if tally.rows is None and attributes is None and _rows_are_counts(total):
        pairs = zip(tally.counts, sizes.tolist(), strict=True)
        rows = np.stack([tally.kind.row_counts(counts, n) for counts, n in pairs], axis=1)
        weights = rows / np.maximum(sizes * scale, 1)
        shares = np.ascontiguousarray(whole.channel.invert(weights).T)
    else:
        parts = _parts(list(tally.values()), total, whole, attributes)
        sizes, shares = _sizes_and_shares(parts, whole.domain.size)
    filled = sizes > 0  # in others nobody was asked
    if not filled.all():
        tally = tally.only([key for key, is_in in zip(tally, filled, strict=True) if is_in])
    return tally, sizes[filled], shares[filled]


def label(key: Key) -> str:
    """The public values of a group as a text.

    >>> label(("north", 3))
    'north, 3'
    """
    from warner._core.table import as_text

    return ", ".join(
        as_text(value) if isinstance(value, str | int | float | None) else str(value)
        for value in key
    )


def _questions(attributes: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the questions that were chosen; () for all."""
    return (attributes,) if isinstance(attributes, str) else tuple(attributes or ())


def _tallies_of(groups: Any) -> tuple[list[list[Tally]], tuple[Key, ...]]:
    """The tallies of each group, one for each mechanism, and the keys as tuples of one length."""
    if isinstance(groups, list | tuple) and is_of_groups(groups):
        of_groups = by_group(by_mechanism(groups))
        return list(of_groups.values()), tuple(of_groups)
    if isinstance(groups, Tally) and not groups.columns:
        rule = "must be counted by public columns"
        remedy = "Count by group: mechanism.tally(reports, by={...})"
        raise ArgumentError("groups", rule, "a tally of all people together", remedy)
    if not isinstance(groups, Mapping | Tally):
        rule = "must be a tally by public columns, or a dict {public values: tally}"
        raise ArgumentTypeError("groups", rule, kind(groups))
    if not groups:
        raise EmptyError("groups", "must not be empty", None, "Pass at least one group")
    keys = tuple(key if isinstance(key, tuple) else (key,) for key in groups)
    if len({len(key) for key in keys}) > 1 or not keys[0]:
        rule = "must have keys with exactly one value for each public column"
        remedy = "For example {('north', 'f'): tally} for the columns region and sex"
        raise ArgumentError("groups", rule, "keys of several lengths", remedy)
    tallies = list(groups.values())
    if [(getattr(tally, "question", None),) for tally in tallies] == [*keys]:  # of Study.tally
        rule = "must be the tally of one question"
        got = f"the tallies of {len(tallies):,} question{'s' * (len(tallies) > 1)} in a dict"
        remedy = f"Pass the tally of one: tallies[{keys[0][0]!r}]"
        raise ArgumentTypeError("groups", rule, got, remedy)
    for tally in tallies:
        if isinstance(tally, Tally) and tally.columns:
            rule, got = "must hold tallies without groups", f"a tally by {', '.join(tally.names)}"
            raise ArgumentTypeError("groups", rule, got, "Use total() of this tally")
        require_tally(tally)
    first = tallies[0]
    require_same_origin([t.simulated for t in tallies], "groups")
    for key, tally in zip(keys, tallies, strict=True):
        if tally.header.get("domain") != first.header.get("domain"):
            rule = "must all be of one question, with the same values"
            got = f"other values in {label(key)} than in {label(keys[0])}"
            raise MismatchError("groups", rule, got, "Estimate each question by itself")
    if not isinstance(groups, Tally):  # groups of one tally are of different reports
        require_different(keys, tallies)
    return [[tally] for tally in tallies], keys


def _names_of(groups: Any, width: int, only: str | None) -> tuple[str, ...]:
    """The names of the public columns, apart from those of other columns of a table."""
    first = groups[0] if isinstance(groups, list | tuple) else groups
    names = tuple(map(str, getattr(first, "names", ())))
    if len(names) == width:
        return tuple(f"{name} (public)" if name in RESERVED else name for name in names)
    if isinstance(only, str) and only and only not in RESERVED and width == 1:
        return (only,)
    return ("group",) if width == 1 else tuple(f"column {i + 1}" for i in range(width))


def _total(tallies: Sequence[Tally]) -> Tally:
    """The sum of tallies of one mechanism."""
    groups = Groups({"group": None}, [(i,) for i in range(len(tallies))], np.arange(len(tallies)))
    return Tally.side_by_side(tallies, groups).total()


def _parts(
    tallies: Sequence[Tally],
    total: Tally,
    whole: LikelihoodData,
    attributes: Sequence[str] | None,
) -> list[LikelihoodData | None]:
    """The data of each group; groups share one channel where their rows are the same."""
    most = total.reports_per_person
    parts: list[LikelihoodData | None] = []
    channel, scale = whole.channel, whole.channel.rows_per_report
    shared = total.rows is None and attributes is None and _rows_are_counts(total)
    for tally in tallies:
        if tally.n == 0:
            parts.append(None)
        elif shared and tally.is_consistent:
            weights = tally.row_counts / (tally.n * scale)
            parts.append(
                LikelihoodData(channel, weights, tally.n, whole.domain, tally.simulated, most)
            )
        else:
            data = None
            with contextlib.suppress(EmptyError):  # nobody of this group was asked
                data = likelihood_data(tally.per_person(most), attributes)
            parts.append(data)
    return parts


def _on_question(tallies: Sequence[Tally], name: str) -> LikelihoodData | None:
    """The data of one group on one question alone; None if nobody was asked it."""
    data = []
    for tally in tallies:
        with contextlib.suppress(EmptyError):
            data.append(likelihood_data(tally, [name]))
    return side_by_side(data) if data else None


def _rows_are_counts(total: Tally) -> bool:
    """Whether a channel's rows have the same frequencies as the tally's own rows."""
    counts = from_header(total.header).channel_for(total)[1]
    return counts.shape == total.row_counts.shape and bool((counts == total.row_counts).all())


def _sizes_and_shares(
    parts: Sequence[LikelihoodData | None], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """The people (G,) of groups, and their unbiased estimates (G, K), 0 without reports."""
    # Of blocks of questions, the people who were asked some of these.
    sizes = np.array([0 if data is None else data.n for data in parts], dtype=np.int64)
    shares = np.zeros((len(parts), size))
    filled = np.flatnonzero(sizes)
    shares[filled] = _inverted([parts[g] for g in filled.tolist()])
    return sizes, shares


def _inverted(parts: Sequence[LikelihoodData | None]) -> np.ndarray:
    """The unbiased estimates (G, K) of groups: one product where they share a channel."""
    data = [group for group in parts if group is not None]
    if any(map(_tells_questions_alone, {id(group.channel): group for group in data}.values())):
        return np.full((len(data), data[0].domain.size), np.nan)
    if all(group.channel is data[0].channel for group in data):
        together = np.stack([group.weights for group in data], axis=1)
        return np.ascontiguousarray(data[0].channel.invert(together).T)
    return np.stack([group.channel.invert(group.weights) for group in data])


def _tells_questions_alone(data: LikelihoodData) -> bool:
    """Whether reports tell single questions apart, but not all combinations of answers."""
    is_of_several = bool(data.domain.attributes) and data.on_attributes([0]) is not None
    return is_of_several and not data.channel.has_inverse()
