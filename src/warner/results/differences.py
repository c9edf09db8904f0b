"""Differences between groups: shares, means and quantiles, with intervals and tests.

Groups are of different people, so their estimates are independent and variances add:

    d = f(T_a) - f(T_b),   Var d = Var f(T_a) + Var f(T_b)

Each variance is that of the group's own mechanism, at its own number of reports and at its own
shares. Estimates are the unbiased ones, not pooled: a difference of pooled estimates is drawn
towards 0, and its interval would not hold for every pair.

Of numbers in bands the unbiased estimates say next to nothing. There a difference is that of two
numbers as tables of each group show them, and its interval follows from theirs, so that it never
contradicts them:

    d -+ (hypot(a - a_low, b_high - b), hypot(a_high - a, b - b_low))

For means of numbers in bins, a and b are the middles of the intervals here, which have no bias.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any, overload

import numpy as np

from warner._core.checks import (
    choice,
    confidence_level,
    integer,
    kind,
    probability,
    real,
    show,
    unknown,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    SmallGroupWarning,
    warn,
)
from warner._core.names import explained
from warner._core.progress import steps
from warner._core.survey_design import SurveyDesign
from warner._core.table import MOST, Column, Table, Tabular, as_text
from warner._core.text import (
    decimals_beside_0,
    decimals_of_number,
    decimals_of_percent,
    meant,
    outwards,
    series,
    visible,
)
from warner.domains import Categorical, Domain, Items
from warner.reports.tally import Tally, question_of
from warner.results.estimate import estimate, group_table
from warner.results.from_tally import (
    GroupTable,
    is_of_groups,
    label,
    side_by_side,
    within_values,
)
from warner.results.intervals import STANDARD_ERROR, TARGETS, BoundedNumber
from warner.results.named_summaries import (
    SINGLE_CODES,
    Named,
    bands,
    bands_of,
    has_bands,
    is_by_question,
    may_be_codes,
    parse,
    summary_rows,
)
from warner.results.recommend import tells_numbers_apart
from warner.results.samples import (
    LEAST_REPORTS,
    REST,
    Compared,
    Sample,
    SeveralGroups,
    combined,
    of_answered,
    of_means,
    of_quantile,
    of_shares,
)
from warner.results.shown import items_of, questions_of
from warner.results.solution import Solution
from warner.results.summaries import Quantile, cumulative_on
from warner.results.tables import (
    FOLLOWED,
    PEOPLE,
    has_paper,
    in_words,
    index_of_yes,
    rows as rows_of_shares,
)
from warner.results.wald_tests import (
    WaldTest,
    equal_means,
    name_of_mean,
    no_difference,
    no_difference_of_answered,
    numbers_of_values,
    shown_p,
)

_SAME_P = 1e-9  # relative, of two values, whose p-values differ by rounding alone
_SUMMARIES = "mean,median,quantile:0.25,quantile:0.75"  # compared with the bands of numbers
_ROUNDS = (
    "How many people kept their answer is not known. The first interval is right if a person's two "
    "answers have nothing to do with each other, and too long if the two answers are often the "
    'same. The interval "if nobody changed" is right only if almost nobody changed the answer. If '
    "many people changed to the opposite answer, both intervals are too short."
)
_APART = (
    "The column p (Holm) is corrected for the number of comparisons: separately for means, for "
    "quantiles and for bands of numbers."
)
_TWO_ERRORS = (
    " The p in the table is another, because there each group has an error of its own. The test "
    "takes the error from the shares that both groups have together."
)
PAIRS = "pairs"  # the reference that stands for every two groups
_GROUP = "group"  # the column of groups that have names only
_SHOWN = 10  # names of groups in a sentence


class Difference(BoundedNumber):
    """One difference: a float with the interval at the level of all, and its p-values."""

    _row: Mapping[str, Any]
    p: float
    p_holm: float

    def __new__(cls, row: Mapping[str, Any]) -> Difference:
        self = super().__new__(cls, row["difference"])
        self._row, self.p, self.p_holm = row, row["p"], row["p_holm"]
        return self

    def __getnewargs__(self) -> Any:
        return (self._row,)

    def interval(self) -> np.ndarray:
        """The interval (2,), at the level of the differences."""
        return np.array([self._row["low"], self._row["high"]])

    def __repr__(self) -> str:
        return f"{float(self):.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, eq=False)
class Differences(Tabular):
    """Differences of shares, means or quantiles between groups.

    Made by :func:`compare_groups`. The interval of a row holds for that row alone. ``p`` is the
    p-value of that row alone, and ``p_holm`` is corrected by Holm's method for all comparisons of
    its kind, which are means, quantiles or shares: the probability that any row of one kind with a
    true difference of 0 has ``p_holm`` below a level is at most that level. Where there are two
    values, both rows of their shares are one comparison.

    Attributes:
        of: ``"shares"``, ``"numbers"``, ``"mean"`` or the quantile's q.
        level: the coverage of each interval.
        target: ``"population"`` or ``"respondents"``.
        test: the test that all groups that are compared have the same mean, where means are
            compared, and else the same shares; None for several questions in one table.
        left_out: groups of fewer than two reports, of which nothing is compared.
        doubt: why the reports are doubtful, of all groups or of some; "" where they are not.
        hint: what else the counts of a card may mean; "" where that is plain, or doubtful anyway.
        on_paper: whether some of the people randomised their answers themselves.
        simulated: whether the reports were made with a generator that can be repeated.
        drawn: how people were drawn, such as "weighted by w"; "" where they were drawn one by one.

    >>> from warner import Categorical, RandomizedResponse, compare_groups
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> north = coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 2100))
    >>> south = coin.tally(coin.randomize(["yes"] * 2400 + ["no"] * 600))
    >>> found = compare_groups({"north": north, "south": south}, reference="north")
    >>> found.rows()[1]["value"], bool(found.rows()[1]["difference"] > 0.3)
    ('yes', True)
    >>> found.test.degrees, found.test.p_value < 1e-6
    (1, True)
    """

    of: str | float
    level: float
    target: str
    test: WaldTest | None
    domain: Domain
    _rows: tuple[dict[str, Any], ...]
    _way: str
    left_out: tuple[str, ...] = ()
    simulated: bool = False
    drawn: str = ""
    noun: str = "value"  # of a row; of several questions in one table "question" or "item"
    chosen: str = ""  # the groups that were named, and the rows that :meth:`most_common` kept
    tells_codes: bool = False  # whether answers may be codes, of which reports tell each apart
    question: str = ""  # the name of the one that was chosen among several; "" for the only one
    doubt: str = ""
    hint: str = ""
    on_paper: bool = False
    by: tuple[str, ...] = ()  # the public columns of the groups
    answered: bool = False  # whether shares are of those who answered

    def __repr__(self) -> str:
        p = "" if self.test is None else f", p={self.test.p_value:.2g}"
        return f"Differences(of={self.of!r}, rows={len(self._rows)}{p})"

    def rows(self) -> list[dict[str, Any]]:
        """The differences as plain data.

        Returns:
            One dict per pair of groups and quantity: ``"group"``, ``"reference"``, ``"value"``
            (of shares; else ``"mean"``, ``"mean of those who answered"`` where nonresponse is a
            value, the quantile or the band), ``"is_share"``, ``"estimate"`` and
            ``"reference_estimate"``, ``"difference"``, ``"low"``, ``"high"``, ``"p"`` and
            ``"p_holm"``. Where intervals are made of it, ``"error"`` is the standard error of the
            difference.
        """
        return [dict(row) for row in self._rows]

    def __getitem__(self, value: Any) -> Difference:
        """The difference of one value between the two groups, a float with its interval.

        Raises:
            ArgumentError: no row has this value, or several pairs of groups have one.

        >>> from warner import Categorical, RandomizedResponse, compare_groups, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
        >>> north = estimate(coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 2100)))
        >>> south = estimate(coin.tally(coin.randomize(["yes"] * 2400 + ["no"] * 600)))
        >>> change = compare_groups(south, north)["yes"]
        >>> change.low < change < change.high, change.p_holm < 0.01
        (True, True)
        """
        rows = [row for row in self._rows if as_text(row["value"]) == as_text(value)]
        if len(rows) == 1:
            return Difference(rows[0])
        if rows:
            rule, got = "has several pairs of groups", f"{len(rows):,} pairs"
            raise ArgumentError("differences", rule, got, "Use rows() or to_frame()")
        names = list(dict.fromkeys(as_text(row["value"]) for row in self._rows))
        remedy = meant(value, names) if isinstance(value, str) else None
        rule = f"must be one of the {len(names):,} values"
        remedy = remedy or "To see them all, use rows()"
        raise ArgumentError("value", rule, show(value), remedy)

    def most_common(self, top: int) -> Differences:
        """The differences of the values that are most common in any of the groups.

        Of hundreds of values, such as codes, most are rare in all groups. Every ``p_holm`` stays
        corrected for the comparisons of all values.

        Args:
            top: how many values are kept. Means and quantiles are all kept.

        Returns:
            Differences, with the rows of these values in the order of the values.

        Raises:
            ArgumentError: ``top`` is below 1.

        >>> from warner import Categorical, RandomizedResponse, compare_groups
        >>> codes = RandomizedResponse(Categorical(["7", "8", "9"]), 3.0)
        >>> counted = codes.tally(codes.randomize(["9"] * 900 + ["8"] * 100))
        >>> weeks = {"first": counted, "second": codes.tally(codes.randomize(["9"] * 800))}
        >>> differences = compare_groups(weeks, reference="first")
        >>> [row["value"] for row in differences.most_common(1).rows()]
        ['9']
        """
        most_shown, size = integer("top", top, 1), self.domain.size
        if self.of != "shares" or size <= most_shown:
            return self
        shares: dict[str, float] = {}
        for row in self._rows:
            value, share = as_text(row["value"]), max(row["estimate"], row["reference_estimate"])
            shares[value] = max(share, shares.get(value, share))
        common = sorted(shares, key=lambda value: -shares[value])[:most_shown]
        rows = tuple(row for row in self._rows if as_text(row["value"]) in common)
        few = f"{most_shown:,} {self.noun}s" if most_shown > 1 else self.noun
        text = (
            f"Of {size:,} {self.noun}s, the table shows only the {few} with the largest share in "
            f"any group. The column p (Holm) is corrected for the comparisons of all {size:,} "
            f"{self.noun}s."
        )
        return replace(self, _rows=rows, chosen=f"{self.chosen} {text}".lstrip())

    def table(self) -> Table:
        """The differences as a table: the group minus the reference."""
        # The shares of groups stand in other tables, inside their bounds and with less error.
        points, share = {
            "shares": ("points", "data"),
            "numbers": ("points", "share"),  # of rows that are shares
        }.get(str(self.of), ("number", "number"))
        interval = Column("interval", f"{100 * self.level:.4g} % interval", points)
        # Of numbers and shares together the errors have different units.
        has_errors = self.of != "numbers" and self._rows and "error" in self._rows[0]
        of_rounds = self._rows and "low_if_kept" in self._rows[0]
        ends = ("low_if_kept", "high_if_kept")
        alike = [Column("alike", "if nobody changed", points, ends=ends)] if of_rounds else []
        pairs = {(row["group"], row["reference"]) for row in self._rows}
        references = {row["reference"] for row in self._rows}
        # What all rows share stands in the title, so that they have room for both p-values.
        columns = [
            *([Column("group")] if len(pairs) > 1 else []),
            *([Column("reference")] if len(references) > 1 else []),
            Column("value", self.noun),
            Column("estimate", unit=share),
            Column("reference_estimate", "of reference", share, priority=1),
            Column("difference", unit=points),
            *([STANDARD_ERROR] if has_errors else []),
            replace(interval, ends=("low", "high")),
            *alike,
            # Whoever reads one p-value of many rows has to read the corrected one.
            Column("p", unit="probability", priority=2),
            Column("p_holm", "p (Holm)", "probability"),
        ]
        rows: Sequence[dict[str, Any]] = self._rows
        if self.of != "shares":  # numbers have as many digits as their interval warrants
            figures = ("estimate", "reference_estimate", "difference", "interval")
            texts = {key: f"{key} in words" for key in figures}
            columns = [replace(c, shown=texts.get(c.key, "")) for c in columns]
            columns.append(Column("is_share", unit="data"))
            alike_rows: dict[Any, list[dict[str, Any]]] = {}
            for row in rows:
                alike_rows.setdefault(row["value"], []).append(row)
            decimals = {value: decimals_of_differences(r) for value, r in alike_rows.items()}
            written = [figures_of_difference(row, decimals[row["value"]]) for row in rows]
            rows = [
                row | dict(zip(texts.values(), each, strict=True))
                for row, each in zip(rows, written, strict=True)
            ]
        notes = [
            self.chosen,
            _APART if self.of == "numbers" else "",
            SINGLE_CODES if self.of == "numbers" and self.tells_codes else "",
            _ROUNDS if of_rounds else "",
            self._about_bounds,
            self._about_left_out,
            self.about_test,
            # Else they are for the population, as of most tables in which differences stand.
            f"The intervals and p are for {PEOPLE[self.target]}." * (self.target == "respondents"),
            f"WARNING: {self.doubt}" if self.doubt else self.hint,
            FOLLOWED if self.on_paper else "",
        ]
        by = "" if self.by in ((), (_GROUP,)) else f" by {', '.join(map(visible, self.by))}"
        if len(pairs) == 1:
            title = f"The difference {in_words(*pairs.pop())}{by}"
        elif len(references) == 1:
            title = f"Each group{by} minus {visible(references.pop())}"
        else:
            title = f"The group{by} minus the reference"
        title += self.whose
        if self.question:
            title = f"{self.question}: {title[0].lower()}{title[1:]}"
        title += ", of simulated reports" * self.simulated + f", {self.drawn}" * bool(self.drawn)
        test = self.test if self.about_test else None
        summary = [] if test is None else [(f"Test whether {test.hypothesis}", test.law)]
        return Table(columns, rows, notes, title, self.simulated, self._explained, summary)

    @property
    def whose(self) -> str:
        """Whose shares are compared, where they are not of all people."""
        return " among those who answered" if self.answered else ""

    @property
    def _explained(self) -> list[str]:
        """How the numbers were computed, for readers who ask."""
        made = _INTERVALS[self._way]
        if self.drawn and self._way == "wald":
            made = "from weighted estimates and the sum of their variances under the survey design"
        if self.answered:
            made = (
                "from ratios of unbiased estimates, whose variances are approximate (of first "
                "order)"
            )
        return [
            f"Each difference and its interval: {made}.",
            f"Column p tests only the difference in its row, {_P_VALUES[self._way]}. Column p "
            "(Holm) is corrected by Holm's method for the number of comparisons. Two rows that say "
            "the same about two answers, such as yes and no, are one comparison.",
            *([] if self.test is None or not self.about_test else [self._test_explained]),
        ]

    @property
    def _test_explained(self) -> str:
        if self._way == "bands" and self.of != "shares":
            return (
                "The test of all groups uses the interval of each group's mean: its middle as the "
                "mean, and its width for the error."
            )
        return "" if self.test is None else self.test.explained

    @property
    def _about_bounds(self) -> str:
        """What differences of shares are of, where a share is beyond its bounds."""
        if self.of != "shares" or self.answered:
            return ""
        ends = [row[key] for row in self._rows for key in ("estimate", "reference_estimate")]
        beyond = min(ends, default=0.0) < 0 or max(ends, default=0.0) > 1
        return _BEYOND if beyond else ""

    @property
    def about_test(self) -> str:
        """The test in words; of several questions, which answers stand in the table.

        "" of quantiles, which can be the same where shares are not, and of the means of two groups,
        whose row has the same p.
        """
        if self.test is not None:
            is_of_row = self.test.degrees == 1  # and the row has its own p
            if self.of == "shares":
                is_same = {shown_p(row["p"]) for row in self._rows} <= {shown_p(self.test.p_value)}
                return f"{self.test.text}{_TWO_ERRORS * (is_of_row and not is_same)}"
            return self.test.text if self.of in ("mean", "numbers") and not is_of_row else ""
        if self.noun == "value":
            return ""
        corrected = (
            "The column p (Holm) is corrected for the comparisons of all "
            f"{self.domain.size} {self.noun}s."
        )
        if self.noun == "item":
            return corrected
        return (
            'For a question with two answers, the table shows only "yes", or the last answer if '
            f'there is no "yes". {corrected}'
        )

    @property
    def _about_left_out(self) -> str:
        if not self.left_out:
            return ""
        more = ", ..." if len(self.left_out) > _SHOWN else ""
        names = ", ".join(self.left_out[:_SHOWN])
        return f"Left out, because they have fewer than 2 reports: {names}{more}."

    def _repr_html_(self) -> str:
        table = self.table()
        if len(table) > MOST:
            rows = sorted(table.rows, key=lambda row: row["p"])[:MOST]
            count = f"The {MOST} of {len(table):,} rows with the smallest p are shown."
            table = replace(table, rows=rows, notes=[count, *table.notes])
        return table.html()

    @explained
    def plot(
        self,
        path: str | None = None,
        top: int | None = None,
        title: str | None = None,
        largest_first: bool = True,
        labels: Sequence[str] | None = None,
        unit: str | None = None,
        width: float | None = None,
    ) -> Any:
        """A forest plot: each difference as a dot with its interval, beside a line at 0.

        Each row has its own interval. A dot is filled where ``p_holm`` is below 1
        less the level. There is a panel for each value or number; of two values "yes", or else the
        last, has one.

        Args:
            path: the file to save the chart to (.png, .svg, .pdf, .html or .json); None saves no
                file.
            top: how many of the largest differences a panel has, 60 where there is none.
            title: the title, such as the text of the question; None for the question's name, if
                several were asked.
            largest_first: whether the largest difference comes first; else groups keep their order.
            labels: (K,) the texts of the values that people read, in place of the values.
            unit: what numbers count, such as "minutes", for the axes of their differences.
            width: of each panel in pixels, without the labels beside it; None for 460.

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: ``top`` is below 1, another number of labels, or the path has another
                suffix.
            FileError: the file cannot be written.
            MissingExtraError: the extra 'plot' is not installed.
        """
        from warner.results.charts_of_groups import forest
        from warner.results.drawing import finished

        picture = forest(self, top, title, largest_first, labels, unit)
        return finished(picture, lambda: [self.table()], path, width)

    @property
    def text(self) -> str:
        """The differences in plain words, a sentence each, and the test of all."""
        lines = [sentence(row, self.level, whose=self.whose) for row in self._rows]
        if self.left_out:
            lines.append(self._about_left_out)
        if self.simulated:
            lines.append("The reports are simulated.")
        return "\n".join(filter(None, [*lines, self.about_test, self.doubt, self.hint]))

    def to_json(self) -> dict[str, Any]:
        """The differences as JSON data."""
        return {
            "format": "warner-differences",
            "schema": 1,
            "of": self.of,
            "level": self.level,
            "target": self.target,
            **({"simulated": True} if self.simulated else {}),
            **({"answered": True} if self.answered else {}),
            "interval": _INTERVALS[self._way],
            "correction": "holm",
            "left_out": list(self.left_out),
            **({"doubt": self.doubt} if self.doubt else {}),
            "differences": self.rows(),
            "test": None if self.test is None else self.test.to_json(),
            "text": self.text.split("\n"),
        }


class DifferencesWithin(dict[Any, Differences], Tabular):
    """Differences of other groups for each value of some public columns, which are its keys.

    Made by :func:`compare_groups` with ``within=``. As a table it has the rows of all values. Each
    ``p_holm`` is corrected for the comparisons of its own value alone.
    """

    def __init__(self, columns: Sequence[str], results: Mapping[Any, Differences]) -> None:
        super().__init__(results)
        taken = next(iter(results.values())).rows()[0]
        self.columns = [f"{name} (public)" if name in taken else name for name in columns]

    def rows(self) -> list[dict[str, Any]]:
        """Those of :meth:`Differences.rows`, each with the values of the columns before them."""
        values = [key if len(self.columns) > 1 else (key,) for key in self]
        return [
            dict(zip(self.columns, of_one, strict=True)) | row
            for of_one, result in zip(values, self.values(), strict=True)
            for row in result.rows()
        ]

    def table(self) -> Table:
        """The differences as one table, with the test and the warnings of each value below it."""
        first, rows = next(iter(self.values())), tuple(self.rows())
        table = replace(first, _rows=rows, test=None, left_out=(), doubt="", hint="").table()
        notes = dict.fromkeys(table.notes)
        for key, result in self.items():
            of_one = label(key if len(self.columns) > 1 else (key,))
            for note in result.table().notes:
                notes[note if note in notes else f"{visible(of_one)}: {note}"] = None
        columns = (*map(Column, self.columns), *table.columns)
        title = f"{table.title}, within each {' and '.join(map(visible, self.columns))}"
        return replace(table, columns=columns, notes=[*notes], title=title)


_INTERVALS = {
    "bands": "the estimates and the intervals of both groups, combined (Zou and Donner 2008)",
    "wald": "from unbiased estimates and the sum of their exact variances",
    "quantile": "the intervals of the quantile in both groups, combined (Zou and Donner 2008)",
}
_P_VALUES = {
    "bands": "as if its estimate were normally distributed with this interval",
    "wald": "by the Wald test that belongs to the interval",
    "quantile": "as 1 minus the largest level at which the interval leaves out 0",
}


@overload
def compare_groups(
    a: Any,
    b: Any = None,
    *,
    reference: Any = None,
    between: Sequence[Any] | None = None,
    of: str | float | None = None,
    level: float = 0.95,
    target: str = "population",
    attributes: Sequence[str] | None = None,
    names: Sequence[str] = ...,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    by: str | Sequence[str] | None = None,
    same_people: bool = False,
    within: None = None,
) -> Differences: ...


@overload
def compare_groups(
    a: Any,
    *,
    reference: Any = None,
    between: Sequence[Any] | None = None,
    of: str | float | None = None,
    level: float = 0.95,
    target: str = "population",
    attributes: Sequence[str] | None = None,
    same_people: bool = False,
    within: str | Sequence[str],
) -> DifferencesWithin: ...


@explained
def compare_groups(
    a: Any,
    b: Any = None,
    *,
    reference: Any = None,
    between: Sequence[Any] | None = None,
    of: str | float | None = None,
    level: float = 0.95,
    target: str = "population",
    attributes: Sequence[str] | None = None,
    names: Sequence[str] = ("the first group", "the second group"),
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    by: str | Sequence[str] | None = None,
    same_people: bool = False,
    within: str | Sequence[str] | None = None,
) -> Differences | DifferencesWithin:
    """Differences between groups of different people, with intervals and p-values.

    For shares and means, with estimates T and the exact covariance C_g of one report,

        d = c'(T_a - T_b),   d -+ z sqrt(c'C_a c / n_a + c'C_b c / n_b)

    where c picks a share, or holds the numbers that values stand for. C_g is taken at the shares of
    group g. Where nonresponse is a value of its own, the mean is that of the people who answered, a
    ratio, whose variance is taken to first order. For a quantile each group has the interval of
    Woodruff (1952), which inverts intervals of its cumulative shares. The two are combined by the
    method of Zou and Donner (2008), and the p-value is 1 less the largest level whose interval
    leaves out 0.

    Numbers that are shown by bands (bins, or more than 12 numbers) have each group's own estimate
    and interval, as tables of the group show them, combined in the same way. Their p-value is that
    of a normal law with this interval. By default their mean, median, quartiles and bands are
    compared, and not single numbers.

    The test of no difference at all is the Wald test

        sum_g n_g (T_g - mu)' C^+ (T_g - mu),   chi-square on (G - 1)(K - 1) degrees of freedom

    mu is the mean of all groups, weighted by precision, and C is taken at mu. Where all groups have
    one mechanism and each whole report is of another person, C is that of the reports of all
    groups, and p is that of a multiple of a chi-square which has the mean and the variance that the
    statistic has if the reports are dealt to the groups at random. With many values and few people
    that variance is far below 2 (G - 1)(K - 1).

    Where means are compared, the test is that all groups have the same mean,

        sum_g (m_g - mu)^2 / Var m_g,   chi-square on G - 1 degrees of freedom

    and tables of three groups or more show it. Of numbers in bands m_g is
    the middle of the interval of the group, and Var m_g that of a normal law with this interval.

    Args:
        a, b: two estimates of one domain, whose mechanisms and budgets may differ, or the tallies
            of two groups, which are estimated. Or ``a`` is a
            mapping {public values: tally} of groups, a tally by public columns or several by the
            same ones, or what ``estimate`` made of these, and ``b`` is None.
        reference: for groups, the public values of the group that each other one is compared with.
            None compares each group with all others together, and of two the second with the
            first; ``"pairs"`` compares every two groups, the later one with the earlier one.
        between: the public values of the groups that are compared, such as
            ``["north", "south"]``; None for all. Tests and ``p_holm`` are of these groups alone.
        of: ``"shares"`` of all values; ``"answered"`` for shares among the people who answered,
            where nonresponse is a value; for numbers ``"mean"``, ``"median"``, q in (0, 1) for a
            quantile, or ``"numbers"`` for mean, median, quartiles and bands. None is
            ``"numbers"`` for numbers that are shown by bands, of a survey with a design their
            ``"mean"``, else ``"shares"``. ``"codes"`` is ``"shares"`` for numbers that may be
            codes and that reports tell apart, else as None.
        level: the coverage of each interval, in [0.5, 1).
        target: ``"population"``, or ``"respondents"`` for exactly the people who reported.
        attributes: for groups whose tallies are of several attributes, the names of those that
            are compared, or one name, as for :func:`warner.estimate`.
        names: what the two groups are called, where ``a`` and ``b`` are estimates.
        weights, cluster, strata, by: of a survey, the public columns of the tally ``a`` that say
            how people were drawn, and those of groups, as for :func:`warner.estimate`. Groups can
            then have people of the same clusters, and intervals take Student's t.
        same_people: whether the two groups are rounds, which the same people have answered. What
            they share makes a difference surer, by as much as people gave one answer twice, which
            nobody knows. So rows have two intervals: ``"low"`` and ``"high"`` are right if the
            two answers of a person are independent, and ``"low_if_kept"`` and ``"high_if_kept"`` if
            nobody changed the answer. If many changed to the opposite answer, both are too short.
        within: the public columns of ``a`` within whose values its other groups are compared: weeks
            on each platform, of a tally by both or of ``{"W48": tally, "W49": tally}`` by platform.

    Returns:
        Differences: the group's number less that of the reference. With ``within=`` a table and
        dict of these, by the value of the column, or by the tuple of values of several columns.
        Each is corrected for its own comparisons alone.

    Raises:
        ArgumentError: no such group, a quantile outside (0, 1), or a single group; several
            questions with many combinations and no ``attributes``; more than two rounds of the same
            people, or their quantiles.
        ArgumentTypeError: a mean or a quantile of values that are no numbers.
        EmptyError: an estimate or a reference of fewer than two reports.
        MismatchError: groups on different domains, or of real and of simulated reports.
        IdentifiabilityError: a channel has no inverse.

    Source: METHODS 10.5.

    >>> from warner import Integers, RandomizedResponse, estimate
    >>> ages = RandomizedResponse(Integers(0, 9), 4.0)
    >>> young, old = (estimate(ages.tally(ages.randomize([x, x + 1] * 2000))) for x in (2, 5))
    >>> found = compare_groups(old, young, of="mean", names=("town", "village"))
    >>> round(found.rows()[0]["difference"])
    3
    """
    level = confidence_level(level)
    choice("target", target, TARGETS)
    asked_for = quantity("of", of)
    question = _question(attributes, a, b)
    options: dict[str, Any] = {"of": of, "level": level, "target": target}
    options["same_people"] = same_people  # of each item, where items are compared
    if within is not None:
        others = {"b": b, "weights": weights, "cluster": cluster, "strata": strata, "by": by}
        for name, given in others.items():
            if given is not None:
                remedy = f"Leave out {name} or within"
                if name == "by":
                    remedy = "Pass tally.by(...) of the columns of groups and of those in within"
                raise ArgumentError(name, "cannot be used with within=...", show(given), remedy)
        chosen = [within] if isinstance(within, str) else list(within)
        options |= {"reference": reference, "between": between, "attributes": attributes}
        return _compared_within(a, chosen, options)
    if (survey := SurveyDesign.of(weights, cluster, strata)) is not None:
        a = GroupTable.surveyed(a, survey, by, attributes)
        if not a.names:
            used = " and ".join(map(repr, survey.columns))
            rule = f"has no column of groups besides {used}, which the survey design uses"
            remedy = (
                "Count the reports by a column of groups, too. To compare the groups of a column "
                "of the survey design, name it in by=..."
            )
            raise ArgumentError("tally", rule, None, remedy)
    elif by is not None:
        rule = "can be used only with a survey design"
        listed_by = [by] if isinstance(by, str) else list(by)
        remedy = f"Write compare_groups(tally.by({', '.join(map(show, listed_by))}))"
        raise ArgumentError("by", rule, show(by), remedy)
    are_tallies = all(isinstance(each, Tally) and not each.names for each in (a, b))
    if are_tallies:
        a, b, attributes = estimate(a, None, attributes), estimate(b, None, attributes), None
    is_table = isinstance(a, Tally | GroupTable) or getattr(a, "groups", None) is not None
    if is_table or is_of_groups(a):
        if b is not None:
            rule = "cannot be used with counts or groups, only with two estimates"
            remedy = (
                "Compare estimate(a) with estimate(b). To compare the groups of a, leave out b; "
                "reference=... names the group to compare with"
            )
            raise ArgumentError("b", rule, kind(b), remedy)
        table = a if isinstance(a, GroupTable) else group_table(a, attributes)
        table = table.only([between] if isinstance(between, str) else between)
        if isinstance(table.domain, Items) and is_by_question(table.whole):
            tables = {x: table.on_attributes([i]) for i, x in enumerate(table.domain.items)}
            each = {x: compare_groups(t, reference=reference, **options) for x, t in tables.items()}
            return replace(in_one_table(corrected_together(each), "item"), question=question)
        table.require_shares()
        pairs, samples, left_out = _pairs_of_groups(table, reference, target)
        columns = table.names
        doubt, hint = table.doubt, "" if table.doubt else table.plausibility.hint
    else:
        for name, given in (
            *(("reference", reference), ("between", between)),
            ("attributes", attributes),
        ):
            if given is not None:
                rule = "can be used only with groups, not with two estimates"
                raise ArgumentError(name, rule, show(given), f"Leave out the argument {name}")
        if (ticked := items_of(a)) and ticked.keys() == (others := items_of(b)).keys():
            each = {x: compare_groups(ticked[x], others[x], names=names, **options) for x in ticked}
            return replace(in_one_table(corrected_together(each), "item"), question=question)
        # Two estimates say themselves what is doubtful.
        columns, left_out, doubt, hint = (), (), "", ""
        if isinstance(names, str) or len(names) != 2:
            raise ArgumentError("names", "must be two texts, one for each estimate", show(names))
        samples = [_sample(x, name, target) for x, name in zip((a, b), names, strict=True)]
        pairs = [(samples[0], samples[1])]
    domain = _one_domain(samples)
    answered = asked_for == "answered"
    if answered and domain.nonresponse is None:
        rule = "'answered' needs a question in which \"no answer\" is one of the values"
        raise ArgumentTypeError("of", rule, None, "Use of='shares'")
    asked_for = "shares" if answered else asked_for
    is_several = is_by_question(samples[0].data) if b is None else bool(questions_of(a))
    if attributes is None and is_several:
        asked_of = list(domain.attributes)
        rule = (
            f"must name one question, because {' and '.join(asked_of)} have {domain.size:,} "
            "combinations of answers"
        )
        example = show(asked_of[0])
        arguments = f"first[{example}], second[{example}]"
        if b is None or are_tallies:
            arguments = f"{'tally' if b is None else 'first, second'}, attributes=[{example}]"
        remedy = f"For example compare_groups({arguments})"
        raise ArgumentError("attributes", rule, None, remedy)
    has_design = any(s.data.survey is not None for s in samples)
    tells_codes = may_be_codes(domain) and all(tells_numbers_apart(s.data) for s in samples)
    if asked_for == "codes":
        asked_for = "shares" if tells_codes else None
    kind_of_number = _of_domain(asked_for, domain, has_design)
    way = _way(kind_of_number, domain, has_design, tells_codes)
    measure = _measure("answered" if answered else kind_of_number, domain, level, way)
    if same_people:
        _check_rounds(samples, way)
    if a is b:
        rule = "must be another estimate than a"
        raise ArgumentError(
            "b", rule, "the same estimate twice", "Pass the estimate of the other group"
        )
    rows: list[dict[str, Any]] = []
    for one, other in steps(pairs, "differences"):
        rows += [
            {
                "group": one.name,
                "reference": other.name,
                "value": value,
                "is_share": compared.is_share,
                "estimate": compared.a,
                "reference_estimate": compared.b,
                "difference": compared.a - compared.b,
                **({} if compared.error is None else {"error": compared.error}),
                "low": compared.low,
                "high": compared.high,
                "p": compared.p,
            }
            for value, compared in measure(one, other)
        ]
    if same_people:
        one, other = pairs[0]
        if_alike = measure(replace(one, same=1.0), other)
        for row, (_, compared) in zip(rows, if_alike, strict=True):
            row |= {"low_if_kept": compared.low, "high_if_kept": compared.high}
    domain = domain.answered if answered else domain
    # Of two values, one share is 1 less the other: both rows are one comparison.
    alike = 2 if kind_of_number == "shares" and domain.size == 2 else 1
    for of_kind in _by_kind(rows):
        _correct(of_kind, alike)
    if answered:
        test = no_difference_of_answered(samples)
    elif kind_of_number in ("mean", "numbers"):
        test = equal_means(samples, domain, way)
    else:
        test = no_difference(samples)
    first = samples[0].data
    drawn = "" if first.survey is None else first.survey.drawn.text
    return Differences(
        kind_of_number,
        level,
        target,
        test,
        domain,
        tuple(rows),
        way,
        left_out,
        first.simulated,
        drawn,
        chosen="" if between is None else f"Compared: {series([s.name for s in samples], 'and')}.",
        tells_codes=tells_codes,
        question=question,
        doubt=doubt,
        hint=hint,
        on_paper=any(has_paper(sample.data.channel) for sample in samples),
        by=columns,
        answered=answered,
    )


def _compared_within(
    groups: Any, columns: Sequence[str], options: Mapping[str, Any]
) -> DifferencesWithin:
    """The differences of other groups, for each of the values that these columns have."""
    parts = groups if isinstance(groups, Mapping | list | tuple) else [groups]
    tallies = list(parts.values() if isinstance(parts, Mapping) else parts)
    if not tallies or not all(isinstance(each, Tally) for each in tallies):
        rule, remedy = "must be tallies by public columns", "Use mechanism.tally(reports, by={...})"
        raise ArgumentTypeError("a", f"{rule} for within=...", kind(groups), remedy)
    for name in columns:
        if name not in tallies[0].names:
            raise unknown("within", name, tallies[0].names, "the public columns")
    if not isinstance(parts, Mapping) and {*tallies[0].names} <= {*columns}:
        rule = "names all public columns, so there are no groups to compare"
        remedy = "Count the reports by one more column, or pass {name: tally} of the groups"
        raise ArgumentError("within", rule, ", ".join(columns), remedy)
    results: dict[Any, Differences] = {}
    left_out = []
    both = [*(options["between"] or ()), options["reference"]]
    named = [name for name in dict.fromkeys(both) if name not in (None, PAIRS)]
    for values, groups_there in within_values(parts, columns).items():
        # What one value has not, such as a week, does not keep the others from being compared.
        with contextlib.suppress(EmptyError):
            table = group_table(groups_there, options["attributes"])
            if all(table.position(name) is not None for name in named):
                of_values = compare_groups(table, **options)
                results[values[0] if len(columns) == 1 else values] = of_values
                continue
        left_out.append(", ".join(map(as_text, values)))
    enough = "two groups with enough reports"
    if named:
        more = " and another group" * (len(named) < 2)
        enough = f"{series([*map(show, named)], 'and')}{more} with enough reports"
    if not results:
        rule, remedy = f"leaves no table with {enough}", "Leave out within, or name fewer columns"
        raise EmptyError("within", rule, None, remedy)
    if left_out:
        text = f"Not compared, because there are not {enough}: {'; '.join(left_out)}."
        warn(text, SmallGroupWarning)
    return DifferencesWithin(columns, results)


def _question(attributes: Sequence[str] | None, a: Any, b: Any) -> str:
    """The question that is compared, as it was chosen or as estimates name it; "" for no name."""
    if attributes:
        return attributes if isinstance(attributes, str) else ", ".join(attributes)
    names = {_name_of(each) for each in (a, b) if each is not None}
    return names.pop() if len(names) == 1 else ""


def _name_of(groups: Any) -> str:
    """The name of the question of an estimate or of tallies; "" where nothing says it."""
    if isinstance(groups, Mapping | list | tuple):
        each = groups.values() if isinstance(groups, Mapping) else groups
        return question_of(tally for tally in each if isinstance(tally, Tally))
    return str(getattr(groups, "attribute", None) or getattr(groups, "question", ""))


def _by_kind(rows: Sequence[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """The rows of means, of quantiles and of shares, each in their order."""
    # Apart, so that a mean has the same corrected p-value as where means alone are compared: a
    # dozen bands, of which nearly all are empty, do not hide what means show.
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kind = "shares" if row["is_share"] else str(row["value"]).split(" ")[0]
        kinds.setdefault(kind if kind in ("shares", "mean") else "quantiles", []).append(row)
    return kinds.values()


def _correct(rows: Sequence[dict[str, Any]], alike: int) -> None:
    """Give rows their p-values by Holm's method; ``alike`` rows in turn are one comparison."""
    p_values = np.array([row["p"] for row in rows])
    if not np.allclose(p_values, np.repeat(p_values[::alike], alike), rtol=_SAME_P):
        alike = 1  # estimates of yes and no that need not sum to 1, as of bits
    corrected = holm(p_values[::alike])
    for row, p in zip(rows, np.repeat(corrected, alike), strict=True):
        row["p_holm"] = row["p"] if abs(p - row["p"]) <= _SAME_P * p else float(p)


