"""Questions of which people tick all answers that apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Self

import numpy as np

from warner._core.checks import another, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, ValuesError
from warner.domains.base import Domain, StudyEntry, encoded_of
from warner.domains.categorical import Categorical
from warner.domains.product import Product

_MARKS = (";", "|", ",", "\n", " ")  # what may stand between ticked items in a text
_TICKED = {"yes": 1, "true": 1, "1": 1, "no": 0, "false": 0, "0": 0}
_BLANK = ("", "none", "nan", "<na>")
UNKNOWN, OTHER_ITEM = "must name only items of the question", "another item"


class Items(Product):
    """Items of which people tick as many as apply, or none.

    It is the product of a question with the answers no and yes for each item. An answer is the list
    of the ticked items, ``[]`` where nothing is ticked, or a text such as ``"bank;dentist"`` or
    ``"bank dentist"``: items with one of ``; | ,``, a line break or a blank between them, as far as
    no item holds it. Columns, one for each item, hold no and yes, false and true, or 0 and 1.

    Args:
        items: at least two different texts.
        split: where files of answers have one column for each item, what stands between the name of
            the question and the item in the names of these columns, such as "/" in services/bank;
            None for one column of texts. It says how answers are read, and is not part of ``spec``.

    Raises:
        ArgumentError: fewer than two items, one twice, or an item with " x ", which stands between
            the items of a pair.
        ArgumentTypeError: an item that is no text.

    >>> services = Items(["bank", "dentist", "post"])
    >>> services.encode([["bank", "post"], []]).tolist(), services.decode([5, 0])
    ([5, 0], [['bank', 'post'], []])
    """

    kind = "items"
    study = StudyEntry(
        "items",
        "a list of items, of which a person can tick as many as apply, or none",
        list[str],
        'items = ["bank", "dentist", "post"]',
    )

    def __init__(self, items: Sequence[str], split: str | None = None) -> None:
        self.split = split
        names = Categorical(items).decode(range(len(items)))  # different, and legible
        for name in names:
            if not isinstance(name, str):
                raise ArgumentTypeError("items", "must be texts", kind(name))
            if not name.strip() or " x " in name:
                rule = (
                    "must not be blank or contain ' x ', because a pair of items is written 'a x b'"
                )
                raise ArgumentError("items", rule, repr(name), "Rename the item")
        super().__init__(**{name: Categorical(["no", "yes"]) for name in names})
        self._marks = [mark for mark in _MARKS if not any(mark in name for name in names)]

    @property
    def items(self) -> list[str]:
        """The items, in their order."""
        return list(self.attributes)

    def file_columns(self, question: str) -> list[str]:
        """The columns of a file of answers that hold a question with these items."""
        if self.split is None:
            return [question]
        return [f"{question}{self.split}{item}" for item in self.attributes]

    def select(self, names: Sequence[str]) -> Domain:
        return self if list(names) == self.items else super().select(names)

    @property
    def spelled(self) -> str:
        """What to write as an answer, with the names of items."""
        example = self._marks[0].join(self.items[:2]) if self._marks else self.items[0]
        return (
            f"Write the items as in the question, such as {show(example)}. Where a person ticked "
            "nothing, write an empty text or list"
        )

    def ticks(self, text: str) -> np.ndarray | None:
        """Which items (d,) a text names, with a mark between them; None where one is unknown."""
        plain, places = text.strip(), {name: i for i, name in enumerate(self.attributes)}
        named = [plain] if plain else []
        for mark in self._marks:
            if not all(name in places for name in named):
                named = [each.strip() for each in plain.split(mark) if each.strip()]
        if not all(name in places for name in named):
            return None
        out = np.zeros(len(places), dtype=bool)
        out[[places[name] for name in named]] = True
        return out

    def columns_of(self, ticked: np.ndarray) -> dict[str, np.ndarray]:
        """Ticks (n, d) as the columns of the items, of no and yes."""
        words = np.array(["no", "yes"])
        return {n: words[ticked[:, i].astype(int)] for i, n in enumerate(self.attributes)}

    def columns(self, values: Any) -> Any:
        if isinstance(values, np.ndarray) and values.ndim == 1:
            values = values.tolist()
        elif hasattr(values, "to_list") and not hasattr(values, "columns"):
            values = values.to_list()  # a column of a frame
        if isinstance(values, list | tuple) and not isinstance((*values, None)[0], Mapping):
            return self.columns_of(self._rows(values))
        columns = super().columns(values)
        return {name: encoded_of(name, self.said, columns[name]) for name in self.attributes}

    def _rows(self, rows: Sequence[Any]) -> np.ndarray:
        """The ticks (n, d) of lists of items, one for each person."""
        if not rows:
            raise EmptyError("values", "must not be empty", None, "Pass at least one answer")
        return np.stack([self._row(i, row) for i, row in enumerate(rows)])

    def _row(self, position: int, row: Any) -> np.ndarray:
        ticked: np.ndarray | None = None
        if isinstance(row, str):
            ticked = self.ticks(row)
        elif isinstance(row, list | tuple | Set | np.ndarray):
            if all(isinstance(name, str) and name in self.attributes for name in row):
                ticked = np.array([name in row for name in self.attributes])
        else:
            rule = "must be a list of the ticked items, or a text that names them"
            raise ValuesError(position, rule, kind(row), self.spelled)
        if ticked is None:
            raise ValuesError(position, UNKNOWN, OTHER_ITEM, self.spelled)
        return ticked

    def said(self, column: Any) -> np.ndarray:
        """A column of one item (n,), as no and yes."""
        answers = column.to_list() if hasattr(column, "to_list") else list(column)
        # 1.0 is how frames write 1 in a column with gaps.
        texts = [str(a).lower().removesuffix(".0") for a in answers]
        for position, text in enumerate(texts):
            if text not in _TICKED:
                rule = "must be no or yes, false or true, or 0 or 1"
                got = another(answers[position]) if text not in _BLANK else "a blank cell"
                raise ValuesError(position, rule, got)
        return np.array(["no", "yes"])[[_TICKED[text] for text in texts]]

    def decode(self, index: Any) -> list[list[str]]:  # type: ignore[override]
        """The ticked items of each index."""
        places = np.unravel_index(self._index(index), self.shape)
        rows: Iterable[tuple[int, ...]] = zip(*places, strict=True)
        return [[n for n, on in zip(self.attributes, row, strict=True) if on] for row in rows]

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": self.items}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(spec["values"])
