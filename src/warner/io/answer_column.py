"""One column of answers in a file, as indices or as the numbers that a mechanism takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from warner._core.errors import ArgumentTypeError, ValuesError, WarnerError
from warner._core.extras import pa, pc
from warner._core.text import meant
from warner.domains import NO_ANSWER, Domain, Integers, Items, TextForm
from warner.domains.base import OF_DURATIONS
from warner.domains.categorical import SPELLING
from warner.domains.items import OTHER_ITEM, UNKNOWN

EMPTY = "an empty cell"
_MISSING = ("no answer", EMPTY)
_POLICIES = (
    'To count people without an answer, write missing = "answer" in the study: "no answer" is '
    'then protected like every other answer. To leave these people out, write missing = "drop"'
)
_NO_ANSWERS = (
    "If a text such as NA means no answer, write two lines below the question in the study: "
    'empty = ["", "NA"], and missing = "answer" or missing = "drop"'
)
_CODES = (
    "The column has numbers, such as codes, and the study lists texts. Write the texts in place of "
    "the numbers, or list the numbers as values in the study"
)
_NUMBERS = "Write only the number, such as 12, without a unit or a word"
_WHOLE = "Write only digits, such as 12, without a fraction, a unit or a word"
DECIMAL_COMMA = b"warner.decimal_comma"  # marks batches of files whose numbers may have commas
_T = TypeVar("_T")


@dataclass(frozen=True)
class AnswerColumn:
    """One column of answers in a file."""

    name: str
    row: int  # the number of rows before this batch
    domain: Domain
    decimal_comma: bool = False  # whether numbers may be written with a decimal comma
    # whether a study asks for it, and so could say what a missing answer means
    is_asked: bool = False

    @property
    def _where(self) -> str:
        return f"column {self.name!r}, data row"

    def absent(self, column: pa.Array) -> np.ndarray:
        """Which answers (n,) of an Arrow column are missing, as the domain says."""
        missing, column = self.domain.missing, _plain(column)
        # That NaN is no number of the domain is for the domain to say, unless it means nonresponse.
        nan = missing.policy != "refuse" or bool(missing.empty)
        is_missing = pc.is_null(column, nan_is_null=nan).to_numpy(zero_copy_only=False)
        empty = missing.empty if self.domain.nonresponse is None else (*missing.empty, NO_ANSWER)
        if not empty:
            return np.array(is_missing, dtype=bool)
        if _is_text(column):
            texts, spelled = pc.cast(column, pa.string()), pa.array(empty, pa.string())
            if missing.numbers:
                texts, spelled = as_whole(texts, self.decimal_comma), as_whole(spelled)
            listed = pc.is_in(texts, value_set=spelled)
        elif missing.numbers and _is_number(column):
            numbers = pa.array(missing.numbers, pa.float64())
            listed = pc.is_in(pc.cast(column, pa.float64(), safe=False), value_set=numbers)
        else:
            return np.array(is_missing, dtype=bool)
        return np.asarray(is_missing | listed.to_numpy(zero_copy_only=False))

    def encoded(self, column: pa.Array, encode: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Indices, or what else ``encode`` makes of the answers in an Arrow column."""
        column = _plain(column)
        if self.domain.tags:
            # Only texts can be placeholders.
            if _is_text(column):
                return self._with_placeholders(column)
            plain = self.domain.untagged
            return replace(self, domain=plain).encoded(column, plain.encode)
        absent, nonresponse = self.absent(column), self.domain.nonresponse
        if self.domain.missing.policy == "refuse":
            self._refuse(column, absent, self.domain.rule, "no answer", encode)
            return self._present(column, encode)
        # ``encode`` says the number of nonresponse that is a value. Rows of people who are left
        # out, which :meth:`absent` names, hold some answer.
        given = self.domain.answered
        inside = replace(self, domain=given)
        if not absent.any():
            # Other batches may have missing answers.
            return inside._present(column, encode)
        # Where nobody answered, some value gives the type.
        index = np.repeat(encode(given.decode([0])), len(absent), axis=0)
        if not absent.all():
            index[~absent] = inside._among(column, ~absent, encode)
        return index if nonresponse is None else np.where(absent, encode([None]), index)

    def _present(self, column: pa.Array, encode: Callable[[Any], np.ndarray]) -> np.ndarray:
        """What ``encode`` makes of a column without missing answers."""
        form = self.domain.text if _is_text(column) else None
        if form is None:
            return self._checked(column, column.to_numpy(zero_copy_only=False), encode)
        if form.labels is not None:
            return self._labels(column, form.labels, form.any_case)
        return self._checked(column, self._numbers(column, form, encode), encode)

    def _among(
        self, column: pa.Array, chosen: np.ndarray, encode: Callable[[Any], np.ndarray]
    ) -> np.ndarray:
        """What ``encode`` makes of the rows at which ``wanted`` (n,) is true."""
        places = np.flatnonzero(chosen)
        problem = None
        try:
            return replace(self, row=-1)._present(column.take(places), encode)
        except ValuesError as error:
            problem = error.reindexed(places).offset_by(self._where, self.row + 1)
        raise problem

    def ticked(self, column: pa.Array, items: Items) -> dict[str, np.ndarray]:
        """The columns of no and yes of items, from lists or texts that name the ticked ones."""
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            absent = pc.is_null(column).to_numpy(zero_copy_only=False)
            self._refuse(column, absent, UNKNOWN, "no answer", None, items.spelled)
            lists = np.empty(len(column), dtype=object)
            lists[:] = column.to_pylist()
            return self._checked(column, lists, items.columns)
        texts = pc.fill_null(pc.cast(_plain(column), pa.string()), "").dictionary_encode()
        marks = [items.ticks(text) for text in texts.dictionary.to_pylist()]
        number = texts.indices.to_numpy(zero_copy_only=False)
        outside = np.array([ticks is None for ticks in marks], dtype=bool)[number]
        self._refuse(column, outside, UNKNOWN, OTHER_ITEM, None, items.spelled)
        return items.columns_of(np.array(marks, dtype=bool).reshape(len(marks), -1)[number])

    def of_item(self, column: pa.Array, items: Items) -> np.ndarray:
        """The column of one item, as no and yes."""
        answers = np.empty(len(column), dtype=object)
        answers[:] = column.to_pylist()
        return self._checked(column, answers, items.said)

    def _with_placeholders(self, column: pa.Array) -> np.ndarray:
        """Indices where some texts are placeholders of tags: the other texts are answers."""
        untagged, placeholders = self.domain.untagged, self.domain.placeholders
        position = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(list(placeholders)))
        is_answer, form = pc.is_null(position), untagged.text
        listed = None if form is None else form.labels
        # It stands in for each placeholder meanwhile, so that rows keep their numbers.
        some = json.dumps(untagged.decode([0])[0]) if listed is None else listed[0]
        answers = pc.if_else(is_answer, column, some)
        index = replace(self, domain=untagged).encoded(answers, untagged.encode)
        sent = np.array(list(placeholders.values()))[
            pc.fill_null(position, 0).to_numpy(zero_copy_only=False)
        ]
        return np.where(is_answer, index, sent)

    def _labels(self, column: pa.Array, labels: list[str], any_case: bool) -> np.ndarray:
        """Indices of texts that must be among ``labels``."""
        texts, listed = pc.cast(column, pa.string()), pa.array(labels)
        texts = pc.ascii_lower(texts) if any_case else texts
        index = pc.index_in(texts, value_set=listed)
        if index.null_count:
            texts = as_whole(texts, self.decimal_comma)
            if any_case:  # the labels are truth values
                for number, label in (("1", "true"), ("0", "false")):
                    texts = pc.if_else(pc.equal(texts, number), label, texts)
            index = pc.coalesce(index, pc.index_in(texts, value_set=listed))
        outside = pc.is_null(index).to_numpy(zero_copy_only=False)
        if outside.any():
            # Rows without labels have the index 0 while the other rows are looked at.
            self._refuse(column, outside & _are_empty(column), self.domain.rule, EMPTY, _zeros)
            remedy = SPELLING if (_alike(column, labels) & outside).any() else None
            if remedy is None and self.is_asked and (_match(texts, _NOTHING) & outside).any():
                remedy = _NO_ANSWERS
            if remedy is None and self.domain.is_public:
                # The text is not shown: it is an answer where columns were exchanged.
                remedy = meant(texts[int(np.argmax(outside))].as_py(), labels)
            got = "another text"
            if remedy is None and _match(texts, _NUMBER)[outside].all():
                got, remedy = "a number", _CODES
                if _match(listed, _NUMBER).any():
                    got, remedy = "another number", None
            self._refuse(column, outside, self.domain.rule, got, _zeros, remedy)
        return np.asarray(index.to_numpy(zero_copy_only=False).astype(np.int64))

    def _numbers(
        self, column: pa.Array, form: TextForm, encode: Callable[[Any], np.ndarray]
    ) -> np.ndarray:
        """The numbers (n,) in texts, or (n, d) where an answer is d numbers."""
        if form.number is float and self.decimal_comma:
            column = self._with_points(column)
        if form.number is int and form.parts is None:
            column = as_whole(column, self.decimal_comma)
        good = pc.match_substring_regex(column, form.pattern).to_numpy(zero_copy_only=False)
        if not good.all():
            self._refuse(column, ~good & _are_empty(column), form.rule, EMPTY, encode)
            of_one = _WHOLE if form.number is int else _NUMBERS
            remedy, got = of_one if form.parts is None else None, "another text"
            are_decimals = self.domain.is_public and _match(column, _DECIMALS)[~good].all()
            if remedy is _WHOLE and are_decimals:
                texts = [text.replace(",", ".") for text in column.filter(~good).to_pylist()]
                digits = max(len(text.partition(".")[2].rstrip("0")) for text in texts)
                got = "a number with decimals"
                remedy = as_whole_weights(digits, max(map(float, texts)), self.domain)
            self._refuse(column, ~good, form.rule, got, encode, remedy)
        number = pa.int64() if form.number is int else pa.float64()
        if form.parts is None:
            return np.asarray(pc.cast(column, number).to_numpy(zero_copy_only=False))
        groups = pc.extract_regex(column, form.parts)
        parts = [pc.struct_field(groups, name) for name in re.compile(form.parts).groupindex]
        return np.stack(
            [pc.cast(name, number).to_numpy(zero_copy_only=False) for name in parts], axis=1
        )

    def _with_points(self, column: pa.Array) -> pa.Array:
        """Numbers with a decimal point, where the column writes them with a comma."""
        if not pc.any(pc.match_substring(column, ",")).as_py():
            return column
        # A point in such a column could be between thousands, so it is refused.
        points = pc.match_substring(column, ".").to_numpy(zero_copy_only=False)
        rule, got = "must have a decimal comma, like other rows of the column", "a decimal point"
        remedy = "Write all numbers of the column in the same way"
        self._refuse(column, points, rule, got, None, remedy)
        return pc.replace_substring(column, ",", ".")

    def _refuse(
        self,
        column: pa.Array,
        bad: np.ndarray,
        rule: str,
        got: str,
        encode: Callable[[Any], np.ndarray] | None,
        remedy: str | None = None,
    ) -> None:
        """Raise ValuesError for the rows at which ``bad`` (n,) is true, and what others break."""
        places = np.flatnonzero(bad)
        if not places.size:
            return
        if remedy is None and got in _MISSING and self.domain.is_public:
            remedy = f"Give each person a value that [public.{self.name}] declares"
        elif remedy is None and got in _MISSING and self.is_asked:
            remedy = _POLICIES
        if remedy is None:
            remedy = self.domain.remedy
        rows = places + self.row + 1  # people count rows from 1
        problems = [ValuesError(int(rows[0]), rule, got, remedy, self._where, rows[1:])]
        if encode is not None and places.size < len(bad):
            try:
                self._among(column, ~bad, encode)
            except ValuesError as error:
                problems += [error.with_other_errors([]), *error.others]
        first, *others = sorted(problems, key=lambda error: error.position)
        raise first.with_other_errors(others)

    def _checked(self, column: pa.Array, values: np.ndarray, encode: Callable[[Any], _T]) -> _T:
        """What ``encode`` makes of ``values``; its errors name the row of the file."""
        problem: WarnerError
        try:
            return encode(values)
        except ValuesError as error:
            problem = error.offset_by(self._where, self.row + 1)
        except ArgumentTypeError:
            rule, remedy = f"must hold {self.domain.noun}", "Save the column as text"
            if pa.types.is_duration(column.type):
                remedy = OF_DURATIONS
            got = f"a column of the type {column.type}"
            problem = ValuesError(self.row + 1, rule, got, remedy, self._where)
        raise problem