def corrected_together(results: Mapping[str, Differences]) -> dict[str, Differences]:
    """The differences of questions with two answers each, corrected for all of them together."""
    rows = [row for result in results.values() for row in result.rows()]
    _correct(rows, 2)
    remaining = iter(rows)
    return {
        name: replace(result, _rows=tuple(islice(remaining, len(result.rows()))))
        for name, result in results.items()
    }


def in_one_table(results: Mapping[str, Differences], noun: str) -> Differences:
    """Differences of questions with two answers each as one table: a row has the share of "yes"."""
    rows: list[dict[str, Any]] = []
    names = []
    for name, result in results.items():
        yes = index_of_yes(result.domain)
        answer = as_text(result.domain.labels[yes])
        names.append(name if answer.casefold() in ("yes", "true") else f"{name}: {answer}")
        rows += [row | {"value": names[-1]} for row in result.rows()[yes::2]]
    first = next(iter(results.values()))
    left_out = dict.fromkeys(each for result in results.values() for each in result.left_out)
    domain = Categorical(names)
    return replace(
        first,
        domain=domain,
        _rows=tuple(rows),
        left_out=tuple(left_out),
        test=None,
        noun=noun,
        question="",
    )


class NumbersOfRoundsError(ArgumentError):
    """Rounds of the same people, of numbers for which their intervals are not known."""


