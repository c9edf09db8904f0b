"""Missing answers: how they are recognised, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import ne
from typing import Any

import numpy as np

from warner._core.checks import choice, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.domains.answers import sequence

POLICIES = ("refuse", "answer", "drop")
NO_ANSWER = "(no answer)"
# What pandas calls its missing values, which is no package of the device.
_NONE = frozenset({"NoneType", "NAType", "NaTType"})
_PLAIN = frozenset({str, int, float})


@dataclass(frozen=True)
class Missing:
    """Which answers are missing, and what becomes of the people who gave none.

    None, NaN, masked entries and pandas' missing values are always missing.

    Args:
        policy: ``"refuse"`` stops at the first missing answer. ``"answer"`` makes silence a value
            of its own, which is randomised like any other. ``"drop"`` leaves the person out, which
            tells the collector how many were silent, and who sent no report.
        empty: the texts that are missing answers too, such as ``["", "NA"]``.

    Raises:
        ArgumentError: another policy, or a text twice.
        ArgumentTypeError: not a list of texts.

    >>> Missing("drop", ["", "NA"]).mask(["yes", "", None, "NA"]).tolist()
    [False, True, True, True]
    """

    policy: str = "refuse"
    empty: Sequence[str] = ("",)

    def __post_init__(self) -> None:
        choice("missing", self.policy, POLICIES)
        listed = self.empty if isinstance(self.empty, list | tuple) else None
        if listed is None or not all(isinstance(text, str) for text in listed):
            rule = 'must be a list of texts, such as ["", "NA"]'
            raise ArgumentTypeError("empty", rule, kind(self.empty))
        if len(set(listed)) < len(listed):
            raise ArgumentError("empty", "must not list a text twice", show(listed))
        object.__setattr__(self, "empty", tuple(listed))

    @property
    def numbers(self) -> tuple[float, ...]:
        """The texts of ``empty`` that are numbers, such as -9, as numbers."""
        return tuple(float(text) for text in self.empty if _is_number(text))

    def mask(self, values: Any) -> np.ndarray:
        """Which of n answers are missing.

        Args:
            values: a list, an array or a column of n answers.

        Returns:
            (n,) booleans.

        Raises:
            ArgumentTypeError: not a list of answers.
            EmptyError: no answers.
        """
        is_masked = np.ma.isMaskedArray(values)
        hidden = np.ma.getmaskarray(values) if is_masked else None
        answers = sequence(np.ma.getdata(values) if is_masked else values, one_each=False)
        if isinstance(answers, np.ndarray) and answers.dtype.kind in "iuf":
            found = np.isnan(answers) | np.isin(answers, self.numbers)
        elif isinstance(answers, np.ndarray) and answers.dtype.kind == "U":
            found = np.isin(answers, self.empty)
        elif isinstance(answers, np.ndarray) and answers.dtype.kind in "mM":
            found = np.isnat(answers)
        elif isinstance(answers, np.ndarray):
            found = self._among(list(answers.ravel())).reshape(answers.shape)
        else:
            found = self._among(answers)
        if hidden is not None:
            found = found | hidden
        return np.asarray(found.any(axis=tuple(range(1, found.ndim))))

    def _among(self, answers: Sequence[Any]) -> np.ndarray:
        """Which of n answers of any classes are missing: (n,) booleans."""
        spelled = frozenset([*self.empty, *self.numbers])
        classes = set(map(type, answers))
        if classes <= {*_PLAIN, type(None)}:
            found = np.fromiter(map({*spelled, None}.__contains__, answers), bool, len(answers))
            if float in classes:
                found |= np.fromiter(map(ne, answers, answers), bool, len(answers))
            return found

        def is_spelled(answer: Any) -> bool:
            # Operations of derived classes might show the answer in an error.
            return type(answer) in _PLAIN and (answer in spelled or answer != answer)

        def test(of: type) -> Callable[[Any], bool]:
            if of.__name__ in _NONE or of is type(np.ma.masked):
                return lambda answer: True
            if issubclass(of, np.generic):
                return lambda answer: bool(answer != answer) or is_spelled(answer.item())
            return is_spelled

        tests = {of: test(of) for of in classes}
        each = (tests[type(answer)](answer) for answer in answers)
        return np.fromiter(each, bool, len(answers))


def _is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


# What a domain does where nothing else was said: no text is missing, so any text can be a label.
REFUSED = Missing("refuse", ())
