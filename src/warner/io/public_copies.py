"""Public columns that repeat the answers to a protected question."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner._core.errors import ArgumentError, message

if TYPE_CHECKING:
    import pyarrow as pa

_FEWEST = 10  # rows: fewer can agree by chance
_PER_VALUE = 5  # rows for each value, where the labels differ


class Copies:
    """Looks for public columns that repeat answers, while a file of answers is read.

    A public column repeats answers where both are equal as text in every row. It also repeats them
    where each of its values goes with one answer alone, and each answer with one value alone, such
    as 0 and 1 beside no and yes. Columns of one value, and files of fewer than ten rows, can agree
    by chance and are not refused. Answers are compared in memory, and no message names one.

    Args:
        public: the names of the public columns.
        answers: the names of the columns of answers.
    """

    def __init__(self, public: Iterable[str], answers: Iterable[str]) -> None:
        answers = list(answers)
        self._pairs = {(p, a): _Pair() for p in public for a in answers if p != a}
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in one batch of rows, as columns of the file."""
        self._rows += batch.num_rows
        for pair in [pair for pair, state in self._pairs.items() if not state.is_possible]:
            del self._pairs[pair]
        coded: dict[str, _Coded | None] = {}
        for (public, answer), state in self._pairs.items():
            for name in (public, answer):
                if name not in coded:
                    coded[name] = _coded(batch.column(name))
            state.add(coded[public], coded[answer])

    def refuse(self) -> None:
        """Refuse a public column that repeats answers, once all rows were taken in.

        Raises:
            ArgumentError: such a column; the message names the two columns.
        """
        for (public, answer), state in self._pairs.items():
            if state.is_copy(self._rows):
                rule = (
                    f"repeats the answers in the column {answer!r}, which would travel in the "
                    "clear beside their reports"
                )
                raise ArgumentError(
                    message(f"public.{public}", rule, None, "Leave the public column out")
                )


class _Pair:
    """Whether a public column and a column of answers still say the same."""

    def __init__(self) -> None:
        self._is_equal = self._is_one_to_one = True
        self._answer_of: dict[str | None, str | None] = {}
        self._public_of: dict[str | None, str | None] = {}

    @property
    def is_possible(self) -> bool:
        return self._is_equal or self._is_one_to_one

    def add(self, public: _Coded | None, answer: _Coded | None) -> None:
        if not self.is_possible:
            return
        if public is None or answer is None:
            self._is_equal = self._is_one_to_one = False
            return
        public_texts, answer_texts = public.texts, answer.texts
        pairs = public.number.astype(np.int64) * len(answer_texts) + answer.number
        together = np.unique(pairs).tolist()
        if len(together) > len(public_texts) or len(together) > len(answer_texts):
            self._is_equal = self._is_one_to_one = False
            return
        for both in together:
            ours = public_texts[both // len(answer_texts)]
            theirs = answer_texts[both % len(answer_texts)]
            self._is_equal &= ours == theirs
            self._is_one_to_one &= (
                self._answer_of.setdefault(ours, theirs) == theirs
                and self._public_of.setdefault(theirs, ours) == ours
            )

    def is_copy(self, rows: int) -> bool:
        values = len(self._answer_of)
        if not self.is_possible or values < 2 or rows < _FEWEST:
            return False
        return self._is_equal or rows >= _PER_VALUE * values


class _Coded(NamedTuple):
    """A column as numbers (n,) of its different texts."""

    number: np.ndarray
    texts: list[str | None]


def _coded(column: pa.Array) -> _Coded | None:
    """The numbers of a column's texts; None for a column that has no texts, such as lists."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    # Arrow's errors quote what they cannot convert.
    with contextlib.suppress(pa.ArrowException):
        found = column.cast(pa.string()).dictionary_encode(null_encoding="encode")
        number = found.indices.to_numpy(zero_copy_only=False)
        return _Coded(number, found.dictionary.to_pylist())
    return None