def _check_rounds(samples: Sequence[Sample], way: str) -> None:
    """Refuse rounds of the same people of which nothing is known that holds."""
    if len(samples) != 2:
        # Of three rounds, two can share what the third does not, and intervals would be too short.
        rule, got = "can be used only to compare two rounds", f"{len(samples)} groups"
        remedy = (
            "Compare two rounds at a time: in a command, name two files. To compare two rounds "
            "within each value of a public column, add --within COLUMN"
        )
        raise ArgumentError("same_people", rule, got, remedy)
    remedy = "Leave out the argument same_people: the intervals hold without it, too"
    if any(s.data.survey is not None for s in samples):
        raise ArgumentError("same_people", "cannot be used with a survey design", None, remedy)
    if way != "wald":
        rule = "can be used only for shares, and means of at most 12 numbers"
        raise NumbersOfRoundsError("same_people", rule, None, remedy)
    first, second = (sample.data.channel.memo for sample in samples)
    differ = first is not second
    if first is not None and second is not None:
        even = np.full(samples[0].shares.size, 1 / samples[0].shares.size)
        differ = not np.allclose(first.covariance(even), second.covariance(even))
    if differ:
        rule = (
            "cannot be used with rounds whose permanent reports were drawn in different ways, such "
            "as with another forever, because devices drew new ones in between"
        )
        raise ArgumentError("same_people", rule, None, remedy)


