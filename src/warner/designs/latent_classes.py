r"""Groups of people whose reports depend on hidden classes, such as honest people and cheaters.

Each person is of one of C classes, which say how people answer a card. The card of group g has its
own chances, and whoever is asked was put in a group by lot. So the shares theta of the classes are
those of both groups, and the reports of a group have the law

    Pr(report y | group g) = sum_c A_g[y, c] theta_c,   theta >= 0,   sum_c theta_c = 1

The matrices of the groups stand one below the other: what one group leaves undetermined, all groups
together may determine. A share that is asked for sums some theta, among all people or among some
classes:

    v = sum_{c in S} theta_c / sum_{c in B} theta_c

Its interval is that of :mod:`warner.results.likelihood_limits`, which holds its level also where
nobody is of some classes.

Source: METHODS 10.11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from warner._core.checks import choice, confidence_level, integer, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    IdentifiabilityError,
    MismatchError,
)
from warner._core.extras import scipy
from warner._core.names import Hinting
from warner._core.references import bibtex_of
from warner._core.table import Column, Table, Tabular
from warner._core.text import look
from warner.channels import DenseChannel, FloatArray, IntArray, stacked
from warner.domains import Categorical
from warner.estimators.base import LikelihoodData
from warner.estimators.plausibility import DOUBTFUL_ON_PAPER, IMPOSSIBLE, how_many_surveys
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.results.intervals import interval_column, normal_quantile
from warner.results.likelihood_limits import RANK, FitTest, Profile, basis_of

_ASKED = (
    "Are the groups in the order that the design states, and does each count stand at the right "
    "word of the card?"
)


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
        steps = np.concatenate([group.matrix @ basis_of(len(classes)) for group in self.groups])
        self.rank = int(np.linalg.matrix_rank(steps, RANK))
        for name, share in self.shares.items():
            # A share is determined where its sums are, which are linear in the laws of the groups.
            both = [self.counted(share.classes), self.counted(share.among or self.classes)]
            along = np.vstack([steps, np.array(both) @ basis_of(len(classes))])
            if np.linalg.matrix_rank(along, RANK) > self.rank:
                rule = f"do not determine the share {show(name)}"
                remedy = "Use different chances in the groups"
                raise IdentifiabilityError("chances of the groups", rule, None, remedy)

    def bibtex(self) -> str:
        """The sources of the design, and the package itself, as BibTeX entries."""
        return bibtex_of(self.references)

    def counted(self, names: Sequence[str]) -> FloatArray:
        """1 for each class that is named, else 0, (C,)."""
        return np.array([float(name in names) for name in self.classes])

    def estimate(
        self, counts: Sequence[Mapping[Any, int] | Tally], *, trusted: bool = False
    ) -> ClassShares:
        """The shares, from the counts of the reports of each group.

        Args:
            counts: for each group, in the order of the design, ``{word: number of people}``, or the
                tally of a mechanism that is the card of the group.
            trusted: whether to take counts that no people make by chance.

        Returns:
            ClassShares: ``result[name]`` is a share, a float with ``error`` and ``interval()``.

        Raises:
            ArgumentError: another number of groups, or words that are not on the card.
            EmptyError: a group without people.
            MismatchError: counts that no people make by chance, or a tally of another card.
        """
        if isinstance(counts, Mapping | str) or not isinstance(counts, Sequence):
            rule, remedy = "must be a list with the counts of each group", _example(self)
            raise ArgumentTypeError("counts", rule, kind(counts), remedy)
        if len(counts) != len(self.groups):
            rule = f"must have the counts of {len(self.groups)} groups"
            raise ArgumentError("counts", rule, str(len(counts)), _example(self))
        each = [
            _of_tally(f"tally of group {i}", one, group)
            if isinstance(one, Tally)
            else counts_in_words(f"counts of group {i}", one, group.words)
            for i, (one, group) in enumerate(zip(counts, self.groups, strict=True), 1)
        ]
        for i, of_group in enumerate(each, 1):
            if not of_group.sum():
                rule = "has no people, but this design needs people in every group"
                raise EmptyError(f"group {i}", rule, None, "Add the counts of this group")
        people = [round(float(of_group.sum())) for of_group in each]
        channel = stacked([DenseChannel(group.matrix) for group in self.groups], people)
        weights = channel.stack([c / n for c, n in zip(each, people, strict=True)])
        data = LikelihoodData(channel, weights, sum(people), Categorical(self.classes))
        result = ClassShares(self, Profile(data))
        if result.p_value < IMPOSSIBLE and not trusted:
            rule = "cannot be explained by chance, whatever people answered"
            remedy = f"{_ASKED} To use the counts anyway, pass trusted=True or --allow-implausible"
            raise MismatchError("counts", rule, None, remedy)
        return result

    def said(self, words: Sequence[Any], group: Sequence[Any]) -> SaidInGroups:
        """What each person said, and in which group: for :func:`warner.regress`.

        Args:
            words: (n,) the words of the card; case, and spaces around, do not matter.
            group: (n,) 1 for people of the first group of the design, 2 for those of the second.

        Raises:
            ArgumentError: other words or groups, or another number of them.

        >>> from warner.designs import Cheating
        >>> said = Cheating("1/4", "3/4").said(["yes", "no", "No"], [1, 1, 2])
        >>> said.counts()
        [{'no': 1, 'yes': 1}, {'no': 1, 'yes': 0}]
        """
        codes = {str(g): g - 1 for g in range(1, len(self.groups) + 1)}
        texts = [str(g).removesuffix(".0") for g in group]
        if len(texts) != len(words):
            rule = f"must have one group number for each of the {len(words)} people"
            got = str(len(texts))
            raise ArgumentError("group", rule, got)
        if unread := next((text for text in texts if text not in codes), None):
            rule = f"must be the number of a group in {self!r}: {' or '.join(codes)}"
            raise ArgumentError("group", rule, show(unread))
        places = [codes[text] for text in texts]
        by_look = [{look(w): y for y, w in enumerate(law.words)} for law in self.groups]
        said = [by_look[g].get(look(str(word))) for g, word in zip(places, words, strict=True)]
        if None in said:
            on_card = map(show, self.groups[places[said.index(None)]].words)
            rule = f"must all be words of the card: {', '.join(on_card)}"
            got = f"other words in {said.count(None)} of {len(said)} rows"
            raise ArgumentError("words", rule, got)
        return SaidInGroups(self, np.array(places, dtype=np.int64), np.array(said, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class SaidInGroups:
    """What each of n people said, in the groups of a design.

    Attributes:
        design: the design.
        group: (n,) the number of the group of each person, from 0.
        word: (n,) the place of the word among those of the group.
    """

    design: LatentClasses
    group: IntArray
    word: IntArray

    def __len__(self) -> int:
        return len(self.word)

    def shares(self) -> ClassShares:
        """The shares of all people together, also from counts that no people make by chance."""
        return self.design.estimate(self.counts(), trusted=True)

    def counts(self) -> list[dict[str, int]]:
        """How many people of each group said each word."""
        return [
            {w: int((self.word[self.group == g] == y).sum()) for y, w in enumerate(law.words)}
            for g, law in enumerate(self.design.groups)
        ]


def _example(design: LatentClasses) -> str:
    """A call with counts of the right form."""
    one = ", ".join(f'"{word}": {10 * (i + 1)}' for i, word in enumerate(design.groups[0].words))
    return f"Write estimate([{{{one}}}, ...])"


def counts_in_words(name: str, counts: Any, words: Sequence[str]) -> FloatArray:
    """The counts (m,) of a mapping from words to numbers of people, which must have each word."""
    if not isinstance(counts, Mapping):
        example = ", ".join(f"'{word}': 40" for word in words[:2])
        remedy = f"Write {{{example}, ...}}" if len(words) > 2 else f"Write {{{example}}}"
        raise ArgumentTypeError(
            name, "must be a dict {word: number of people}", kind(counts), remedy
        )
    listed = ", ".join(map(show, words))
    people: dict[str, int] = {}
    for given, number in counts.items():
        word = str(given).strip().lower()
        if word not in words or word in people:
            rule = f"must have each of the words {listed} once, and no other word"
            raise ArgumentError(name, rule, show(str(given)))
        people[word] = integer(f"{name}, {show(word)}", number, 0)
    missing = [word for word in words if word not in people]
    if missing:
        remedy = f"Write 0 where nobody said {show(missing[0])}"
        rule = f"must also have a count for {', '.join(map(show, missing))}"
        raise ArgumentError(name, rule, None, remedy)
    return np.array([float(people[word]) for word in words])


def _of_tally(name: str, tally: Tally, group: GroupLaw) -> FloatArray:
    """The counts (m,) of a tally, refused where its mechanism is not the card of the group."""
    mechanism = from_header(tally.header)
    words = mechanism.report_words
    if sorted(words) == sorted(group.words):
        order = [words.index(word) for word in group.words]
        columns = set(zip(*group.table, strict=True))
        if {tuple(column) for column in mechanism.probabilities()[order].T} <= columns:
            return np.asarray(mechanism.channel_for(tally, None)[1][order], dtype=np.float64)
    rule = "must be a tally of reports that were made with the card of this group"
    raise MismatchError(name, rule, repr(mechanism), "Are the tallies in the order of the groups?")


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

    def __getnewargs__(self) -> Any:
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
        profile: the likelihood: ``profile.shares`` are the shares of the classes, (C,). Where the
            reports do not determine them one by one, they are some that are most likely.
    """

    design: LatentClasses
    profile: Profile = field(repr=False)

    def __iter__(self) -> Any:
        return iter(self.design.shares)

    def __getitem__(self, name: str) -> EstimatedShare:
        of, among = self._sums(name)
        profile, base = self.profile, float(among @ self.profile.shares)
        value = error = np.nan
        if base > 0:
            value = float(of @ profile.shares) / base
            each = profile.linear(profile.shares, of - value * among)[1]
            error = float(np.sqrt((each / np.maximum(profile.people - 1, 1)).sum())) / base
        return EstimatedShare(value, error, partial(self._interval, name))

    def _sums(self, name: str) -> tuple[FloatArray, FloatArray]:
        """1 for each class that a share counts, and for each that it is a share of, (C,)."""
        share = self.design.shares[choice("share", name, tuple(self.design.shares))]
        among = share.among or self.design.classes
        return self.design.counted(share.classes), self.design.counted(among)

    def _interval(self, name: str, level: float) -> FloatArray:
        return self.profile.limits(*self._sums(name), normal_quantile(level) ** 2, level)

    def accepts(self, name: str, share: float, level: float = 0.95) -> bool:
        """Whether the likelihood-ratio test of "the true share is this" does not reject.

        Args:
            name: of the share.
            share: the number, in [0, 1].
            level: 1 minus the probability of rejecting a true share.
        """
        of, among = self._sums(name)
        condition = of - share * among
        lacking = self.profile.lacking(condition)
        usual = normal_quantile(level) ** 2
        return lacking <= usual or lacking <= self.profile.quantile(condition, level)

    @property
    def n(self) -> int:
        """The number of people in all groups."""
        return self.profile.data.n

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood in nats, without multinomial constants."""
        return self.profile.best

    @property
    def p_value(self) -> float:
        """A bound of the probability that counts of this design are as far from all that it makes.

        It is 1 where the design makes exactly these frequencies, and for a design that is tested by
        ``fit_test``.
        """
        if self.fit_test is not None:
            return 1.0
        return float(scipy.special.chdtrc(self.design.rank, self.profile.surplus))

    @property
    def doubt(self) -> str:
        """Why the counts are doubtful, for readers; "" where they are not."""
        if self.p_value >= DOUBTFUL_ON_PAPER:
            return ""
        often = f"{how_many_surveys(self.p_value)} with this design gives such counts"
        return f"These counts are doubtful: {often}. {_ASKED}"

    @property
    def fit_test(self) -> FitTest | None:
        """The test of the design; None where it leaves all frequencies free.

        Of the extended crosswise design it asks whether people follow the instructions.
        """
        return self.profile.fit_test

    @property
    def about_test(self) -> str:
        """The test of the design in words; "" where there is none."""
        return "" if self.fit_test is None else self.fit_test.text

    @property
    def _groups(self) -> list[int]:
        """The number of people in each group."""
        return [round(n) for n in self.profile.people.tolist()]

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
        notes = [self.doubt, self.about_test, self.design.note]
        people = " and ".join(f"{n:,}" for n in self._groups)
        title = f"Design {self.design!r}, with groups of {people} people"
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
            "groups": self._groups,
            "log_likelihood": self.log_likelihood,
            "fit_test": None if test is None else test._asdict(),
            **({"doubt": self.doubt} if self.doubt else {}),
            "interval": {"kind": "likelihood", "level": confidence_level(level)},
            "shares": self.rows(level),
        }
