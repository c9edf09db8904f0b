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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import (
    choice,
    confidence_level,
    distribution,
    integer,
    kind,
    probability,
    real,
    show,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
)
from warner._core.extras import scipy
from warner._core.names import explained
from warner._core.progress import steps
from warner._core.survey_design import SurveyDesign
from warner._core.table import MOST, Column, Table, Tabular, as_text
from warner._core.text import decimals_of_number, meant, outwards, visible
from warner.channels import LARGEST_DENSE, LikelihoodOperator
from warner.domains import Categorical, Domain
from warner.estimators.base import LikelihoodData
from warner.estimators.survey_noise import with_sum_one
from warner.metrics import project
from warner.reports.tally import Tally
from warner.results.estimate import group_table
from warner.results.from_tally import GroupTable, is_of_groups, likelihood_data, side_by_side
from warner.results.intervals import TARGETS, normal_quantile
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
    mean_in,
    of_means,
    of_quantile,
    of_shares,
)
from warner.results.share_noise import covariance_of
from warner.results.solution import Solution, positions
from warner.results.summaries import Quantile, cumulative_on
from warner.results.tables import (
    FOLLOWED,
    has_paper,
    in_words,
    index_of_yes,
    rows as rows_of_shares,
)

if TYPE_CHECKING:
    from warner.results.pooling import Coordinates