QUANTITIES = ("shares", "answered", "numbers", "mean", "median")
MEAN_ELSEWHERE = dict.fromkeys(("average", "avg"), "Is 'mean' meant?")


def quantity(name: str, of: Any) -> str | float | None:
    """What is compared, of the argument ``name``: None, one of the words, or q."""
    if of is None:
        return None
    with contextlib.suppress(ValueError):
        of = float(of) if isinstance(of, str) else of
    if not isinstance(of, str):
        return probability(name, real(name, of))
    if of not in (*QUANTITIES, "codes"):
        rule = f"must be {', '.join(map(repr, QUANTITIES))}, or a number between 0 and 1"
        remedy = MEAN_ELSEWHERE.get(of.lower()) or meant(of, QUANTITIES)
        raise ArgumentError(name, rule, show(of), remedy)
    return 0.5 if of == "median" else of


def _of_domain(of: str | float | None, domain: Domain, has_design: bool) -> str | float:
    """What is compared of these values: "shares", "numbers", "mean" or q."""
    if of is None and has_bands(domain):
        return "mean" if has_design else "numbers"
    if of == "numbers" and not has_bands(domain):
        rule = "'numbers' needs answers that are numbers in bins, or more than 12 numbers"
        got = f"{type(domain).__name__} with {domain.size} values"
        raise ArgumentTypeError("of", rule, got, "Use of='shares'")
    if of == "numbers" and has_design:
        rule = "'numbers' needs people who were drawn one by one, without a survey design"
        raise ArgumentError("of", rule, None, "Use of='mean' or a quantile")
    return "shares" if of is None else of


