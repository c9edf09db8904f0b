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


def require_named(
    expected: Collection[str],
    columns: Collection[str],
    domains: Mapping[str, Domain | None],
) -> dict[str, list[str]]:
    """The values expected of each column; refused where they are no number and no values."""
    if expected and not columns:
        remedy = "Add --by COLUMN"
        raise ArgumentError(_OPTION, "needs groups, but this command counts none", None, remedy)
    values: dict[str, list[str]] = {}
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
        if name in domains:
            values.setdefault(name, []).extend(_values(name, words, domains[name]))
    return values


def require_groups(totals: Iterable[Mapping[str, Tally]], expected: Collection[str]) -> None:
    """Refuse tallies of other groups than somebody expects: a number, or values of columns."""
    firsts = _firsts(totals)
    if not expected:
        return
    columns = firsts[0].columns
    values = require_named(expected, columns, columns)
    keys = {key for first in firsts for key, _ in first.items()}
    for text in expected:
        if text.isdecimal() and int(text) != len(keys):
            check = _LESS if len(keys) < int(text) else _MORE
            said = f"is {int(text):,}, but {len(keys):,} groups were counted"
            _refuse(_OPTION, said, check)
    at = [list(columns).index(name) for name in values]
    counted = {tuple(str(key[i]) for i in at) for key in keys}
    # Of several columns each value of the one is expected with each of the other.
    named = dict.fromkeys(product(*values.values())) if values else counted
    missing = [key for key in named if key not in counted]
    others = sorted(counted.difference(named))
    problems = [f"no reports of {_in_words(missing)} were counted"] if missing else []
    if others:
        problems.append(f"reports of {_in_words(others)} were counted, but not expected")
    if problems:
        check = ". ".join([_LESS] * bool(missing) + [_MORE] * bool(others))
        _refuse(_OPTION, "; ".join(problems), check)


def _firsts(totals: Iterable[Mapping[str, Tally]]) -> list[Tally]:
    """A tally of each; all attributes have the same people."""
    return [next(iter(total.values())) for total in totals]


def _values(name: str, words: str, domain: Domain | None) -> list[str]:
    """The values of a column that are named: a list, or the first and the last of a range."""
    first, dots, last = words.partition("..")
    if not dots:
        return [word.strip() for word in words.split(",")]
    if domain is None or not domain.is_ordered:
        rule = f"has a range, but the study states no dates and no numbers for the column {name}"
        remedy = "Name all values, with commas between them"
        raise ArgumentError(_OPTION, rule, show(words), remedy)
    try:
        low, high = (_index(end.strip(), domain) for end in (first, last))
    except (ValuesError, ArgumentTypeError, ValueError):
        rule = "must have values of the column before and after the two dots"
        example = _index("2026-11-02", domain) if _is_of_dates(domain) else 0
        remedy = f"Write the values of {name} as {domain.decode(np.array([example]))[0]}"
        raise ArgumentError(_OPTION, rule, show(words), remedy) from None
    if low > high:
        rule = "has a range whose first value is after its last"
        turned = f"Write {name}={last.strip()}..{first.strip()}"
        raise ArgumentError(_OPTION, rule, show(words), turned)
    if high - low >= _MOST:
        rule = f"must have ranges of at most {_MOST:,} values"
        raise ArgumentError(_OPTION, rule, show(words))
    return [str(value) for value in domain.decode(np.arange(low, high + 1))]


def _is_of_dates(domain: Domain) -> bool:
    return "unit" in domain.spec()


def _index(text: str, domain: Domain) -> int:
    """The place of a value that is written as a text."""
    value = text if _is_of_dates(domain) else int(text)
    return int(domain.encode([value])[0])


def _in_words(keys: Sequence[tuple[str, ...]]) -> str:
    """The first of some groups, in words."""
    words = "; ".join(", ".join(key) for key in keys[:_MOST_NAMED])
    rest = len(keys) - _MOST_NAMED
    return words if rest <= 0 else f"{words} and {plural(rest, 'other group', 'other groups')}"


def _refuse(option: str, what: str, check: str) -> None:
    raise ArgumentError(option, f"{what}, so nothing was written", None, check)
