"""Labels without order or distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import repeat
from typing import Any

import numpy as np

from warner._core.checks import another, integer, kind, legible, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.text import ALIKE, DIFFER, alike, look
from warner.domains.base import (
    LARGEST_SIZE,
    Domain,
    StudyEntry,
    TextForm,
    built_in,
    refuse_types,
    sequence,
    whole,
)

# The types that an answer may have, by the type of a label.
_ANSWER_TYPES: dict[type, tuple[type, ...]] = {
    str: (str,),
    int: (int, np.integer),
    bool: (bool, np.bool_, int, np.integer),  # 1 and 0 are true and false
}
_BUILT_IN = frozenset(_ANSWER_TYPES)
_MOST_LISTED = 5  # labels in a message
SPELLING = (
    "Write the answers exactly as the labels in the study. Some answers differ from a label only "
    "in capital letters, or in spaces at the ends"
)


class Categorical(Domain):
    """Labels without order or distance: strings, integers or booleans.

    Args:
        values: the K >= 2 distinct labels, whose order is the order of every estimate. A column of
            categories of pandas stands for all of them, in their order. Write labels out, or sort
            them: ``unique()`` has the order of the rows, which the next frame may not have.

    Raises:
        ArgumentError: fewer than two labels, a label twice, labels that look alike (they differ by
            case, blanks, composed letters or characters without width), or a label with characters
            that no screen shows (control characters, direction marks, surrogates, noncharacters).
        ArgumentTypeError: a label that is not a string, an integer or a boolean.

    >>> colour = Categorical(["red", "green", "blue"])
    >>> colour.encode(["blue", "red"]).tolist(), colour.decode([2])
    ([2, 0], ['blue'])
    """

    kind = "categorical"
    _stated = ("values",)
    study = StudyEntry(
        "values",
        "labels of a categorical domain",
        list[str | int | bool],
        'values = ["never", "sometimes", "often"]',
    )

    def __init__(self, values: Sequence[str | int | bool]) -> None:
        # The column of pandas itself says what can be answered, in its order.
        categories = getattr(getattr(values, "dtype", values), "categories", None)
        values = list(categories) if isinstance(categories, Iterable) else values
        if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__iter__"):
            rule = "must be a list of labels"
            rule += ", because their order matters" if isinstance(values, Mapping | Set) else ""
            raise ArgumentTypeError("values", rule, kind(values))
        labels = [v.item() if isinstance(v, np.generic) else v for v in values]
        for i, label in enumerate(labels):
            if type(label) not in _ANSWER_TYPES:
                rule = f"label {i} must be a string, an integer or a boolean"
                got = "a float" if isinstance(label, float) else kind(label)
                raise ArgumentTypeError("values", rule, got)
            if isinstance(label, str):
                legible(f"values: label {i}", label)
        self._table = {label: i for i, label in enumerate(labels)}
        if len(self._table) < len(labels):
            rule = "must have each label only once"
            if len(set(zip(map(type, labels), labels, strict=True))) > len(self._table):
                rule += " (1 and True count as the same label)"
            got = f"{len(labels)} labels, only {len(self._table)} of them different"
            raise ArgumentError("values", rule, got)
        pair = alike(label for label in labels if isinstance(label, str))
        if pair is not None:
            raise ArgumentError("values", ALIKE, pair, DIFFER)
        remedy = "A question must have at least two possible answers" if len(labels) < 2 else None
        self.size = integer("number of values", len(labels), 2, LARGEST_SIZE, remedy)
        self._labels = labels
        self._types = tuple({t for label in labels for t in _ANSWER_TYPES[type(label)]})
        self._object = np.empty(self.size, dtype=object)
        self._object[:] = labels
        self._has_numbers = any(type(label) is not str for label in labels)
        fit_int64 = all(type(label) is int and abs(label) < 2**63 for label in labels)
        self._order = np.argsort(np.array(labels), kind="stable") if fit_int64 else None

    @property
    def rule(self) -> str:
        """What an answer must be, for messages: a few labels are listed."""
        if self.size > _MOST_LISTED:
            return super().rule
        return f"must be one of {', '.join(map(show, self._labels))}"

    @property
    def text(self) -> TextForm:
        """The labels as they stand in a text file.

        Raises:
            ArgumentError: two labels are the same as text, such as 1 and "1".
        """
        texts = [str(v).lower() if isinstance(v, bool) else str(v) for v in self._labels]
        if len(set(texts)) < len(texts):
            rule = (
                "must differ when they are written as texts, because files hold only texts: 1 and "
                '"1" are then the same'
            )
            ((text, _),) = Counter(texts).most_common(1)
            same = [show(v) for v, t in zip(self._labels, texts, strict=True) if t == text]
            raise ArgumentError("values", rule, " and ".join(same))
        return TextForm(texts, any_case=all(isinstance(v, bool) for v in self._labels))

    def encode(self, values: Any) -> np.ndarray:
        answers = sequence(values)
        if isinstance(answers, np.ndarray) and answers.ndim != 1:
            got = f"shape {answers.shape}"
            raise ArgumentTypeError("values", "must be one-dimensional", got)
        if self._has_numbers:
            answers = whole(answers)
        if isinstance(answers, np.ndarray):
            if answers.dtype.kind in "iu" and self._order is not None:
                return self._encode_integers(answers, self._order)
            answers = answers.tolist()
        refuse_types(answers, self._types)
        if not _BUILT_IN.issuperset(map(type, answers)):
            base = built_in(answers)
            answers = [v.item() if isinstance(v, np.generic) else v for v in base]
        places = map(self._table.get, answers, repeat(-1))
        index = np.fromiter(places, dtype=np.int64, count=len(answers))
        if (index < 0).any():
            got = another(answers[int(np.argmin(index >= 0))])
            self._refuse(index < 0, got, self._spelling(answers, index < 0))
        return index

    def _spelling(self, answers: Sequence[Any], outside: np.ndarray) -> str | None:
        """A remedy where an answer outside is a label but for case or spaces around; else None."""
        labels = {look(label) for label in self._labels if isinstance(label, str)}
        texts = (answers[int(i)] for i in np.flatnonzero(outside))
        if any(isinstance(text, str) and look(text) in labels for text in texts):
            return SPELLING
        return None

    def _encode_integers(self, values: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Indices of an integer array, where all labels are integers; ``order`` (K,) sorts them."""
        ordered = np.asarray(self._labels)[order]
        if ordered[-1] - ordered[0] == self.size - 1:
            # Labels without gaps: the place of a value is its difference from the smallest.
            self._refuse((values < ordered[0]) | (values > ordered[-1]), "an integer")
            rank = values.astype(np.int64)
            rank = rank - ordered[0] if ordered[0] else rank
        else:
            rank = np.minimum(np.searchsorted(ordered, values), self.size - 1)
            self._refuse(ordered[rank] != values, "an integer")
        return np.asarray(rank if (order[1:] > order[:-1]).all() else order[rank])

    def decode(self, index: Any) -> list[Any]:
        labels: list[Any] = self._object[self._index(index)].tolist()
        return labels

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": self._labels}