_LEVEL = 0.95  # of the intervals from which a test takes errors
_SAME_P = 1e-9  # relative, of two values, whose p-values differ by rounding alone
_MOST_CONTRASTS = 2000  # of groups of a survey, whose covariance matrix is formed
_TRACE = 1e-9  # of noise, where respondents have none
_LEAST_NOISE = 1e-6  # of a group, in units of that of all groups
_SUMMARIES = "mean,median,quantile:0.25,quantile:0.75"  # compared with the bands of numbers
_ROUNDS = (
    "How many people kept their answer is not known. The first interval is right if a person's "
    "second answer has nothing to do with the first, and longer than needed if the two are often "
    'the same. The interval "if nobody changed" is right only if hardly anybody changed. If many '
    "people changed to the opposite answer, both intervals are too short."
)
_APART = (
    "The column p (Holm) is corrected for the number of comparisons. Means, quantiles and bands of "
    "numbers are corrected separately."
)
_GROUP = "group"  # the column of groups that have names only
_SHOWN = 10  # names of groups in a sentence


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
    chosen: str = ""  # which rows were kept, where :meth:`most_common` left others out
    tells_codes: bool = False  # whether answers may be codes, of which reports tell each apart
    question: str = ""  # the name of the one that was chosen among several; "" for the only one
    doubt: str = ""
    hint: str = ""
    on_paper: bool = False
    by: tuple[str, ...] = ()  # the public columns of the groups

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
            f"Of {size:,} {self.noun}s, the table shows only the {few} with the largest shares, by "
            f"the group in which a share is largest. The column p (Holm) is corrected for the "
            f"comparisons of all {size:,} {self.noun}s."
        )
        return replace(self, _rows=rows, chosen=text)

    def table(self) -> Table:
        """The differences as a table: the group minus the reference."""
        # The shares of groups stand in other tables, inside their bounds and with less error.
        points, share = ("points", "data") if self.of == "shares" else ("number", "number")
        interval = Column("interval", f"{100 * self.level:.4g} % interval", points)
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
            replace(interval, ends=("low", "high")),
            *alike,
            # Whoever reads one p-value of many rows has to read the corrected one.
            Column("p", unit="probability", priority=2),
            Column("p_holm", "p (Holm)", "probability"),
        ]
        rows: Sequence[dict[str, Any]] = self._rows
        if self.of == "numbers":  # means and shares have different units
            figures = ("estimate", "reference_estimate", "difference", "interval")
            keys = {key: f"{key} in words" for key in figures}
            columns = [
                replace(c, key=keys[c.key], title=c.title or c.key, unit="number", ends=None)
                if c.key in keys
                else c
                for c in columns
            ]
            rows = [
                row | dict(zip(keys.values(), figures_of_difference(row), strict=True))
                for row in rows
            ]
        notes = [
            self.chosen,
            _APART if self.of == "numbers" else "",
            SINGLE_CODES if self.of == "numbers" and self.tells_codes else "",
            _ROUNDS if of_rounds else "",
            self._about_bounds,
            self._about_left_out,
        ]
        notes.append(self.about_test)
        notes.append(f"WARNING: {self.doubt}" if self.doubt else self.hint)
        notes += [FOLLOWED] if self.on_paper else []
        mark = ", of simulated reports" if self.simulated else ""
        mark += f", {self.drawn}" if self.drawn else ""
        by = "" if self.by in ((), (_GROUP,)) else f" by {', '.join(map(visible, self.by))}"
        if len(pairs) == 1:
            title = f"The difference {in_words(*pairs.pop())}{by}"
        elif len(references) == 1:
            title = f"Each group minus {visible(references.pop())}{by}"
        else:
            title = f"The group minus the reference{by}"
        if self.question:
            title = f"{self.question}: {title[0].lower()}{title[1:]}"
        title += mark
        test = self.test if self.about_test else None
        summary = [] if test is None else [(f"Test whether {test.hypothesis}", test.law)]
        return Table(columns, rows, notes, title, self.simulated, self._explained, summary)

    @property
    def _explained(self) -> list[str]:
        """How the numbers were computed, for readers who ask."""
        made = _INTERVALS[self._way]
        if self.drawn and self._way == "wald":
            made = "from weighted estimates and the sum of their variances under the survey design"
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
                "The test of all groups takes the middle of each group's interval of the mean, "
                "with the error that gives this interval."
            )
        return "" if self.test is None else self.test.explained

    @property
    def _about_bounds(self) -> str:
        """What differences of shares are of, where a share is beyond its bounds."""
        if self.of != "shares":
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
            of_means = self.of in ("mean", "numbers") and self.test.degrees > 1
            return self.test.text if self.of == "shares" or of_means else ""
        return (
            'For a question with two answers, the table shows only "yes", or the last answer if '
            'there is no "yes". The column p (Holm) is corrected for the comparisons of all '
            f"{self.domain.size} {self.noun}s."
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
            count = f"The {MOST} rows with the smallest p, of {len(table):,} rows."
            table = replace(table, rows=rows, notes=[count, *table.notes])
        return table.html()

    def plot(
        self,
        path: str | None = None,
        top: int | None = None,
        title: str | None = None,
        largest_first: bool = True,
        labels: Sequence[str] | None = None,
        unit: str | None = None,
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

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: ``top`` is below 1, another number of labels, or the path has another
                suffix.
            FileError: the file cannot be written.
            MissingExtraError: the extra 'plot' is not installed.
        """
        from warner.results.charts_of_groups import forest
        from warner.results.drawing import drawn_together, save

        (picture,) = drawn_together([forest(self, top, title, largest_first, labels, unit)])
        if path is not None:
            save(picture, path, [self.table()])
        return picture

    @property
    def text(self) -> str:
        """The differences in plain words, a sentence each, and the test of all."""
        lines = [sentence(row, self.level) for row in self._rows]
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
            "interval": _INTERVALS[self._way],
            "correction": "holm",
            "left_out": list(self.left_out),
            **({"doubt": self.doubt} if self.doubt else {}),
            "differences": self.rows(),
            "test": None if self.test is None else self.test.to_json(),
            "text": self.text.split("\n"),
        }


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


@explained
def compare_groups(
    a: Any,
    b: Any = None,
    *,
    reference: Any = None,
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
) -> Differences:
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
        a, b: two estimates of one domain, whose mechanisms and budgets may differ. Or ``a`` is a
            mapping {public values: tally} of groups, a tally by public columns or several by the
            same ones, or what ``estimate`` made of these, and ``b`` is None.
        reference: for groups, the public values of the group that each other one is compared with.
            None compares each group with all others together, and of two the second with the
            first.
        of: ``"shares"`` of all values; for numbers ``"mean"``, ``"median"``, q in (0, 1) for a
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

    Returns:
        Differences: the group's number less that of the reference.

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
    left_out: tuple[str, ...]
    columns: tuple[str, ...]
    question = _question(attributes, a, b)
    if (survey := SurveyDesign.of(weights, cluster, strata)) is not None:
        a = GroupTable.surveyed(a, survey, by, attributes)
        if not a.names:
            used = " and ".join(map(repr, survey.columns))
            rule = f"has no column besides {used}, which the survey design uses"
            remedy = (
                "Count the reports by the column of the groups too, or name one of these columns "
                "in by=..."
            )
            raise ArgumentError("tally", rule, None, remedy)
    elif by is not None:
        rule = "can be used only with a survey design"
        raise ArgumentError("by", rule, show(by), "Leave out the argument by")
    is_table = isinstance(a, Tally | GroupTable) or getattr(a, "groups", None) is not None
    if is_table or is_of_groups(a):
        if b is not None:
            rule = "can be used only to compare two estimates, not counts or groups"
            remedy = (
                "Compare estimate(a) with estimate(b), or compare the groups of a alone; "
                "reference=... names the group that the others are compared with"
            )
            raise ArgumentError("b", rule, kind(b), remedy)
        table = a if isinstance(a, GroupTable) else group_table(a, attributes)
        pairs, samples, left_out = _pairs_of_groups(table, reference, target)
        columns = table.names
        doubt, hint = table.doubt, "" if table.doubt else table.plausibility.hint
    else:
        for name, given in (("reference", reference), ("attributes", attributes)):
            if given is not None:
                rule = "can be used only with groups, not with two estimates"
                raise ArgumentError(name, rule, show(given), f"Leave out the argument {name}")
        columns, left_out, doubt, hint = (
            (),
            (),
            "",
            "",
        )  # two estimates say themselves what is doubtful
        if isinstance(names, str) or len(names) != 2:
            raise ArgumentError("names", "must be two texts, one for each estimate", show(names))
        samples = [_sample(x, name, target) for x, name in zip((a, b), names, strict=True)]
        pairs = [(samples[0], samples[1])]
    domain = _one_domain(samples)
    if attributes is None and b is None and is_by_question(samples[0].data):
        asked_of = list(domain.attributes)
        rule = f"must name a question: {' and '.join(asked_of)} have {domain.size:,} combinations"
        remedy = f"For example compare_groups(tally, attributes=[{show(asked_of[0])}])"
        raise ArgumentError("attributes", rule, None, remedy)
    has_design = any(s.data.survey is not None for s in samples)
    tells_codes = may_be_codes(domain) and all(tells_numbers_apart(s.data) for s in samples)
    if asked_for == "codes":
        asked_for = "shares" if tells_codes else None
    kind_of_number = _of_domain(asked_for, domain, has_design)
    way = _way(kind_of_number, domain, has_design, tells_codes)
    measure = _measure(kind_of_number, domain, level, way)
    if same_people:
        _check_rounds(samples, way)
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
    # Of two values, one share is 1 less the other: both rows are one comparison.
    alike = 2 if kind_of_number == "shares" and domain.size == 2 else 1
    for of_kind in _by_kind(rows):
        _correct(of_kind, alike)
    is_of_means = kind_of_number in ("mean", "numbers")
    test = equal_means(samples, domain, way) if is_of_means else no_difference(samples)
    first = samples[0].data
    drawn = "" if first.survey is None else first.survey.drawn.text
    listed = tuple(rows)
    return Differences(
        kind_of_number,
        level,
        target,
        test,
        domain,
        listed,
        way,
        left_out,
        first.simulated,
        drawn,
        tells_codes=tells_codes,
        question=question,
        doubt=doubt,
        hint=hint,
        on_paper=any(has_paper(sample.data.channel) for sample in samples),
        by=columns,
    )


def _question(attributes: Sequence[str] | None, a: Any, b: Any) -> str:
    """The question that is compared, as it was chosen or as estimates name it; "" for no name."""
    if attributes:
        return attributes if isinstance(attributes, str) else ", ".join(attributes)
    names = {getattr(each, "attribute", None) for each in (a, b) if each is not None}
    name = names.pop()
    return "" if names or name is None else str(name)


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
    corrected = holm(np.array([row["p"] for row in rows[::alike]]))
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
    """Differences of questions with two answers each as one table: a row has the share of "yes".

    Args:
        results: {question: its differences}, as :func:`corrected_together` made them.
        noun: what a question is called there, such as "item".
    """
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


def _check_rounds(samples: Sequence[Sample], way: str) -> None:
    """Refuse rounds of the same people of which nothing is known that holds."""
    if len(samples) != 2:
        # Of three rounds, two can share what the third does not, and intervals would be too short.
        rule, got = "can be used only to compare two rounds", f"{len(samples)} groups"
        remedy = (
            "Compare two at a time: in a command, name two files. To compare them within each "
            "value of a public column, add --within COLUMN"
        )
        raise ArgumentError("same_people", rule, got, remedy)
    if way != "wald" or any(s.data.survey is not None for s in samples):
        rule = "can be used only for shares, and means of at most 12 numbers"
        if any(s.data.survey is not None for s in samples):
            rule = "cannot be used with a survey design"
        remedy = "Leave out the argument same_people: the intervals hold without it, too"
        raise ArgumentError("same_people", rule, None, remedy)


QUANTITIES = ("shares", "numbers", "mean", "median")
MEAN_ELSEWHERE = dict.fromkeys(("average", "avg"), "Is 'mean' meant?")


def quantity(name: str, of: Any) -> str | float | None:
    """What is compared, of the argument ``name``: None, one of the words, or q."""
    if of is None:
        return None
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
        raise ArgumentTypeError("of", rule, type(domain).__name__, "Use of='mean' or of='shares'")
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
        got, remedy = (
            f"{len(everyone)} of {len(labels)}",
            "Join small groups, or collect more reports",
        )
        if len(labels) < 2:
            rule, got, remedy = "must be two or more", str(len(labels)), "Add another group"
        raise EmptyError("groups", rule, got, remedy)
    if reference is not None:
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
        rest = table.cells.data_of(np.array([key != table.keys[g] for key in table.cells.keys]))
        return Sample.of(REST, rest, target)
    if len(table.mechanisms) > 1:
        alone = [(i, data) for i, data in enumerate(table.parts) if i != g and data is not None]
        return SeveralGroups.together(
            [Sample(table.labels[i], data, table.shares[i], target) for i, data in alone]
        )
    n = whole.n - inside.n
    shares = (whole.n * whole.channel.invert(whole.weights) - inside.n * table.shares[g]) / n
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
        rule = "have different domains (values)"
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
    if of == "shares":
        labels = domain.labels
        return lambda a, b: zip(labels, of_shares(a, b, level), strict=True)
    if of == "mean":
        points, name = numbers_of_values(domain.answered), _name_of_mean(domain)
        return lambda a, b: [(name, of_means(a, b, points, level))]
    assert not isinstance(of, str)
    if domain.nonresponse is not None:
        rule = 'quantiles are not known where "no answer" is one of the values'
        remedy = "Use of='mean' or of='shares'"
        raise ArgumentTypeError("of", rule, None, remedy)
    line = cumulative_on(domain)
    name = "median" if of == 0.5 else f"quantile {of:g}"
    return lambda a, b: [(name, of_quantile(a, b, Quantile(line, of), level))]


def _name_of_mean(domain: Domain) -> str:
    return "mean" if domain.nonresponse is None else "mean of those who answered"


def numbers_of_values(domain: Domain) -> np.ndarray:
    """The numbers (K,) that the values stand for."""
    if domain.points is None or domain.points.shape[1] != 1:
        rule = "'mean' needs values that are numbers, such as Integers or Interval"
        raise ArgumentTypeError("of", rule, type(domain).__name__, "Use of='shares'")
    return np.asarray(domain.points[:, 0], dtype=np.float64)


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
            numbers_of_values(domain)
        named = {
            "mean": parse("mean"),
            "numbers": (*parse(_SUMMARIES), *bands_of(domain)),
        }.get(str(of)) or (Named("quantile", (float(of),)),)
        tables = [
            summary_rows(s, named, level, x.target) for s, x in zip(solutions, (a, b), strict=True)
        ]
        values = [row["text"] for row in tables[0]]
        if of == "numbers":
            labels = [label for _, _, label in bands(domain.answered)]
            values[-len(labels) :] = labels
        elif not isinstance(of, str):
            values = ["median" if of == 0.5 else f"quantile {of:g}"]
    is_share = [bool(row.get("is_share", True)) for row in tables[0]]
    numbers = [
        [[row[key] for key in ("estimate", "low", "high")] for row in rows] for rows in tables
    ]
    return [
        (value, replace(combined(one, other, level), is_share=share))
        for value, one, other, share in zip(values, *numbers, is_share, strict=True)
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


def _are_alike(samples: Sequence[Sample], what: str) -> str:
    """The hypothesis that all groups have the same of something, in words."""
    of_two = f"{samples[0].name} and {samples[-1].name}"
    return f"{of_two if len(samples) == 2 else f'{len(samples)} groups'} have the same {what}"


def equal_means(samples: Sequence[Sample], domain: Domain, way: str) -> WaldTest:
    """The test that all groups have the same mean.

        sum_g (m_g - mu)^2 / v_g,   chi-square on G - 1 degrees of freedom

    mu is the mean of all groups, weighted by precision. The way "bands" has the middle of each
    group's interval, which is z sqrt(v_g) from its ends. A group whose mean is not known says
    nothing.
    """
    name, n = _are_alike(samples, _name_of_mean(domain)), sum(s.data.n for s in samples)
    if way == "bands":
        # The estimates themselves are nearer to the middle of the range, the fewer the reports.
        rows = [summary_rows(s.solution, parse("mean"), _LEVEL, s.target)[0] for s in samples]
        low, high = np.array([[row["low"], row["high"]] for row in rows]).T
        m = (low + high) / 2
        v = _positive(((high - low) / 2 / normal_quantile(_LEVEL)) ** 2)
        statistic = float(((m - (m / v).sum() / (1 / v).sum()) ** 2 / v).sum())
        return WaldTest.of(name, statistic, len(samples) - 1, n)
    points = numbers_of_values(domain.answered)
    means = [(s, *m_and_g) for s in samples if (m_and_g := mean_in(s, points)) is not None]
    if len(means) < 2:
        return WaldTest.of(name, 0.0, 1, n)
    m = np.array([mean for _, mean, _ in means])
    v = _positive(np.array([g @ s.covariance() @ g for s, _, g in means]))
    # The deviations from mu, in units of their errors.
    contrast = (np.eye(m.size) - (1 / v) / (1 / v).sum()) / np.sqrt(v)[:, None]
    statistic, degrees = float(((contrast @ m) ** 2).sum()), m.size - 1
    if means[0][0].data.survey is None:
        return WaldTest.of(name, statistic, degrees, n)
    noise = np.diag(v)
    for i, (one, _, g) in enumerate(means):
        for j, (other, _, h) in enumerate(means[:i]):
            noise[i, j] = noise[j, i] = g @ one.shared_with(other) @ h
    # The variance of a group of few clusters is estimated too small.
    surveyed = [s.data.survey for s, *_ in means if s.data.survey is not None]  # all of them
    scales = np.sqrt([survey.moments()[1] for survey in surveyed])
    noise = contrast @ (noise / np.multiply.outer(scales, scales)) @ contrast.T
    of_noise = min(one.degrees_with(other) for one in samples for other in samples if other != one)
    return WaldTest.of_design(name, statistic, degrees, n, noise, of_noise)


def _positive(variances: np.ndarray) -> np.ndarray:
    """Variances of which none is 0, as of a mean at the end of its range."""
    return np.asarray(np.maximum(variances, np.finfo(float).tiny))


def no_difference(samples: Sequence[Sample]) -> WaldTest:
    """The Wald test that all groups have the same shares."""
    from warner.results.pooling import Coordinates

    surveyed = [s.data.survey for s in samples if s.data.survey is not None]
    if surveyed and len(surveyed) < len(samples):
        rule = "cannot be tested together if only some have a survey design"
        raise MismatchError("groups", rule, None, "Give the survey design of all groups")
    sizes = np.array([s.data.n for s in samples], dtype=np.float64)
    name = _are_alike(samples, "shares")
    groups, n = len(samples), int(sizes.sum())
    if surveyed:
        return _no_difference_of_survey(name, samples)
    if _same_channel([s.data.channel for s in samples]):
        pooled_at, moments = _pooled_noise(samples, sizes)
        z = pooled_at.to(np.stack([s.shares for s in samples]))
        statistic = float(sizes @ ((z - sizes @ z / n) ** 2).sum(axis=1))
        return WaldTest.of(name, statistic, (groups - 1) * pooled_at.rank, n, moments)
    # Weights at common shares: a group whose reports happen to agree is not the more precise.
    mu = _mean_of(samples, sizes)
    noise = np.array([s.data.channel.variance(mu).mean() for s in samples])
    mu = _mean_of(samples, sizes / noise)
    precisions, pulls = [], []
    for s in samples:
        coordinates = Coordinates.of(mu, _noise_at(s, mu))
        z = coordinates.to(s.shares[None])[0]
        # The last share is 1 less the others, so K - 1 shares determine the rest.
        inverse = np.linalg.pinv(coordinates.basis[:-1])
        precisions.append(s.data.n * inverse.T @ inverse)
        pulls.append((coordinates.basis @ z)[:-1])
    together = sum(precisions)
    middle = np.linalg.solve(together, sum(p @ d for p, d in zip(precisions, pulls, strict=True)))
    statistic = sum(
        float((d - middle) @ p @ (d - middle)) for p, d in zip(precisions, pulls, strict=True)
    )
    return WaldTest.of(name, float(statistic), (groups - 1) * (mu.size - 1), n)


def _no_difference_of_survey(name: str, samples: Sequence[Sample]) -> WaldTest:
    """The same test for groups of a survey, whose clusters or strata can lie in several groups.

    The statistic is that of people who were drawn one by one, from weighted shares and weighted
    numbers of people. It is compared with the law that it has with the covariance of the design.

    Source: Rao and Scott (1984); Thomas and Rao (1987).
    """
    from warner.results.pooling import Coordinates

    n = sum(s.data.n for s in samples)
    surveyed = [s.data.survey for s in samples if s.data.survey is not None]  # all of them
    sizes = np.array([survey.people for survey in surveyed])
    sizes = sizes * (n / sizes.sum())
    mu = _mean_of(samples, sizes)
    coordinates = Coordinates.of(mu, _noise_at(samples[0].one_by_one, mu))
    rank, groups = coordinates.rank, len(samples)
    if rank * groups > _MOST_CONTRASTS:
        rule, got = "must be at most 2,000 together", f"{groups} x {rank}"
        raise ArgumentError("groups times values", rule, got, "Compare fewer groups")
    z = coordinates.to(np.stack([s.shares for s in samples]))
    statistic = float(sizes @ ((z - sizes @ z / n) ** 2).sum(axis=1))
    # The variance of a group of few clusters is estimated too small, and the statistic adds such.
    scales = np.sqrt(sizes / np.array([survey.moments()[1] for survey in surveyed]))
    roots = _roots_of_noise(samples, coordinates)
    inverses = np.linalg.inv(roots)
    blocks = np.empty((groups, rank, groups, rank))
    for g, one in enumerate(samples):
        for h, other in enumerate(samples[: g + 1]):
            noise = coordinates.along(one.covariance() if g == h else one.shared_with(other))
            blocks[g, :, h] = scales[g] * scales[h] * inverses[g] @ noise @ inverses[h].T
            blocks[h, :, g] = blocks[g, :, h].T
    flat = blocks.reshape(groups * rank, groups * rank)
    # What all groups have in common is taken out, so that contrasts between groups are left.
    common = np.sqrt(sizes)[:, None, None] * roots.transpose(0, 2, 1)
    common = np.linalg.qr(common.reshape(groups * rank, rank))[0]
    flat = flat - common @ (common.T @ flat)
    flat = flat - (flat @ common) @ common.T
    degrees = min(one.degrees_with(other) for one in samples for other in samples if other != one)
    return WaldTest.of_design(name, statistic, (groups - 1) * rank, n, flat, degrees)


def _roots_of_noise(samples: Sequence[Sample], coordinates: Coordinates) -> np.ndarray:
    """L (G, J, J), L L' the noise of one report of each group at its own shares.

    Where the reports of a group are all alike they do not show it, and groups of several mechanisms
    have other noise of the same shares: all groups then have the noise of the coordinates.
    """
    common = np.tile(np.eye(coordinates.rank), (len(samples), 1, 1))
    several = len({s.data.reports_per_person for s in samples}) > 1
    if several or not _same_channel([s.data.channel for s in samples]):
        return common
    roots = np.empty_like(common)
    for root, sample in zip(roots, samples, strict=True):
        noise = coordinates.along(_noise_at(sample.one_by_one, with_sum_one(sample.shares)))
        if np.linalg.eigvalsh(noise)[0] < _LEAST_NOISE:
            return common
        root[:] = np.linalg.cholesky(noise)
    return roots


def _same_channel(channels: Sequence[LikelihoodOperator]) -> bool:
    """Whether all channels are one, by the reports that they expect of uneven shares."""
    first, size = channels[0], channels[0].shape[1]
    probe = 1 / np.arange(1.0, size + 1)
    expected = first.matvec(probe)
    return all(
        c is first or (c.shape == first.shape and np.array_equal(c.matvec(probe), expected))
        for c in channels[1:]
    )


def _mean_of(samples: Sequence[Sample], weights: np.ndarray) -> np.ndarray:
    """The mean (K,) of the groups' shares, with half a person for every value."""
    n = sum(s.data.n for s in samples)
    mean = sum(w * s.shares for w, s in zip(weights, samples, strict=True)) / weights.sum()
    return np.asarray((n * project(np.asarray(mean)) + 0.5) / (n + 0.5 * np.size(mean)))


def _noise_at(sample: Sample, mu: np.ndarray) -> np.ndarray:
    """The covariance (K, K) of a report at mu; respondents without noise get a trace of it."""
    noise = covariance_of(sample.data, mu, sample.target)
    if sample.target == "respondents":
        trace = _TRACE * max(float(noise.diagonal().max()), 1.0)
        noise = noise + trace * (np.eye(mu.size) - 1 / mu.size)
    return noise


def _pooled_noise(
    samples: Sequence[Sample], sizes: np.ndarray
) -> tuple[Coordinates, tuple[float, float] | None]:
    """Coordinates at the noise of the reports of all groups, and moments of the statistic.

    With whole reports, each of another person, the noise is that of the reports themselves. So
    values that hardly anybody has are given no people, and the moments are known.
    """
    from warner.results.pooling import Coordinates

    first = samples[0].data
    channel = first.channel
    if (
        samples[0].target == "respondents"
        or any(s.data.reports_per_person > 1 for s in samples)
        or channel.rows_per_report > 1
        or len(channel.groups()) > 1
        or channel.shape[0] * channel.shape[1] > LARGEST_DENSE
    ):
        mu = _mean_of(samples, sizes)
        return Coordinates.of(mu, _noise_at(samples[0], mu)), None
    pooled = sizes @ np.stack([s.data.weights for s in samples]) / sizes.sum()
    seen = pooled > 0
    terms, shares = channel.influence(np.eye(channel.shape[1]))[seen], pooled[seen]
    centre = shares @ terms
    covariance = (terms.T * shares) @ terms - np.multiply.outer(centre, centre)
    coordinates = Coordinates.of(centre, covariance)
    lengths = (coordinates.to(terms) ** 2).sum(axis=1)
    return coordinates, dealt_moments(sizes, shares, lengths)


def dealt_moments(
    sizes: np.ndarray, shares: np.ndarray, lengths: np.ndarray
) -> tuple[float, float] | None:
    """Mean and variance of the statistic over all ways to deal the N reports to the groups.

    The statistic is tr(H K), where H (N, N) projects on the means of the groups less that of all,
    and K holds the inner products of the reports' coordinates.

    Source: Kazi-Aoual, Hitier, Sabatier and Lebreton (1995).

    Shapes: sizes (G,), shares (m,), lengths (m,).
    """
    n, groups = float(sizes.sum()), sizes.size
    if n < 4:
        return None
    rank = float(shares @ lengths)
    h, h_diagonal = groups - 1.0, float((1 / sizes).sum()) - (2 * groups - 1) / n
    k, k_square, k_diagonal = n * rank, n**2 * rank, n * float(shares @ lengths**2)
    even = ((n - 1) * h - h**2) * ((n - 1) * k_square - k**2) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    uneven = n * (n + 1) * h_diagonal - (n - 1) * (h**2 + 2 * h)
    uneven *= n * (n + 1) * k_diagonal - (n - 1) * (k**2 + 2 * k_square)
    variance = 2 * even + uneven / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return h * k / (n - 1), variance


_BEYOND = (
    "Differences are computed before shares are limited to 0 to 100 %, so they need not match the "
    "shares in a table of groups."
)


def figures_of_difference(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Both numbers, their difference and its interval as texts with the same decimals.

    >>> row = {"estimate": 0.284, "reference_estimate": 0.2612, "difference": 0.0228,
    ...        "low": -0.01, "high": 0.05, "is_share": True}
    >>> figures_of_difference(row)
    ('28.4 %', '26.1 %', '+2.3 points', '-1.0 to +5.0')
    """
    scale, unit = (100, " %") if row["is_share"] else (1, "")
    keys = ("estimate", "reference_estimate", "low", "high")
    a, b, low, high = (scale * float(row[key]) for key in keys)
    decimals = max(decimals_of_number(high - low), 0)
    low, high = outwards(low, high, decimals)
    # The difference of the two numbers that are shown.
    d = round(a, decimals) - round(b, decimals)
    points = " points" if row["is_share"] else ""
    return (
        f"{a:.{decimals}f}{unit}",
        f"{b:.{decimals}f}{unit}",
        f"{d:+.{decimals}f}{points}",
        f"{low:+.{decimals}f} to {high:+.{decimals}f}",
    )


def sentence(row: Mapping[str, Any], level: float, both_p: bool = True) -> str:
    """A difference in plain words, with both p-values or the corrected one alone.

    >>> row = {"group": "north", "reference": "south", "value": "yes", "difference": 0.021,
    ...        "low": 0.004, "high": 0.038, "p": 0.015, "p_holm": 0.015, "is_share": True}
    >>> sentence(row, 0.95).split(" (")[1]
    '95 % interval 0.4 to 3.8, p = 0.015).'
    """
    scale, unit = (100, " points") if row["is_share"] else (1, "")
    about = f"share of {as_text(row['value'])}" if row["is_share"] else str(row["value"])
    d, low, high = (scale * row[key] for key in ("difference", "low", "high"))
    way = "higher" if d >= 0 else "lower"
    if d < 0:
        d, low, high = -d, -high, -low
    decimals = max(decimals_of_number(high - low), 0)
    low, high = outwards(low, high, decimals)
    p = shown_p(row["p"])
    if row["p_holm"] != row["p"]:
        corrected = f"{shown_p(row['p_holm'])} when corrected for the number of comparisons"
        p = f"{p}, and {corrected}" if both_p else corrected
    return (
        f"The {about} is {d:.{decimals}f}{unit} {way} in {row['group']} than in {row['reference']} "
        f"({100 * level:.4g} % interval {low:.{decimals}f} to {high:.{decimals}f}, {p})."
    )


# -----------------------------------------------------------------------------------------------
# Tests of hypotheses about shares, from the exact covariance of the unbiased estimates.
#
# A statistic (T - theta_0)' V^+ (T - theta_0) is compared with a chi-square law, whose degrees of
# freedom are the rank of the covariance V. V is taken at the shares of the hypothesis, and V^+ is
# its pseudo-inverse. The tests are asymptotic: they keep their level where some hundred reports
# were made, and where no share of the hypothesis is so small that hardly a report supports it.


_RANK = 1e-9  # relative size of an eigenvalue that counts as 0
_IMPOSSIBLE = 1e-15  # a report's probability by that at even shares; the rounding of a share of 0


@dataclass(frozen=True)
class WaldTest:
    """The result of a chi-square test.

    Attributes:
        hypothesis: what was tested, in words.
        statistic: chi-square; it is near ``degrees`` where the hypothesis holds, and infinite where
            the reports rule it out.
        degrees: the degrees of freedom.
        p_value: the probability of as large a statistic where the hypothesis holds.
        n: the number of reports.
        f_degrees: of a survey with a design, both degrees of freedom of the F distribution that p
            is of; F is ``statistic / degrees``. Else None.

    >>> print(WaldTest("a and b are alike", 9.2, 2, 0.01, 500).text)
    ... # doctest: +NORMALIZE_WHITESPACE
    Test whether a and b are alike: if so, chance alone gives a statistic at least as large with
    probability p = 0.01 (chi-square 9.20 on 2 degrees of freedom).
    >>> print(WaldTest("a and b are alike", 9.68, 2, 0.0089, 800, (1.92, 1527.0)).text)
    ... # doctest: +NORMALIZE_WHITESPACE
    Test whether a and b are alike: if so, chance alone gives a statistic at least as large with
    probability p = 0.0089 (F(1.92, 1527) = 4.84).
    """

    hypothesis: str
    statistic: float
    degrees: int
    p_value: float
    n: int
    f_degrees: tuple[float, float] | None = None

    @classmethod
    def of(
        cls,
        hypothesis: str,
        statistic: float,
        degrees: int,
        n: int,
        moments: tuple[float, float] | None = None,
        of_noise: float = np.inf,
    ) -> WaldTest:
        """The test, with the p-value of a chi-square that has these moments times a number.

        Where the covariance has been estimated with few degrees of freedom ``of_noise``, p is that
        of an F distribution with as many times those of the chi-square below.

        Args:
            hypothesis, statistic, degrees, n: of the test.
            moments: mean and variance where the hypothesis holds; None for ``degrees`` and twice
                that.
            of_noise: the degrees of freedom of the covariance.
        """
        mean, variance = moments or (degrees, 2.0 * degrees)
        if variance <= _RANK * mean**2:  # the statistic cannot be another one by chance
            p = float(statistic <= mean * (1 + _RANK))
            return cls(hypothesis, statistic, degrees, p, n)
        freedom = 2 * mean**2 / variance
        ratio = max(statistic, 0.0) / mean  # floats can leave a little less than 0
        # Not scipy.stats, whose import takes a second of everybody who compares groups.
        if np.isfinite(of_noise):
            f_degrees = freedom, freedom * of_noise
            p = float(scipy.special.fdtrc(*f_degrees, ratio))
            return cls(hypothesis, statistic, degrees, p, n, f_degrees)
        p = float(scipy.special.chdtrc(freedom, ratio * freedom))
        return cls(hypothesis, statistic, degrees, p, n)

    @classmethod
    def of_design(
        cls,
        hypothesis: str,
        statistic: float,
        degrees: int,
        n: int,
        covariance: np.ndarray,
        of_noise: float,
    ) -> WaldTest:
        """The test of a survey with a design, from z'z of normal z with a covariance (J, J).

        The statistic is divided by its mean, so that it is near ``degrees`` where the hypothesis
        holds. The covariance is that of the design, in units of people drawn one by one.
        """
        mean = float(np.trace(covariance))
        if not (mean > 0 and np.isfinite(statistic)):
            p = float(statistic <= 0)
            return cls(hypothesis, np.inf if statistic > 0 else 0.0, degrees, p, n)
        scale = degrees / mean
        variance = 2 * scale**2 * float((covariance * covariance.T).sum())
        moments = float(degrees), variance
        return cls.of(hypothesis, statistic * scale, degrees, n, moments, of_noise)

    @property
    def text(self) -> str:
        """The hypothesis and the result in words."""
        return (
            f"Test whether {self.hypothesis}: if so, chance alone gives a statistic at least as "
            f"large with probability {shown_p(self.p_value)} ({self._statistic_in_words})."
        )

    @property
    def law(self) -> str:
        """The statistic and p in words."""
        return f"{self._statistic_in_words}, {shown_p(self.p_value)}"

    @property
    def _statistic_in_words(self) -> str:
        if self.f_degrees is not None:
            first, second = self.f_degrees
            decimals = 0 if second >= 100 else 1
            return f"F({first:.2f}, {second:.{decimals}f}) = {self.statistic / self.degrees:.2f}"
        freedom = "1 degree" if self.degrees == 1 else f"{self.degrees:,} degrees"
        return f"chi-square {self.statistic:.2f} on {freedom} of freedom"

    @property
    def explained(self) -> str:
        """How the test was computed, in words."""
        if self.f_degrees is None:
            return "The test of all groups is the Wald test of their unbiased estimates."
        return (
            "The test of all groups takes the chi-square of the weighted shares, divides it by its "
            "mean under the survey design, and compares the result with an F distribution (Rao and "
            "Scott 1984; Thomas and Rao 1987)."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The result as a table of one row."""
        return [
            {
                "hypothesis": self.hypothesis,
                "statistic": self.statistic,
                "degrees": self.degrees,
                "p": self.p_value,
                "n": self.n,
            }
        ]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        (row,) = self.rows()
        if np.isinf(self.statistic):
            row["statistic"] = None  # JSON has no infinity
        return {"format": "warner-test", "schema": 1, **row, "text": self.text}


def shown_p(p: float) -> str:
    """A p-value as a text.

    >>> shown_p(0.0312), shown_p(0.00001)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def data_of(
    result: Solution | LikelihoodData | Tally | Iterable[Tally],
    survey: SurveyDesign | None = None,
) -> LikelihoodData:
    """The reports of an estimate, or of tallies; of a survey weighted, with its noise."""
    if survey is not None:
        return GroupTable.surveyed(result, survey, ()).whole
    data = result if isinstance(result, LikelihoodData) else getattr(result, "data", None)
    if data is None:
        data = likelihood_data(result)  # type: ignore[arg-type]
    elif getattr(result, "sums", None) is not None:
        rule = "must be made of all questions together, or of these questions alone"
        remedy = "Estimate them from the tally: estimate(tally, attributes=[...])"
        raise ArgumentError("estimate", rule, "a part of a larger estimate", remedy)
    if data.n < LEAST_REPORTS:
        raise EmptyError("reports", "must be at least 2 for a test", str(data.n))
    return data


def goodness_of_fit(
    result: Solution | Tally | Iterable[Tally],
    shares: ArrayLike,
    *,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> WaldTest:
    """Test whether the true shares are given ones.

        n (T - theta_0)' C(theta_0)^+ (T - theta_0),   chi-square on K - 1 degrees of freedom

    T is the unbiased estimate, and C the exact covariance of one report's contribution where the
    shares are theta_0. Where one person sent several reports, C is that for alike values. If there
    are reports that cannot be made where the shares are theta_0, such as those of a value of share
    0 that needs no protection, the statistic is infinite and p is 0.

    Args:
        result: an estimate or a tally. The method of an estimate does not matter.
        shares: theta_0 (K,), a distribution.
        weights, cluster, strata: of a survey, the public columns of the tally that say how people
            were drawn, as for :func:`warner.estimate`. An estimate knows its own. The statistic is
            then compared with the law that it has with the covariance of the design
            [Rao and Scott 1984].

    Returns:
        WaldTest.

    Raises:
        ArgumentError: not a distribution of K shares.
        EmptyError: fewer than two reports.
        IdentifiabilityError: the channel has no inverse.

    Source: METHODS 10.5.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    >>> tally = coin.tally(coin.randomize(["no"] * 2000 + ["yes"] * 6000))
    >>> goodness_of_fit(tally, [0.5, 0.5]).p_value < 1e-6
    True
    """
    from warner.results.pooling import Coordinates

    data = data_of(result, SurveyDesign.of(weights, cluster, strata))
    expected = distribution("shares", shares, data.domain.size, tolerance=1e-6)
    expected = expected / expected.sum()
    alone = replace(data, survey=None)
    coordinates = Coordinates.of(expected, covariance_of(alone, expected))
    z = coordinates.to(data.channel.invert(data.weights)[None])[0]
    statistic = np.inf if _excluded(data, expected) else float(data.n * (z @ z))
    name = "the shares are those given"
    if data.survey is None:
        return WaldTest.of(name, statistic, coordinates.rank, data.n)
    noise = coordinates.along(covariance_of(data, expected))
    return WaldTest.of_design(name, statistic, coordinates.rank, data.n, noise, data.degrees)


def _excluded(data: LikelihoodData, shares: np.ndarray) -> bool:
    """Whether some of the reports are impossible at these shares."""
    even = np.full(shares.size, 1 / shares.size)
    least = _IMPOSSIBLE * data.channel.matvec(even)
    return bool((data.weights[data.channel.matvec(shares) <= least] > 0).any())


def independence(
    result: Solution | LikelihoodData | Tally | Iterable[Tally],
    first: str,
    second: str,
    *,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> WaldTest:
    """Test whether two protected attributes are independent.

        n d' S^+ d,   d the entries of D = T - a b',   chi-square on (r - 1)(c - 1) degrees

    T (r, c) is the unbiased estimate of the joint shares, with the marginals a and b. S is the
    exact covariance of one report's contribution to (I - a 1') T (I - b 1')', where the shares are
    a b'. How strong the dependence is, ``estimate.cramers_v`` says.

    Args:
        result: a joint estimate or a tally of both attributes.
        first, second: names of two attributes.
        weights, cluster, strata: as for :func:`goodness_of_fit`.

    Returns:
        WaldTest.

    Raises:
        ArgumentError: not two attributes of the domain, or reports whose noise is not listed.
        EmptyError: fewer than two reports.

    Source: METHODS 10.5.

    >>> from warner import Categorical, Product, RandomizedResponse
    >>> domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    >>> both = RandomizedResponse(domain, 3.0)
    >>> answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 500
    >>> independence(both.tally(both.randomize(answers)), "a", "b").p_value < 1e-6
    True
    """
    from warner.results.association import pair_of
    from warner.results.pooling import Coordinates

    data = data_of(result, SurveyDesign.of(weights, cluster, strata))
    pair = pair_of(data, first, second)
    table = pair.channel.invert(pair.weights).reshape(pair.shape)
    sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
    # A cell that nobody has would have no variance under the hypothesis.
    sides = [(pair.n * side + 0.5) / (pair.n + 0.5 * side.size) for side in sides]
    contrasts = [np.eye(side.size) - side[:, None] for side in sides]
    d = contrasts[0] @ table @ contrasts[1].T
    degrees = (pair.shape[0] - 1) * (pair.shape[1] - 1)
    name = f"{first} and {second} are independent"
    if data.survey is not None:
        keep = positions(data.domain, [first, second], least=2)
        on_pair = data.survey.on_attributes(data.domain.shape, keep)
        noise = on_pair.covariance(pair.channel.covariance)
        even = np.multiply.outer(*sides).ravel()
        contrast = np.kron(*contrasts)
        alone = contrast @ pair.channel.covariance(even) @ contrast.T
        root = root_of_inverse(alone, degrees)
        z = root.T @ d.ravel()
        turned = pair.n * root.T @ contrast @ noise @ contrast.T @ root
        statistic = pair.n * float(z @ z)
        return WaldTest.of_design(name, statistic, degrees, pair.n, turned, data.degrees)
    channels = pair.channel.factors(pair.shape)
    if channels is not None and data.reports_per_person == 1:
        # Attributes that were randomised separately: S is the Kronecker product of both noises.
        for side, contrast, channel in zip(sides, contrasts, channels, strict=True):
            noise = contrast @ channel.covariance(side) @ contrast.T
            d = Coordinates.of(side, noise).to(d.T + side)
        statistic = float((d**2).sum())
    else:
        even = np.multiply.outer(*sides).ravel()
        covariance = pair.channel.covariance(even)
        if data.reports_per_person > 1:
            more = data.reports_per_person - 1
            covariance = covariance + more * (np.diag(even) - np.multiply.outer(even, even))
        contrast = np.kron(*contrasts)
        statistic = quadratic(d.ravel(), contrast @ covariance @ contrast.T, degrees)
    return WaldTest.of(name, pair.n * statistic, degrees, pair.n)


def quadratic(d: np.ndarray, covariance: np.ndarray, rank: int) -> float:
    """d' V^+ d, with the ``rank`` largest eigenvalues of V (J, J)."""
    z = root_of_inverse(covariance, rank).T @ d
    return float(z @ z)


def root_of_inverse(covariance: np.ndarray, rank: int) -> np.ndarray:
    """R (J, r) with V^+ = R R', with the ``rank`` largest eigenvalues of V (J, J)."""
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    size, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
    is_large = size > _RANK * max(float(size[-1]), 1e-300)
    is_large[: size.size - rank] = False
    return np.asarray(vectors[:, is_large] / np.sqrt(size[is_large]) / scale[:, None])
