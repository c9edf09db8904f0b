"""Answers that people randomised on paper: the options --design and --counts, and their tallies."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from warner._core.checks import unknown
from warner._core.errors import ArgumentError, EmptyError, FileError, WarnerError
from warner._core.extras import Deferred
from warner._core.text import look, meant, series
from warner.app.commands.options import options
from warner.app.terminal import note, say, warning
from warner.app.what_files_hold import (
    as_file,
    is_tally_file,
    read_or_count,
    refuse_counts,
    tallies_together,
    warn_of_simulation,
)
from warner.io.formats import is_report_file
from warner.reports.tally import Tally

if TYPE_CHECKING:
    from warner import designs as paper
    from warner._core.survey_design import SurveyDesign
    from warner.designs import PaperDesign, texts
    from warner.io import counts_by_hand, read_answers
    from warner.io.counts_by_hand import Said
    from warner.studies.study import Study
else:  # imported when they are first used
    paper, texts = Deferred("warner.designs"), Deferred("warner.designs.texts")
    counts_by_hand = Deferred("warner.io.counts_by_hand")
    read_answers = Deferred("warner.io.read_answers")

_OF_ONE = (
    "warner:5/6, forced:1/6,1/6, crosswise:1/4, triangular:1/4, unrelated:2/3,1/4, kuk:4/5,1/5 or "
    "mangat:2/3."
)
_OF_GROUPS = (
    "Designs in which two groups of people have different cards: cheating:1/4,3/4, "
    "lie-detector:1/6,5/6, unrelated-unknown:7/10,1/5, extended-crosswise:1/4, or list:3 for a "
    "list of 3 items. For these, give --counts twice (for a list, the control group first), or a "
    "table and --group. With extended-crosswise and a table, you can also use the options for "
    "designs with one card, such as --by and --weights."
)
group_option = click.option(
    "--group",
    metavar="NAME[=FIRST,SECOND]",
    help="For a design in which two groups of people have different cards: the column that says "
    "who is in which group. If this column holds other words than 1 and 2, add the words of the "
    "first and the second group: card=red,blue.",
)


_COUNTS = re.compile(r"[^=,]+=[0-9]+(,[^=,]+=[0-9]+)*")
_THOUSANDS = re.compile(r"(?<=[0-9])[., ](?=[0-9]{3}(?![0-9]))")  # between the digits of 1,200
_CHANCES = re.compile(r"[0-9./,]+")


def drop_missing_option(about: str) -> Callable[..., Any]:
    """The option --drop-missing, with its help."""
    return click.option("--drop-missing", is_flag=True, help=about)


def cards_of(study: Study | None, path: str) -> dict[str, PaperDesign]:
    """The cards of the questions of a study that a table of what people said has columns of."""
    if study is None or not is_table(path):
        return {}

    names = read_answers.other_columns(path, [], study.mechanisms)
    return {name: card for name, card in all_cards(study).items() if name in names}


def people_of_counts(
    path: str, designs: Mapping[str, PaperDesign]
) -> tuple[str, list[int], dict[str, np.ndarray]] | None:
    """The question of a table of counts, and each person's report and public columns.

    All people of a count are alike, so a row for each person says the same. None where the table is
    not of counts.
    """
    if not designs or not is_table(path):
        return None
    with as_file(path) as near:
        if not counts_by_hand.is_of_counts(near, designs):
            return None
        if len(designs) > 1:
            rule = (
                "has counts for each question by itself, so a formula can have only one of its "
                "questions"
            )
            remedy = "Name one question in FORMULA"
            raise FileError(path, rule, ", ".join(designs), remedy)
        ((name, design),) = designs.items()
        said = counts_by_hand.read_said(near, design, name, [])
    if said.question not in (None, name):
        raise unknown("FORMULA", name, [said.question], f"the questions of {path}")
    tally = said.tally
    counts = tally.counts.reshape(len(tally), -1)
    reports = [np.repeat(np.arange(row.size), row) for row in counts]
    columns = {
        column: np.repeat(np.array([key[i] for key in tally]), counts.sum(axis=1))
        for i, column in enumerate(tally.names)
    }
    return name, np.concatenate(reports).tolist(), columns


def all_cards(study: Study) -> dict[str, PaperDesign]:
    """The cards of all questions of a study that have one; none of a study with groups."""
    mechanisms = {} if study.groups else study.mechanisms
    return {name: one for name, one in mechanisms.items() if isinstance(one, paper.PaperDesign)}


def _has_cards(study: Study) -> bool:
    """Whether any group of a study answers a question with a card."""
    return any(m.is_on_paper for one in study.by_group.values() for m in one.mechanisms.values())


def _has_counts(path: str, study: Study) -> bool:
    """Whether a file is a table of counts of what people said to questions of a study."""
    cards = all_cards(study)
    return bool(cards) and is_table(path) and counts_by_hand.is_of_counts(path, cards)


def is_table(path: str) -> bool:
    """Whether a file is neither a tally file nor a report file."""
    from warner.io.formats import report_format

    if not Path(path).is_file() or is_tally_file(path):
        return False
    with suppress(ArgumentError):  # a format of tables alone, such as Excel
        return not report_format(path).read_ends(path)[0]
    return True


def require_card(study: Study | None, question: str | None, text: str) -> None:
    """Refuse a design that is not the one of this question, or of any question, in the study."""
    if study is None:
        return

    card = texts.on_one_card(text)
    if texts.name_of(card) in texts.BY_NAME:
        card = paper.from_text(card).text
    # A design for paper has a text, such as crosswise:1/4.
    stated = [
        str(getattr(mechanism, "text", type(mechanism).__name__))
        for of_group in study.by_group.values()
        for name, mechanism in of_group.mechanisms.items()
        if question in (None, name, *mechanism.attribute_domains)
    ]
    if stated and card not in stated:
        of = "its questions" if question is None else repr(question)
        designs = " or ".join(dict.fromkeys(stated))
        rule = f"must be the design that the study states for {of}: {designs}"
        remedy = f"Leave out --design. If people had the card {card}, correct the study"
        if not _has_cards(study):
            remedy = f"If people had the card {card}, give the study of the sheet, or no --study"
        raise ArgumentError("--design", rule, card, remedy)


COUNTS_BY_GROUP = "To give counts by group, use a table such as counts.csv in place of --counts"


def paper_options(of_groups: bool = False) -> Callable[..., Any]:
    """The options --design and --counts, also of designs of several groups of people."""
    more, once = "", ""
    if of_groups:
        more = f" {_OF_GROUPS}"
        once = " If the design has two groups of people, give it once for each group."
    return options(
        click.option(
            "--design",
            "on_paper",
            metavar="NAME:CHANCES",
            help="The design of the card with which people randomised their answers on paper. Also "
            "give what they said: with --counts, or as a table in place of TALLY. With NAME=DESIGN "
            "you name the question. A table needs no --design if the file of --study states the "
            f"design. Designs: {_OF_ONE}{more} The Python module warner.designs explains them.",
        ),
        click.option(
            "--counts",
            metavar="WORD=PEOPLE,...",
            multiple=True,
            help="How many people said or ticked each answer on the card, such as "
            f"same=680,different=320 or yes=40,no=60.{once}",
        ),
        drop_missing_option(
            "Leave out people who have an empty cell, or NA, in the question or in a column of "
            "--by. This is for tables of answers on paper with a row for each person. The command "
            "says how many people are left out."
        ),
    )


# What columns are called that say how people were drawn, by the option that names them.
_NAMES_OF_ROLES = {
    "weights": {"weight", "weights", "wt", "wgt", "w", "pweight"},
    "cluster": {"cluster", "cluster_id", "psu", "village", "school"},
    "strata": {"strata", "stratum"},
}


class DesignTest(NamedTuple):
    """Whether both groups of a design followed their cards."""

    sentence: str
    law: str  # the statistic and p in words, or why there are none
    data: dict[str, Any]  # empty where nothing could be tested


@dataclass
class Origin:
    """What was seen of the files while they were read, which a page of their results says."""

    has_rows: bool = False  # whether a file has a row for each person, and not only counts
    public: dict[str, None] = field(default_factory=dict)  # the public columns of report files
    beside: dict[str, None] = field(default_factory=dict)  # further columns of tables on paper
    # of each table in which two groups had different cards
    design_tests: list[DesignTest] = field(default_factory=list)
    # {question of a table on paper: who was left out, in sentences}
    left_out: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class OnPaper:
    """What was asked on paper: a design, perhaps behind the name of its question, and counts."""

    given: str | None
    counts: tuple[str, ...]
    by: Sequence[str] = ()  # the columns of groups that are named
    drawn: SurveyDesign | None = None  # how people were drawn
    drop_missing: bool = False  # whether people without an answer are left out
    group: str | None = None  # the column that says who is in which group of the design
    is_on_one_card: bool = False  # whether both groups of a design are counted as one
    study: Study | None = None  # which states the cards of its questions
    is_total: bool = False  # whether somebody asks for all people together
    origin: Origin = field(default_factory=Origin)  # filled while files are read

    @property
    def not_groups(self) -> list[str]:
        """The columns that say how people were drawn, and make no groups."""
        return [] if self.drawn is None else [n for n in self.drawn.columns if n not in self.by]

    @property
    def name(self) -> str | None:
        """The name of the question, where it stands before the design."""
        return self._parts[0]

    @property
    def design(self) -> str:
        """The design, without the name of its question."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str | None, str]:
        """The name of the question, and the design."""
        return texts.with_name(str(self.given))

    @property
    def is_of_groups(self) -> bool:
        """Whether the design has several groups of people, or a list."""
        if self.given is None or self.is_on_one_card:
            return False

        return texts.name_of(self.design) in texts.NAMES_OF_GROUPS

    @property
    def has_one_share(self) -> bool:
        """Whether people of a table answer two cards that both ask for the same share alone."""
        if self.given is None or self.counts:
            return False

        return texts.name_of(self.design) == texts.BOTH_CARDS

    def check(self, files: Sequence[str]) -> None:
        """Refuse a design without counts or a table of them, and counts without a design."""
        if self.counts and self.given is None:
            rule, remedy = "needs --design", "For example --design crosswise:1/4"
            raise ArgumentError("--counts", rule, None, remedy)
        if self.given is not None and not self.counts and not files:
            rule = "needs --counts: how many people of each group said each word"
            remedy = "Add --counts once for each group, or name a table such as counts.csv"
            if not self.is_of_groups:
                words = paper.from_text(self.design).report_words
                rule = f"needs --counts: how many people said {series([*map(repr, words)], 'and')}"
                remedy = f"Add --counts {_example(words)}, or name a table such as counts.csv"
            raise ArgumentError("--design", rule, None, remedy)
        if self.drop_missing and self.given is None and self.study is None:
            raise self._needs_people(", and --design")
        if self.drop_missing and (self.counts or self.is_of_groups):
            rule = "cannot be used with --counts, because --counts holds only people who answered"
            if not self.counts:
                cards = "because its two groups have different cards"
                rule = f"cannot be used with {self.design}, {cards}"
            raise ArgumentError("--drop-missing", rule, None, "Leave out --drop-missing")
        if len(self.counts) > 1 and not self.is_of_groups:
            rule, got = "must be given only once for this design", f"{len(self.counts)} --counts"
            raise ArgumentError("--counts", rule, got)
        if self.counts and files:
            rule, remedy = "cannot be used with a file", f"Leave out the file. {COUNTS_BY_GROUP}"
            typed = re.sub(r"[ ,]*([=,])[ ,]*", r"\1", " ".join([*self.counts, *files]))
            if _COUNTS.fullmatch(together := typed.replace(" ", ",")):
                rule = "must have a comma and no space between its words"
                remedy = f"Write --counts {together}"
            if all(map(_CHANCES.fullmatch, files)) and self.given and ":" not in self.given:
                remedy = f"Write --design {self.given}:{','.join(files)}"
                raise ArgumentError("--design", "must have a colon and no space", None, remedy)
            raise ArgumentError("--counts", rule, None, remedy)

    def tallies(
        self,
        files: Sequence[str],
        by: Sequence[str] | None = None,
        equal: bool = False,
        simulated: bool = False,
        implausible: bool = False,
        only: tuple[str, ...] = (),
    ) -> dict[str, list[Tally]]:
        """The tallies of the files together by attribute, or that of the counts."""
        if not self.counts:
            made_with_a_seed: list[str] = []

            def read(path: str) -> dict[str, Tally]:
                tallies = self.read(path, by)
                made_with_a_seed.extend([path] * any(t.simulated for t in tallies.values()))
                return tallies

            together = tallies_together(files, read, equal, simulated, implausible, only)
            if made_with_a_seed:
                warn_of_simulation(", ".join(made_with_a_seed))
            return together

        design = paper.from_text(self.design)
        require_card(self.study, self.name, self.design)
        (counts,) = self.counts
        words = design.report_words
        said = counts_by_word(counts, words)
        for word in said:
            if look(word) not in design.code_of_look:
                from warner.app.show_estimates import chances_in_words

                rule = f"must have the words {series([*map(repr, words)], 'and')}"
                remedy = meant(word, words) or chances_in_words(design).rstrip(".")
                raise ArgumentError("--counts", rule, repr(word), remedy)
        tally = Tally.from_counts(design, said)
        return {self.name or design.text: [tally.trusted() if implausible else tally]}

    def read(self, path: str, by: Sequence[str] | None = None) -> dict[str, Tally]:
        """The tallies of a file, or of a table of what people said; of groups ``by`` columns."""
        if self.given is not None:
            if Path(path).is_file() and is_tally_file(path):
                rule = "is a tally, which says itself how its answers were randomised"
                raise FileError(path, rule, f"--design {self.design}", "Leave out --design")
            design = paper.from_text(texts.on_one_card(self.design))
            question, tally = self._count(path, path, design, self.name, by)
            require_card(self.study, question, self.design)
            return {question or design.text: tally}
        cards = cards_of(self.study, path)
        if not cards:
            self._require_column(path)
            if self.drop_missing:
                raise self._needs_people(f", but {path} is not such a table")
            if (self.study is None or not _has_cards(self.study)) and is_table(path):
                self._refuse_without_card(path)
            if self.study is not None and _has_counts(path, self.study):
                from warner.app.commands.collecting import tallies_of_counts

                counted = tallies_of_counts([path], self.study, ())[path]
                if by is None:
                    self._say_groups(path, next(iter(counted.values())).names)
                return {name: t.total() if by is None else t for name, t in counted.items()}
            if is_report_file(path):
                from warner.io import open_reports

                refuse_counts(path)
                self.origin.has_rows = True
                self.origin.public |= dict.fromkeys(open_reports(path).public)
            return read_or_count(path)
        assert self.study is not None
        questions = [name for name, one in self.study.mechanisms.items() if one.is_on_paper]
        if without := [name for name in questions if name not in cards]:
            say(
                f"{path}: The table has no column {' and no column '.join(map(repr, without))}, so "
                f"{'this question' if len(without) == 1 else 'these questions'} of the study "
                f"{'is' if len(without) == 1 else 'are'} left out. Is the name misspelt?"
            )
        tallies = {}
        for name, card in cards.items():
            where = path if len(cards) == 1 else f"{path}, {name}"
            tallies[name] = self._count(path, where, card, name, by)[1]
        return tallies

    def _require_column(self, path: str) -> None:
        """Refuse a table that has neither counts nor a column of a question on paper."""
        cards = {} if self.study is None else all_cards(self.study)
        if self.study is None or not cards or not is_table(path) or _has_counts(path, self.study):
            return
        from warner.io.frames import attribute_columns

        names = read_answers.other_columns(path, [])
        reports = [attribute_columns(n, m).values() for n, m in self.study.mechanisms.items()]
        if {"report", *itertools.chain(*reports)}.isdisjoint(names):
            words = dict.fromkeys(word for card in cards.values() for word in card.report_words)
            of_words = series([*map(repr, words)], "and")
            rule = (
                f"has no column {' and no column '.join(map(repr, cards))} with what people "
                f"said, and no columns {of_words} with the numbers of people who said so"
            )
            card = series([*dict.fromkeys(card.text for card in cards.values())], "and")
            remedy = (
                "Rename the columns, or delete a title above their names. In the study people had "
                f"{card}: if they had another card, correct the study"
            )
            raise FileError(path, rule, None, remedy)

    def _refuse_without_card(self, path: str) -> None:
        """Refuse counts by hand where neither a study nor a design says what they mean."""
        names: list[str] = []
        with suppress(WarnerError):  # the table is refused below
            names = read_answers.other_columns(path, [])
        if {counts_by_hand.VALUE, counts_by_hand.COUNT} <= set(map(look, names)):
            rule = "has counts of what people said on paper, and nothing says with which card"
            remedy = "Add the study of the printed sheet: --study study.toml"
            if self.study is not None:
                rule = "has counts of what people said on paper, and the study has no card"
                remedy = "Give the study of the printed sheet"
            raise FileError(path, rule, None, remedy)

    @staticmethod
    def _needs_people(which: str) -> ArgumentError:
        """The error of --drop-missing without a table of what people said."""
        rule = f"needs a table with a row for each person who answered on paper{which}"
        return ArgumentError("--drop-missing", rule, None, "Leave out --drop-missing")

    def _count(
        self, path: str, where: str, design: PaperDesign, name: str | None, by: Sequence[str] | None
    ) -> tuple[str | None, Tally]:
        """The question of a table and its tally; ``where`` begins what is said about them."""
        group = self._column_and_entries if self.is_on_one_card else ("", [])
        columns = None if by is None else list(by)
        if self.is_on_one_card:
            columns = [*(columns or []), group[0]]
        with as_file(path) as near:
            weights = None if self.drawn is None else self.drawn.weights
            declared = None if self.study is None else self.study.public
            said = counts_by_hand.read_said(
                near, design, name, columns, self.drop_missing, weights, declared
            )
        tally = said.tally
        if not said.columns and (doubt := counts_by_hand.percentages(tally)):  # also with --quiet
            warning(f"{where}: {doubt}")
        if self.is_on_one_card:
            tally, of_groups = counts_by_hand.as_one_card(path, tally, design.report_words, *group)
            column, (first, second) = group
            note(  # also with --quiet
                f"{path}: Both groups are counted together: people with {column} {first} had the "
                f"card {design.text}, and people with {column} {second} had the opposite card. If "
                "it was the other way round, yes and no are exchanged in the estimate. Then write "
                f"--group {column}={second},{first}."
            )
            self.origin.design_tests.append(self._test_of_cards(path, tally, of_groups, group[0]))
            rest = [column for column in tally.names if column != group[0]]
            tally = tally.by(*rest) if rest else tally.total()
        if said.codes:
            say(f"{where}: the codes mean {said.codes}.")
        if said.repeated:  # also with --quiet
            warning(
                f"{where}: {said.repeated}. If these are the same people, delete one copy: people "
                "who are counted twice make intervals too short."
            )
        self.origin.has_rows |= bool(said.columns)
        questions = {said.question, *(() if self.study is None else self.study.mechanisms)}
        beside = [name for name in said.columns if name not in questions]
        self._say_unused([n for n in beside if n not in (*(columns or ()), *self.origin.beside)])
        self.origin.beside |= dict.fromkeys(beside)
        of_page = self.origin.left_out.setdefault(said.question or name or design.text, [])
        if self.drop_missing:
            without_answer = f"{self._left_out(said, columns or ())}."
            say(f"{where}: {without_answer}")
            if said.left_out:
                of_page.append(without_answer)
            if said.without_entry.people:
                say(f"{where}: {said.without_entry.text}.")
                of_page.append(f"{said.without_entry.text}.")
        if by is None:
            if not said.columns:  # of a table of counts, whose further columns make groups
                self._say_groups(where, tally.names)
            tally = tally.total()
        elif groups := [column for column in by if column not in self.not_groups]:
            if not said.columns:
                others = [name for name in tally.names if name not in by]
                self._say_groups(where, others, by)
            for sentence in counts_by_hand.doubtful_groups(tally.by(*groups)):
                say(f"{where}: {sentence}")
        return said.question or name, tally

    def _say_unused(self, columns: Sequence[str]) -> None:
        """Name columns that seem to say how people were drawn, and that no option names."""
        drawn = {} if self.drawn is None else self.drawn.roles
        unused = {
            role: name
            for role, names in _NAMES_OF_ROLES.items()
            for name in columns[::-1]
            if role not in drawn and name.strip().lower() in names
        }
        if unused:
            named = " ".join(f"--{role} {name}" for role, name in unused.items())
            say(
                f"Columns that are not used: {', '.join(unused.values())}. If these columns say "
                f"how people were drawn, add {named}."
            )

    def _say_groups(self, where: str, names: Sequence[str], by: Sequence[str] = ()) -> None:
        """Name the columns of a table of counts, all groups of which are added up within ``by``."""
        if names and not self.is_total:
            say(
                f"{where}: Columns that are not used: {', '.join(names)}. To compare groups of "
                f"people by these columns, add --by {shlex.quote(','.join([*by, *names]))}."
            )

    def _test_of_cards(
        self, path: str, tally: Tally, counts: Sequence[dict[str, int]], column: str
    ) -> DesignTest:
        """Whether both groups follow their cards; of clusters, a test that allows for them."""
        from warner.results.differences import compare_groups
        from warner.results.wald_tests import shown_p

        design = paper.groups_from_text(self.design)
        assert isinstance(design, paper.LatentClasses)
        begin = (
            f"In {path}, two groups had the cards of {self.design}, so it can be tested whether "
            "people followed the cards."
        )
        if self.drawn is None or self.drawn.cluster is None:
            shares = design.estimate(counts)
            test = shares.fit_test
            assert test is not None
            law = f"{test.statistic_in_words}, {shown_p(test.p)}"
            sentence = f"{begin} {test.text} The test counts each person once. {design.note}"
            return DesignTest(sentence, law, test._asdict())
        compared = None
        with suppress(EmptyError):  # a group of one person
            roles: dict[str, Any] = self.drawn.roles
            compared = compare_groups(tally, by=[column], **roles).test
        if compared is None:
            few = (
                f"In {path}, it cannot be tested whether people followed the cards of "
                f"{self.design}, because too few people had one of the cards."
            )
            return DesignTest(few, "not possible, as too few people had one of the cards", {})
        alike = "both cards show the same share, as they do if people do what the design assumes"
        of_drawn = replace(compared, hypothesis=alike)
        data = {
            "statistic": of_drawn.statistic,
            "degrees": of_drawn.degrees,
            "p": of_drawn.p_value,
            "f_degrees": of_drawn.f_degrees,
        }
        sentence = f"{begin} {of_drawn.text} The test allows for the clusters. {design.note}"
        return DesignTest(sentence, of_drawn.law, data)

    @property
    def _column_and_entries(self) -> tuple[str, list[str]]:
        """The column of the groups of the design, and what stands there for each."""
        if self.group is None:
            rule = f"needs --group for {self.design}: the column that says who is in which group"
            raise ArgumentError("--design", rule, None, "For example --group card=red,blue")
        return named_groups(self.group)

    def _left_out(self, said: Said, by: Sequence[str]) -> str:
        """How many people are left out, of all and of each group."""
        groups: Counter[str] = Counter()
        for key, people in said.left_out.items():
            named = zip(by, key, strict=True)
            groups[", ".join(v or "no entry" for n, v in named if n not in self.not_groups)] += (
                people
            )
        in_all = said.without_entry.among
        text = f"{groups.total():,} of {in_all:,} people have no answer and are left out"
        listed = "; ".join(f"{name}: {people:,}" for name, people in groups.items() if name)
        return f"{text} ({listed})" if listed else text

    def counts_of_groups(
        self, files: Sequence[str], words: Sequence[Sequence[str]]
    ) -> list[dict[str, int]]:
        """How many people of each group said each word, from --counts or from a table."""
        require_card(self.study, self.name, self.design)
        if self.counts:
            if len(self.counts) != len(words):
                rule = f"must be given once for each of the {len(words)} groups"
                raise ArgumentError("--counts", rule, f"{len(self.counts)} --counts")
            return [counts_by_word(text, of) for text, of in zip(self.counts, words, strict=True)]

        column, entries = self._column_and_entries
        if len(files) > 1:
            rule, got = "must have one table for both groups of people", ", ".join(files)
            raise ArgumentError("--design", rule, got, "Put all rows into one table")
        with as_file(files[0]) as near:
            return counts_by_hand.read_said_in_groups(near, words, column, entries, self.name)