def _way(of: str | float, domain: Domain, has_design: bool, tells_codes: bool) -> str:
    """How differences are made: of intervals of each group, or of the unbiased estimates."""
    if of == "shares" and tells_codes:
        return "wald"  # as of labels: the shares of codes need not be smooth
    # The clusters of a survey can lie in several groups, whose estimates are then dependent.
    if not has_design and has_bands(domain) and (domain.nonresponse is None or of == "numbers"):
        return "bands"
    return "wald" if isinstance(of, str) else "quantile"


def _sample(result: Any, name: str, target: str) -> Sample:
    """The sample of an estimate."""
    data = getattr(result, "data", None)
    if data is None:
        rule = (
            "must be two estimates, or groups: a tally by public columns, or a dict {name: tally}"
        )
        remedy = "For example compare_groups({'north': north, 'south': south})"
        raise ArgumentTypeError("a, b", rule, kind(result), remedy)
    return Sample.of(name, data, target, result if isinstance(result, Solution) else None)


def _pairs_of_groups(
    table: GroupTable, reference: Any, target: str
) -> tuple[list[tuple[Sample, Sample]], list[Sample], tuple[str, ...]]:
    """The pairs that are compared, all groups, and the groups of too few reports, left out."""
    labels, samples = table.labels, {}
    for g, data in enumerate(table.parts):
        if data is not None and data.n >= LEAST_REPORTS:
            samples[g] = Sample.of(labels[g], data, target)
    left_out = tuple(name for g, name in enumerate(labels) if g not in samples)
    everyone = list(samples.values())
    if len(everyone) < 2:
        rule = f"at least two must have {LEAST_REPORTS} reports or more"
        got = f"{len(everyone)} of {len(labels)}"
        remedy = "Join small groups, or collect more reports"
        if len(labels) < 2:
            rule, got, remedy = "must be two or more", str(len(labels)), "Add another group"
        raise EmptyError("groups", rule, got, remedy)
    if reference == PAIRS and table.position(PAIRS) is None:
        pairs = [(later, earlier) for earlier, later in combinations(everyone, 2)]
    elif reference is not None:
        against = table.place(reference, "reference")
        if against not in samples:
            rule = f"has fewer than {LEAST_REPORTS} reports, so it cannot be the reference"
            raise EmptyError(f"group {labels[against]}", rule, None, "Name another group")
        pairs = [(s, samples[against]) for g, s in samples.items() if g != against]
    elif len(everyone) == 2:
        # From the first to the second, so that a change in time has its sign.
        pairs = [(everyone[1], everyone[0])]
    else:
        pairs = [(s, _others(table, g, target)) for g, s in samples.items()]
    return pairs, everyone, left_out


