"""Public columns of files: their types, and their values as Arrow arrays and as indices.

Integers are written as integers of 64 bits. All other values are written as text: labels as they
are declared, and dates in ISO 8601.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, ArgumentTypeError, ReportError, ValuesError, message
from warner._core.extras import pa
from warner._core.text import AS_WRITTEN, look, meant
from warner.domains import Categorical, Domain
from warner.domains.interval import Dates
from warner.reports.public_columns import Groups, Value, groups_of_codes

# Groups that are no groups: spreadsheets add up their columns.
TOTALS = {"total", "totals", "grand total", "overall", "sum", "gesamt", "insgesamt", "summe"}


def holds_integers(domain: Domain) -> bool:
    """Whether a public column holds integers in a file, and not texts.

    >>> from warner import Categorical, Integers
    >>> holds_integers(Integers(0, 9)), holds_integers(Categorical([1, "other"]))
    (True, False)
    """
    if domain.is_numeric:
        return True
    spec = domain.spec()
    return all(type(label) is int for label in spec.get("values", [""]))


def arrow_type(domain: Domain) -> pa.DataType:
    """The Arrow type of a public column in a file."""
    return pa.int64() if holds_integers(domain) else pa.string()


def to_arrow(domain: Domain, index: np.ndarray) -> pa.Array:
    """The values at ``index`` (n,) of a public column, as an Arrow array of its type."""
    different, number = np.unique(index, return_inverse=True)
    labels = domain.decode(different)
    if not holds_integers(domain):
        # As they are read: booleans as true and false, numbers among texts as text.
        labels = [str(v).lower() if isinstance(v, bool) else str(v) for v in labels]
    return pa.array(labels, arrow_type(domain)).take(pa.array(number.ravel()))


def indices_of(
    path: str, name: str, domain: Domain, column: Any, row: int | None = None
) -> np.ndarray:
    """The indices (n,) of the values in a public column of a report file."""
    from warner.io.answer_column import AnswerColumn

    rule = "holds values that the beginning of the file does not declare"
    problem = message(f"{path}: column {name!r}", rule, None, AS_WRITTEN)
    try:
        return AnswerColumn(name, row or 0, domain).encoded(column, domain.encode)
    except (ValuesError, ArgumentTypeError) as error:
        if row is not None:
            problem = f"{path}: {error}"
    raise ReportError(problem)


def indices_of_groups(
    path: str, name: str, domain: Domain, texts: Sequence[str | None], lines: Sequence[int]
) -> np.ndarray:
    """The indices (G,) of the public values of groups; a wrong value is named by its first line."""

    def indices(some: Sequence[str | None]) -> np.ndarray:
        return indices_of(path, name, domain, pa.array(some, pa.string()))

    def is_declared(text: str | None) -> bool:
        try:
            indices([text])
        except ReportError:
            return False
        return True

    try:
        return indices(texts)
    except ReportError:
        pass
    wrong = [i for i, text in enumerate(texts) if not is_declared(text)]
    where = f"{path}: line {lines[wrong[0]]:,}: column {name!r}"
    rule = "must have a value that the study declares"
    got = f"another value in {len(wrong):,} of {len(texts):,} groups"
    remedy = f"Correct the value, or declare the value in [public.{name}]"
    if isinstance(domain, Dates):
        rule, remedy = f"must be {domain.form}", "Correct the value"
        got = f"something else in {len(wrong):,} of {len(texts):,} groups"
    remedy = remedy_of(name, domain, texts[wrong[0]]) or remedy
    if not texts[wrong[0]]:
        rule, got = "must have an entry in every row", "an empty cell"
        remedy = "Write the entry into each row, also where the table has merged cells"
    if look(texts[wrong[0]] or "") in TOTALS:
        remedy = "If the line adds up other lines, delete it, because its people would count twice"
    raise ReportError(where, rule, got, remedy)


def remedy_of(name: str, domain: Domain | None, value: Any) -> str | None:
    """What to do about a value that a public column does not have, where it says what is meant.

    >>> remedy_of("region", Categorical(["north", "south"]), "North")
    "Write 'north', exactly as in the study"
    """
    # The value itself is not shown: it is an answer where columns were exchanged.
    if isinstance(domain, Dates):
        return domain.remedy_of(value)
    labels = domain.text.labels if isinstance(domain, Categorical) else None
    if not labels or not isinstance(value, str):
        return None
    for label in labels:
        if label.strip().lower() == value.strip().lower():
            return f"Write {show(label)}, exactly as in the study"
    return meant(value, labels)


def groups_in(columns: Mapping[str, Domain], indices: Mapping[str, np.ndarray]) -> Groups:
    """The groups of people in a file, by the indices (n,) of their values in public columns."""
    labels: list[list[Value]] = []
    codes = []
    for name, domain in columns.items():
        different, code = np.unique(indices[name], return_inverse=True)
        labels.append(domain.decode(different))
        codes.append(code.ravel())
    return groups_of_codes(columns, labels, codes)


# -----------------------------------------------------------------------------------------------
# Public columns that repeat the answers to a protected question.


_FEWEST = 10  # rows: fewer can agree by chance
_LOG_CHANCE = math.log(0.01)  # of an agreement by chance that is taken for a copy
# Of the people with another answer than the commonest, the part whose answer a column tells, from
# which on it nearly repeats the answers. In Adult, the General Social Survey and the NLTCS, no pair
# of columns is above 0.64 in which neither column follows from the other.
_NEARLY = 0.9
_HOPELESS = 0.5  # of the same part after a thousand rows: such a pair is not watched any longer
_ENOUGH = 1_000
_MOST_CELLS = 2**17  # pairs of a public value and an answer that are counted


class AnswerCopyCheck:
    """Looks for public columns that repeat answers, while a file of answers is read."""

    # A column repeats answers where both are equal as text in every row, or where each of its
    # values goes with one answer alone, such as 0 and 1 beside no and yes. Columns of one value,
    # files of fewer than ten rows, and columns with few rows for each value can agree by chance and
    # are not refused. A column nearly repeats answers where each person's answer can be told from
    # those of the others with the same public value, see ``_NEARLY``; it is named. Answers are
    # compared in memory, and no message names one, or says how many there are.

    def __init__(self, public: Iterable[str], answers: Iterable[str]) -> None:
        answers = list(answers)
        self._pairs = {(p, a): _Pair() for p in public for a in answers if p != a}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in one batch of rows, as columns of the file."""
        for pair in [pair for pair, state in self._pairs.items() if not state.is_possible]:
            del self._pairs[pair]
        coded: dict[str, _Coded | None] = {}
        for (public, answer), state in self._pairs.items():
            for name in (public, answer):
                if name not in coded:
                    coded[name] = _coded(batch.column(name))
            state.add(coded[public], coded[answer])

    def refuse(self) -> None:
        """Refuse a public column that repeats answers, once all rows were taken in."""
        for (public, answer), state in self._pairs.items():
            if state.is_copy():
                rule = (
                    f"repeats the answers in the column {answer!r}, so that these answers would be "
                    "stored unprotected beside their reports"
                )
                raise ArgumentError(f"public.{public}", rule, None, "Leave out the public column")

    def near_copies(self) -> list[tuple[str, str]]:
        """The public columns that nearly repeat answers, and the columns of these answers."""
        return [pair for pair, state in self._pairs.items() if state.is_nearly_copy()]


