"""Study files: the attributes that are asked, their domains, mechanisms and budgets.

``docs/study_files.md`` shows every key of a file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core import html
from warner._core.atomic_files import write_whole
from warner._core.checks import kind, show, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    FrameWarning,
    StudyError,
    warn,
)
from warner._core.foreign_tables import (
    ColumnNames,
    columns_of_frame,
    foreign_table,
    index_of,
    index_of_answers,
)
from warner._core.names import Hinting, explained
from warner._core.sampling import Source
from warner._core.survey_design import SurveyDesign
from warner._core.text import canonical, nearest, unreadable
from warner.domains import Domain, Integers, Product
from warner.io.answer_tables import answer_batch
from warner.io.frames import attribute_columns
from warner.io.read_answers import answer_columns, encoded_batch, nobody
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, Permanent
from warner.mechanisms.composite import PerAttribute
from warner.mechanisms.one_of import of_changed_answers, permanent_of_people
from warner.privacy.guarantees import LDP, Guarantee, add_up, compose, side_by_side
from warner.reports.block_schema import block_name
from warner.reports.public_columns import PublicColumn, warn_of_groups
from warner.reports.reports import Reports
from warner.reports.tally import ROUND, Tally, of_one_round, total_of_round
from warner.studies.mechanisms import (
    built,
    domain_problems,
    drawn,
    is_drawn,
    permanent,
    stated_domain,
    table_problems,
    together,
)
from warner.studies.problems import (
    Path,
    Problem,
    ProblemLog,
    broken,
    located,
    problems_of,
    study_data,
    study_text,
)
from warner.studies.public import (
    check_design,
    check_groups,
    declared,
    group_data,
    of_groups,
    public_columns,
    survey_design,
)
from warner.studies.schema import ATTRIBUTE, BY_KEY, PUBLIC, STUDY, json_schema
from warner.studies.texts import Collect, Texts, collect_problems, languages_of, text_problems

QUESTIONS = "questions"  # the name of all attributes where [ask] draws what each person is asked
GROUP_COLUMN = "group"
_SHOWN = 4  # names of attributes in a repr


class Study(Hinting):
    """Attributes and their mechanisms, as a study file states them.

    Attributes:
        title: free text, "" where the file has none.
        labels: {attribute: the text of its question}, of the attributes for which the file states
            one. Labels and the title are for readers: no report and no digest depends on them.
            Both are in the default language.
        languages: the languages of the texts, the default one first; ("en",) unless stated.
        titles: {language: title}.
        texts: a :class:`~warner.studies.texts.Texts`: questions, hints and displayed answers by
            language.
        collect: a :class:`~warner.studies.texts.Collect`: how answers are collected from people.
        budget: the most one person may spend in all, or None.
        rows_per_person: t, the most rows of answers of one person; 1 unless the file states it. The
            epsilon of an attribute in the file is for one row. ``epsilon``, ``delta`` and
            ``guarantee`` of the study are for all t rows of a person together.
        groups: {name: the study that the people of this group answer}; {} without groups.
        group_column: the public column of the answers that names a person's group.
        rounds: in how many rounds the same people report, each with the epsilons of the study; 1
            unless the file states it. The mechanisms are then
            :class:`~warner.mechanisms.Permanent`, and ``budget`` limits what they spend for ever,
            on all values.
        design: the public columns that say how people were drawn; None where they are as a simple
            random sample.
        public: {name: domain} of the public columns, which travel beside the reports and are not
            protected; {} without such columns. They are the same for all groups.

    >>> study = Study.parse('''
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> list(study.mechanisms), study.guarantee.epsilon <= 1.0
    (['smokes'], True)
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = _checked(data)
        stated = self._data
        self.budget: float | None = stated.get("budget")
        self.rows_per_person: int = stated.get("rows_per_person", 1)
        self.languages: tuple[str, ...] = languages_of(stated)
        self.group_column: str = stated.get("group_column", GROUP_COLUMN)
        self._mechanisms: dict[str, Mechanism] = {}
        self.groups: dict[str, Study] = {}
        self.public: dict[str, Domain] = {}
        self.design: SurveyDesign | None = None
        log = ProblemLog()
        with log.within():
            self.design = survey_design(stated.get("design", {}))
        self._draws = is_drawn(stated.get("ask"))
        self._repeat: dict[str, Any] | None = stated.get("repeat")
        self.rounds: int = 1 if self._repeat is None else self._repeat["rounds"]
        self.round: int | None = None if self._repeat is None else self._repeat.get("round")
        _check_names(list(stated["attributes"]), log)
        _check_texts(stated, log)
        if "ask" in stated:
            with log.within():
                _check_ask(stated)
        if self._repeat is not None:
            with log.within():
                _check_repeat(stated)
            tables = [*stated["attributes"].values(), stated.get("ask", {})]
            numbers = [e for t in tables if isinstance(e := t.get("epsilon"), int | float)]
            largest = float(max(numbers, default=0.0))
            # Once, and not for each question; groups may have other epsilons, each its own study.
            if largest >= self._repeat["forever"] and "groups" not in stated:
                rule = f"must be larger than the epsilon of one round, which is {largest!r}"
                remedy = "Raise forever, which covers all rounds, or lower the epsilon of one round"
                got = repr(self._repeat["forever"])
                log.add(("repeat", "forever"), rule, got, remedy)
                log.refuse()
        self._tables, self._joint, self._places = _tables(stated, log)
        if "groups" in stated and not self._draws:
            self._set_groups(stated["groups"], log)
            self.public = next(iter(self.groups.values())).public
            return
        if "group_column" in stated:
            rule = "can be used only in a study with groups"
            log.add(("group_column",), rule, None, "Add tables [[groups]], or delete this line")
        for name, table in self._tables.items():
            with log.within(*self._places[name]):
                self._mechanisms[name] = self._built(name, table)
        with log.within():
            columns = self.answer_columns
            for column in (c for i, c in enumerate(columns) if c in columns[:i]):
                rule = f"two questions must not have their answers in the same column, {column!r}"
                raise broken(("attributes",), rule, None, "Rename one of them")
        with log.within():
            taken = [*stated["attributes"], *self._tables, *self.answer_columns]
            self.public = public_columns(stated.get("public", {}), taken)
            check_design(self.design, self.public)
        log.refuse()
        if self._repeat is not None and self.budget is not None:
            of_values = self.spent["epsilon_of_values"]
            if of_values > self.budget:
                rule = (
                    "is exceeded: if all answers of a person change in the same rounds, and change "
                    f"back, the person spends epsilon {of_values:.6g} in all rounds together"
                )
                most = max(self.permanent, key=lambda of: of_changed_answers([of])[1].total)
                remedy = _of_fewer_rounds([*most.values()], self.budget)
                raise broken(("budget",), rule, repr(self.budget), remedy)
        if self.budget is not None and self.epsilon > self.budget:
            self._fit_budget(self.budget)
        if self.budget is not None and self.delta > stated.get("delta", 0.0):
            rule = f"{{}}, because the deltas of all questions add up to {self.delta:.6g}"
            remedy = f"Write delta = {self.delta!r} beside the line with budget"
            if "delta" not in stated:
                raise broken(("budget",), rule.format("is needed"), None, remedy, "delta")
            raise broken(("delta",), rule.format("is exceeded"), repr(stated["delta"]), remedy)

    def _built(self, name: str, table: Mapping[str, Any]) -> Mechanism:
        """The mechanism of an attribute, or of attributes that are randomised together."""
        if self._draws:
            return drawn(table, self._data["attributes"], self.rows_per_person, self._repeat)
        where = f"joint {name}" if name in self._joint else f"attributes.{name}"
        one = built(where, table, self._joint.get(name), self.rows_per_person)
        return one if self._repeat is None else permanent(where, one, self._repeat)

    def _set_groups(self, groups: list[dict[str, Any]], log: ProblemLog) -> None:
        """Make the study of each group: the common tables with what the group changes."""
        with log.within():
            check_groups(groups, list(self._tables), self.group_column)
        log.refuse()
        joint = {name: list(domain.attributes) for name, domain in self._joint.items()}
        problems = {}
        for group in groups:
            try:
                self.groups[group["name"]] = type(self)(group_data(self._data, group, joint))
            except StudyError as error:
                problems[group["name"]] = problems_of(error)
        log.keep(of_groups(groups, problems, joint))
        log.refuse()
        for study in self.groups.values():
            if self.group_column in study.answer_columns:
                rule = "must not be a column with the answers to a question"
                raise broken(("group_column",), rule, repr(self.group_column))

    @cached_property
    def texts(self) -> Texts:
        """What people read, by language."""
        attributes = {name: stated_domain(t) for name, t in self._data["attributes"].items()}
        return Texts(self._data, {**attributes, **self.public})

    @property
    def title(self) -> str:
        """The title in the default language; "" where the file has none."""
        return self.texts.title(self.languages[0])

    @property
    def titles(self) -> dict[str, str]:
        """{language: title}."""
        return {language: self.texts.title(language) for language in self.languages}

    @property
    def labels(self) -> dict[str, str]:
        """{attribute: the text of its question} in the default language, where one is stated."""
        return {
            name: self.texts.question(name, self.languages[0])
            for name, table in self._data["attributes"].items()
            if "label" in table
        }

    @cached_property
    def collect(self) -> Collect:
        """How answers are collected from people."""
        return Collect.of(self._data.get("collect", {}))

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each attribute; a joint mechanism has the name "first x second".

        Raises:
            ArgumentError: a study with groups, each of which has mechanisms of its own.
        """
        if self.groups:
            rule = f"differ between the groups {', '.join(self.groups)}"
            raise ArgumentError("mechanisms", rule, None, "Use study.groups[name].mechanisms")
        return self._mechanisms

    @property
    def by_group(self) -> dict[str | None, Study]:
        """The studies of all groups; of a study without groups {None: the study itself}."""
        return dict(self.groups.items()) if self.groups else {None: self}

    @property
    def answer_columns(self) -> list[str]:
        """The columns of a file of answers, without that of the group."""
        study = next(iter(self.by_group.values()))
        return [c for name, m in study.mechanisms.items() for c in answer_columns(name, m)]

    def _fit_budget(self, budget: float) -> None:
        """Lower one epsilon a little, where the sum exceeds the budget by rounding alone."""
        parts = self._parts()
        written = {
            name: min(_decimal(guarantee.epsilon), self._written(name))
            for name, guarantee in parts.items()
        }
        total = sum(written.values(), Fraction(0))
        if any(math.isinf(guarantee.epsilon) for guarantee in parts.values()) or total > _decimal(
            budget
        ):
            spent = repr(self.epsilon)
            if math.isfinite(self.epsilon) and float(total) > budget:
                spent = str(float(total))
            rule = f"is exceeded: the questions (attributes) spend {spent} together"
            remedy = "Lower an epsilon, or raise the budget"
            is_alike = all(type(m.guarantee) is LDP for m in self.mechanisms.values())
            if is_alike and len(parts) > 1 and self.rows_per_person == 1 and not self._joint:
                remedy = (
                    f"Divide the budget: write epsilon = {_divided(budget, len(parts))} for each "
                    f"of the {len(parts)} questions. Or ask each person one of them, and write "
                    f'[ask] with each = "one" and epsilon = {budget:g}'
                )
            raise broken(("budget",), rule, repr(budget), remedy)
        # The decimals 0.1 and 0.2 add up to 0.3, but their floats add up to more. Afterwards the
        # sum is at most the budget, both as the decimals written and as floats.
        spent_exactly = sum(Fraction(guarantee.epsilon) for guarantee in parts.values())
        excess = spent_exactly - min(Fraction(budget), _decimal(budget))
        for name in sorted(parts, key=lambda name: -parts[name].epsilon):
            before, promised = self.mechanisms[name], self.mechanisms[name].guarantee
            scale = (
                Fraction(promised.diameter) / Fraction(self._unit(name))
                if promised.diameter is not None
                else Fraction(1)
            )
            table = self._tables[name]
            if "design" in table:
                continue
            least = Fraction(float(table["epsilon"])) - excess / scale
            # Sums and products of floats are rounded up once more, so a few steps may be needed.
            for steps in range(4):
                lower = float(least)
                for _ in range(steps + (Fraction(lower) > least)):
                    lower = math.nextafter(lower, 0.0)
                try:
                    self._mechanisms[name] = self._built(name, {**table, "epsilon": lower})
                except StudyError:
                    break
                if self.epsilon <= budget:
                    return
            self._mechanisms[name] = before
        rule = (
            "is exceeded a little, because the computer rounds epsilons such as 0.1, and their sum "
            "becomes larger"
        )
        raise broken(("budget",), rule, repr(budget), "Lower one epsilon a little")

    def _written(self, name: str) -> Fraction:
        """The epsilon of an attribute between its two most distant values, from the decimal."""
        promised = self.mechanisms[name].guarantee
        stated = self._tables[name].get("epsilon", promised.epsilon)  # that of a design follows
        epsilon = _decimal(stated)
        return (
            epsilon * Fraction(promised.diameter) / _decimal(self._unit(name))
            if promised.diameter is not None
            else epsilon
        )

    def _unit(self, name: str) -> float:
        """The distance of two values that the stated epsilon of an attribute is for."""
        mechanism = self.mechanisms[name]
        return next(iter(mechanism.single_reports)).distance_unit or 1.0

    @property
    def epsilon(self) -> float:
        """The privacy budget in nats of a person who answers every question.

        It is the sum of the epsilons of the attributes, over all rows of one person. Where privacy
        is metric, the epsilon of an attribute is that of its two most distant values. With groups,
        each group has a sum of its own, and this is the largest.
        """
        if self.groups:
            return max(study.epsilon for study in self.groups.values())
        return add_up(guarantee.epsilon for guarantee in self._parts().values())

    @cached_property
    def epsilon_of_rounds(self) -> float:
        """What a person spends in all rounds on answers that stay; :attr:`epsilon` in one round."""
        if self.rounds == 1:
            return self.epsilon
        return max(
            add_up(m.of_rounds(self.rounds).epsilon for m in asked_of.values())
            for asked_of in self.permanent
        )

    @property
    def permanent(self) -> list[dict[str, Permanent]]:
        """With ``[repeat]``, {question: its mechanism} of what one person reports on.

        It is one dict, of all questions; one for each question where ``[ask]`` draws one for good;
        and with groups those of each group. [] without ``[repeat]``.
        """
        mechanisms_of = [study.mechanisms for study in self.by_group.values()]
        return [of for mechanisms in mechanisms_of for of in permanent_of_people(mechanisms)]

    @property
    def draw_digest(self) -> str:
        """What names the draw of a person's questions: who has drawn under it keeps the draw.

        It is the digest. With ``[repeat]`` it is of the questions and their permanent reports
        alone, so that neither another round nor a longer list of public values draws anew.
        """
        if self._repeat is None:
            return self.digest
        series = [[n, m.memo.header] for asked_of in self.permanent for n, m in asked_of.items()]
        return hashlib.sha256(canonical(series).encode()).hexdigest()

    @property
    def spending(self) -> str:
        """What a person who answers everything spends, as sentences."""
        if self.rounds == 1:
            return (
                f"A person who is asked once spends at most epsilon = {self.epsilon:.6g} in all. "
                "Each further time, for example every week, spends as much again."
            )
        said = (
            f"A person spends at most epsilon = {self.epsilon:.6g} in each round, and "
            f"{self.epsilon_of_rounds:.6g} in all {self.rounds:,} rounds if the answers stay the "
            "same."
        )
        is_of_one = all(len(asked_of) == 1 for asked_of in self.permanent)
        most = (
            f"epsilon {self.spent['epsilon_of_values']:.6g}"
            f"{'' if is_of_one else ' on all questions together'}"
        )
        if all(m.values == 1 for asked_of in self.permanent for m in asked_of.values()):
            return (
                f"{said} In any number of rounds, a person spends at most {most}. A device whose "
                "answer changes sends nothing more, which shows the change."
            )
        return (
            f"{said} If the answers change, a person spends at most {most}. Reports protect "
            "what the answers were, but do not hide when an answer changed."
        )

    @property
    def spent(self) -> dict[str, float]:
        """What a person who answers everything spends on all questions together, in nats.

        ``epsilon`` and ``delta`` are of one round, ``epsilon_of_rounds`` is of all ``rounds``
        where the answers stay, and ``epsilon_of_values`` of however many, where they change as
        often as the study allows. Without ``[repeat]`` there is one round.
        """
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rounds": self.rounds,
            "epsilon_of_rounds": self.epsilon_of_rounds,
            "epsilon_of_values": self.epsilon
            if self.rounds == 1
            else of_changed_answers(self.permanent)[1].total,
        }

    @property
    def delta(self) -> float:
        """The sum of the deltas of the attributes whose privacy is approximate.

        With groups, each group has a sum of its own, and this is the largest.
        """
        if self.groups:
            return max(study.delta for study in self.groups.values())
        return add_up(
            guarantee.delta for guarantee in self._parts().values() if guarantee.delta is not None
        )

    def _parts(self) -> dict[str, Guarantee]:
        """The guarantee of each attribute, for any two values."""
        return {
            name: guarantee.between_any_values() for name, guarantee in self._guarantees().items()
        }

    def _guarantees(self) -> dict[str, Guarantee]:
        """The guarantee of each attribute, of all rows of one person."""
        return {
            name: compose([m.guarantee] * self.rows_per_person)
            for name, m in self.mechanisms.items()
        }

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the reports of all attributes together.

        It is one-sided where some attributes protect only some values. A person with a sensitive
        value in each of those attributes is protected at the sum of the epsilons. ``sensitive``
        then holds (attribute, value) pairs.
        """
        sources: Guarantee = side_by_side(self._guarantees())
        return sources

    @property
    def together(self) -> PerAttribute | OneOf:
        """The mechanism whose report is the tuple of one person's reports, for joint shares.

        Where ``[ask]`` draws what each person is asked, that mechanism itself.

        Raises:
            ArgumentError: a question with items, of which each person is asked only some.
        """
        of_items = [name for name, m in self.mechanisms.items() if isinstance(m, OneOf)]
        if of_items and not self.draw:
            rule = f"cannot be made, because each person is asked only some items of {of_items[0]}"
            remedy = (
                "Randomise and count each question by itself: tallies = "
                "study.tally(study.randomize(answers)), and then warner.estimate"
                f"(tallies[{of_items[0]!r}])"
            )
            raise ArgumentError("study.together", rule, None, remedy)
        return self.draw or PerAttribute(self.mechanisms)

    @property
    def draw(self) -> OneOf | HiddenQuestion | None:
        """The mechanism that draws what each person is asked; None where all are asked all."""
        mechanism = self._mechanisms.get(QUESTIONS)
        return mechanism if isinstance(mechanism, OneOf | HiddenQuestion) else None

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of each attribute; of attributes together their Product."""
        study = next(iter(self.by_group.values()))
        return {name: m.domain for name, m in study.mechanisms.items()}

    @explained
    def randomize(self, answers: Any, rng: np.random.Generator | None = None) -> dict[str, Reports]:
        """Randomise the answers of a data frame, as ``warner randomize`` does those of a file.

        Args:
            answers: a data frame of any library, or a dict of columns, with one row for each person
                and the columns of a file of answers; further columns are not read. The answer to
                ``items`` is a list of the ticked ones, or a text that names them.
            rng: None for the operating system's randomness, which real answers need. A
                ``numpy.random.Generator`` makes a repeatable simulation, whose reports are marked
                as simulated.

        Returns:
            {attribute: Reports}, which :meth:`tally` takes. They are in the order of the rows, and
            have the index of a pandas frame. With ``missing = "drop"`` people without an answer are
            left out.

        Raises:
            ValuesError: answers outside their domain, all of them, by column and row.
            ArgumentError: a column is missing; the study has groups, or questions on paper whose
                answers people randomise themselves, or ``[repeat]``.
            ArgumentTypeError: ``answers`` of another sort.
            EmptyError: no answers, or none of a person who is not left out.

        Warns:
            FrameWarning: people were left out, or the index of a pandas frame has a label twice,
                so that people may be counted twice.

        >>> study = Study.parse('''
        ... [attributes.smokes]
        ... values = ["no", "yes"]
        ... mechanism = "RandomizedResponse"
        ... epsilon = 1.0
        ... [attributes.services]
        ... items = ["bank", "post"]
        ... epsilon = 1.0
        ... ''')
        >>> answers = {"smokes": ["no", "yes"], "services": [["bank", "post"], []]}
        >>> {name: tally.n for name, tally in study.tally(study.randomize(answers)).items()}
        {'smokes': 2, 'services': 2}
        """
        if self.groups:
            rule = "has groups of people with different questions or mechanisms"
            remedy = f"Randomise each group by itself: study.groups[{next(iter(self.groups))!r}]"
            raise ArgumentError("study", rule, None, f"{remedy}.randomize(...)")
        source = Source(rng)
        by_card = [name for name, m in self.mechanisms.items() if m.is_on_paper]
        if by_card and not source.simulated:
            rule = (
                f"asks {', '.join(by_card)} on paper, where people randomise their answers "
                "themselves. If what they said were randomised once more, estimates would be wrong"
            )
            remedy = "To simulate people who answer, pass rng=numpy.random.default_rng(1)"
            raise ArgumentError("study", rule, None, remedy)
        batch = answer_batch(answers, self.answer_columns)
        encoded, rows = encoded_batch(self.mechanisms, batch)
        if rows is not None and not len(rows):
            raise nobody("answers")
        # A study that says so takes several rows of a person.
        index = index_of(answers) if self.rows_per_person > 1 else index_of_answers(answers)
        if rows is not None and len(rows) < batch.num_rows:
            index = None if index is None else index[rows]
            warn(
                f"{batch.num_rows - len(rows):,} of {batch.num_rows:,} people are left out with "
                'all their answers, because an answer is missing (missing = "drop" in the study). '
                "Also remove these people from columns that you count by.",
                FrameWarning,
            )
        return {
            name: Reports(reports.header, reports.columns, reports.simulated, index)
            for name, reports in self.randomize_encoded(encoded, source).items()
        }

    def randomize_encoded(self, batch: Mapping[str, Any], source: Source) -> dict[str, Reports]:
        """Return the reports of each attribute.

        Args:
            batch: {attribute: answers as its mechanism's ``encode`` returns them}.
            source: the source of random words.
        """
        if self.rounds > 1 and not source.simulated:
            rule = (
                "has the table [repeat]: the device of each person must make and keep the reports"
            )
            remedy = (
                "On each person's device, call warner.Device(study, url, folder).send(answers) in "
                "each round. To make up the reports of one round for a rehearsal, run: warner "
                "randomize --seed 1"
            )
            raise ArgumentError("study", rule, None, remedy)
        return {
            name: Reports(m.header, m.randomize_encoded(batch[name], source), source.simulated)
            for name, m in self.mechanisms.items()
        }

    def __repr__(self) -> str:
        names = list(self._data["attributes"] if self._draws else self._tables)
        more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
        groups = f", {len(self.groups)} groups" if self.groups else ""
        title = f"{self.title!r}, " if self.title else ""
        spent = f"epsilon={self.epsilon:.4g}"
        if self.rounds > 1:
            spent += f" in each round and {self.epsilon_of_rounds:.4g} in all {self.rounds:,}"
        return f"Study({title}{', '.join(names[:_SHOWN])}{more}{groups}, {spent})"

    def _repr_html_(self) -> str:
        rows = [
            [name, repr(m.domain), type(m).__name__, f"{m.guarantee}", group or ""]
            for group, study in self.by_group.items()
            for name, m in study.mechanisms.items()
        ]
        head = ["attribute", "values", "mechanism", "guarantee", "group"]
        if not self.groups:
            head, rows = head[:-1], [row[:-1] for row in rows]
        title = f"{self.title}. " if self.title else ""
        many = self.rows_per_person
        people = f" with {many} rows" if many > 1 else ""
        public = f" Public columns: {', '.join(self.public)}." if self.public else ""
        spent = self.spending.replace("A person", f"A person{people}")
        return html.table(head, rows, f"{title}{spent}{public}")

    def __eq__(self, other: object) -> bool:
        """Studies with the same entries are equal. Those that only do the same have one digest."""
        return isinstance(other, Study) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data,)

    def tally(
        self, reports: Any, by: Any = None, *, columns: Mapping[str, ColumnNames] | None = None
    ) -> dict[str, Tally]:
        """Count the reports of all attributes.

        Args:
            reports: {attribute: n reports} of the same people in the same order; or a data frame of
                any library, eager or lazy, with one row for each person. Where a frame says which
                mechanism made its reports (:meth:`warner.Reports.to_frame`), that is compared.
            by: the public columns of the study that make groups of people: {name: values}, n values
                of each, in the same order. Of a frame also the name of one of its columns, or
                several names. None for all people together.
            columns: of a frame, {attribute: its columns}, as in
                :meth:`warner.mechanisms.Mechanism.tally`. Left out, they are named as in a report
                file: ``smokes_report``. Of a study with ``[repeat]`` a column ``round``
                says in which round the reports were sent; several rounds are refused.

        Returns:
            {attribute: Tally}. For joint tallies see ``study.together.tally``.

        Raises:
            ArgumentError: a study with groups, each of which has mechanisms of its own; an
                attribute or a public column that the study does not have; or a public column of
                another length.
            ArgumentTypeError: reports or public columns of another sort.
            FrameWarning: a frame does not say which mechanism made its reports.
            MismatchError, ReportError: reports that the study's mechanisms did not make, or public
                values of a frame that are missing or were never declared.
            ValuesError: a public value that is missing or was never declared, by its position.

        >>> import pyarrow
        >>> study = Study.parse('''
        ... [public.ward]
        ... values = ["north", "south"]
        ... [attributes.smokes]
        ... values = ["no", "yes"]
        ... mechanism = "RandomizedResponse"
        ... epsilon = 1.0
        ... ''')
        >>> frame = pyarrow.table({"week": [1, 1, 2], "said": [0, 1, 1]})
        >>> study.tally(frame, columns={"smokes": "said"})["smokes"].n
        3
        >>> reports = {"smokes": study.mechanisms["smokes"].randomize(["no", "yes"])}
        >>> list(study.tally(reports, {"ward": ["south", "north"]})["smokes"])
        [('north',), ('south',)]
        """
        table, given = foreign_table(reports), dict(columns or {})
        self._refuse_others(reports, table is not None, given)
        public = None if by is None else self._public_of(columns_of_frame(by), table is not None)
        if table is None:
            tallies = {name: self.mechanisms[name].tally(reports[name], public) for name in reports}
        else:
            usual = {name: attribute_columns(name, m) for name, m in self.mechanisms.items()}
            of_rounds = self.rounds_in(table.names, public or {})
            if of_rounds and isinstance(by, Mapping):
                rule = (
                    f"must name columns of the data frame, because the frame has a column {ROUND}"
                )
                raise ArgumentError("by", rule, "values", f"Write by={list(public or ())}")
            columns_by = {**(public or {}), **of_rounds} or None
            tallies = table.tally(self.mechanisms, usual | given, columns_by)
            if of_rounds:
                tallies = total_of_round(tallies, of_rounds, "data")
            if by is not None:
                warn_of_groups(next(iter(tallies.values())))
        most = self.rows_per_person
        counted = {n: tally.per_person(most).about(n) for n, tally in tallies.items()}
        return self.of_round(counted)

    def rounds_in(self, columns: Iterable[str], by: Mapping[str, Any]) -> dict[str, Domain]:
        """The column of a table that says in which round each row was reported, with its domain.

        Of a study with ``[repeat]`` this is a column ``round``, which holds the numbers of rounds.
        A table with two rounds has each person twice, so it is counted by this column first.

        Args:
            columns: the names of the columns of the table.
            by: the public columns by which the table is counted.

        Returns:
            {} where the table or the study says no rounds, or groups are by this column anyway.
        """
        if self._repeat is None or ROUND not in columns or ROUND in by:
            return {}
        return {ROUND: self.public.get(ROUND, Integers(1, self.rounds))}

    def of_round(self, tallies: Mapping[str, Tally], source: str = "reports") -> dict[str, Tally]:
        """The same tallies, as those of the round that the study says.

        Tallies of different rounds do not add; see :meth:`warner.reports.tally.Tally.of_round`.

        Args:
            tallies: {attribute: tally}.
            source: where the reports come from, in messages.

        Returns:
            {attribute: tally}, unchanged where the study says no round.

        Raises:
            MismatchError: a tally of another round.
        """
        if self.round is None:
            return dict(tallies)
        remedy = "Use the study file of the same round as the reports"
        return of_one_round(tallies, self.round, "the study is", remedy, source)

    def public_columns(self, by: Any) -> dict[str, PublicColumn]:
        """The public columns of people with their domains, for :func:`warner.io.write_reports`.

        Args:
            by: a data frame with public columns of the study alone, one of its columns, or {name:
                values}, as of :meth:`tally`.

        Returns:
            {name: column}, in the order of ``by``.

        Raises:
            ArgumentError: a public column that the study does not have.
            ArgumentTypeError: ``by`` of another sort.

        >>> study = Study.parse('''
        ... [public.ward]
        ... values = ["north", "south"]
        ... [attributes.smokes]
        ... values = ["no", "yes"]
        ... mechanism = "RandomizedResponse"
        ... epsilon = 1.0
        ... ''')
        >>> study.public_columns({"ward": ["south", "north"]})["ward"].index.tolist()
        [1, 0]
        """
        return self._public_of(columns_of_frame(by), is_frame=False)

    def _public_of(self, by: Any, is_frame: bool) -> dict[str, Any]:
        """Public columns with their domains: as values, or of a frame by their names."""
        names = [by] if isinstance(by, str) else list(by) if isinstance(by, Iterable) else [by]
        domains = {name: declared(self.public, name, "by", self.domains) for name in names}
        if isinstance(by, Mapping):
            return {n: PublicColumn(domains[n], values) for n, values in by.items()}
        if not is_frame:
            remedy = "Names of columns are for a data frame only"
            raise ArgumentTypeError("by", "must be a dict {name: values}", kind(by), remedy)
        return domains

    def _refuse_others(self, reports: Any, is_frame: bool, given: Mapping[str, Any]) -> None:
        """Refuse what is no reports of this study's attributes."""
        if not is_frame and not isinstance(reports, Mapping):
            rule = "must be a dict {attribute: reports} or a data frame"
            raise ArgumentTypeError("reports", rule, kind(reports))
        for name in (*given, *(() if is_frame else reports)):
            if name not in self.mechanisms:
                raise unknown("reports", name, self.mechanisms, "the attributes of the study")
        if not is_frame and given:
            rule = "can be used only if the reports are a data frame"
            raise ArgumentError("columns", rule, None, "Leave out the argument columns")

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of the headers of all attributes, in hexadecimal digits.

        Two study files that are written differently and do the same have one digest. With groups
        it covers their names and the column. Public columns are covered where there are any.
        """
        return self._digests([self.round])[0]

    def _digests(self, rounds: Iterable[int | None]) -> list[str]:
        """The digest in each of some rounds."""
        headers = {
            group: {a: m.header for a, m in study.mechanisms.items()}
            for group, study in self.by_group.items()
        }
        of_groups = {"group_column": self.group_column, "groups": headers}
        stated = of_groups if self.groups else headers[None]
        return [digest_of(stated, self.public, self.rows_per_person, each) for each in rounds]

    @property
    def layout(self) -> str:
        """The digest, and with it the order of columns and attributes; see :func:`layout_of`."""
        return layout_of(self.digest, [*self.public, *self._mechanisms])

    def to_json(self) -> str:
        """Return the study and its digest as JSON, which ``parse`` reads."""
        return (
            json.dumps({"study": self._data, "sha256": self.digest}, indent=1, default=str) + "\n"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study as JSON, as ``to_json`` returns it, to a file that ``load`` reads.

        Raises:
            ArgumentError: a name that does not end in ``.json``.
            FileError: the file cannot be written.
        """
        name = os.fspath(path)
        if not name.lower().endswith(".json"):
            rule = "must end in .json, because the study is saved as JSON"
            remedy = (
                "Write study.save('study.json'). Every command takes this file as it takes TOML"
            )
            raise ArgumentError("path", rule, show(name), remedy)
        write_whole(path, self.to_json().encode())

    @staticmethod
    def schema() -> dict[str, Any]:
        """Return the JSON Schema of study files."""
        return json_schema()

    @classmethod
    def parse(cls, text: str, name: str = "study") -> Self:
        """Return the study in TOML or JSON text.

        Args:
            text: the contents of a study file, or the text that ``to_json`` returned.
            name: the name of the text in messages.

        Raises:
            StudyError: not TOML or JSON, or a rule is broken; the message names the place.
        """
        data = study_data(text, name)
        data, stated = (
            (data["study"], data.get("sha256"))
            if data.keys() >= {"study", "sha256"} and isinstance(data["study"], dict)
            else (data, None)
        )
        refused = None
        try:
            study = cls(data)
        except StudyError as error:
            refused = located(error, name, text)
        if refused is not None:
            raise refused
        if stated is not None and stated != study.digest:
            rule, remedy = "was changed after it was saved", "Use the file as it was saved"
            raise StudyError(name, rule, None, remedy)
        return study

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the study in a file, TOML or JSON.

        Raises:
            FileError: the file cannot be opened.
            StudyError: not UTF-8, TOML or JSON, or a rule is broken.
        """
        return cls.parse(study_text(path), str(path))


def digest_of(
    headers: Mapping[str, Any],
    public: Mapping[str, Domain],
    rows_per_person: int = 1,
    of_round: int | None = None,
) -> str:
    """The digest of a study, see :attr:`Study.digest`."""
    content: dict[str, Any] = dict(headers)
    if of_round is not None:  # so that ids and codes of one round are not those of another
        content = {"round": of_round, "questions": content}
    if rows_per_person > 1:
        content = {"rows_per_person": rows_per_person, "attributes": content}
    if public:
        columns = [[name, domain.spec()] for name, domain in public.items()]
        content = {"public": columns, "attributes": content}
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def round_with(study: Study, digest: str) -> int | None:
    """In which round a study has a digest; None where it has that in none."""
    if study.round is None:
        return None
    digests = study._digests(range(1, study.rounds + 1))
    return digests.index(digest) + 1 if digest in digests else None


def layout_of(digest: str, names: Iterable[str]) -> str:
    """SHA-256 of the digest of a study and of the order of what a person sends."""
    # Studies that ask the same in another order have one digest, because their files and tallies
    # belong together. What one person sends has no names in it, only this order.
    return hashlib.sha256(canonical([digest, *names]).encode()).hexdigest()


def _decimal(number: float) -> Fraction:
    """The decimal that a float is written as; for infinity a number above every budget."""
    return Fraction(repr(float(number))) if math.isfinite(number) else Fraction(10**400)


def _tables(
    stated: Mapping[str, Any], log: ProblemLog
) -> tuple[dict[str, Any], dict[str, Product], dict[str, Path]]:
    """The tables that state mechanisms, by name in the order of attributes."""
    attributes = stated["attributes"]
    if is_drawn(stated.get("ask")):
        ask = dict(stated["ask"])
        if all("epsilon" in table for table in attributes.values()):
            ask.setdefault("epsilon", max(table["epsilon"] for table in attributes.values()))
        return {QUESTIONS: ask}, {}, {QUESTIONS: ()}
    joint: dict[str, Product] = {}
    table_of: dict[str, str] = {}
    tables: dict[str, Any] = dict(attributes)
    places: dict[str, Path] = {name: ("attributes", name) for name in tables}
    for i, table in enumerate(stated.get("joint", ())):
        names, path = table["attributes"], ("joint", i)
        name = block_name(names)
        tables[name], places[name] = table, path
        taken = {a: table_of[a] for a in names if a in table_of}
        table_of |= dict.fromkeys(names, name)
        with log.within():
            joint[name] = together(attributes, names, path)
            if name in attributes:
                rule = "has the same name as a single question"
                raise broken(path, rule, repr(name), "Rename that question (attribute)")
            for attribute, other in taken.items():
                rule = f"lists {attribute!r}, which {other} lists too"
                raise broken(path, rule, None, "List each attribute only once")
    ordered = dict.fromkeys(table_of.get(attribute, attribute) for attribute in attributes)
    randomized = [name for name in ordered if name in joint or name not in table_of.values()]
    return {name: tables[name] for name in randomized}, joint, places


# -----------------------------------------------------------------------------------------------
# The check of a study's data: against the schema first. Where that finds problems, what else is
# wrong is looked for too, so that all is told at once.


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a study, with the defaults of the schema."""
    if not isinstance(data, Mapping):
        remedy = "To read a file, use Study.load(path)"
        raise ArgumentTypeError("study", "must be a dict", kind(data), remedy)
    log = ProblemLog()
    study = STUDY.checked(data, (), log)
    if log.problems:
        _check_the_rest(data, list(log.problems), log)
        _check_texts(data, log)
        log.refuse()
    return study


def _check_names(names: list[str], log: ProblemLog) -> None:
    """Refuse names of attributes that commands or screens could not show, or take for one."""
    taken: set[str] = set()
    for name in names:
        with log.within("attributes", name):
            if name.casefold() in taken:
                rule = "two names must not differ only in upper and lower case"
                other = next(n for n in names if n.casefold() == name.casefold())
                raise broken((), rule, f"{other} and {name}", "Rename one of them", "attributes")
            taken.add(name.casefold())
            if not name or "." in name:
                rule = f"names must not {'contain a point' if name else 'be empty'}"
                remedy = f"Rename it, for example to {name.replace('.', '_')!r}" if name else None
                raise broken((), rule, None, remedy, f"attributes.{name}")
            if (strange := unreadable(name)) is not None:
                rule, remedy = f"names must not contain {strange}", "Remove that character"
                raise broken((), rule, show(name), remedy, "attributes")


def _check_ask(data: Mapping[str, Any]) -> None:
    """Refuse what does not go with the table [ask]."""
    ask = data["ask"]
    if not is_drawn(ask):
        if "epsilon" in ask:
            rule = 'cannot be used with each = "all", where every question has its own epsilon'
            remedy = (
                'Delete epsilon in [ask]. To limit the sum of all epsilons, use the key "budget"'
            )
            raise broken(("ask", "epsilon"), rule, None, remedy)
        return
    for key, remedy in _NOT_WITH_ASK.items():
        if key in data:
            raise broken((key,), "cannot be used with [ask]", None, remedy)
    for table in ("attributes", "public"):
        for name in data.get(table, {}):
            if name.casefold() == QUESTIONS:
                rule = (
                    "cannot be a name in a study with [ask], where this name stands for all "
                    "reports together"
                )
                raise broken((table, name), rule, None, "Choose another name")


def _divided(budget: float, count: int) -> str:
    """A budget divided by a number, rounded down."""
    return f"{math.floor(1e4 * budget / count) / 1e4:g}"


def _of_fewer_rounds(permanents: Sequence[Permanent], budget: float) -> str:
    """How people spend no more than a budget in all rounds: the ways, with their numbers."""
    count, values = len(permanents), sum(mechanism.values for mechanism in permanents)
    ways = (
        f"Divide the budget: write forever = {_divided(budget, values)} in [repeat], and a smaller "
        "epsilon for each question"
    )
    if count == 1:
        return ways
    alone = max(mechanism.values for mechanism in permanents)
    forever = f", and forever = {_divided(budget, alone)} in [repeat]"
    if max(mechanism.of_values().epsilon for mechanism in permanents) <= budget:
        forever = '; the key "forever" can then stay as it is'
    return (
        f"{ways}. Or let each device report on only one of the {count} questions, which it draws "
        f'once and for good: write [ask] with each = "one"{forever}'
    )


def _check_repeat(data: Mapping[str, Any]) -> None:
    """Refuse what does not go with the table [repeat]."""
    stated = data["repeat"]
    if stated.get("round", 1) > stated["rounds"]:
        rule = f"must be from 1 to {stated['rounds']}, the number of rounds"
        raise broken(("repeat", "round"), rule, str(stated["round"]))
    ask = data.get("ask", {"each": "all"})
    if is_drawn(ask) and (ask.get("each") != "one" or ask.get("hide")):
        rule = "can be used with [repeat] only if each device draws one question for all rounds"
        remedy = 'In [ask], write each = "one"'
        if ask.get("each") == "one":
            remedy = 'In [ask], leave out the key "hide"'
        raise broken(("ask",), rule, None, remedy)
    if data.get("rows_per_person", 1) > 1:
        rule = "cannot be used with [repeat], which already covers several rows of a person"
        remedy = "Leave out rows_per_person or [repeat]"
        raise broken(("rows_per_person",), rule, None, remedy)
    for name, table in data["attributes"].items():
        for key in ("reports", "items", "keys", "tags"):
            if key in table:
                rule = (
                    "cannot be used with [repeat], where each person sends one report of one "
                    "value in each round"
                )
                raise broken(("attributes", name, key), rule, None, f'Leave out the key "{key}"')


_NOT_WITH_ASK = {
    "joint": 'In [ask], write blocks, such as blocks = [["a", "b"], ["c"]]',
    "groups": "To compare groups of people, declare a public column: [public.NAME]",
    "group_column": "To compare groups of people, declare a public column: [public.NAME]",
}


def _check_texts(data: Mapping[str, Any], log: ProblemLog) -> None:
    """Add the problems of what people read, and of how their answers are collected."""
    log.keep(text_problems(data))
    refused = {problem.path for problem in log.problems}
    log.keep(p for p in collect_problems(data.get("collect")) if p.path not in refused)


def _check_the_rest(data: Mapping[str, Any], problems: list[Problem], log: ProblemLog) -> None:
    """Add the problems of mechanisms and columns in a study that breaks the schema elsewhere."""
    wrong: dict[Path, set[str]] = {}
    for problem in problems:
        wrong.setdefault(problem.path[:2], set()).update(map(str, problem.path[2:3] or ("",)))
    attributes, public = data.get("attributes"), data.get("public")
    if isinstance(attributes, Mapping):
        _check_names([str(name) for name in attributes], log)
        for name, table in attributes.items():
            if isinstance(table, Mapping):
                bad = wrong.get(("attributes", name), set())
                log.keep(_table_problems(name, table, bad, data), ("attributes", name))
    if isinstance(public, Mapping):
        sound = {
            name: PUBLIC.checked(table, (), ProblemLog())
            for name, table in public.items()
            if ("public", name) not in wrong and ("public",) not in wrong
        }
        with log.within():
            public_columns(sound, attributes if isinstance(attributes, Mapping) else {})


def _table_problems(
    name: str, table: Mapping[str, Any], bad: set[str], data: Mapping[str, Any]
) -> tuple[Problem, ...] | list[Problem]:
    """The problems of one attribute beside those that the schema found."""
    where = f"attributes.{name}"
    sound = {key: value for key, value in table.items() if key not in bad}
    spec = ATTRIBUTE.checked(sound, (), ProblemLog())
    has_domain = sum(key in spec for key in BY_KEY) == 1
    is_design = "design" in table  # which needs neither a mechanism nor an epsilon
    if is_together(name, data.get("joint")) or (is_design and bad):
        return domain_problems(where, spec) if has_domain else []
    # A group may state what the common table leaves out, and so may [ask], misspelt or not.
    leaves_out = any(nearest(key, map(str, data)) for key in ("groups", "ask"))
    ignored = bad | ({"mechanism", "epsilon"} - set(table) if leaves_out else set())
    problems = [] if is_design else table_problems(where, spec, ignored, has_domain)
    if problems or (ignored and not is_design):
        return problems
    try:
        built(where, spec)
    except StudyError as error:
        return problems_of(error)
    return []


def is_together(name: str, joint: Any) -> bool:
    """Whether an attribute is named in a table of attributes that are randomised together."""
    tables = joint if isinstance(joint, list) else []
    return any(
        isinstance(t, Mapping) and isinstance(t.get("attributes"), list) and name in t["attributes"]
        for t in tables
    )