def _others(table: GroupTable, g: int, target: str) -> Sample:
    """All people outside a group, as one sample."""
    whole, inside = table.whole, table.parts[g]
    assert inside is not None
    if table.cells is not None:
        rest_of = {*table.keys} - {table.keys[g]}
        rest = table.cells.data_of(np.array([key in rest_of for key in table.cells.keys]))
        return Sample.of(REST, rest, target)
    if len(table.mechanisms) > 1:
        alone = [(i, data) for i, data in enumerate(table.parts) if i != g and data is not None]
        return SeveralGroups.together(
            [Sample(table.labels[i], data, table.shares[i], target) for i, data in alone]
        )
    n = whole.n - inside.n
    shares = (table.sizes @ table.shares - inside.n * table.shares[g]) / n
    if not has_bands(table.domain):  # only the unbiased estimates are needed
        return Sample(REST, replace(whole, n=n), shares, target)
    if inside.channel is whole.channel:
        weights = (whole.n * whole.weights - inside.n * inside.weights).clip(0) / n
        return Sample(REST, replace(whole, n=n, weights=weights), shares, target)
    others = [data for i, data in enumerate(table.parts) if i != g and data is not None]
    return Sample(REST, side_by_side(others), shares, target)


def _one_domain(samples: Sequence[Sample]) -> Domain:
    """The domain that all groups share."""
    first = samples[0].data
    if len({s.data.domain.digest for s in samples}) > 1:
        rule = "must all be of one question, with the same values"
        raise MismatchError("groups", rule, None, "Compare groups that answered the same question")
    if len({s.data.simulated for s in samples}) > 1:
        rule = "must not mix reports of people with simulated reports"
        remedy = "Compare reports of people with each other, and simulated reports with each other"
        raise MismatchError("groups", rule, None, remedy)
    return first.domain