class _Pair:
    """How often each value of a public column has gone with each answer."""

    def __init__(self) -> None:
        self.is_possible = True
        self._rows: dict[tuple[str | None, str | None], int] = {}

    def add(self, public: _Coded | None, answer: _Coded | None) -> None:
        if public is None or answer is None:
            self.is_possible = False
        if not self.is_possible or public is None or answer is None:
            return
        width = len(answer.texts)
        together = public.number.astype(np.int64) * width + answer.number
        if len(public.texts) * width <= 4 * len(together):
            counts = np.bincount(together)
            cells = np.flatnonzero(counts)
            counts = counts[cells]
        else:
            cells, counts = np.unique(together, return_counts=True)
        for both, count in zip(cells.tolist(), counts.tolist(), strict=True):
            key = public.texts[both // width], answer.texts[both % width]
            self._rows[key] = self._rows.get(key, 0) + count
        if sum(self._rows.values()) >= _ENOUGH and not self._follows():
            self.is_possible = len(self._rows) <= _MOST_CELLS and self._part_told() >= _HOPELESS

    def _follows(self) -> bool:
        """Whether each public value has gone with one answer alone."""
        return len(self._rows) == len({value for value, _ in self._rows})

    def _answers(self) -> Counter[str | None]:
        """How many people gave each answer."""
        people: Counter[str | None] = Counter()
        for (_, answer), count in self._rows.items():
            people[answer] += count
        return people

    def is_copy(self) -> bool:
        answers = self._answers()
        values = len({value for value, _ in self._rows})
        enough = len(answers) >= 2 and answers.total() >= _FEWEST
        if not (self.is_possible and enough and self._follows()):
            return False
        is_equal = all(value == answer for value, answer in self._rows)
        return is_equal or _log_chance(values, answers) < _LOG_CHANCE

    def is_nearly_copy(self) -> bool:
        answers = self._answers()
        others = answers.total() - max(answers.values(), default=0)
        return self.is_possible and others >= _FEWEST and self._part_told() >= _NEARLY

    def _part_told(self) -> float:
        """Goodman and Kruskal's lambda, each answer told from those of the other people."""
        # Of its own answer a person is not told: a public value of one person tells nothing. The
        # most frequent answer to a value tells those who gave it, if it still is without one.
        first: Counter[str | None] = Counter()
        second: Counter[str | None] = Counter()
        for (value, _), count in self._rows.items():
            second[value] = max(second[value], min(count, first[value]))
            first[value] = max(first[value], count)
        people_told = sum(count for value, count in first.items() if count - 1 > second[value])
        answers = self._answers()
        usual = max(answers.values())
        return (people_told - usual) / max(answers.total() - usual, 1)


def _log_chance(values: int, people: Counter[str | None]) -> float:
    """The log of a bound on the chance of a copy if the public values were dealt at random."""
    # Of the n! / prod_a n_a! ways to deal A answers to the rows, one for each map from the V
    # public values onto the answers could give this. There are at most A^V such maps, and at
    # most (V choose A) A! A^(V - A): A values that are sent to different answers, and the
    # others.
    answers = len(people)
    ways = math.lgamma(people.total() + 1) - sum(math.lgamma(n + 1) for n in people.values())
    onto = math.log(math.perm(values, answers)) - answers * math.log(answers)
    return values * math.log(answers) + min(onto, 0.0) - ways


class _Coded(NamedTuple):
    """A column as numbers (n,) of its different texts."""

    number: np.ndarray
    texts: list[str | None]


def _coded(column: pa.Array) -> _Coded | None:
    """The numbers of a column's texts; None for a column that has no texts, such as lists."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    # Arrow's errors quote what they cannot convert.
    with contextlib.suppress(pa.ArrowException):
        coded = column.cast(pa.string()).dictionary_encode(null_encoding="encode")
        number = coded.indices.to_numpy(zero_copy_only=False)
        return _Coded(number, coded.dictionary.to_pylist())
    return None
