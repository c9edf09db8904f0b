"""The reports and groups that a job expects of a tally, so that a missing week is an error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError, ArgumentTypeError, ValuesError
from warner.app.terminal import plural
from warner.domains import Domain
from warner.reports.tally import Tally

_OPTION = "--expect-groups"
_LESS, _MORE = "Check which files are missing", "Check which files were added"
_MOST = 100_000  # groups of a range, such as the days of 270 years
_MOST_NAMED = 3  # groups of a message


def require_reports(totals: Iterable[Mapping[str, Tally]], reports: int | None) -> None:
    """Refuse tallies of more or fewer reports than somebody expects."""
    counted = sum(first.n for first in _firsts(totals))
    if reports is not None and reports != counted:
        check = _LESS if counted < reports else _MORE
        _refuse("--expect-reports", f"is {reports:,}, but {counted:,} reports were counted", check)


def require_named(expected: Collection[str], columns: Collection[str]) -> None:
    """Refuse expected groups that say no number and no values of these columns."""
    if expected and not columns:
        remedy = f"Add --by COLUMN, or leave out {_OPTION}"
        raise ArgumentError(_OPTION, "can be used only if groups are counted", None, remedy)
    for text in expected:
        name, sign, words = text.partition("=")
        if text.isdecimal():
            continue
        if not sign or not words:
            rule = "must be a number of groups, or COLUMN=VALUES"
            example = "For example week=2026-W45..2026-W48 or ward=north,south"
            raise ArgumentError(_OPTION, rule, show(text), example)
        if name not in columns:
            raise unknown(_OPTION, name, columns, "the columns of --by")


def require_groups(totals: Iterable[Mapping[str, Tally]], expected: Collection[str]) -> None:
    """Refuse tallies of other groups than somebody expects: a number, or values of columns."""
    firsts = _firsts(totals)
    if not expected:
        return
    columns = firsts[0].columns
    require_named(expected, columns)
    keys = {key for first in firsts for key, _ in first.items()}
    values: dict[str, list[str]] = {}
    for text in expected:
        if text.isdecimal():
            if int(text) != len(keys):
                check = _LESS if len(keys) < int(text) else _MORE
                said = f"is {int(text):,}, but {len(keys):,} groups were counted"
                _refuse(_OPTION, said, check)
            continue
        name, _, words = text.partition("=")
        values.setdefault(name, []).extend(_values(words, columns[name]))
    at = [list(columns).index(name) for name in values]
    counted = {tuple(str(key[i]) for i in at) for key in keys}
    # Of several columns each value of the one is expected with each of the other.
    named = dict.fromkeys(product(*values.values())) if values else counted
    missing = [key for key in named if key not in counted]
    others = sorted(counted.difference(named))
    problems = [f"no reports of {_in_words(missing)} were counted"] if missing else []
    if others:
        problems.append(f"reports of {_in_words(others)} were counted, which you did not name")
    if problems:
        check = ". ".join([_LESS] * bool(missing) + [_MORE] * bool(others))
        _refuse(_OPTION, "; ".join(problems), check)


def _firsts(totals: Iterable[Mapping[str, Tally]]) -> list[Tally]:
    """A tally of each; all attributes have the same people."""
    return [next(iter(total.values())) for total in totals]


def _values(words: str, domain: Domain | None) -> list[str]:
    """The values that are named: a list, or the first and the last of a range."""
    first, dots, last = words.partition("..")
    if not dots:
        return [word.strip() for word in words.split(",")]
    if domain is None or not domain.is_ordered:
        rule = "can have a range, FIRST..LAST, only for a column of dates or numbers in the study"
        remedy = "Name all values, with commas between them"
        raise ArgumentError(_OPTION, rule, show(words), remedy)
    try:
        low, high = (_index(end.strip(), domain) for end in (first, last))
    except (ValuesError, ArgumentTypeError, ValueError):
        rule = "must have values of the column before and after the two dots"
        raise ArgumentError(_OPTION, rule, show(words), domain.remedy) from None
    if not 0 <= high - low < _MOST:
        rule = f"must be a range from the first to the last, of at most {_MOST:,} values"
        raise ArgumentError(_OPTION, rule, show(words))
    return [str(value) for value in domain.decode(np.arange(low, high + 1))]


def _index(text: str, domain: Domain) -> int:
    """The place of a value that is written as a text."""
    value = text if "unit" in domain.spec() else int(text)
    return int(domain.encode([value])[0])


def _in_words(keys: Sequence[tuple[str, ...]]) -> str:
    """The first of some groups, in words."""
    words = "; ".join(", ".join(key) for key in keys[:_MOST_NAMED])
    rest = len(keys) - _MOST_NAMED
    return words if rest <= 0 else f"{words} and {plural(rest, 'other group', 'other groups')}"


def _refuse(option: str, what: str, check: str) -> None:
    raise ArgumentError(option, f"{what}, so nothing was written", None, check)