def _measure(of: str | float, domain: Domain, level: float, way: str) -> Any:
    """A function of two samples that yields (value, Compared)."""
    if way == "bands":
        return lambda a, b: _of_estimates(a, b, of, domain, level)
    if of == "answered":
        values = domain.answered.labels
        return lambda a, b: zip(values, of_answered(a, b, len(values), level), strict=True)
    if of == "shares":
        labels = domain.labels
        return lambda a, b: zip(labels, of_shares(a, b, level), strict=True)
    if of == "mean":
        points, name = numbers_of_values(domain.answered), name_of_mean(domain)
        return lambda a, b: [(name, of_means(a, b, points, level))]
    assert not isinstance(of, str)
    if domain.nonresponse is not None:
        rule = 'quantiles are not known where "no answer" is one of the values'
        remedy = "Use of='mean' or of='shares'"
        raise ArgumentTypeError("of", rule, None, remedy)
    line = cumulative_on(domain)
    name = "median" if of == 0.5 else f"quantile {of:g}"
    return lambda a, b: [(name, of_quantile(a, b, Quantile(line, of), level))]


def _of_estimates(
    a: Sample, b: Sample, of: str | float, domain: Domain, level: float
) -> list[tuple[Any, Compared]]:
    """The differences of the groups' own estimates, from the interval of each."""
    solutions = a.solution, b.solution
    if of == "shares":
        tables = [
            rows_of_shares(s, level, x.target) for s, x in zip(solutions, (a, b), strict=True)
        ]
        values = list(domain.labels)
    else:
        if isinstance(of, str):
            numbers_of_values(domain.answered)
        named = {
            "mean": parse("mean"),
            "numbers": (*parse(_SUMMARIES), *bands_of(domain)),
        }.get(str(of)) or (Named("quantile", (float(of),)),)
        tables = [
            summary_rows(s, named, level, x.target) for s, x in zip(solutions, (a, b), strict=True)
        ]
        values = [row["text"] for row in tables[0]]
        if of == "numbers":
            whose = "" if domain.nonresponse is None else ", of those who answered"
            labels = [f"{label}{whose}" for _, _, label in bands(domain.answered)]
            values[-len(labels) :] = labels
        elif not isinstance(of, str):
            values = ["median" if of == 0.5 else f"quantile {of:g}"]
    is_share = [bool(row.get("is_share", True)) for row in tables[0]]
    numbers = [
        [[row[key] for key in ("estimate", "low", "high")] for row in rows] for rows in tables
    ]
    has_bins = a.data.channel.has_bins and b.data.channel.has_bins
    is_mean = [has_bins and row.get("summary") == "mean" for row in tables[0]]
    return [
        (value, replace(combined(one, other, level, middles), is_share=share))
        for value, one, other, share, middles in zip(
            values, *numbers, is_share, is_mean, strict=True
        )
    ]


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (m,) corrected for several tests by Holm's method (1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    out = np.empty(p.size)
    out[order] = np.minimum(stepped, 1.0)
    return out


