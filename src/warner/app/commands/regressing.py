"""The command that regresses hidden answers, and regresses what is seen on hidden answers."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from warner import io as files
from warner._core.checks import unknown
from warner._core.errors import ArgumentError, FileError
from warner._core.survey_design import SurveyDesign, code_of_missing
from warner._core.table import Column, Table, as_text
from warner._core.text import look, meant
from warner.app.commands.options import (
    Output,
    design_of,
    level,
    survey_design,
    table_of_rows,
    written,
)
from warner.app.on_paper import (
    all_cards,
    cards_of,
    drop_missing_option,
    group_option,
    is_table,
    named_groups,
    people_of_counts,
    require_card,
)
from warner.app.terminal import say, show
from warner.app.what_files_hold import (
    is_tally_file,
    require_study,
    warn_of_simulation,
    warn_of_title,
)
from warner.designs import LatentClasses, ListExperiment, PaperDesign, from_text, groups_from_text
from warner.designs.texts import NAMES_OF_GROUPS, name_of, with_name
from warner.io.counts_by_hand import IF_NO_ANSWER, remedy_of_words, written_alike
from warner.io.read_answers import LeftOut, other_columns, read_columns
from warner.io.stated_headers import codes_said
from warner.regression.answer import regress as regress_answer
from warner.regression.correlation import correlate
from warner.regression.covariates import (
    are_codes,
    in_formula,
    names_bare,
    names_of_sum,
    refuse_numbers_of_people,
    with_backticks,
    words_of,
)
from warner.regression.pieces import LINKS
from warner.studies.study import Study

_MOST_DIGITS = 7  # of a number in a table of a paper that has the decimals of its column


@click.command()
@click.argument("reports", type=click.Path(dir_okay=False))
@click.argument("formula")
@click.option(
    "--study",
    type=click.Path(dir_okay=False),
    help="The study file. Reports that were not made as this file says are refused. The "
    "command also uses what the study's table [design] says about how people were drawn.",
)
@click.option(
    "--design",
    "said_by",
    metavar="DESIGN",
    multiple=True,
    help="For answers that people randomised on paper: the design of the card, such as "
    "crosswise:1/4. REPORTS is then a table of what people said. For several questions, give "
    "--design NAME=DESIGN for each question.",
)
@group_option
@click.option(
    "--mean",
    is_flag=True,
    help="For answers that are numbers: compute how their mean depends on the columns, by least "
    "squares. Without --mean, the command computes how the odds of each answer depend on the "
    "columns, by maximum likelihood.",
)
@click.option(
    "--hidden",
    metavar="FORMULA",
    help="If a hidden answer stands on the right of FORMULA: the columns on which this answer "
    "itself depends, such as smokes ~ age. If there are no such columns, write smokes ~ 1. "
    "Default: the other columns of FORMULA.",
)
@click.option(
    "--random",
    metavar="NAME",
    help="The public column that names groups, such as schools, in which people may be alike. "
    "Each group gets a random intercept.",
)
@click.option(
    "--link",
    type=click.Choice(LINKS),
    default="logit",
    show_default=True,
    help="For a question with two answers: the link function, which turns the share of an answer "
    "into the sum of coefficients times columns.",
)
@click.option(
    "--correlation",
    is_flag=True,
    help="Compute how the questions and columns in FORMULA correlate with each other: smokes + "
    "drinks + income.",
)
@click.option(
    "--reference",
    "references",
    metavar="VALUE",
    multiple=True,
    help="The answer with which the other answers are compared. Write COLUMN=VALUE for the value "
    "with which the other values of a column are compared. May be repeated. Default: the first "
    "answer to the question, and the first value of a column in the alphabet.",
)
@click.option(
    "--outcome",
    metavar="ANSWER",
    help="For a question with three answers or more: compare ANSWER with all other answers "
    "together.",
)
@click.option(
    "--errors",
    type=click.Choice(["observed", "sandwich"]),
    help="How standard errors are computed. observed, the default: from the observed information. "
    "sandwich: by the sandwich formula, which also holds if the model is wrong. If people were "
    "drawn with a survey design, the standard errors follow the design.",
)
@drop_missing_option(
    "With a table of what people said on paper: leave out people with an empty cell, or NA, in "
    "a column that is used. The command says how many people it left out."
)
@survey_design
@level
@written
def regress(
    reports: str,
    formula: str,
    study: str | None,
    said_by: tuple[str, ...],
    group: str | None,
    mean: bool,
    hidden: str | None,
    random: str | None,
    link: str,
    correlation: bool,
    references: tuple[str, ...],
    outcome: str | None,
    errors: str | None,
    drop_missing: bool,
    weights: str | None,
    cluster: str | None,
    strata: str | None,
    level: float,
    output: Output,
) -> None:
    """Say how the hidden answer to a question depends on public columns (regression).

    REPORTS is a report file with public columns, such as the age of each person, which are not
    randomised. FORMULA is QUESTION ~ COLUMN + COLUMN. If you write QUESTION alone, all public
    columns are used. If a column has labels, each label is compared with the first label in the
    alphabet.

    Names may have spaces: "smokes ~ age group". If a name has other signs, such as a hyphen, write
    backticks around it, and single quotes around FORMULA: 'smokes ~ `age-group`'. Products, powers
    and functions of columns need: pip install "warner[formula]".

    \b
        warner regress reports.parquet "smokes ~ hospital"
        warner regress reports.parquet "smokes ~ hospital + age:hospital" -o odds.csv
        warner regress reports.parquet "units ~ age" --mean

    A hidden answer can also explain a public column: write the column on the left of FORMULA, and
    the question on the right. Nobody's true answer is known. In its place the command uses the
    probability of each answer, given the person's report.

    \b
        warner regress reports.parquet "income ~ smokes + age" -o table.tex
        warner regress reports.parquet "smokes ~ age" --random school
        warner regress reports.parquet "smokes + drinks + income" --correlation

    With --design, or a study whose questions have a design, REPORTS may be a table of what people
    said on paper: a row for each person, or counts.

    \b
        warner regress said.csv "smokes ~ age" --design crosswise:1/4
        warner regress said.csv "smokes ~ age" --design crosswise:1/4 --drop-missing
        warner regress said.csv "smokes ~ age" --study study.toml
        warner regress said.csv "smokes ~ age" --design cheating:1/4,3/4 --group card

    If people were drawn in clusters, from strata or with unequal weights, say so with --cluster,
    --strata and --weights. Standard errors then allow for how people were drawn. The columns of
    these options explain the answer only if FORMULA names them too.

    \b
        warner regress reports.parquet "smokes ~ age" --weights w --cluster school --strata region
    """
    output.check(reports, *([study] if study else []))
    if Path(reports).is_file() and is_tally_file(reports):
        rule = "is a tally, which does not say what each person reported"
        raise FileError(
            reports, rule, None, ("Give the file of reports from which the tally was made")
        )
    plan = None if study is None else Study.load(study)
    drawn = design_of(weights, cluster, strata, plan)
    if group is not None and not said_by:
        remedy = "For example --design cheating:1/4,3/4"
        raise ArgumentError("--group", "needs --design", repr(group), remedy)
    if said_by and Path(reports).is_file() and not is_table(reports):
        rule = (
            f"cannot be used with {reports}, because this report file itself says how answers "
            "were randomised"
        )
        raise ArgumentError("--design", rule, " ".join(said_by), "Leave out --design")
    if Path(reports).is_file() and is_table(reports):
        columns = other_columns(reports, [])
        formula = with_backticks(formula, columns)
        hidden = hidden and with_backticks(hidden, columns)
    designs: Mapping[str, PaperDesign | LatentClasses]
    designs = _designs(formula, said_by, plan) if said_by else cards_of(plan, reports)
    if (counted := _of_counts(reports, formula, designs, plan)) is not None:
        if drop_missing:
            rule = "needs a table with a row for each person, and not counts"
            raise ArgumentError("--drop-missing", rule, None, "Leave out --drop-missing")
        people = counted
    elif designs:
        further = hidden, random
        coded = [text.partition("=")[0] for text in references]
        people = _of_paper(reports, formula, designs, group, further, drawn, drop_missing, coded)
    else:
        if drop_missing:
            rule = (
                "needs a table of what people said on paper, because files of reports have no "
                "empty cells"
            )
            raise ArgumentError("--drop-missing", rule, None, "Leave out --drop-missing")
        people = _of_reports(reports, plan)
        names = [*people.questions, *people.public]
        formula = with_backticks(formula, names)
        hidden = hidden and with_backticks(hidden, names)
    if drawn is not None:
        drawn.require_columns(people.public, reports)
    roles: dict[str, Any] = {} if drawn is None else drawn.roles
    stated = {
        "--mean": mean or None,
        "--hidden": hidden,
        "--random": random,
        "--link": None if link == "logit" else link,
        "--reference": " ".join(references) or None,
        "--outcome": outcome,
        "--errors": errors,
    }
    if correlation:
        _refuse("--correlation", stated)
        result: Any = _correlated(people, formula, roles)
        title = "Correlations"
    else:
        left, right = _sides(formula)
        title = left
        predictors = [] if left in people.questions else people.hidden_in(left, right)
        public = people.public
        if right:
            public = people.named_in((left, right, hidden, random, *roles.values()))
        else:
            refuse_numbers_of_people(public)
        question = predictors[0] if predictors else left
        baselines = _references(references, public, question, people.labels_of(question))
        reference = baselines.pop("", None)
        kind: dict[str, Any] = {"link": link, "random": random}
        options: dict[str, Any] = {"baselines": baselines, **roles}
        if predictors:
            of_answer = {name: stated[name] for name in ("--mean", "--outcome")}
            _refuse("a hidden answer as predictor", of_answer)
            spec = " + ".join(map(in_formula, predictors)) if hidden is None else hidden
            model = f"{in_formula(left)} ~ {right}"
            hidden_answers = people.reports_of(predictors)
            result = regress_answer(
                hidden_answers, public, model, reference, errors, hidden=spec, **kind, **options
            )
        else:
            if hidden is not None:
                rule = "can be used only if a hidden answer stands on the right of FORMULA"
                raise ArgumentError("--hidden", rule, repr(hidden), "Leave out --hidden")
            answers, attribute = people.question(left)
            if both := people.hidden_in(left, right):
                rule = "has hidden answers on both sides of ~"
                remedy = (
                    f"For their correlation, write '{left} + {both[0]}' --correlation. Or put a "
                    "public column on the left"
                )
                raise ArgumentError("FORMULA", rule, f"{left} and {both[0]}", remedy)
            if mean and any(isinstance(label, str) for label in people.labels_of(left)):
                rule = "needs a question whose answers are numbers"
                raise ArgumentError("--mean", rule, left, "Leave out --mean")
            if mean:
                goes = "--mean", "--reference"
                _refuse("--mean", {k: v for k, v in stated.items() if k not in goes})
            kind = {"kind": "mean"} if mean else {**kind, "outcome": outcome}
            result = regress_answer(
                answers, public, right or None, reference, errors, attribute, **kind, **options
            )
            if not mean and len(result.outcomes) > 1:
                example = shlex.quote(as_text(result.outcomes[-1]))
                say(f"To compare one answer with all others together, add --outcome {example}.")
    output.write(
        lambda: show(title, result.table(level)),
        lambda: {"attribute": title, **result.to_json(level)},
        lambda: replace(
            table_of_rows(result.rows(level), result.simulated), notes=result.table(level).notes
        ),
        lambda: [_for_article(result.table(level), people.left_out)],
    )


def _for_article(table: Table, left_out: LeftOut | None) -> Table:
    """The table as papers print it, with equal decimals in each column."""
    rows = table.rows
    errors = [row["error"] for row in rows if row["error"] is not None]
    columns = [column for column in table.columns if isinstance(column, Column)]
    # The largest error is told in three digits, so that few decimals do not look careless.
    sizes = [*errors, max(errors) / 10]
    columns = _evenly(columns, rows, ("estimate", "error", "interval"), sizes)
    columns = _evenly(columns, rows, ("z", "design_effect"), [0.1])
    columns = _evenly(columns, rows, ("degrees",), [1.0])
    summary = list(table.summary)
    if left_out is not None:
        summary.insert(1, ("People left out", f"{left_out.people:,}"))
    return replace(table, columns=columns, summary=summary)


def _evenly(
    columns: list[Column],
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    sizes: Sequence[float],
) -> list[Column]:
    """The columns, of which some have the decimals that tell the smallest size in two digits."""
    chosen = [column for column in columns if column.key in keys]
    numbers = [abs(row[key] or 0.0) for row in rows for c in chosen for key in c.keys]
    sizes = [size for size in sizes if size > 0]
    if not (numbers and sizes and all(map(math.isfinite, numbers))):
        return columns
    decimals = max(1 - math.floor(math.log10(min(sizes))), 0)
    if max(numbers) >= 10 ** (_MOST_DIGITS - decimals):
        return columns
    return [
        replace(column, unit="fixed", decimals=decimals) if column in chosen else column
        for column in columns
    ]


@dataclass(frozen=True)
class _People:
    """The hidden answers and public columns of a file."""

    questions: Mapping[str, tuple[Any, str | None]]  # its reports, and its name where of several
    public: Mapping[str, Any]
    labels: Mapping[str, Any]  # {name: its answers}
    left_out: LeftOut | None = None  # of a table; None where nobody was to be

    def question(self, name: str) -> tuple[Any, str | None]:
        """The reports about a hidden answer."""
        if name not in self.questions:
            _refuse_without_tilde(name)
            listed = list(self.questions)
            which = "one of the questions" if len(listed) > 1 else "the question"
            rule = f"must name {which} {', '.join(listed)}"
            example = f"{in_formula(listed[0])} ~ {in_formula(next(iter(self.public), 'ward'))}"
            remedy = meant(name, listed) or f"For example {example}"
            raise ArgumentError("FORMULA", rule, repr(name), remedy)
        return self.questions[name]

    def labels_of(self, name: str) -> Any:
        """The answers to a question."""
        return self.labels.get(name, ())

    def named_in(self, texts: Iterable[str | None]) -> Mapping[str, Any]:
        """The public columns in sums of names; all where a text is no such sum, or misspelled."""
        sums = [names_of_sum(side) for text in texts if text for side in text.split("~")]
        names = {name for each in sums if each is not None for name in each}
        if None in sums or not names <= {*self.public, *self.questions}:
            return self.public
        return {name: column for name, column in self.public.items() if name in names}

    def hidden_in(self, left: str, right: str) -> list[str]:
        """The hidden answers on the right side of a formula whose left side is a public column."""
        words = names_of_sum(right) or words_of(right)
        return [name for name in dict.fromkeys(words) if name in self.questions and right and left]

    def reports_of(self, names: list[str]) -> Any:
        """The reports of one hidden answer, or {name: reports} of several."""
        chosen = [self.question(name) for name in names]
        if all(attribute is None for _, attribute in chosen):
            return {name: reports for name, (reports, _) in zip(names, chosen, strict=True)}
        first = chosen[0][0]
        if any(reports is not first for reports, _ in chosen):
            rule = (
                "has several hidden answers, and some of them share one report with other questions"
            )
            raise ArgumentError("FORMULA", rule, ", ".join(names), "Use only one hidden answer")
        return first


def _of_reports(reports: str, plan: Study | None) -> _People:
    """The people of a report file."""
    opened = files.open_reports(reports)
    if plan is not None:
        require_study(opened, plan, together=False)
        if (other_title := opened.other_title(plan.titles)) is not None:
            warn_of_title(reports, other_title)
    if opened.simulation:
        warn_of_simulation(reports)
    public = files.read_public(reports)
    if not public:
        rule = "has no public columns, so there is nothing on which answers could depend"
        remedy = "Declare them in the study, as in [public.ward], before answers are randomised"
        raise ArgumentError(reports, rule, None, remedy)
    everything = files.read_reports(reports)
    questions: dict[str, tuple[Any, str | None]] = {}
    labels: dict[str, Any] = {}
    for key, mechanism in opened.mechanisms.items():
        for name, domain in mechanism.attribute_domains.items():
            questions.setdefault(name, (everything[key], name))
            labels.setdefault(name, domain.labels)
        questions[key] = everything[key], None
        labels[key] = mechanism.domain.labels
    return _People(questions, public, labels)


def _of_counts(
    path: str,
    formula: str,
    designs: Mapping[str, PaperDesign | LatentClasses],
    plan: Study | None,
) -> _People | None:
    """The people of a table of counts of what people said on paper; None of another table."""
    cards = {name: one for name, one in designs.items() if isinstance(one, PaperDesign)}
    if not designs and plan is not None:
        cards = all_cards(plan)
        names = [*words_of(formula), *names_bare(formula, cards)]
        cards = {name: one for name, one in cards.items() if name in names} or cards
    if (counted := people_of_counts(path, cards)) is None:
        return None
    name, codes, public = counted
    if not public:
        rule = "has no public columns, so there is nothing on which answers could depend"
        raise FileError(path, rule, None, "Add a column such as ward, with a count for each group")
    labels = {name: cards[name].domain.labels}
    return _People({name: (cards[name].reports(codes), None)}, public, labels)


def _of_paper(
    path: str,
    formula: str,
    designs: Mapping[str, PaperDesign | LatentClasses],
    group: str | None,
    further: tuple[str | None, ...],
    drawn: SurveyDesign | None,
    drop_missing: bool,
    coded: Sequence[str],  # columns whose numbers are codes
) -> _People:
    """The people of a table of words that they said on paper."""
    texts = [text for text in (formula, *further) if text]
    needed = set(words_of(" ".join(texts)))
    needed |= set(() if drawn is None else drawn.columns)
    column, entries = (None, []) if group is None else named_groups(group)
    of_group = [] if column is None else [column]
    named = [name for t in texts for side in t.split("~") for name in names_of_sum(side) or ()]
    others = [*other_columns(path, [*designs, *of_group], named), *of_group]
    needed |= {name for text in texts for name in names_bare(text, others)}
    for name in named:
        if name not in (*designs, *others):
            raise unknown("FORMULA", name, [*designs, *others], f"the columns of {path}")
    left, right = _sides(formula)
    is_alone = not right and left in designs
    public = [name for name in others if name in needed or is_alone]
    # Of a study with several questions, those that the formula does not name leave nobody out. If
    # it names none, all are listed in what is said of that.
    in_formulas = {*needed, *named, left, *names_bare(formula, designs)}
    designs = {name: one for name, one in designs.items() if name in in_formulas} or designs
    used = list(dict.fromkeys([*designs, *of_group, *public]))
    columns, left_out = read_columns(path, used, [*designs], drop_missing)
    if drop_missing:
        say(f"{path}: {left_out.text}.")
    unchecked = {n: columns[n] for n in public if drawn is None or n not in drawn.columns}
    for sentence in _slips(unchecked, coded):
        say(sentence)
    questions: dict[str, tuple[Any, str | None]] = {}
    labels: dict[str, Any] = {}
    for name, design in designs.items():
        said = columns[name].tolist()
        if isinstance(design, LatentClasses):
            if column is None:
                rule = "needs --group, the column that says who is in which of the two groups"
                raise ArgumentError("--design", rule, None, "For example --group card=red,blue")
            places = {entry: i for i, entry in enumerate(entries, 1)}
            keys = [str(key).strip().removesuffix(".0") for key in columns[column].tolist()]
            if lacking := sum(key not in places for key in keys):
                rule = (
                    f"must have only {entries[0]} for the first group and {entries[1]} for the "
                    "second group"
                )
                got = f"other entries in {lacking:,} of {len(keys):,} rows"
                remedy = (
                    "If the column has other words for the groups, write --group "
                    f"{column}=FIRST,SECOND"
                )
                raise ArgumentError(f"column {column!r}", rule, got, remedy)
            answers: Any = design.said(said, [places[key] for key in keys])
            labels[name] = [answer for answer in design.answers if answer is not None]
        else:
            answers = design.reports(_codes(name, design, said))
            labels[name] = design.domain.labels
        questions[name] = answers, None
    public_columns = {name: columns[name] for name in public}
    return _People(questions, public_columns, labels, left_out if drop_missing else None)


def _references(
    texts: Iterable[str], public: Mapping[str, Any], question: str, labels: Any
) -> dict[str, Any]:
    """{column: the label with which others are compared}, of the question under ""."""
    chosen: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        is_named = bool(equals) and name in {*public, question}
        key = name if is_named and name != question else ""
        value = value if is_named else text
        if not key:
            value = next((label for label in labels if str(label) == value), value)
            if value not in labels:
                rule = f"must be an answer to {question}, or COLUMN=VALUE"
                holding = [n for n, c in public.items() if value in list(map(str, c))]
                remedy = f"Write {holding[0]}={value}" if holding else meant(value, labels)
                raise ArgumentError("--reference", rule, repr(text), remedy)
        if key in chosen:
            rule = f"is given twice for {key or question}"
            raise ArgumentError("--reference", rule, repr(text), "Give it only once")
        chosen[key] = value
    return chosen


def _slips(columns: Mapping[str, np.ndarray], coded: Sequence[str]) -> Iterator[str]:
    """What shows slips of the pen: labels that look alike, codes, and the ends of numbers."""
    numbers = {name: column for name, column in columns.items() if column.dtype.kind == "f"}
    for name, column in columns.items():
        if name not in numbers:
            yield from written_alike(name, dict.fromkeys(column.tolist()))
    doubts = {n: code_of_missing(n, c) for n, c in numbers.items() if n not in coded}
    for code in filter(None, doubts.values()):
        yield f"{code}. {IF_NO_ANSWER}."
    ends = [
        f"{name} {c.min():,.6g} to {c.max():,.6g}"
        for name, c in numbers.items()
        if not doubts.get(name)
    ]
    if ends:
        yield f"The smallest and the largest number of each column: {', '.join(ends)}."
    # Of two numbers, a slope is the difference of both.
    several = {n: c for n, c in numbers.items() if are_codes(c) and len(np.unique(c)) > 2}
    for name, column in [pair for pair in several.items() if pair[0] not in coded][:1]:
        yield (
            "A column of numbers has one coefficient: the change for one unit more. If the "
            f"numbers in {name} are codes of categories, add --reference "
            f"{name}={column.min():.0f}."
        )


def _codes(name: str, design: PaperDesign, said: list[str]) -> list[int]:
    """What people said as codes of reports; the words of nobody are shown."""
    codes = {word: design.code_of_look.get(look(word)) for word in set(said)}
    made = [codes[word] for word in said]
    lacking = made.count(None)
    if lacking:
        words = " or ".join(design.report_words)
        rule = f"must have only words that people said: {words}"
        got = f"other entries in {lacking} of {len(made)} rows"
        others = [look(word) for word in said if codes[word] is None]
        remedy = remedy_of_words(others, len(said), design)
        if lacking == len(made) and not {*others} <= {"true", "false"}:
            remedy = (
                "In FORMULA, write the column with the words on the left of ~. If these entries "
                f"are codes, write the words for them: {words}"
            )
        elif 2 * lacking > len(made):
            remedy += ". If the words are in another column, write --design NAME=DESIGN"
        raise ArgumentError(f"column {name!r}", rule, got, remedy)
    if codes_in_words := codes_said(said, design.report_words):
        say(f"{name}: the codes mean {codes_in_words}.")
    return [code for code in made if code is not None]


def _refuse_without_tilde(formula: str) -> None:
    """Refuse names without ~ and +, as Stata has them, cheat i.ward age, and = in place of ~."""
    if equation := re.fullmatch(r"\s*([^=~]+?)\s*==?\s*([^=~]+?)\s*", formula):
        rule = "must have ~ behind the question, and not ="
        remedy = f"Write {equation[1]} ~ {equation[2]}"
        raise ArgumentError("FORMULA", rule, repr(formula), remedy)
    names = re.fullmatch(r"\s*(\w+)((?:\s+(?:[ic][.])?[^\W\d]\w*)+)\s*", formula)
    if names is not None:
        columns = [re.sub(r"^[ic][.]", "", name) for name in names[2].split()]
        rule = "must have ~ behind the question, and + between columns"
        remedy = f"Write {names[1]} ~ {' + '.join(columns)}"
        raise ArgumentError("FORMULA", rule, repr(formula), remedy)


def _sides(formula: str) -> tuple[str, str]:
    """The left side of a formula, without backticks where it is a name, and the right one."""
    left, _, right = (side.strip() for side in formula.partition("~"))
    names = names_of_sum(left) or ()
    return names[0] if len(names) == 1 else left, right


def _designs(
    formula: str, stated: tuple[str, ...], plan: Study | None
) -> dict[str, PaperDesign | LatentClasses]:
    """The designs of hidden answers, by the names of their columns."""
    designs: dict[str, PaperDesign | LatentClasses] = {}
    for text in stated:
        stated_name, design = with_name(text)
        left, tilde, _ = formula.partition("~")
        name, names_left = stated_name or _sides(formula)[0], names_of_sum(left)
        if not tilde and names_left is None:
            _refuse_without_tilde(formula)
        # Another text left of ~ is the name of a column that the file does not have.
        is_one = len(names_left) == 1 if names_left is not None else bool(tilde and left.strip())
        if stated_name is None and (len(stated) > 1 or not is_one):
            why = "there are several designs"
            if len(stated) == 1:
                why = "FORMULA does not begin with one question"
            rule = f"must say which question it is for, because {why}"
            raise ArgumentError("--design", rule, repr(text), f"Write NAME={text}")
        is_of_groups = name_of(design) in NAMES_OF_GROUPS
        chosen = groups_from_text(design) if is_of_groups else from_text(design)
        if isinstance(chosen, ListExperiment):
            rule = "must be a card, not a list of items"
            remedy = "In Python, use regress_list of warner.regression.lists"
            raise ArgumentError("--design", rule, repr(design), remedy)
        require_card(plan, name, design)
        designs[name] = chosen
    return designs


def _correlated(people: _People, formula: str, roles: Mapping[str, Any]) -> Any:
    """The correlations of the names in a sum."""
    names, listed = names_of_sum(formula), [*people.questions, *people.public]
    if not names or len(names) < 2:
        rule = "must be names joined by + if --correlation is given"
        remedy = f"For example {' + '.join(map(in_formula, listed[:3]))}"
        raise ArgumentError("FORMULA", rule, repr(formula), remedy)
    for name in names:
        if name not in listed:
            raise unknown("FORMULA", name, listed, "the hidden answers and public columns")
    hidden = [name for name in names if name in people.questions]
    if not hidden:
        rule = "must name at least one hidden answer"
        listed_hidden = ", ".join(people.questions)
        raise ArgumentError("FORMULA", rule, repr(formula), f"Hidden answers: {listed_hidden}")
    columns = {
        name: people.public[name] for name in (*names, *roles.values()) if name not in hidden
    }
    return correlate(people.reports_of(hidden), columns or None, **roles)


def _refuse(what: str, stated: Mapping[str, Any]) -> None:
    """Refuse options that cannot be used with what is asked for."""
    given = [name for name, value in stated.items() if value is not None]
    if given:
        options = " and ".join(given)
        raise ArgumentError(options, f"cannot be used with {what}", None, f"Leave out {options}")
