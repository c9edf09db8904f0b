"""Tables of what people said on paper: counts by hand, or a row for each person.

    attribute,value,count        age,same,different        said,age
    cannabis,same,680            young,380,120             same,young
    cannabis,different,320       old,300,200               different,old

Further columns of counts are public columns, such as the ward, and make a tally for each group.
Where a study asks one question, the column ``attribute`` may be left out. A column for each word,
or for one of two words beside a column of all people, is the same as a row for each.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from typing import NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import EmptyError, FileError, ReportError
from warner._core.foreign_tables import repeated_block
from warner._core.survey_design import CODES_OF_MISSING, code_of_missing
from warner._core.text import canonical, look, meant, nearest
from warner.domains import Categorical, Domain
from warner.io.public_values import TOTALS, indices_of_groups
from warner.io.read_answers import (
    MISSING,
    LeftOut,
    as_number,
    has_decimal_comma,
    have_no_entry,
    require_entries,
    rows_left_out,
    sheets_of,
    table_cells,
)
from warner.io.stated_headers import codes_said
from warner.mechanisms import Mechanism
from warner.reports.public_columns import Groups, PublicColumn, group_people
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted

VALUE, COUNT, ATTRIBUTE = "value", "count", "attribute"
_QUESTIONS = (ATTRIBUTE, "question", "questions")  # columns that name the question of a row
DESIGN = "paper_design"  # a column of the table that comes with a sheet; others may lack it
PART = "part"  # the column that a result of warner sql has, and a table by hand has not
_COUNTS = (COUNT, "counts", "n", "people", "sheets", "number", "freq", "frequency")
_ALL = ("n", "total", "sum", "all", "people", "asked", "count")  # columns of the people of a row
_COUNT = re.compile(r"[0-9.,]+ ?%?")  # a number, which may be no count
_LIKE_NUMBER = re.compile(r"[-0-9.,% ]*")
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")
_SHARE = re.compile(r"0[.,][0-9]+|[0-9]{1,2}[.,][0-9]{1,2}")  # as 60.5
_WHOLE = re.compile(r"[0-9]{1,18}([.]0{0,2})?")  # 1.000 can be a thousand
_TRUTHS = {"true", "false"}
_LEAST = 0.5  # of the cells of a column, from which on it is taken for what people said
_BEGIN, _FIRST = 2**14, 20  # characters and lines of a file that show how it was saved
_PER_CENT, _TINY = 100, 1e-9
_EVERYBODY = {"all", "all people", "both", "everybody", "everyone", "alle"}  # or a label
_MOST_NAMED = 3  # groups, or lines, in a sentence
_FEWEST_IDS, _MOST_COPIES = 20, 4  # different rows, and copies of each, where a column is an id
_MOST_LINES = 10  # that are named
IF_NO_ANSWER = (
    "If this means no answer, empty these cells: --drop-missing then leaves these people out"
)
_OF_STATA = re.compile(r"\.[a-z]?")
_DAYS = ("date", "day", "week", "month", "datum", "fecha")
_A_DAY = (36_525, 55_153)  # the numbers of days of Excel are between these, from 2000 to 2050
_MOST_LEFT_OUT = 0.05  # of the people of a column; more are no few slips of the pen

Lines = Sequence[tuple[int, list[str]]]  # the number of each line, and its cells


class _Line(NamedTuple):
    """A line of the table: its number in the file, and its entries."""

    number: int
    attribute: str
    word: str
    people: int
    key: tuple[str, ...]
    design: str  # of the sheet; "" where the table does not say it


class CountsByHand:
    """A table of counts by hand: its names, and the number and cells of each line."""

    by_hand = True

    def __init__(
        self, path: str, names: Sequence[str], lines: Lines, by: Sequence[str] = ()
    ) -> None:
        self.path = path
        lower = [name.strip().lower() for name in names]
        if (column := _column_of_questions(names, by)) is not None:
            lower[column] = ATTRIBUTE
        self.by = tuple(
            name.strip()
            for name, each in zip(names, lower, strict=True)
            if each not in (VALUE, COUNT, ATTRIBUTE, DESIGN)
        )
        self._lines: list[_Line] = []
        for number, cells in lines:
            where = f"{path}: line {number}"
            if len(cells) < len(names):
                remedy = "Write a cell for each column of the first line"
                raise FileError(where, "has too few cells", None, remedy)
            if any(cell.strip() for cell in cells[len(names) :]):
                rule = f"has {len(cells)} cells, but the first line has {len(names)}"
                remedy = 'Put an entry with a comma into quotes, such as "forced:1/6,1/6"'
                raise FileError(where, rule, None, remedy)
            of = dict(zip(lower, (cell.strip() for cell in cells), strict=False))
            key = tuple(of[name.lower()] for name in self.by)
            count = _people(where, COUNT, of[COUNT])
            attribute, design = of.get(ATTRIBUTE, ""), of.get(DESIGN, "")
            self._lines.append(_Line(number, attribute, of[VALUE], count, key, design))

    @property
    def names_designs(self) -> bool:
        """Whether each line says from which design its sheet was, so that another is refused."""
        return all(line.design for line in self._lines)

    def tallies(
        self, mechanisms: Mapping[str, Mechanism], public: Mapping[str, Domain], study: str
    ) -> dict[str, Tally]:
        """The tallies of all attributes: see :meth:`warner.io.sql_counts.CountsTable.tallies`."""
        if unknown := [name for name in self.by if name not in public]:
            rule = f"has a column {show(unknown[0])}, which is not a public column of the study"
            remedy = meant(unknown[0], [ATTRIBUTE, *public]) or (
                "Remove the column, or declare it in the study, as "
                f"[public.{canonical(unknown[0])}]"
            )
            column = self.by.index(unknown[0])
            if {line.key[column] for line in self._lines} <= {*mechanisms}:
                remedy = f"Rename the column {show(unknown[0])} to 'question'"
            if unknown[0].lower() == PART:
                remedy = (
                    'If "warner sql" made this table, its column of counts must be called "reports"'
                )
            raise FileError(self.path, rule, None, remedy)
        self._refuse_sums()
        rows = [(line.number, 0, line.people, line.key) for line in self._lines]
        of_study = {
            name: _declared(self.path, name, public[name], i, rows)
            for i, name in enumerate(self.by)
        }
        groups, group_of = _groups(self.by, [line.key for line in self._lines], False, of_study)
        size = 1 if groups is None else len(groups.keys)
        tables = {}
        stated = {line.attribute for line in self._lines}
        for name, mechanism in mechanisms.items():
            if not mechanism.report_words:
                if stated and not stated & {"", name} and stated <= {*mechanisms}:
                    continue  # its reports are elsewhere
                rule = f"cannot have counts of {name!r}, whose reports are not single words"
                raise FileError(self.path, rule, None, "Give a file of the reports")
            tables[name] = np.full((size, mechanism.n_reports), -1, dtype=np.int64)
        for line, group in zip(self._lines, group_of, strict=True):
            name, code = self._read(line, mechanisms)
            if tables[name][group, code] >= 0:
                remedy = "Add the two counts, and write one line"
                raise FileError(self._where(line), "counts a word a second time", None, remedy)
            tables[name][group, code] = line.people
        if not sum(line.people for line in self._lines):
            raise EmptyError(self.path, "counts nobody")
        tallies = {}
        for name, mechanism in mechanisms.items():
            if name not in tables:
                continue
            lacks = tables[name] < 0
            # A group without any line of the attribute has no people in it.
            lacks &= ~lacks.all(axis=1, keepdims=True) | lacks.all()
            where = self.path if len(mechanisms) == 1 else f"{self.path}: {name!r}"
            _refuse_gaps(where, mechanism, self.by, groups, np.where(lacks, 0, 1))
            table = np.maximum(tables[name], 0)
            counted = Counted(mechanism.schema.tally_kind, table, table.sum(axis=1))
            tallies[name] = Tally(mechanism.header, counted, groups)
        return tallies

    def of_question(self, name: str | None, design: str) -> tuple[str | None, list[_Line]]:
        """A question and its lines: that of the name, or the only one of the table."""
        stated = dict.fromkeys(line.attribute for line in self._lines)
        if len(stated) > 1 and name not in stated:
            rule = "has counts of several questions, which must not be added"
            remedy = f"Choose a question: --design {shlex.quote(f'{next(iter(stated))}={design}')}"
            raise FileError(self.path, rule, ", ".join(map(show, stated)), remedy)
        question = name if name in stated else next(iter(stated)) or None
        return question, [line for line in self._lines if line.attribute == (question or "")]

    def _refuse_sums(self) -> None:
        """Refuse a row that adds the others up: it says so, or stands last and names no word."""
        for i, line in enumerate(self._lines, 1):
            of_others = sum(each.people for each in self._lines) - line.people
            is_last = i == len(self._lines) and not line.word and line.people == of_others
            stated = [text for text in (line.attribute, line.word) if look(text) in TOTALS]
            if stated or is_last:
                got = show(stated[0]) if stated else None
                remedy = "Delete this row, because otherwise its people count twice"
                raise FileError(self._where(line), "has a sum of other rows", got, remedy)

    def _read(self, line: _Line, mechanisms: Mapping[str, Mechanism]) -> tuple[str, int]:
        """The attribute and the report of a line."""
        name = line.attribute or next(iter(mechanisms))
        if not line.attribute and len(mechanisms) > 1:
            rule = f"does not name the question that it counts: {' or '.join(mechanisms)}"
            remedy = f"Write the name of the question in a column {ATTRIBUTE!r}"
            raise FileError(self._where(line), rule, None, remedy)
        if name not in mechanisms:
            rule = f"must name a question of the study: {', '.join(mechanisms)}"
            remedy = "Delete the rows of other questions, or add the questions to the study"
            if mechanisms.keys().isdisjoint(each.attribute for each in self._lines):
                remedy = "Give the study of the printed sheet"
            remedy = meant(name, mechanisms) or remedy
            raise FileError(self._where(line), rule, show(name), remedy)
        return name, self.code_of(line, mechanisms[name])

    def code_of(self, line: _Line, mechanism: Mechanism) -> int:
        """The report of a line, refused where its sheet had another design."""
        # A design for paper has a text, such as crosswise:1/4.
        of_study = getattr(mechanism, "text", type(mechanism).__name__)
        if line.design not in ("", of_study):
            rule = (
                f"was counted from a sheet with {line.design}, but you gave the design {of_study}"
            )
            remedy = "Give the design or the study of the printed sheet"
            raise FileError(self._where(line), rule, None, remedy)
        try:
            return mechanism.report_code(line.word)
        except ReportError as error:
            problem = f"{self._where(line)}: {error}"
        raise ReportError(problem)

    def _where(self, line: _Line) -> str:
        return f"{self.path}: line {line.number}"


def _column_of_questions(names: Sequence[str], by: Sequence[str]) -> int | None:
    """The column that names the question of each row, unless ``by`` makes groups of it."""
    looks = [look(name) for name in names]
    columns = [looks.index(name) for name in _QUESTIONS if name in looks]
    return columns[0] if columns and names[columns[0]] not in by else None


def _people(where: str, name: str, text: str) -> int:
    """A number of people in a cell."""
    if _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    rule, remedy = f"{name} must be a whole number of people", "Write only digits, such as 1200"
    if not text:
        remedy = "Write 0 in place of the empty cell if there was nobody, or delete a line of notes"
    if "%" in text or _SHARE.fullmatch(text):
        remedy = "Write the number of people, not a percentage"
    raise FileError(where, rule, None, remedy)


def words_of(mechanisms: Iterable[Mechanism]) -> dict[str, str]:
    """The word of a report for each text that is read as it, by its look; codes are none."""
    return {
        text: mechanism.report_words[code]
        for mechanism in mechanisms
        if mechanism.report_words
        for text, code in mechanism.code_of_look.items()
        if not text.isdecimal()
    }


def as_long(
    path: str,
    names: Sequence[str],
    lines: Lines,
    words: Mapping[str, str],
    questions: Iterable[str] = (),  # of which the table may have columns
    by: Sequence[str] = (),  # columns of groups, whose labels may be words of the card
) -> tuple[list[str], Lines] | None:
    """A table of counts with the columns value and count; None for another table.

    >>> words = {"different": "different", "same": "same"}
    >>> as_long("c.csv", ["age", "same", "n"], [(2, ["young", "3", "5"])], words)
    (['age', 'value', 'count'], [(2, ['young', 'same', '3']), (2, ['young', 'different', '2'])])
    """
    lower, different = [look(name) for name in names], list(dict.fromkeys(words.values()))
    if {VALUE, COUNT} <= set(lower):
        return list(names), lines
    of_word = {
        i: name
        for i, name in enumerate(lower)
        if name in words
        and names[i] not in by
        and any(_COUNT.fullmatch(c[i].strip()) for _, c in lines if i < len(c))
    }
    totals = [i for i, name in enumerate(lower) if name in _ALL]
    of_word, totals = _words_or_totals(path, names, of_word, totals, words)
    rest = [word for word in different if word not in map(words.get, of_word.values())]
    # A word above counts says more than labels of groups, which may be words too, such as A and B.
    is_wide = len(of_word) > 1 or (bool(of_word) and len(different) == 2 and bool(totals))
    if not is_wide and (long := _renamed(path, names, lines, words, questions, by)):
        return long, lines
    are_counts = bool(of_word) and all(
        _COUNT.fullmatch(cells[i].strip()) for _, cells in lines for i in of_word if i < len(cells)
    )
    if are_counts and len(different) == 2 and rest and not totals:
        column = names[next(iter(of_word))]
        rule = f"has a column {show(column)}, but no column {rest[0]!r}"
        remedy = f"Add the column {rest[0]}, or a column n with the number of all people"
        raise FileError(path, rule, None, remedy)
    if not is_wide:
        return None
    if rest and (len(different) > 2 or not totals):
        rest = []  # the tally says which count is missing
    counted: list[dict[str, int]] = []
    for number, cells in lines:
        where = f"{path}: line {number}"
        if len(cells) < len(names):
            remedy = "Write a cell for each column of the first line"
            raise FileError(where, "has too few cells", None, remedy)
        counts = {names[p].strip(): _people(where, names[p], cells[p].strip()) for p in of_word}
        if totals:
            whole, several = names[totals[0]], sum(counts.values())
            total = _people(where, whole, cells[totals[0]].strip())
            if total < several or (not rest and total > several):
                sum_of_words = f"{' + '.join(counts)} is {several:,}"
                rule = f"{sum_of_words}, but {whole}, the number of all people, is {total:,}"
                raise FileError(
                    where, rule, None, f"Correct the counts, or remove the column {whole}"
                )
            counts |= dict.fromkeys(rest, total - several)
        counted.append(counts)
    others = [
        i
        for i, name in enumerate(names)
        if i not in (*of_word, *totals[:1])
        and (name in by or not _follows([cells[i] for _, cells in lines], counted))
    ]
    made = [
        (number, [*(cells[i] for i in others), word, str(count)])
        for (number, cells), counts in zip(lines, counted, strict=True)
        for word, count in counts.items()
    ]
    return [*(names[i] for i in others), VALUE, COUNT], made


def _follows(cells: Sequence[str], counted: Sequence[Mapping[str, int]]) -> bool:
    """Whether cells have the sum of the counts of their lines, or always one word's percentage.

    >>> _follows(["33.3 %", "25"], [{"yes": 1, "no": 2}, {"yes": 1, "no": 3}])
    True
    """
    texts = [cell.replace("%", "").strip().replace(",", ".") for cell in cells]
    people = np.array([[*counts.values()] for counts in counted])  # (lines, words)
    sums = people.sum(axis=1)
    numbers = np.array(
        [as_number(text, False) if n else 0 for text, n in zip(texts, sums, strict=True)],
        dtype=float,
    )
    rounded = np.array([0.5 * 10.0 ** -len(text.partition(".")[2]) for text in texts])  # at most
    wholes = np.array([[[1.0]], [[_PER_CENT]]])
    apart = np.abs(numbers - wholes * (people.T / np.maximum(sums, 1)))  # (2, words, lines)
    is_close = apart <= np.minimum(rounded, 0.005 * wholes) + _TINY  # a whole 1 is no rounded share
    return bool((numbers == sums).all() or is_close.all(axis=-1).any())


def _words_or_totals(
    path: str,
    names: Sequence[str],
    of_word: Mapping[int, str],
    totals: Sequence[int],
    words: Mapping[str, str],
) -> tuple[dict[int, str], list[int]]:
    """The columns of words and those of all people, where n is a short no, or the number of people.

    >>> words = {"no": "no", "n": "no", "yes": "yes", "y": "yes"}
    >>> _words_or_totals("c.csv", ["yes", "n"], {0: "yes", 1: "n"}, [1], words)
    ({0: 'yes'}, [1])
    """
    both = [i for i in of_word if i in totals]
    rest = {i: name for i, name in of_word.items() if i not in both}
    if not both or len(both) < len(totals):  # another column has all people
        return dict(of_word), [i for i in totals if i not in both]
    if rest and not any(name == look(words[name]) for name in rest.values()):
        column, word = names[both[0]], words[of_word[both[0]]]
        rule = f"column {show(column)} can mean the people who said {word!r}, or all people"
        raise FileError(path, rule, None, f"Rename the column to {word!r} or 'total'")
    return rest, list(totals)


def _renamed(
    path: str,
    names: Sequence[str],
    lines: Lines,
    words: Mapping[str, str],
    questions: Iterable[str],
    by: Sequence[str],
) -> list[str] | None:
    """The names of a table with a row for each word, with those of VALUE and COUNT; else None."""
    if not lines or any(len(cells) < len(names) for _, cells in lines):
        return None
    candidates = [i for i, name in enumerate(names) if name not in by]
    candidates = [i for i in candidates if names[i] in set(questions)] or candidates
    said = _columns_of(words, candidates, lines)
    codes = {code: code for code in map(str, range(len(set(words.values()))))}
    coded = _columns_of(codes, [i for i in candidates if look(names[i]) not in _COUNTS], lines)
    if coded and said and all(len(look(cells[i])) < 2 for _, cells in lines for i in said):
        return None  # letters may name wards, so that who reads them asks which column is meant
    if not said:
        partly = _columns_with(words, candidates, lines)
        numbers = [i for i, name in enumerate(names) if look(name) in _COUNTS and i not in partly]
        if len(partly) == 1 and len(numbers) == 1:
            _refuse_gaps_of_words(path, names, lines, partly[0], numbers[0], words)
    has_codes = not said
    if has_codes:
        words, said = codes, _columns_of(codes, candidates, lines)
    counts = [i for i, name in enumerate(names) if look(name) in _COUNTS and i not in said]
    rows = [cells for _, cells in lines]
    if len(said) == 1 and len(counts) == 1:
        _refuse_gaps_of_words(path, names, lines, said[0], counts[0], words)
        if has_codes and not _has_each_word_once(rows, counts[0], said, words):
            return None
    elif not has_codes:
        _refuse_numbers_of_words(path, names, lines, said, words)
    if (
        len(said) != 1
        or len(counts) != 1
        or any(look(cells[said[0]]) not in words for cells in rows)
    ):
        return None
    keys = [tuple(cell for i, cell in enumerate(cells) if i != counts[0]) for cells in rows]
    if len(set(keys)) < len(keys):
        return None  # rows of people, who have numbers
    new = {said[0]: VALUE, counts[0]: COUNT}
    return [new.get(i, name) for i, name in enumerate(names)]


def _columns_of(words: Mapping[str, str], candidates: Sequence[int], lines: Lines) -> list[int]:
    """The columns that have words alone; else those that have words and gaps."""
    looks = {i: {look(cells[i]) for _, cells in lines} for i in candidates}
    gaps = set(map(look, MISSING))
    with_words = [
        i for i in candidates if looks[i] & words.keys() and looks[i] <= words.keys() | gaps
    ]
    return [i for i in with_words if looks[i] <= words.keys()] or with_words


def _has_each_word_once(
    rows: Iterable[Sequence[str]], number: int, said: Sequence[int], words: Mapping[str, str]
) -> bool:
    """Whether a table has a number for each word in each of its groups, as only counts have it.

    Rows of people would have a word now and then twice, or not at all, in a ward or a class.
    """
    lines = list(rows)
    spoken = [tuple(words.get(look(cells[i]), "") for i in said) for cells in lines]
    rest = [tuple(c for j, c in enumerate(cells) if j not in (number, *said)) for cells in lines]
    once = len(set(zip(rest, spoken, strict=True))) == len(lines)
    return once and len(set(spoken)) > 1 and set(Counter(rest).values()) == {len(set(spoken))}


def _refuse_gaps_of_words(
    path: str, names: Sequence[str], lines: Lines, said: int, count: int, words: Mapping[str, str]
) -> None:
    """Refuse counts with merged cells, or of people without an answer, as rows of people."""
    filled = [lines[0][1]]
    for _, cells in lines[1:]:
        filled.append(
            [
                above if i != count and not cell.strip() else cell
                for i, (cell, above) in enumerate(zip(cells, filled[-1], strict=False))
            ]
        )
    gaps = [
        (number, i)
        for (number, cells), full in zip(lines, filled, strict=True)
        for i in range(len(names))
        if cells[i] != full[i]
    ]
    if gaps and _has_each_word_once(filled, count, [said], words):
        number, column = gaps[0]
        rule = f"has counts, but an empty cell in column {show(names[column])} in line {number:,}"
        remedy = "Where cells were merged, write the entry into each line, by filling down"
        raise FileError(path, rule, None, remedy)
    without = [number for number, cells in lines if look(cells[said]) not in words]
    if without and _has_each_word_once((cells for _, cells in lines), count, [said], words):
        rule = f"has counts of people without an answer, first in line {without[0]:,}"
        remedy = "Delete these lines, because shares are estimated from the people who answered"
        raise FileError(path, rule, None, remedy)


def _refuse_numbers_of_words(
    path: str, names: Sequence[str], lines: Lines, said: Sequence[int], words: Mapping[str, str]
) -> None:
    """Refuse numbers that may be counts: under another name, or beside several columns of words."""
    others = [i for i in range(len(names)) if i not in said]
    spoken = {look(cells[said[0]]) for _, cells in lines} if len(said) == 1 else set()
    are_counts = all(_WHOLE.fullmatch(cells[i].strip()) for _, cells in lines for i in others)
    if len(others) > 1 and len(spoken) == len(lines) > 1 and are_counts:
        rule = f"has counts in the columns {', '.join(names[i] for i in others)}, and the words"
        rule += f" in the lines of {show(names[said[0]])}"
        remedy = "Exchange lines and columns, so that a column of counts stands below each word"
        raise FileError(path, rule, None, remedy)
    for i in others:
        is_whole = all(_WHOLE.fullmatch(cells[i].strip()) for _, cells in lines)
        if is_whole and _has_each_word_once((cells for _, cells in lines), i, said, words):
            rule = f"has the column {show(names[i])}, with one number for each word"
            remedy = (
                "If the numbers say how many people said the word, rename the column to count. "
                "Otherwise, remove the column"
            )
            if len(said) > 1:
                several = " and ".join(show(names[each]) for each in said)
                rule += f", and the words stand in several columns: {several}"
                remedy = (
                    "If the numbers say how many people said the word, rename the column with what "
                    "people said to value, and the column of numbers to count. Otherwise, remove "
                    "the column of numbers"
                )
            raise FileError(path, rule, None, remedy)


class Said(NamedTuple):
    """What people said on paper."""

    question: str | None  # its name; None where the table does not say it
    columns: tuple[str, ...]  # of a table with a row for each person; () for a table of counts
    tally: Tally  # of groups where there are public columns, whose values are taken as they are
    codes: str  # which word each code stands for, where words are written as codes; "" else
    left_out: Mapping[tuple[str, ...], int]  # {public values: people without an answer}
    # who answered but has no entry in a public column, among all people of the table
    without_entry: LeftOut
    repeated: str  # which lines of a table of people repeat others; "" of none


def _filled_lines(
    path: str, columns: Sequence[str], looks: Collection[str]
) -> tuple[list[str], Lines]:
    """The names of the columns of a table, and its lines that are not blank.

    Of a workbook, the sheet with what people said: texts of these ``looks``.
    """
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        refuse_one_column(path, file.read(_BEGIN).splitlines(keepends=True)[:_FIRST])
    names, lines = table_cells(path, columns, partial(has_said, looks))
    lines = [(number, cells) for number, cells in lines if "".join(cells).strip()]
    if not lines:
        remedy = "Write a line of column names, and the counts below it"
        raise EmptyError(path, "has no counts", None, remedy)
    return names, lines


def has_said(looks: Collection[str], table: tuple[list[str], Lines]) -> bool:
    """Whether a table has what people said, in a column or above columns of counts."""
    names, lines = table
    above = [i for i, name in enumerate(names) if look(name) in looks]
    of_counts = (i for i in above if any(_COUNT.fullmatch(cells[i]) for _, cells in lines))
    return any(of_counts) or bool(_columns_with(looks, range(len(names)), lines))


def _columns_with(looks: Collection[str], columns: Iterable[int], lines: Lines) -> list[int]:
    """The columns of which most cells that are not empty have one of these looks."""
    filled = {i: [look(cells[i]) for _, cells in lines if "".join(cells)] for i in columns}
    return [
        i
        for i, cells in filled.items()
        if cells and sum(each in looks for each in cells) >= _LEAST * len(cells)
    ]


def refuse_one_column(path: str, text: Sequence[str]) -> None:
    """Refuse lines of CSV that stand whole in column A, as Excel saves what it did not split.

    Where Excel separates by semicolons, as in German, it opens lines with commas in one column.
    """
    for saved, inside in itertools.product(";\t,", ",;\t"):
        with contextlib.suppress(csv.Error):
            rows = [row for row in csv.reader(text, delimiter=saved, strict=True) if row]
            split = [next(csv.reader([row[0]], delimiter=inside), []) for row in rows]
            widths = [len(cells) for cells in split]
            is_prose = any(cell[:1] == " " for cells in split for cell in cells[1:])
            was_opened = any(line[0] == '"' or line.rstrip()[-1:] == saved for line in text if line)
            is_whole = set(widths) != {1} and len(set(widths)) == 1 and not any(rows[0][1:])
            if is_whole and was_opened and not is_prose:
                rule = "has each line whole in column A, because Excel did not split it into cells"
                remedy = (
                    "In Excel, open the table with Data > From Text/CSV, which gives each column "
                    "its cells. Then type the numbers, save the table as .xlsx, and give that file"
                )
                raise FileError(path, rule, None, remedy)


def is_of_counts(path: str, mechanisms: Mapping[str, Mechanism]) -> bool:
    """Whether a table has counts, in one of the forms that :func:`as_long` knows."""
    looks = {text for mechanism in mechanisms.values() for text in mechanism.code_of_look}
    names, lines = _filled_lines(path, (), looks)
    return as_long(path, names, lines, words_of(mechanisms.values()), mechanisms) is not None


def read_said(
    path: str,
    mechanism: Mechanism,
    name: str | None = None,  # of the question, or of its column; None for the only one
    by: Sequence[str] | None = None,  # columns of groups; [] of counts for all, None for none
    drop_missing: bool = False,  # whether people without an answer or an entry are left out
    weights: str | None = None,  # the public column with the weights of people
    declared: Mapping[str, Domain] | None = None,  # the public columns of a study
) -> Said:
    """The tally of a table of what people said on paper; other columns are read as they are."""
    is_grouped, by = by is not None, list(by or ())
    columns_named = by if name is None else [*by, name]
    names, lines = _filled_lines(path, columns_named, mechanism.code_of_look)
    questions = [] if name is None else [name]
    counted = as_long(
        path, names, lines, words_of([mechanism]), questions, [*by, *(declared or ())]
    )
    question: str | None
    left_out: Counter[tuple[str, ...]] = Counter()
    if counted is None:
        question, rows, left_out = _of_people(
            path, names, lines, mechanism, name, by, weights, drop_missing
        )
        public, column_of = by, names.index(question)
        said = [cells[column_of] for _, cells in lines]
    else:
        hand = CountsByHand(path, *counted, by)
        question, chosen = hand.of_question(name, getattr(mechanism, "text", "DESIGN"))
        rows = [
            (line.number, hand.code_of(line, mechanism), line.people, line.key) for line in chosen
        ]
        public, said = list(hand.by), [line.word for line in chosen]
        for column in by:
            if column == weights and column in names and column not in public:
                rule = "has counts, which are no weights of single people"
                remedy = "Leave out --weights, because a table of counts takes no weights"
                raise FileError(f"{path}: column {column!r}", rule, None, remedy)
            if column not in public:
                remedy = meant(column, public) or _without(column, weights)
                raise FileError(path, f"has no column {show(column)}", None, remedy)
    has_comma = has_decimal_comma(path, names)
    of_groups = by or (public if is_grouped else [])
    entries = {
        name: [row[3][public.index(name)] for row in rows]
        for name in of_groups
        if drop_missing or name != weights  # a weight is refused below, with what it must be
    }
    gaps = {name: have_no_entry(cells) for name, cells in entries.items()}
    if not drop_missing:
        # A line of a table of counts makes a row for each word.
        numbers, each = np.unique([row[0] for row in rows], return_index=True)
        for column, without in gaps.items():
            where = f"{path}: column {column!r}"
            cells = [entries[column][i] for i in each]
            require_entries(where, without[each], cells, numbers.tolist())
    dropped, without_entry = rows_left_out(gaps, np.array([row[2] for row in rows], dtype=np.int64))
    without_entry = without_entry._replace(among=without_entry.among + left_out.total())
    rows = [row for row, is_dropped in zip(rows, dropped, strict=True) if not is_dropped]
    if not rows:
        needed = ["an answer", *(f"an entry in {show(name)}" for name in of_groups)]
        raise EmptyError(path, f"has no row with {' and '.join(needed)}")
    if weights in public:
        _require_weights(f"{path}: column {weights!r}", rows, public.index(weights), has_comma)
    of_study = {
        column: _declared(path, column, domain, public.index(column), rows)
        for column, domain in (declared or {}).items()
        if column in public and column != weights
    }
    groups, group = _groups(public, [row[3] for row in rows], has_comma, of_study)
    size = 1 if groups is None else len(groups.keys)
    table = np.zeros((size, mechanism.n_reports), dtype=np.int64)
    lines_of = np.zeros_like(table)
    codes = np.array([row[1] for row in rows])
    np.add.at(table, (group, codes), [row[2] for row in rows])
    np.add.at(lines_of, (group, codes), 1)
    if counted is not None:
        _refuse_gaps(path, mechanism, public, groups, lines_of)
    _refuse_totals(path, public, groups, table)
    if not table.sum():
        raise EmptyError(path, "counts nobody")
    counts = Counted(mechanism.schema.tally_kind, table, table.sum(axis=1))
    codes_in_words = codes_said(said, mechanism.report_words)
    repeated = "" if counted is not None else _repeated(lines)
    tally = Tally(mechanism.header, counts, groups)
    columns = tuple(names) if counted is None else ()
    return Said(question, columns, tally, codes_in_words, left_out, without_entry, repeated)


def _repeated(lines: Lines) -> str:
    """Which lines of a table repeat others: a block of them, or people with an id; else ""."""
    seen: dict[tuple[str, ...], int] = {}
    same = [seen.setdefault(tuple(cells), i) for i, (_, cells) in enumerate(lines)]
    numbers = [number for number, _ in lines]
    if (block := repeated_block({"line": np.array(same)})) is not None:
        first, again, length = block
        return (
            f"the lines from {numbers[again]:,} on repeat lines {numbers[first]:,} to "
            f"{numbers[first + length - 1]:,}"
        )
    # Rows of two people may be equal, but not where a column has another entry in each other row.
    least = max(_FEWEST_IDS, len(lines) // _MOST_COPIES)
    has_id = any(len(set(column)) == len(seen) for column in zip(*seen, strict=False))
    again_in = [i for i, of in enumerate(same) if of != i]
    if not again_in or len(seen) < least or not has_id:
        return ""
    pairs = [f"line {numbers[i]:,} repeats line {numbers[same[i]]:,}" for i in again_in]
    rest = len(pairs) - _MOST_NAMED
    more = f"{rest:,} more lines repeat others" if rest > 1 else "1 more line repeats another"
    return ", ".join(pairs[:_MOST_NAMED]) + f", and {more}" * (rest > 0)


_Row = tuple[int, int, int, tuple[str, ...]]  # the line, the code, the people, the public values


def _without(column: str, weights: str | None) -> str:
    """What to do about a table without the column of weights, or of groups."""
    added = f"Add the column {show(column)} to the table, or leave out"
    if column == weights:
        return f"{added} --weights"
    return f"{added} {show(column)} in the command. Without --by, all people are estimated together"


def _of_people(
    path: str,
    names: Sequence[str],
    lines: Lines,
    mechanism: Mechanism,
    name: str | None,
    by: Sequence[str],
    weights: str | None,
    drop_missing: bool,
) -> tuple[str, list[_Row], Counter[tuple[str, ...]]]:
    """The question of a table of people, its rows, and people without answers by public values."""
    for column in (*by, *([] if name is None else [name])):
        if column not in names:
            rule = f"has no column {show(column)}"
            remedy = (
                _without(column, weights)
                if column in by
                else "Check the names in the first line of the table"
            )
            raise FileError(path, rule, None, meant(column, names) or remedy)
    code_of, listed = mechanism.code_of_look, " or ".join(mechanism.report_words)
    candidates = [i for i, column in enumerate(names) if column not in by]
    likely = _columns_with(code_of, candidates, lines)
    likely = likely or _columns_with(_TRUTHS, candidates, lines)  # which are refused below
    secret = [] if name is None else [name]
    if name is None and not likely:  # letters may be wards
        words = [text for text in words_of([mechanism]) if len(text) > 1]
        places = [names.index(column) for column in by]
        secret = [names[i] for i in _columns_with(words, places, lines)]
    if not set(by).isdisjoint(secret):
        rule = (
            f"column {show(secret[0])} cannot be a public column, because it holds what people "
            "said, which is secret"
        )
        raise FileError(path, rule, None, "Name another column")

    question = _one_column(path, listed, names, likely) if name is None else name
    _refuse_several_questions(path, names, lines, [*by, question])
    public, column_of = [names.index(column) for column in by], names.index(question)
    left_out: Counter[tuple[str, ...]] = Counter()
    rows: list[_Row] = []
    unread: list[tuple[int, str]] = []  # the line, and what stands there
    written: dict[int, str] = {}  # each word, as the table writes it first
    for number, cells in lines:
        key, text = tuple(cells[i].strip() for i in public), cells[column_of].strip()
        if (code := code_of.get(look(text))) is not None:
            rows.append((number, code, 1, key))
            written.setdefault(code, text)
        elif drop_missing and text in MISSING:
            left_out[key] += 1
        else:
            unread.append((number, text))
    if unread:
        rule = "must have what people said in every row"
        what = "no answer" if any(text for _, text in unread) else "an empty cell"
        remedy = "To leave out the people without an answer, add --drop-missing"
        if any(text not in MISSING for _, text in unread):
            # A card has more spellings of its words than one table uses.
            if len(written) == len(mechanism.report_words):
                listed = " or ".join(written[code] for code in sorted(written))
            rule, what = f"must have what people said, {listed}, in every row", "something else"
            others = [look(text) for _, text in unread]
            remedy = remedy_of_words(others, len(lines), mechanism, [line for line, _ in unread])
        where = f"first in line {unread[0][0]:,}"
        if 1 < len(unread) <= _MOST_LINES:
            where = _in_lines([line for line, _ in unread])
        got = f"{what} in {len(unread):,} of {len(lines):,} rows, {where}"
        raise FileError(f"{path}: column {question!r}", rule, got, remedy)
    return question, rows, left_out


def _refuse_several_questions(
    path: str, names: Sequence[str], lines: Lines, by: Sequence[str]
) -> None:
    """Refuse rows of people with a column that says that they answered several questions."""
    column = _column_of_questions(names, by)
    if column is not None and len({look(cells[column]) for _, cells in lines}) > 1:
        rule = f"has rows of several questions in column {show(names[column])}, which must not be "
        rule += "added"
        remedy = f"To estimate each question by itself, name {shlex.quote(names[column])} in --by"
        raise FileError(path, rule, None, remedy)


def _one_column(path: str, words: str, names: Sequence[str], likely: Sequence[int]) -> str:
    """The name of the only likely column; refused where there are several, or none."""
    if len(likely) == 1:
        return names[likely[0]]
    if likely:
        columns = [names[i] for i in likely]
        rule = f"must have one column with what people said, {words}"
        remedy = f"Choose one: {' or '.join(f'--design {each}=DESIGN' for each in columns)}"
        raise FileError(path, rule, ", ".join(map(show, columns)), remedy)
    remedy = (
        "Write these words into a column, in a line for each person. If the table has counts, "
        "write each word above a column of counts. If a title stands above the names of the "
        "columns, delete the title"
    )
    rule, sheets = f"has no column with what people said, {words}", sheets_of(path)
    if len(sheets) > 1:
        rule += f", on any of its sheets {', '.join(sheets)}"
    raise FileError(path, rule, None, remedy)


def _require_weights(where: str, rows: Sequence[_Row], column: int, has_comma: bool) -> None:
    """Refuse rows whose weight is no positive number, with the line of the first."""
    entries = [(line, key[column], as_number(key[column], has_comma)) for line, *_, key in rows]
    wrong = [(line, text) for line, text, of in entries if of is None or not 0 < of < math.inf]
    are_labels = not any(_LIKE_NUMBER.fullmatch(text) for _, text, _ in entries)
    if wrong and not are_labels:  # labels alone are refused together with the strata
        first, text = wrong[0]
        got = f"{'another entry' if text else 'an empty cell'} in line {first:,}"
        is_gap = have_no_entry([text for _, text in wrong]).all()
        if len(wrong) > 1:
            what = "no entry" if is_gap else "other entries"
            got = f"{what} in {len(wrong):,} of {len(rows):,} rows, first in line {first:,}"
        rule = "must hold the weight of the person, a number above 0, in every row"
        remedy = (
            "Delete the rows of people with weight 0 or no weight: such people stand for nobody"
        )
        if is_gap:
            remedy = "To leave out the people without a weight, add --drop-missing"
        if any(_DECIMAL_COMMA.fullmatch(text) for _, text in wrong):
            remedy = (
                "Some of these weights have a decimal comma, as in 1,8. Write a decimal point, as "
                "in 1.8"
            )
        if any(text.endswith("%") for _, text in wrong):
            remedy = "Write the numbers without %: only the proportions of the weights matter"
        raise FileError(where, rule, got, remedy)


def read_said_in_groups(
    path: str,
    words: Sequence[Sequence[str]],
    group: str,
    entries: Sequence[str],
    name: str | None = None,
) -> list[dict[str, int]]:
    """[{word: people}] of each group of a design, by the entries in the column ``group``."""
    questions = [] if name is None else [name]
    by_look = {look(word): word for of_group in words for word in of_group}
    names, lines = _filled_lines(path, [group, *questions], by_look)
    for column in (group, *questions):
        if column not in names:
            remedy = meant(column, names) or f"Its columns: {', '.join(names)}"
            raise FileError(path, f"has no column {show(column)}", None, remedy)
    counted = as_long(path, names, lines, by_look, questions, [group])
    if counted is None:
        rest = [i for i, c in enumerate(names) if c != group and name in (None, c)]
        listed = " or ".join(dict.fromkeys(by_look.values()))
        likely = _columns_with(by_look, rest, lines)
        said = names.index(_one_column(path, listed, names, likely))
        of = names.index(group)
        _refuse_several_questions(path, names, lines, [group, names[said]])
        rows = [(number, cells[said], 1, cells[of]) for number, cells in lines]
    else:
        hand = CountsByHand(path, *counted, [group])
        if hand.by != (group,):
            rule = f"can have only the column {group} beside its counts"
            others = [name for name in hand.by if name != group]
            remedy = "Remove the other columns, and add up the counts of rows that are then alike"
            raise FileError(path, rule, f"also {', '.join(others)}", remedy)
        _, chosen = hand.of_question(name, "DESIGN")
        rows = [(line.number, line.word, line.people, line.key[0]) for line in chosen]
    groups = _numbers_of_groups(path, group, entries, [key for *_, key in rows])
    counts = [dict.fromkeys(of_group, 0) for of_group in words]
    stated = set()
    for (number, word, people, _), i in zip(rows, groups, strict=True):
        code = by_look.get(look(word))
        if code is not None and code in counts[i]:
            counts[i][code] += people
        elif people:
            rule = f"the word must be {' or '.join(map(show, words[i]))}"
            rule += f" in group {show(entries[i])}"
            remedy = "Correct the word, or delete the line"
            raise FileError(f"{path}: line {number}", rule, None, remedy)
        if counted is not None and (i, code) in stated:
            remedy = "Add the two counts, and write one line"
            raise FileError(f"{path}: line {number}", "counts a word a second time", None, remedy)
        stated.add((i, code))
    gaps = [
        (word, i)
        for i, of_group in enumerate(words)
        for word in of_group
        if (i, word) not in stated
    ]
    if counted is not None and gaps:
        rule = f"has no count of {show(gaps[0][0])} in group {show(entries[gaps[0][1]])}"
        raise FileError(path, rule, None, "Write 0 if nobody said this word")
    return counts


def _numbers_of_groups(
    path: str, group: str, entries: Sequence[str], keys: Sequence[str]
) -> list[int]:
    """The number of the group that each entry of a column names, refused where it names none."""
    number_of = {look(entry): i for i, entry in enumerate(entries)}
    numbers = {key: number_of.get(look(key.removesuffix(".0"))) for key in keys}
    if others := list(numbers.values()).count(None):
        rule = (
            f"must have only the entries {' and '.join(map(show, entries))}, which name the first "
            "and the second group"
        )
        got = "1 other entry" if others == 1 else f"{others:,} other entries"
        remedy = (
            f"Say how the table names the groups: --group {group}=FIRST,SECOND. Delete the rows of "
            "other people"
        )
        raise FileError(f"{path}: column {group!r}", rule, got, remedy)
    return [number for key in keys if (number := numbers[key]) is not None]


def as_one_card(
    path: str, tally: Tally, words: Sequence[str], group: str, entries: Sequence[str]
) -> tuple[Tally, list[dict[str, int]]]:
    """The tally by all columns, the words of the second group exchanged; {word: people} of each."""
    column = tally.names.index(group)
    numbers = np.array(
        _numbers_of_groups(path, group, entries, [str(key[column]) for key in tally])
    )
    said = [dict(zip(words, tally.counts[numbers == g].sum(axis=0), strict=True)) for g in (0, 1)]
    table = np.where(numbers[:, None] == 0, tally.counts, tally.counts[:, ::-1])
    groups = Groups(tally.columns, list(tally), np.arange(len(tally)))
    return Tally(tally.header, Counted(tally.kind, table, tally.sizes), groups), said


def _in_lines(lines: Sequence[int]) -> str:
    """Where something stands, such as "in lines 5, 7 and 9"."""
    *others, last = [f"{line:,}" for line in lines]
    return f"in lines {', '.join(others)} and {last}" if others else f"in line {last}"


def remedy_of_words(
    others: Sequence[str], people: int, mechanism: Mechanism, lines: Sequence[int] = ()
) -> str:
    """What to do with cells that are no words of the card, without what stands in them."""
    written = [text for text in others if text]
    # A code of a missing answer, such as -99, or .a in Stata, also where it looks like a word.
    coded = [as_number(t, False) in CODES_OF_MISSING or _OF_STATA.fullmatch(t) for t in written]
    if coded and all(coded):
        return IF_NO_ANSWER
    # The card is no secret: its word that is nearest says nothing more of what stands there.
    card = [*mechanism.report_words, *mechanism.reads_as]
    is_one_word = len({*others}) == 1 and _misspelt(others[0], card) is not None
    if len(written) <= _MOST_LEFT_OUT * people or is_one_word:
        words_near = [_misspelt(text, card) for text in others]
        near = set(words_near)
        if len(near) == 1 and None not in near:
            return f"Is {near.pop()!r} meant? Correct the words, or delete these rows"
        leave_out = "To leave out these people, delete these rows"
        if near == {None} or not 0 < len(lines) <= _MOST_LINES:
            return leave_out
        lines_of: dict[str, list[int]] = {}
        for line, word in zip(lines, words_near, strict=True):
            if word is not None:
                lines_of.setdefault(word, []).append(line)
        listed = ", and ".join(f"{w!r} {_in_lines(of_word)}" for w, of_word in lines_of.items())
        if None in near:
            leave_out = "To leave out the people of the other rows, delete those rows"
        return f"Is this meant: {listed}? Then correct the words. {leave_out}"
    different, words = len(set(written)), mechanism.report_words
    if set(written) <= _TRUTHS:
        return f"These cells are TRUE and FALSE. Write the words of the card: {' or '.join(words)}"
    what, codes_instead = "one other value", "it is a code, write the word for it"
    if different > 1:
        what = f"{different:,} other values"
        codes_instead = "they are codes, write the words for them"
    remedy = f"These rows have {what}. {IF_NO_ANSWER}"
    remedy += f". If {codes_instead}: {' or '.join(words)}"
    if not words[0].isdecimal():
        codes = [f"{code} for {word}" for code, word in enumerate(words)]
        remedy += f". Only these codes are understood: {', '.join(codes[:-1])} and {codes[-1]}"
    return remedy


def _misspelt(text: str, card: Sequence[str]) -> str | None:
    """The word of a card that a cell may mean; NA is no misspelt A."""
    if not text or text in MISSING:
        return None
    begun = {word for word in card if look(word).startswith(text)}
    return nearest(text, card) or (begun.pop() if len(begun) == 1 else None)


def doubtful_groups(tally: Tally) -> list[str]:
    """Groups of a table that may be slips of the pen, as sentences."""
    sentences: list[str] = []
    keys = list(tally)
    for i, name in enumerate(tally.columns):
        texts = list(dict.fromkeys(str(key[i]) for key in keys))
        sentences += written_alike(name, texts)
        numbers = np.array([as_number(str(key[i]), False) for key in keys], dtype=np.float64)
        if doubt := code_of_missing(name, numbers, tally.sizes):
            sentences.append(f"{doubt}. {IF_NO_ANSWER}.")
        if look(name) in _DAYS and ((numbers > _A_DAY[0]) & (numbers < _A_DAY[1])).all():
            day = date(1899, 12, 30) + timedelta(days=int(numbers[0]))
            sentences.append(
                f"{name}: Excel writes dates as such numbers: {texts[0]} is {day.isoformat()}. To "
                "see dates, format the column as a date in Excel, and save the table again."
            )
    single = [key for key, size in zip(keys, tally.sizes, strict=True) if size == 1]
    if tally.columns and single:
        listed = ", ".join(show(" ".join(map(str, key))) for key in single[:_MOST_NAMED])
        listed += ", ..." * (len(single) > _MOST_NAMED)
        sentences.append(
            f"These groups have only one person: {listed}. Are their names mistyped? One report "
            "says almost nothing about a share."
        )
    return sentences


def percentages(tally: Tally) -> str:
    """That counts of several groups may be percentages, as a sentence; else ""."""
    if len(tally.sizes) < 2 or (tally.sizes != _PER_CENT).any():
        return ""
    return (
        f"Each group has exactly {_PER_CENT} people. If the numbers are percentages, write the "
        "numbers of people in their place: of percentages, the intervals are wrong."
    )


def uneven_sheets(tallies: Mapping[str, Tally]) -> str:
    """Groups of which questions have different numbers of sheets, as sentences; "" of none."""
    first = next(iter(tallies.values()))
    sizes = np.array([tally.sizes for tally in tallies.values()])  # (questions, groups)
    apart = np.ptp(sizes, axis=0) / np.maximum(sizes.max(axis=0), 1)
    uneven = [g for g in np.argsort(-apart, kind="stable").tolist() if apart[g] > 0]
    if not uneven:
        return ""
    keys = list(first) if first.columns else [()]
    listed = []
    for g in uneven[:_MOST_NAMED]:
        counts = [f"{name} {n:,}" for name, n in zip(tallies, sizes[:, g].tolist(), strict=True)]
        named = f"{', '.join(map(str, keys[g]))}: " if keys[g] else ""
        listed.append(f"{named}{', '.join(counts)}")
    more = f"; and {len(uneven) - len(listed):,} other groups" * (len(uneven) > len(listed))
    return (
        f"The questions have different numbers of sheets: {'; '.join(listed)}{more}. Check whether "
        "a count is mistyped. If people left a question out, nothing is wrong."
    )


def groups_without_count(tally: Tally) -> str:
    """Groups that a study declares and a tally lacks, as a sentence; "" where none is missing."""
    columns, keys = tally.columns, set(tally)
    domains = [domain for domain in columns.values() if isinstance(domain, Categorical)]
    declared = math.prod(domain.size for domain in domains)
    if not columns or len(domains) < len(columns) or len(keys) == declared:
        return ""
    every = itertools.product(*(domain.labels for domain in domains))
    missing = (key for key in every if key not in keys)
    listed = "; ".join(", ".join(map(str, key)) for key in itertools.islice(missing, _MOST_NAMED))
    number = declared - len(keys)
    more = "; ..." * (number > _MOST_NAMED)
    return (
        f"The study declares {declared:,} groups by {', '.join(columns)}, and {number:,} of them "
        f"{'has' if number == 1 else 'have'} no count: {listed}{more}."
    )


def written_alike(name: str, texts: Iterable[str]) -> Iterator[str]:
    """Entries of a column that differ by case or blanks alone, as sentences."""
    by_look: dict[str, list[str]] = {}
    for text in texts:
        by_look.setdefault(look(text), []).append(text)
    for alike in by_look.values():
        if len(alike) > 1:
            listed = " and ".join(map(show, alike))
            yield (
                f"{name}: {listed} count as {len(alike)} groups, but differ only in capital "
                "letters or spaces. If they are one group, write them in the same way."
            )


def _declared(
    path: str, name: str, domain: Domain, column: int, rows: Sequence[_Row]
) -> PublicColumn:
    """A public column of a study, whose values are refused where they are not declared."""
    lines: dict[str, int] = {}
    for row in rows:
        lines.setdefault(row[3][column], row[0])
    index = indices_of_groups(path, name, domain, [*lines], [*lines.values()])
    values = dict(zip(lines, domain.decode(index), strict=True))
    return PublicColumn(domain, [values[row[3][column]] for row in rows])


def _groups(
    public: Sequence[str],
    keys: Sequence[tuple[str, ...]],
    has_comma: bool,
    declared: Mapping[str, PublicColumn],
) -> tuple[Groups | None, np.ndarray]:
    """The groups by public values as they are, or numbers where all are; the group of each row."""
    if not public:
        return None, np.zeros(len(keys), dtype=np.int64)
    columns: dict[str, PublicColumn | list[int] | list[float] | list[str]] = {}
    for i, name in enumerate(public):
        if name in declared:
            columns[name] = declared[name]
            continue
        texts = [key[i] for key in keys]
        columns[name] = texts
        numbers = [number for text in texts if (number := as_number(text, has_comma)) is not None]
        if len(numbers) == len(texts):
            columns[name] = numbers
        with contextlib.suppress(ValueError):
            columns[name] = [int(text) for text in texts]
    groups = group_people(columns, len(keys))
    # A tally has a row for each group, and not for each line.
    return Groups(groups.columns, groups.keys, np.arange(len(groups.keys))), groups.place


def _in_words(public: Sequence[str], key: Sequence[object]) -> str:
    """A group by its public values."""
    named = zip(public, key, strict=True)
    return " and ".join(f"{by} is {'empty' if value == '' else value}" for by, value in named)


def _refuse_gaps(
    path: str,
    mechanism: Mechanism,
    public: Sequence[str],
    groups: Groups | None,
    lines_of: np.ndarray,
) -> None:
    """Refuse counts that are missing or there twice, by the number of lines (G, m) of each."""
    keys = [] if groups is None else list(groups.keys)
    if len(public) > 1 and (lines_of.sum(axis=1) == 1).all():  # each line is a group of its own
        for i, name in enumerate(public):
            rest = Counter((*key[:i], *key[i + 1 :]) for key in keys)
            if all(_COUNT.fullmatch(str(key[i])) for key in keys) and set(rest.values()) == {
                mechanism.n_reports
            }:
                rule = f"has a column {show(name)}, whose numbers differ from word to word"
                raise FileError(path, rule, None, f"Remove the column {name}")
    for i, code in np.argwhere(lines_of != 1):
        word = mechanism.report_words[code]
        rule = f"has {'no count' if not lines_of[i, code] else 'several counts'} of {word!r}"
        if groups is not None:
            rule += f" where {_in_words(public, keys[i])}"
        remedy = (
            "Write 0 if nobody said this word" if not lines_of[i, code] else "Add up these counts"
        )
        raise FileError(path, rule, None, remedy)


def _refuse_totals(
    path: str, public: Sequence[str], groups: Groups | None, table: np.ndarray
) -> None:
    """Refuse a row that adds the others up, whose people would be counted twice."""
    keys = () if groups is None else groups.keys
    for key, counts in zip(keys, table, strict=len(keys) > 0):
        may_be_sum = len(keys) > 2 or not _EVERYBODY.isdisjoint(look(str(value)) for value in key)
        is_sum = may_be_sum and bool((2 * counts == table.sum(axis=0)).all())
        if is_sum or not TOTALS.isdisjoint(look(str(value)) for value in key):
            rule = f"has totals of other rows, where {_in_words(public, key)}"
            raise FileError(
                path, rule, None, "Delete these rows, because otherwise their people count twice"
            )