_BEYOND = (
    "Differences are computed from shares that can lie below 0 % or above 100 %. So a difference "
    "need not match the shares in a table of groups."
)


def decimals_of_differences(rows: Sequence[Mapping[str, Any]]) -> int:
    """As many as the narrowest interval warrants, as of shares and of numbers elsewhere."""
    widths = [row["high"] - row["low"] for row in rows]
    scale, decimals = 1, decimals_of_number(min(widths))
    if rows[0]["is_share"]:
        scale, decimals = 100, decimals_of_percent(widths)
    return max(decimals_beside_0(scale * r["low"], scale * r["high"], decimals) for r in rows)


def figures_of_difference(
    row: Mapping[str, Any], decimals: int | None = None
) -> tuple[str, str, str, str]:
    """Both numbers, their difference and its interval as texts with the same decimals.

    The difference is rounded by itself: that of two rounded numbers can be further off.

    >>> row = {"estimate": 0.284, "reference_estimate": 0.2612, "difference": 0.0228,
    ...        "low": -0.01, "high": 0.05, "is_share": True}
    >>> figures_of_difference(row)
    ('28.4 %', '26.1 %', '+2.3 points', '-1.0 to +5.0')
    >>> means = {"estimate": 42.644, "reference_estimate": 37.577, "difference": 5.067}
    >>> figures_of_difference(means | {"low": 1.9, "high": 8.1, "is_share": False})
    ('42.6', '37.6', '+5.1', '+1.9 to +8.1')
    """
    scale, unit = (100, " %") if row["is_share"] else (1, "")
    keys = ("estimate", "reference_estimate", "difference", "low", "high")
    a, b, d, low, high = (scale * float(row[key]) for key in keys)
    decimals = decimals_of_differences([row]) if decimals is None else decimals
    low, high = outwards(low, high, decimals)
    points = " points" if row["is_share"] else ""
    difference = f"{d:+.{decimals}f}"
    return (
        f"{a:.{decimals}f}{unit}",
        f"{b:.{decimals}f}{unit}",
        f"{difference if float(difference) else difference[1:]}{points}",
        f"{low:+.{decimals}f} to {high:+.{decimals}f}",
    )


def sentence(row: Mapping[str, Any], level: float, both_p: bool = True, whose: str = "") -> str:
    """A difference in plain words, with both p-values or the corrected one alone.

    >>> row = {"group": "north", "reference": "south", "value": "yes", "difference": 0.021,
    ...        "low": 0.004, "high": 0.038, "p": 0.015, "p_holm": 0.015, "is_share": True,
    ...        "estimate": 0.121, "reference_estimate": 0.1}
    >>> sentence(row, 0.95).split(" (")[1]
    '95 % interval 0.4 to 3.8, p = 0.015).'
    """
    about = f"share of {as_text(row['value'])}{whose}" if row["is_share"] else str(row["value"])
    way = "higher"
    if row["difference"] < 0:
        turned = {"low": -row["high"], "high": -row["low"]}
        way, row = "lower", {**row, **turned, "difference": -row["difference"]}
    *_, difference, interval = (x.replace("+", "") for x in figures_of_difference(row))
    p = shown_p(row["p"])
    if row["p_holm"] != row["p"]:
        corrected = f"{shown_p(row['p_holm'])} when corrected for the number of comparisons"
        p = f"{p}, and {corrected}" if both_p else corrected
    return (
        f"The {about} is {difference} {way} in {row['group']} than in {row['reference']} "
        f"({100 * level:.4g} % interval {interval}, {p})."
    )