def named_groups(group: str) -> tuple[str, list[str]]:
    """The column of --group, and its entries for the first group and the second.

    >>> named_groups("card"), named_groups("card=red, blue")
    (('card', ['1', '2']), ('card', ['red', 'blue']))
    """
    column, sign, rest = group.partition("=")
    entries = [entry.strip() for entry in rest.split(",")] if sign else ["1", "2"]
    if len(entries) != 2 or len({*entries, ""}) < 3:
        rule = "must be COLUMN, or COLUMN=FIRST,SECOND with the words of the two groups"
        raise ArgumentError("--group", rule, repr(group), "For example card=red,blue")
    return column.strip(), entries


def _example(words: Sequence[str]) -> str:
    """What --counts looks like, with invented numbers."""
    return ",".join(f"{word}={n}" for word, n in zip(reversed(words), (12, 34), strict=False))


def counts_by_word(text: str, words: Sequence[str]) -> dict[str, int]:
    """The numbers of people in ``same=680,different=320``, by the words of reports."""
    counts: dict[str, int] = {}
    plain = _THOUSANDS.sub("", text.replace(":", "=") if "=" not in text else text)
    if plain != text and _COUNTS.fullmatch(re.sub(" *([=,]) *", r"\1", plain)):
        rule = f"must say how many people said {series([*map(repr, words)], 'and')}"
        raise ArgumentError("--counts", rule, repr(text), f"Write --counts {shlex.quote(plain)}")
    for each in text.split(","):
        word, equals, number = (piece.strip() for piece in each.rpartition("="))
        if "=" in word:
            rule = "must separate its words by commas"
            remedy = f"Write --counts {shlex.quote(re.sub('[,; ]+', ',', text.strip()))}"
            raise ArgumentError("--counts", rule, repr(text), remedy)
        if not equals or not (number.isascii() and number.isdecimal()):
            rule = f"must say how many people said {series([*map(repr, words)], 'and')}"
            remedy = f"For example {_example(words)}"
            if equals and re.fullmatch(r"[0-9.]+ ?%|0?[.][0-9]+", number):
                remedy = "Write how many people said the word, not their share"
            raise ArgumentError("--counts", rule, repr(each), remedy)
        if word in counts:
            remedy = "Add up its two numbers"
            raise ArgumentError("--counts", "has a word twice", repr(word), remedy)
        counts[word] = int(number)
    return counts