def _zeros(values: Any) -> np.ndarray:
    """An encoding of answers whose indices are not used."""
    return np.zeros(len(values))


def _are_empty(column: pa.Array) -> np.ndarray:
    """Which texts (n,) are empty."""
    lengths = pc.binary_length(column).to_numpy(zero_copy_only=False)
    return np.asarray(lengths == 0)


def _plain(column: pa.Array) -> pa.Array:
    """A column without a dictionary, and with the local times of moments in a time zone."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return pc.local_timestamp(column)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _is_number(column: pa.Array) -> bool:
    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


def as_whole(column: pa.Array, comma: bool = False) -> pa.Array:
    """Texts with 1 for 1.0, as other programs write integers beside gaps."""
    # 1.000 can be a thousand, so it stays as it is.
    end = "[.,]" if comma else "[.]"
    return pc.replace_substring_regex(column, f"^(-?[0-9]+){end}0{{0,2}}$", r"\1")


def as_whole_weights(decimals: int, largest: float, domain: Domain | None) -> str:
    """How weights become whole numbers: by a power of ten, rounded beyond a thousand."""
    factor = 10 ** min(decimals, _MOST_DECIMALS)
    rounded, nearly = (" and round them", "nearly ") if decimals > _MOST_DECIMALS else ("", "")
    is_beyond = isinstance(domain, Integers) and largest * factor > domain.high
    declared = ". In the study, declare a range up to the largest new number" if is_beyond else ""
    return (
        f"If it holds weights, multiply all weights by {factor:,}{rounded}. Only ratios of "
        f"weights count, so the results stay {nearly}the same{declared}"
    )


_MOST_DECIMALS = 3  # of weights that have to become whole numbers
_DECIMALS = r"^[0-9]*[.,][0-9]+$"
_NOTHING = r"(?i)^(na|n/a|#n/a|nan|null)$"  # what stands for no answer in many files
_NUMBER = r"^-?[0-9]+([.,][0-9]+)?$"  # as codes of answers are


def _match(texts: pa.Array, pattern: str) -> np.ndarray:
    """Which texts (n,) match a pattern; bytes that are no text do not."""
    try:
        matched = pc.match_substring_regex(texts, pattern)
    except pa.ArrowInvalid:
        return np.zeros(len(texts), dtype=bool)
    return np.asarray(matched.to_numpy(zero_copy_only=False))


def _alike(column: pa.Array, labels: list[str]) -> np.ndarray:
    """Which texts are labels but for upper and lower case or spaces around."""
    try:
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(pc.cast(column, pa.string())))
    except pa.ArrowInvalid:  # no text
        return np.zeros(len(column), dtype=bool)
    stripped = pa.array(list({label.strip().lower() for label in labels}))
    return np.asarray(pc.is_in(texts, value_set=stripped).to_numpy(zero_copy_only=False))
