"""The people of a regression: their reports, and the columns that stand beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import kind, show, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    ImpossibleReportError,
    MismatchError,
)
from warner._core.foreign_tables import in_order_of
from warner._core.survey_design import DrawnSample, SurveyDesign
from warner._core.table import as_text
from warner._core.text import MADE_BY
from warner.channels import DenseChannel, FloatArray, IntArray, LikelihoodOperator
from warner.designs.latent_classes import ClassShares, LatentClasses, SaidInGroups
from warner.domains import Categorical, Domain
from warner.mechanisms import from_header
from warner.mechanisms.base import Mechanism
from warner.regression.covariates import (
    INTERCEPT,
    Column,
    Design,
    columns_of,
    design_of,
    doubts_of_columns,
    in_formula,
    levels_from,
    levels_stated,
    names_of_sum,
    with_codes_as_labels,
    words_of,
)
from warner.reports.reports import Reports, columns_for_files
from warner.results.from_tally import likelihood_data, tested
from warner.results.named_summaries import has_many_combinations
from warner.results.tables import has_paper

_LARGEST_ROWS = 2**27  # entries of the likelihoods of the different reports
OTHERS = "other answers"  # all answers but one
_DIGITS, _MOST_LEVELS = 12, 64  # of the probabilities of one answer's reports


# A question, as in C(smokes) or `smokes`, and the answer in smokes == 'often'.
_LEFT = re.compile(r"(?:C\(\s*)?`?([^`=()]*?)`?\s*\)?\s*(?:==\s*(.+))?")


class Nuisance(NamedTuple):
    """What a design adds to an answer, such as honesty: a share that is the same for all people."""

    name: str
    meaning: str  # who they are, as in "people who ..."
    label: IntArray  # (C,) 1 or 0 for the one or the other; -1 for classes that it does not concern


class Classes(NamedTuple):
    """The classes that a report tells of: the answers, or answers and what a design adds."""

    labels: tuple[Any, ...]  # (K,) the answers
    answer: IntArray  # (C,) the number of the answer of each class; -1 where nobody knows it
    nuisances: tuple[Nuisance, ...]

    @classmethod
    def of(cls, domain: Domain) -> Classes:
        """The classes of a domain."""
        return cls(tuple(domain.labels), np.arange(domain.size), ())

    @classmethod
    def of_design(cls, design: LatentClasses) -> Classes:
        """The classes of a design with several groups.

        Every share that it asks for beside those of the answers is a nuisance: it tells classes of
        one answer apart.
        """
        labels = tuple(dict.fromkeys(answer for answer in design.answers if answer is not None))
        answer = np.array([-1 if a is None else labels.index(a) for a in design.answers])
        names = np.array(design.classes)
        of_answers = [set(names[answer == x]) for x in range(len(labels))]
        nuisances = []
        for name, share in design.shares.items():
            if set(share.classes) in of_answers and not share.among:
                continue
            counted, among = (
                np.isin(names, list(x)) for x in (share.classes, share.among or names)
            )
            label = np.where(among, counted.astype(np.int64), -1)
            nuisances.append(Nuisance(name, share.meaning, label))
        return cls(labels, answer, tuple(nuisances))

    @property
    def without_answer(self) -> str:
        """Whose answers the design says nothing about, as the end of a rule, or ""."""
        unknown = self.answer < 0
        who = [n.meaning for n in self.nuisances if (n.label[unknown] == 1).all()]
        if not unknown.any():
            return ""
        return f"some people {' or '.join(who)}, and this design gives no answer for them"

    def with_reference(self, reference: Any) -> Classes:
        """The same classes, with the answers in an order in which the reference is the first."""
        if reference is None:
            return self
        first = [i for i, label in enumerate(self.labels) if label == reference]
        if not first:
            raise ArgumentError(
                "reference", "must be one of the values of the question", show(reference)
            )
        order = np.concatenate([first[:1], np.delete(np.arange(len(self.labels)), first[0])])
        answer = np.append(np.argsort(order), -1)[self.answer]
        return self._replace(labels=tuple(self.labels[x] for x in order), answer=answer)


@dataclass(frozen=True, eq=False)
class Problem:
    """Reports as rows of a channel."""

    channel: LikelihoodOperator  # A (m, C)
    row: IntArray  # (n,) the row of each report
    domain: Domain  # the K values
    classes: Classes  # the C classes, which are the values or more than these
    people: IntArray  # (n,) whose reports they are; fewer than all if some were not asked
    doubt: str = ""  # what readers have to know of the counts of these reports

    @property
    def n(self) -> int:
        """The number of reports."""
        return len(self.row)

    @cached_property
    def _different(self) -> tuple[IntArray, IntArray]:
        """The rows that occur, (r,), and which of them each report has, (n,)."""
        used, report = np.unique(self.row, return_inverse=True)
        return used, report.astype(np.int64)

    @property
    def report(self) -> IntArray:
        """(n,) the place of each report among the different ones."""
        return self._different[1]

    def of_outcome(self, outcome: Any) -> Problem:
        """The same reports about two answers, ``outcome`` and any other.

        Reports with which the outcome is equally likely become one. Its probability must then be
        the same for all other answers, so that their shares need no model.
        """
        size = self.domain.size
        if size == 2:
            return self
        rule = "can be used only with RandomizedResponse and mechanisms like it"
        remedy = "Leave out outcome: each answer is then compared with the reference"
        refusal = ArgumentError("outcome", rule, None, remedy)
        position = list(self.domain.labels).index(outcome)
        if self.channel.shape[1] != size:
            raise refusal
        likelihood = self.channel.matvec((np.arange(size) == position).astype(np.float64))
        levels, alike = np.unique(likelihood.round(_DIGITS), return_inverse=True)
        if len(levels) > _MOST_LEVELS:
            raise refusal
        groups = np.arange(len(levels))[:, None] == alike
        sums = np.array([self.channel.rmatvec(group.astype(np.float64)) for group in groups])
        others = np.delete(sums, position, axis=1)
        if not np.allclose(sums.sum(axis=0), 1.0) or not np.allclose(others.T, others[:, 0]):
            raise refusal
        domain = Categorical([OTHERS, as_text(outcome)])
        channel = DenseChannel(np.column_stack([others[:, 0], sums[:, position]]))
        two, row = Classes.of(domain), alike[self.row]
        return replace(self, channel=channel, row=row, domain=domain, classes=two)

    def likelihoods(self) -> tuple[FloatArray, FloatArray]:
        """The likelihoods (r, K) of the r different reports."""
        used = self._different[0]
        if used.size * self.channel.shape[1] > _LARGEST_ROWS:
            most, values = _LARGEST_ROWS // self.channel.shape[1], self.channel.shape[1]
            rule = f"must have at most {most:,} different reports if there are {values:,} values"
            remedy = "Merge some values, or use kind='mean'"
            raise ArgumentError("reports", rule, f"{used.size:,}", remedy)
        rows = self.channel.rows(used)
        scale = rows.max(axis=1)
        if (scale <= 0).any():
            rule = "include a report that is impossible, whatever the answer was"
            raise ImpossibleReportError("reports", rule, None, MADE_BY)
        logs = np.log(scale) + self.channel.log_factors_of(used)
        return rows / scale[:, None], np.asarray(logs)


def problems_in_groups(said: SaidInGroups, attribute: str | None, trusted: bool) -> list[Problem]:
    """What people said in each group of a design, refused where no people say so by chance."""
    if attribute is not None:
        rule = "can be used only with reports of several questions"
        raise ArgumentError("attribute", rule, show(attribute), "Leave out the argument attribute")
    doubt = said.design.estimate(said.counts(), trusted=trusted).doubt
    classes = Classes.of_design(said.design)
    answers = Categorical(list(classes.labels))
    return [
        Problem(DenseChannel(group.matrix), said.word[people], answers, classes, people, doubt)
        for g, group in enumerate(said.design.groups)
        for people in [np.flatnonzero(said.group == g)]
    ]


def problem_of(reports: Reports, attribute: str | None, trusted: bool) -> Problem:
    """The reports of one attribute as rows of a channel, refused where no answers make them."""
    mechanism: Mechanism = from_header(reports.header)
    mechanism.check(reports)
    if attribute is None:
        _require_question(mechanism)
        mechanism.require_whole_reports()
        channel, row = mechanism.channel_of_reports(reports.columns)
        people, domain = np.arange(len(row)), mechanism.domain
        counts, data = mechanism.count(reports.columns), None
    else:
        channel, row, people = mechanism.reports_about(reports.columns, attribute)
        domain = mechanism.attribute_domains[attribute]
        counts = mechanism.count(reports.columns, ways=1)
        data = likelihood_data(counts, [attribute])
    plausible = tested(counts.trusted() if trusted else counts, data, "reports")
    row = np.asarray(row, dtype=np.int64)
    about = "" if attribute is None else f"{attribute}: "
    doubt = f"{about}{plausible.hint}" if plausible.hint else ""
    if plausible.note:
        doubt = f"WARNING: {about}{plausible.note}"
    return Problem(channel, row, domain, Classes.of(domain), people, doubt)


def _require_question(mechanism: Mechanism) -> None:
    """Refuse several questions at once whose combinations are too many to read or to wait for."""
    names = list(mechanism.attribute_domains)
    if not has_many_combinations(mechanism.domain) or mechanism.about(names[:1]) is mechanism:
        return
    size = mechanism.domain.size
    rule = (
        f"must name one question, because {' and '.join(names)} have {size:,} combinations of "
        "answers"
    )
    numbers = [name for name, d in mechanism.attribute_domains.items() if d.is_numeric]
    remedy = f"For example attribute={show(names[0])}"
    if numbers:
        remedy += f", or attribute={show(numbers[0])} with kind='mean'"
    raise ArgumentError("attribute", rule, None, remedy)


def doubts_of(problems: Sequence[Problem]) -> tuple[str, ...]:
    """What readers have to know of the counts of several groups of people, each once."""
    return tuple(dict.fromkeys(problem.doubt for problem in problems if problem.doubt))


def are_on_paper(problems: Sequence[Problem]) -> bool:
    """Whether some of the people randomised their answers themselves."""
    return any(has_paper(problem.channel) for problem in problems)


@dataclass(frozen=True, eq=False)
class Answers:
    """The reports of n people as likelihoods of C classes."""

    rows: FloatArray  # (r, C) the likelihoods of the different reports, each up to a factor
    logs: FloatArray  # (r,) the logarithms of these factors
    report: IntArray  # (n,) the place of the report of each person
    domain: Domain  # the K values
    classes: Classes  # the C classes
    people: IntArray  # (n,) who the people are, among all who reported
    doubts: tuple[str, ...]  # what readers have to know of the counts of these reports
    on_paper: bool  # whether some of the people randomised their answers themselves

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Answers:
        """The reports of groups of people, one after the other."""
        rows, logs = zip(*(problem.likelihoods() for problem in problems), strict=True)
        starts = np.cumsum([0, *(len(each) for each in rows)])
        reports = [p.report + start for p, start in zip(problems, starts, strict=False)]
        people = np.concatenate([problem.people for problem in problems])
        stacked = np.concatenate(rows), np.concatenate(logs), np.concatenate(reports)
        of_first = problems[0].domain, problems[0].classes
        on_paper = are_on_paper(problems)
        return cls(*stacked, *of_first, people, doubts_of(problems), on_paper)


def _listed(reports: Any) -> tuple[Reports | SaidInGroups, ...]:
    """Reports, or a list of them, as a tuple."""
    listed = reports if isinstance(reports, list | tuple) and reports else [reports]
    for each in listed:
        if not isinstance(each, Reports | SaidInGroups):
            remedy = "Pass what mechanism.randomize returns, or mechanism.reports(frame)"
            rule = "must be Reports, one for each person"
            raise ArgumentTypeError("reports", rule, kind(each), remedy)
    return tuple(listed)


@dataclass(frozen=True, eq=False)
class People:
    """People with their reports, and the public columns beside them.

    The sources are reports; of people in groups that were asked differently, those of each group.
    ``named`` has such sources for each of several questions to the same people.
    """

    sources: tuple[Reports | SaidInGroups, ...]
    covariates: Any  # columns with a row for each of these reports, one group after the other
    formula: str | None  # the right side of a formula; None for all columns
    survey: SurveyDesign | None = None  # the columns that say how people were drawn
    random: str | None = None  # the column with groups whose people are alike
    baselines: Mapping[str, Any] = field(default_factory=dict)  # the label of each to compare with
    named: Mapping[str, tuple[Reports | SaidInGroups, ...]] = field(default_factory=dict)
    hidden: str | None = None  # the formula of a hidden answer that is a predictor

    @classmethod
    def of(
        cls,
        reports: Any,
        covariates: Any,
        formula: str | None,
        survey: SurveyDesign | None = None,
        random: str | None = None,
        baselines: Mapping[str, Any] | None = None,
        hidden: str | None = None,
    ) -> People:
        """People with reports, with a list of the reports of groups, or with several questions."""
        if isinstance(reports, Mapping) and reports:
            named = {str(name): _listed(each) for name, each in reports.items()}
            sources = next(iter(named.values()))
            for name, each in named.items():
                if list(map(len, each)) != list(map(len, sources)):
                    rule = "must be one for each person and question"
                    first = next(iter(named))
                    got = f"other numbers of reports for {name!r} than for {first!r}"
                    raise ArgumentError("reports", rule, got)
        else:
            named, sources = {}, _listed(reports)
        return cls(sources, covariates, formula, survey, random, baselines or {}, named, hidden)

    @property
    def total(self) -> int:
        """The number of people."""
        return sum(map(len, self.sources))

    @property
    def simulated(self) -> bool:
        """Whether any reports are a simulation."""
        return any(isinstance(r, Reports) and r.simulated for r in self.sources)

    @cached_property
    def in_groups(self) -> tuple[ClassShares, ...]:
        """The shares of all people, of the designs of several groups that test themselves."""
        said = [r for of in self.named.values() or [self.sources] for r in of]
        shares = [each.shares() for each in said if isinstance(each, SaidInGroups)]
        return tuple(each for each in shares if each.fit_test is not None)

    @property
    def attributes(self) -> list[str]:
        """The questions in one report of a person; of one question none."""
        first = self.sources[0]
        return (
            list(from_header(first.header).attribute_domains) if isinstance(first, Reports) else []
        )

    def about(self, attribute: str | None) -> tuple[People, str | None]:
        """The people of one question, which the left side of the formula may name, and its name."""
        text = self.formula if isinstance(self.formula, str) else ""
        left, tilde, right = text.partition("~")
        questions, name = [*self.named] or self.attributes, left.strip().strip("`")
        if tilde and not right.strip():
            remedy = f"Write '{left.strip() or 'answer'} ~ age', or ~ 1 for no covariates"
            raise ArgumentError("formula", "needs a right side", show(self.formula), remedy)
        if not (tilde and name):
            if self.named:
                rule = "must be of one question, unless hidden=... names the questions"
                remedy = (
                    f"Name the question in the formula, as in '{in_formula(questions[0])} ~ age'"
                )
                raise ArgumentError("reports", rule, ", ".join(questions), remedy)
            return self, attribute
        sources = self.named.get(name, self.sources)
        people = replace(self, formula=right.strip(), named={}, sources=sources)
        self._refuse_answer(left.strip(), right.strip())
        if questions and name not in questions:
            raise unknown("formula", name, questions, "the questions")
        if attribute is not None and attribute != name:
            rule = f"must be the question left of ~ in the formula, {name!r}"
            raise ArgumentError("attribute", rule, show(attribute), "Leave out attribute")
        if questions:
            return people, attribute if self.named else name
        # Reports of a single question have no name. A column of the covariates is none of it.
        if names_of_sum(left) != [name] or name in people.columns:
            rule = "must have the hidden question left of ~, or nothing"
            remedy = f"Write {right.strip()!r}"
            if name in people.columns:
                rule = f"{rule}, but {name!r} is a column of the covariates"
                remedy += f". To explain {name!r} by the hidden answer, use hidden=..."
            raise ArgumentError("formula", rule, show(self.formula), remedy)
        return people, attribute

    def _refuse_answer(self, left: str, right: str) -> None:
        """Refuse an answer left of ~ in place of a question, as in ``smokes == 'often' ~ age``."""
        domains: dict[str, Domain] = {}
        for name, (first, *_) in (self.named or {"": self.sources}).items():
            if isinstance(first, Reports):
                mechanism = from_header(first.header)
                alone = {name: mechanism.domain}
                domains |= (not name and mechanism.attribute_domains) or alone
        compared = _LEFT.fullmatch(left)
        if compared is None or left in domains:
            return
        question, answer = compared[1].strip(), (compared[2] or compared[1]).strip(" '\"`")
        for name, domain in domains.items():
            if domain.size > 2 and answer in map(str, domain.labels):
                side = f"{in_formula(name)} ~ {right}" if name else right
                rule = "must have the question left of ~, and not one of the answers"
                remedy = f"Pass the formula {side!r} and outcome={answer!r}"
                raise ArgumentError("formula", rule, show(self.formula), remedy)
        if question in domains and question != left.strip("`"):
            rule = "must have the question alone left of ~"
            remedy = f"Write '{in_formula(question)} ~ {right}'"
            raise ArgumentError("formula", rule, show(self.formula), remedy)

    def problems(
        self, attribute: str | None, trusted: bool, named: str | None = None
    ) -> list[Problem]:
        """The reports of each group as rows of its channel, of the question that is named."""
        problems: list[Problem] = []
        start = 0
        for reports in self.sources if named is None else self.named[named]:
            each = (
                problems_in_groups(reports, attribute, trusted)
                if isinstance(reports, SaidInGroups)
                else [problem_of(reports, attribute, trusted)]
            )
            problems += [replace(problem, people=problem.people + start) for problem in each]
            start += len(reports)
            if problems[-1].domain != problems[0].domain:
                rule = "must all be of one question, with the same values"
                got = f"{show(problems[0].domain)} and {show(problems[-1].domain)}"
                raise MismatchError("reports", rule, got)
        return problems

    @property
    def _used(self) -> set[str] | None:
        """The columns that arguments and formulas name; None for all."""
        if not isinstance(self.formula, str):
            return None
        return {*words_of(f"{self.formula} {self.hidden or ''}"), *self.set_aside, *self.baselines}

    @cached_property
    def columns(self) -> dict[str, Column]:
        """All columns, in the order of the reports."""
        if isinstance(self.covariates, Mapping) and not self.covariates and self.formula == "1":
            return {INTERCEPT: np.ones(self.total)}
        index = getattr(self.sources[0], "index", None) if len(self.sources) == 1 else None
        columns = columns_of(in_order_of(index, self.covariates, "covariates"), self._used)
        columns = with_codes_as_labels(columns, self.baselines)
        if (length := len(next(iter(columns.values())))) != self.total:
            rule = f"must have a row for each of the {self.total} reports, in the same order"
            raise ArgumentError(
                "covariates", rule, f"{length} rows", "Pass the covariates of the same people"
            )
        start = 0
        for reports in self.sources:
            stop = start + len(reports)
            if isinstance(reports, Reports) and reports.file is not None:
                reports.file.require("covariates", {n: c[start:stop] for n, c in columns.items()})
            start = stop
        columns = self._without_reports(columns)
        if self.survey is not None:
            self.survey.require_columns(columns, "the covariates")
        if self.random is not None:
            self.column("random", self.random, columns)
        return columns

    def _without_reports(self, columns: dict[str, Column]) -> dict[str, Column]:
        """The columns that are not the reports themselves, as a frame of both has them."""
        reports: list[tuple[str, Column]] = []
        for sources in self.named.values() or [self.sources]:
            listed = [columns_for_files("", s.columns) for s in sources if isinstance(s, Reports)]
            for end in listed[0] if len(listed) == len(sources) else ():
                reports.append((end, np.concatenate([each[end] for each in listed])))
        copies = [
            name
            for name, column in columns.items()
            if (self._used is None or name in self._used)
            and any(name.endswith(end) and np.array_equal(column, each) for end, each in reports)
        ]
        if copies and self._used is not None:
            rule = "must not be a column of the reports"
            remedy = f"Leave {copies[0]!r} out of the formula"
            raise ArgumentError("covariates", rule, show(copies[0]), remedy)
        if copies and len(copies) == len(columns):
            rule, remedy = "must have a column besides the reports", "Add a column, or formula='1'"
            raise ArgumentError("covariates", rule, ", ".join(copies), remedy)
        return {name: column for name, column in columns.items() if name not in copies}

    def column(self, role: str, name: Any, columns: dict[str, Column] | None = None) -> Column:
        """A column that an argument names."""
        columns = self.columns if columns is None else columns
        if name not in columns:
            raise unknown(role, name, columns, "the columns")
        return columns[name]

    def of_each(self, attribute: str | None, trusted: bool, named: str | None) -> Answers:
        """The answers of all people; whoever was not asked has a report that tells nothing."""
        answers = Answers.of(self.problems(attribute, trusted, named))
        if np.array_equal(answers.people, np.arange(self.total)):
            return answers
        report = np.full(self.total, len(answers.rows))
        report[answers.people] = answers.report
        rows = np.concatenate([answers.rows, np.ones((1, answers.rows.shape[1]))])
        logs = np.append(answers.logs, 0.0)
        return replace(answers, rows=rows, logs=logs, report=report, people=np.arange(self.total))

    @cached_property
    def ordered(self) -> dict[str, tuple[str, ...]]:
        """{column: its labels}, of columns of which somebody chose the first one or the order."""
        stated = levels_stated(self.covariates, self.columns)
        return levels_from(self.columns, self.baselines, stated)

    @property
    def set_aside(self) -> set[str]:
        """The columns that are no covariates, unless a formula names them."""
        drawn = () if self.survey is None else self.survey.columns
        return {*drawn, *(() if self.random is None else (self.random,))}

    def sample(self, rows: IntArray, most: int) -> DrawnSample | None:
        """How the people were drawn who were rows, refused for more coefficients than clusters."""
        if self.survey is None:
            return None
        drawn = self.survey.sample(self.columns, np.ones(self.total), True).of_rows(rows)
        if drawn.degrees + 1 <= most:
            rule = (
                f"needs at least {most} more clusters than strata, for the {most} coefficients of "
                "each equation"
            )
            got = f"{drawn.degrees} more"
            raise ArgumentError("survey design", rule, got, "Use fewer covariates")
        return drawn

    def doubts(self, drawn: DrawnSample | None, *further: str) -> tuple[str, ...]:
        """What readers have to know of the weights, and of the columns in the formulas."""
        texts = [text for text in (self.formula, *further) if text is not None]
        names = [name for text in texts for name in words_of(text)]
        if not texts:
            names = [name for name in self.columns if name not in self.set_aside]
        of_weights = [f"WARNING: {drawn.doubt}"] if drawn is not None and drawn.doubt else []
        return (*of_weights, *doubts_of_columns(self.columns, names))

    def design(self) -> tuple[Design, FloatArray]:
        """How the covariates become columns, and these columns (n, p) of all people."""
        columns = self.columns
        if self.formula is None:
            columns = {name: c for name, c in columns.items() if name not in self.set_aside}
            if not columns:
                roles = {} if self.survey is None else self.survey.roles
                roles = roles | ({} if self.random is None else {"random": self.random})
                used = " and ".join(f"{name!r} ({role})" for role, name in roles.items())
                rule = f"must have a column besides {used}"
                remedy = (
                    "Add a column. For a regression without covariates, the formula is 1, as in "
                    "'smokes ~ 1'"
                )
                raise ArgumentError("covariates", rule, None, remedy)
        return design_of(columns, self.formula, self.ordered)

    def groups(self, rows: IntArray) -> IntArray:
        """(n,) the number of the group, of those with random intercepts, of each person asked."""
        different, group = np.unique(self.columns[str(self.random)][rows], return_inverse=True)
        if not 2 <= len(different) < len(rows):
            rule = "must have several people in at least one group"
            if len(different) < 2:
                rule = "must have at least 2 groups"
            got = f"{len(different)} group{'s' * (len(different) > 1)} for {len(rows)} people"
            remedy = "Name the column of the groups, or leave out the argument random"
            raise ArgumentError(f"random {self.random!r}", rule, got, remedy)
        return np.asarray(group.ravel(), dtype=np.int64)
