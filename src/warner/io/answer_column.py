"""One column of answers in a file, as indices or as the numbers that a mechanism takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.errors import ArgumentTypeError, ValuesError, WarnerError
from warner.domains import Domain, TextForm

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class AnswerColumn:
    """One column of answers in a file.

    Attributes:
        name: the name of the column.
        row: the number of rows before this batch.
        domain: the domain of the answers.
    """

    name: str
    row: int
    domain: Domain

    @property
    def _where(self) -> str:
        return f"column {self.name!r}, data row"

    def encoded(self, column: pa.Array, encode: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Indices, or what else ``encode`` makes of the answers in an Arrow column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._refuse(column, pc.is_null(column), self._outside, "no answer")
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if is_text and self.domain.tags:
            return self._with_placeholders(column)
        form = self.domain.text if is_text else None
        if form is None:
            return self._checked(column, column.to_numpy(zero_copy_only=False), encode)
        if form.labels is not None:
            return self._labels(column, form.labels, form.any_case)
        return self._checked(column, self._numbers(column, form), encode)

    @property
    def _outside(self) -> str:
        return f"not in the domain of {self.domain.size} values"

    def _with_placeholders(self, column: pa.Array) -> np.ndarray:
        """Indices where some texts are placeholders of tags: the other texts are answers.

        Some answer stands in for each placeholder meanwhile, so that rows keep their numbers.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        untagged, placeholders = self.domain.untagged, self.domain.placeholders
        place = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(list(placeholders)))
        is_answer, form = pc.is_null(place), untagged.text
        listed = None if form is None else form.labels
        some = json.dumps(untagged.decode([0])[0]) if listed is None else listed[0]
        answers = pc.if_else(is_answer, column, some)
        index = AnswerColumn(self.name, self.row, untagged).encoded(answers, untagged.encode)
        sent = np.array(list(placeholders.values()))[
            pc.fill_null(place, 0).to_numpy(zero_copy_only=False)
        ]
        return np.where(is_answer, index, sent)

    def _labels(self, column: pa.Array, labels: list[str], any_case: bool) -> np.ndarray:
        """Indices of texts that must be among ``labels``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if any_case:
            column = pc.ascii_lower(column)
        index = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(labels))
        self._refuse(column, pc.is_null(index), self._outside, "a string")
        return np.asarray(index.to_numpy(zero_copy_only=False).astype(np.int64))

    def _numbers(self, column: pa.Array, form: TextForm) -> np.ndarray:
        """The numbers (n,) in texts, or (n, d) where an answer is d numbers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        strange = pc.invert(pc.match_substring_regex(column, form.pattern))
        self._refuse(column, strange, form.rule, "a string that is none")
        number = pa.int64() if form.number is int else pa.float64()
        if form.parts is None:
            return np.asarray(pc.cast(column, number).to_numpy(zero_copy_only=False))
        found = pc.extract_regex(column, form.parts)
        parts = [pc.struct_field(found, part) for part in re.compile(form.parts).groupindex]
        return np.stack(
            [pc.cast(part, number).to_numpy(zero_copy_only=False) for part in parts], axis=1
        )

    def _refuse(self, column: pa.Array, bad: pa.Array, rule: str, got: str) -> None:
        """Raise ValuesError for the first row at which ``bad`` is true."""
        import pyarrow.compute as pc

        places = np.flatnonzero(bad.to_numpy(zero_copy_only=False))
        if places.size:
            first = int(places[0])
            if got.startswith("a string") and pc.binary_length(column[first]).as_py() == 0:
                got = "an empty cell"
            remedy = self.domain.remedy[0].upper() + self.domain.remedy[1:]
            # People count rows from 1.
            raise ValuesError(first + self.row + 1, rule, got, remedy, self._where)

    def _checked(
        self, column: pa.Array, values: np.ndarray, encode: Callable[[Any], np.ndarray]
    ) -> np.ndarray:
        """What ``encode`` makes of ``values``; its errors name the row of the file."""
        problem: WarnerError
        try:
            return encode(values)
        except ValuesError as error:
            problem = error.moved(self._where, self.row + 1)
        except ArgumentTypeError:
            rule, remedy = f"must hold {self.domain.noun}", "Convert the column first"
            got = f"a column of {column.type}"
            problem = ValuesError(self.row + 1, rule, got, remedy, self._where)
        raise problem
