"""A questionnaire on paper: the sheet that people fill in, and a page for the interviewer.

What people draw, what they tick and what a box tells comes from the designs of the study, so that
the sheet has exactly the chances by which its counts are estimated later.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warner._core.errors import ArgumentError
from warner._core.table import Column, Table
from warner._core.text import series, split_of_hundred
from warner.app.report.content import Block, Boxes, Commands, Points, Report, Section
from warner.app.what_files_hold import tally_of
from warner.design.privacy_words import STRONG_ODDS, certainty, of_a_person, of_guarantee
from warner.designs import Card, PaperDesign
from warner.domains import Categorical, Domain
from warner.io.counts_by_hand import ATTRIBUTE, COUNT, DESIGN, VALUE
from warner.studies.study import Study

COUNTS = "counts.csv"  # the file of the interviewer's page, where none is named
EXCEL = ".xlsx"  # the other ending of the file of counts
_MOST_BOXES = 12  # values of a public column that are boxes; of more there is a line to write on
_MOST_GROUPS = 100  # of public values whose counts have lines of their own
_MOST_BLANKS = 3  # groups whose blanks stand side by side on the page for the interviewer
_MOST_LINES = 16  # of the table of counts on the page for the interviewer


@dataclass(frozen=True)
class Question:
    """A question of the sheet, with the card of its design."""

    name: str
    text: str  # what is asked
    help: str
    design: PaperDesign
    card: Card
    answers: Sequence[str]  # their texts in the language of the sheet

    @property
    def words(self) -> list[str]:
        """The words of the counts in the order of the boxes, such as "same" of "A, same"."""
        return [self.design.report_words[code] for code in self.codes]

    @property
    def codes(self) -> list[int]:
        """The codes of the reports that the boxes say: the box "A, same" is the report "same"."""
        words = self.design.words_on_card(self.answers)
        return [
            words.index(box if box in words else box.rpartition(", ")[2])
            for box, _ in self.card.boxes
        ]

    @property
    def is_drawn(self) -> bool:
        """Whether chance is a draw, and no birthday that somebody has anyway."""
        return "birthday" not in " ".join(self.card.steps)


def questions_of(
    study: Study, path: str, language: str, draws: Mapping[str, str]
) -> list[Question]:
    """The questions of a study on paper; ``draws`` says what people draw with, "" of all others."""
    if study.groups:
        rule = "has groups, but a sheet is for all people"
        remedy = "Write a study file for each group"
        raise ArgumentError(path, rule, ", ".join(study.groups), remedy)
    questions = []
    for name, mechanism in study.mechanisms.items():
        if not isinstance(mechanism, PaperDesign):
            rule = "is randomised by a device, but with a sheet people make a draw themselves"
            remedy = 'Write design = "crosswise:1/4" in place of mechanism and epsilon'
            raise ArgumentError(f"attributes.{name}", rule, type(mechanism).__name__, remedy)
        texts, by = study.texts, draws.get(name, draws.get(""))
        text, answers = texts.question(name, language), texts.answers(name, language)
        try:
            card = mechanism.card(text, by, answers)
        except ArgumentError as error:
            problem = str(error).removeprefix("by: ")
            raise ArgumentError(f"--draw for {name!r}: {problem}") from None
        questions.append(Question(name, text, texts.help(name, language), mechanism, card, answers))
    names = [
        each.name
        for each in questions
        if any("hink of the birthday" in step for step in each.card.steps)
    ]
    if len(names) > 1:
        rule = (
            f"uses the same birthday for {' and '.join(names)}, so that all ticks of a sheet "
            "together tell more about a person"
        )
        remedy = f"Use {' '.join(f'--draw {shlex.quote(name)}=spinner' for name in names[1:])}"
        raise ArgumentError(path, rule, None, remedy)
    return questions


def sheet(study: Study, questions: list[Question], path: str, language: str, counts: str) -> Report:
    """The sheet of a study, and behind it the page for the interviewer."""
    sections = [
        _asked(question, number, len(questions)) for number, question in enumerate(questions, 1)
    ]
    return Report(
        title=study.texts.title(language) or "Questions where chance protects your answers",
        about=tuple(filter(None, [study.texts.introduction(language), _why(questions)])),
        notice="",
        sections=(
            *_about_people(study, language),
            *sections,
            *_of_office(study, language),
            _consent(questions),
            _for_interviewers(study, questions, path, counts),
        ),
        is_numbered=False,
    )


def _why(questions: list[Question]) -> str:
    """What hides an answer, and what the sheets are for."""
    hides = {True: "A draw that only you see", False: "A birthday that only you know"}
    kinds = dict.fromkeys(hides[question.is_drawn] for question in questions)
    return (
        f"{' or '.join(kinds).replace(' or A', ' or a')} helps to decide what you tick. All sheets "
        "together show how common each answer is. Each question says how much one sheet tells "
        "about you."
    )


def _asked(question: Question, number: int, count: int) -> Section:
    title = f"Question {number} of {count}" if count > 1 else "How to answer"
    blocks: list[Block] = [Points(question.card.steps, are_steps=True)]
    if question.help:
        blocks.insert(0, question.help)
    blocks += ["Tick one box:", Boxes(question.card.boxes)]
    shown = question.card.protects if question.design.sensitive else _HIDDEN
    if question.design.law.ratio() > STRONG_ODDS:
        shown = _TELLING
    return Section(title, (*blocks, shown, Points(who_ticks(question))))


_HIDDEN = "No box shows your answer, because each box is ticked by people with every answer:"
_TELLING = (
    "A tick can tell much about you: somebody who sees it can be more than 95 % sure which of two "
    "answers you gave. This is who ticks which box:"
)


def who_ticks(question: Question) -> tuple[str, ...]:
    """Who ticks which box, in numbers of 100 people, a sentence for each answer.

    >>> text = '[attributes.q]\\nvalues = ["no", "yes"]\\ndesign = "forced:1/6,1/6"'
    >>> who_ticks(*questions_of(Study.parse(text), "study.toml", "en", {}))[1]
    'Of 100 people whose answer is "yes", 83 tick "yes" and 17 tick "no".'
    """
    table, boxes = question.design.probabilities()[question.codes], question.card.boxes
    sentences = []
    for answer, text in enumerate(question.answers):
        hundred = split_of_hundred(table[:, answer].tolist())
        ticks = [
            f'{n} tick "{box}"' for n, (box, _) in zip(hundred, boxes, strict=True) if n != "0"
        ]
        sentences.append(f'Of 100 people whose answer is "{text}", {series(ticks, "and")}.')
    return tuple(sentences)


def _about_people(study: Study, language: str) -> list[Section]:
    """The public columns, which nothing protects."""
    columns = [name for name in study.public if name not in _columns_of_office(study)]
    if not columns:
        return []
    blocks: list[Block] = ["These answers are not hidden. They are counted as you give them."]
    for name in columns:
        blocks.append(study.texts.question(name, language))
        if _has_boxes(study.public[name]):
            labels = study.texts.answers(name, language)
            blocks.append(Boxes(tuple((label, "") for label in labels)))
        else:
            blocks.append("_" * 30)
    return [Section("About you, without protection", tuple(blocks))]


def _has_boxes(domain: Domain) -> bool:
    """Whether a public column has so few values that each has a box."""
    return isinstance(domain, Categorical) and domain.size <= _MOST_BOXES


def _columns_of_office(study: Study) -> Sequence[str]:
    """The public columns that say how people were drawn, which nobody can be asked for."""
    return () if study.design is None else study.design.columns


def _lines_of_office(study: Study) -> Sequence[str]:
    """Those of them that are known when people are asked; weights are made of all the sheets."""
    weights = None if study.design is None else study.design.weights
    return [name for name in _columns_of_office(study) if name != weights]


def _of_office(study: Study, language: str) -> list[Section]:
    """The lines that the interviewer fills in before somebody gets the sheet."""
    names = _lines_of_office(study)
    if not names:
        return []
    questions = [study.texts.question(name, language) for name in names]
    lines = [f"{text}{':' * text[-1:].isalnum()} {'_' * 30}" for text in questions]
    about = (
        "The interviewer fills in this part before you get the sheet. This part is not hidden. It "
        "says how people were chosen for the survey, and nothing about your answers."
    )
    return [Section("For the interviewer to fill in", (about, *lines))]


def _consent(questions: list[Question]) -> Section:
    """What people agree to, with how sure somebody can be who sees their boxes."""
    sures = []
    for number, question in enumerate(questions, 1):
        promised = question.design.guarantee
        texts = dict(zip(question.design.domain.labels, question.answers, strict=True))
        answers = " or ".join(f'"{texts[label]}"' for label in promised.sensitive or ())
        of = f"that my answer is {answers}" if answers else "of one of the two"
        where = f" (question {number})" if len(questions) > 1 else ""
        sures.append(f"at most {certainty(promised.total)} sure {of}{where}")
    says = (
        "I have read who ticks which box. Somebody who first thought two answers to a question "
        f"equally likely, and then sees my tick, can be {series(sures, 'and')}."
    )
    if len(questions) > 1:
        together, _ = of_a_person({each.name: each.design for each in questions}, 1, 1)
        says += " All my ticks together can tell more."
        if together is not None:
            says += f" {' '.join(of_guarantee(together, 'all my ticks', several=True))}"
    says += " I take part of my own free will, and may leave any box empty."
    return Section("Your consent", (Boxes((("I agree.", says),)),))


def _for_interviewers(study: Study, questions: list[Question], path: str, counts: str) -> Section:
    """What to bring, to say, to count and to type."""
    brings = dict.fromkeys(question.card.brings for question in questions)
    prepare = (
        *brings,
        "Print the pages before this one once for each person. Keep this page yourself.",
        *([_WRITE_FIRST] if _lines_of_office(study) else []),
        *dict.fromkeys(_EXAMPLES[question.is_drawn] for question in questions),
        *dict.fromkeys(_ALONE[question.is_drawn] for question in questions),
        "Collect the sheets in a box or an envelope and shuffle them. Nobody writes a name on a "
        "sheet.",
    )
    count = (
        _by_sheet(study, questions, path, counts)
        if is_by_sheet(study)
        else _counted(study, questions, counts)
    )
    commands = _commands(study, questions, path, counts)
    everybody = (
        "If you asked everybody, as in a whole school, add --target respondents to the command "
        "warner estimate: the intervals are then for the people who answered."
    )
    runs = "Run this command. It gives"
    if len(commands) > 1:
        runs = f"Run these {len(commands)} commands. They give"
    laws = []
    for question in questions:
        total = question.design.guarantee.total
        epsilon = "without bound" if math.isinf(total) else f"{total:.4g}"
        laws.append(f"{question.name}: {question.design.text}, epsilon {epsilon}")
    return Section(
        "For the interviewer: do not hand this page out",
        parts=(
            Section("Before", (Points(prepare),)),
            *count,
            Section(
                "Estimate",
                (
                    f"{runs} the shares of the true answers with 95 % intervals, and charts:",
                    Commands("\n".join(commands)),
                    "The shares are computed from the designs of the questions on this sheet:",
                    Points(tuple(laws)),
                    everybody,
                ),
            ),
        ),
        starts_page=True,
    )


_WRITE_FIRST = "Fill in the lines for the interviewer on each sheet before you hand it out."
_EXAMPLES = {
    True: "Read the instructions aloud once, and make an example draw that all can see.",
    False: "Read the instructions aloud once, and go through an example with an invented birthday.",
}
_ALONE = {
    True: "Let each person make the draw where nobody can see it, not even you. Only the draw "
    "hides the answer. Do not ask what the draw was, and let nobody skip it.",
    False: "Let each person fill in the sheet where nobody can see it, not even you. Only the "
    "birthday hides the answer. Do not ask whose birthday it is, or when.",
}


_NOT_SPLIT = (
    "If Excel shows whole lines in column A, open the table with Data > From Text/CSV, save it as "
    ".xlsx, and give that file in the commands."
)


def _saved(counts: str) -> str:
    """How the table of counts is filled in and saved."""
    if counts.lower().endswith(EXCEL):
        return "with Excel, and save it."
    return f"with Excel or any editor, and save it as CSV. {_NOT_SPLIT}"


_WITHOUT_CONSENT = (
    'Put aside the sheets without a tick under "Your consent": nothing on them is counted.'
)


def _counted(study: Study, questions: list[Question], counts: str) -> list[Section]:
    """How the interviewer counts the boxes, and types the numbers."""
    groups = list(study.public)
    count = (
        f"{_WITHOUT_CONSENT} For each question, also put aside the sheets on which it has no tick "
        "or several ticks: they do not count for this question. For each box, count the sheets on "
        "which it is ticked. Write the numbers here."
    )
    if groups:
        count += f" Count separately for each {' and '.join(groups)}."
    # A blank for each group where the page is wide enough; else a line, where it is long enough.
    keys = list(itertools.product(*(domain.labels for domain in study.public.values())))
    names = [", ".join(map(str, key)) for key in keys]
    titles = names if groups and len(names) <= _MOST_BLANKS else ["sheets"]
    blanks = [Column(f"blank {i}", title) for i, title in enumerate(titles)]
    columns = [Column("question"), Column("box", "box on the sheet"), *blanks]
    rows = [
        {"question": question.text, "box": box} | {blank.key: "_" * 10 for blank in blanks}
        for question in questions
        for box, _ in question.card.boxes
    ]
    if len(names) > _MOST_BLANKS and len(rows) * len(names) <= _MOST_LINES:
        columns.insert(2, Column("group", ", ".join(groups)))
        rows = [row | {"group": name} for row in rows for name in names]
    elif len(names) > _MOST_BLANKS:
        count += " Copy this table for each group."
    lines = counts_to_fill(study, questions).csv().splitlines()
    type_in = (
        f"Type the numbers into the table {counts}, {_saved(counts)} "
        f"The table {'has' if len(lines) <= _MOST_LINES else 'begins with'} the lines below. The "
        f"command warner study sheet writes this table if you add --counts {counts}. Type each "
        "number at the end of its line."
    )
    words = dict.fromkeys(word for each in questions for word in _words_to_type(each))
    if of_answers := [word for word in words if word.endswith('"')]:
        type_in += f" The table says {series(of_answers, 'and')}."
    return [
        Section("Count", (count, Table(columns, rows))),
        Section("Type", (type_in, Commands("\n".join(lines[:_MOST_LINES])))),
    ]


def _by_sheet(study: Study, questions: list[Question], path: str, counts: str) -> list[Section]:
    """How the interviewer types a row for each sheet, where groups would be too many to count."""
    unclear = "A sheet on which the question has no tick or several ticks gets no row."
    if len(questions) > 1:  # the others on the sheet are still answered
        unclear = (
            "If a question has no tick or several ticks on a sheet, leave its cell empty. Then add "
            "--drop-missing to the commands below."
        )
        if study.design is None or study.design.weights is None:
            unclear += (
                " Do not run the command warner tally, because it cannot read empty cells. In the "
                f"command warner estimate, write {counts} in place of {tally_of(path)}."
            )
    type_in = (
        f"Type a row for each sheet into the table {counts}, {_saved(counts)} Shuffle the sheets "
        f"first. {_WITHOUT_CONSENT} {unclear} The table begins with this line:"
    )
    if study.design is not None and study.design.weights is not None:
        weights = study.design.weights
        type_in = f"Fill in the column {weights} when the weights are computed. {type_in}"
    words = Points(tuple(f"{each.name}: {', '.join(_words_to_type(each))}" for each in questions))
    header = Commands(counts_to_fill(study, questions).csv().strip())
    # Nothing can notice true answers that chance could have made, so the person who types is told.
    ticked = (
        "For each question, type the word that is ticked, also where you believe that the true "
        "answer is another one:"
    )
    return [Section("Type", (type_in, header, ticked, words))]


def _words_to_type(question: Question) -> list[str]:
    """The words of the boxes, and the box where it is an answer in the language of the sheet."""
    texts = question.design.words_on_card(question.answers)
    words = zip(question.words, (texts[code] for code in question.codes), strict=True)
    return [word if word == text else f'{word} for "{text}"' for word, text in words]


def _commands(study: Study, questions: list[Question], path: str, counts: str) -> list[str]:
    """The commands from the table to shares, and by sheet to a regression on public columns."""
    of_study, table = f"--study {_quoted(path)}", _quoted(counts)
    file = _quoted(tally_of(path))
    by = [name for name in study.public if name not in _columns_of_office(study)]
    tally = f"warner tally --counts {table} {of_study} -o {file}"
    regressions: list[str] = []
    if is_by_sheet(study):
        roles = {} if study.design is None else study.design.roles
        drawn = "".join(f" --{role} {_quoted(name)}" for role, name in roles.items())
        regressions = [
            f'warner regress {table} "{each.name} ~ {" + ".join(by)}" '
            f"--design {_quoted(f'{each.name}={each.design.text}')}{drawn}"
            for each in questions
            if by
        ]
        by = [name for name in by if _has_boxes(study.public[name])]
        of_groups = f" --by {_quoted(','.join(by))}" if by else ""
        tally = f"warner tally {table} {of_study}{of_groups} -o {file}"
    estimate, tallies = f"warner estimate {file} {of_study}", [tally]
    if study.design is not None and study.design.weights is not None:
        # A tally has whole numbers in a column of a study; a table has weights as they are.
        estimate, tallies = f"warner estimate {table} {of_study}", []
    if by:
        estimate += f" --by {_quoted(','.join(by))}"
    if not study.public or len(questions) == 1:
        return [*tallies, f"{estimate} --plot shares.png", *regressions]
    each_alone = [
        f"{estimate} --only {_quoted(each.name)} --plot shares{i}.png"
        for i, each in enumerate(questions, 1)
    ]
    return [*tallies, *each_alone, *regressions]


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def is_by_sheet(study: Study) -> bool:
    """Whether public columns make too many groups to count, so that each sheet has a row."""
    domains = study.public.values()
    if not all(map(_has_boxes, domains)):
        return True
    return math.prod(domain.size for domain in domains) > _MOST_GROUPS


def counts_to_fill(study: Study, questions: list[Question]) -> Table:
    """The table to fill in: of counts for each group, or of a row for each sheet."""
    if is_by_sheet(study):
        names = [*study.public, *(each.name for each in questions)]
        return Table([Column(name, name) for name in names], [])
    rows: list[dict[str, Any]] = [
        {ATTRIBUTE: question.name, DESIGN: question.design.text}
        | {**dict(zip(study.public, group, strict=True)), VALUE: word, COUNT: ""}
        for group in itertools.product(*(domain.labels for domain in study.public.values()))
        for question in questions
        for word in question.words
    ]
    # The title, so that Excel shows the names as they are read.
    return Table([Column(name, name) for name in rows[0]], rows)
