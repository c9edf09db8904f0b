"""The text of a study file: read, and taken apart as TOML or JSON."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from typing import Any

from warner._core.atomic_files import read_whole
from warner._core.errors import StudyError, message

# On the command line the study file and the file of answers are easily swapped.
_SWAPPED = "Is it the study file, and not the answers?"

# What tomllib says of a text that is no TOML, and what to do. Its own words can quote the text.
_REASONS = {
    "Invalid value": "Text stands in quotes, and true and false are in small letters",
    "Cannot overwrite": "A key stands twice in one table",
    "Cannot declare": "A table stands twice",
    "Expected '=' after": "A line is a [table], or a key, =, and a value",
    "Invalid initial character": "A key is letters, digits, - and _, and { ... } is on one line",
    "Expected newline or": "Text stands in quotes, and every key on a line of its own",
    "Unclosed array": "A list ends in ]",
    "Unclosed inline": "An inline table ends in }",
    "Illegal character": "Text ends in the quote that it begins with",
    "Unescaped": "A backslash in text is written twice",
}


# What word processors and spreadsheets write into the line at which the parser stopped.
_HABITS = {
    r"[\u2018-\u201f\u00ab\u00bb]": 'Quotes are straight, as in "never"',
    r"=\s*-?\d+,\d+\s*(#.*)?\Z": "Decimals have a point, as in 1.5",
}


def study_text(path: str | os.PathLike[str]) -> str:
    """The text of a study file."""
    text = None
    # The decoding error holds the bytes of the file, so it must not be the context of ours.
    with contextlib.suppress(UnicodeDecodeError):
        text = read_whole(path).decode()
    if text is None:
        remedy = f"Save it with the encoding UTF-8. {_SWAPPED}"
        raise StudyError(str(path), "must be UTF-8 text", None, remedy)
    return text


def parsed(text: str) -> Any:
    """The data of a text, which is JSON where it begins with a brace, else TOML."""
    return json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)


def study_data(text: str, name: str) -> dict[str, Any]:
    """The data of a study file, not yet validated."""
    data, problem = None, None
    try:
        data = parsed(text)
    except (ValueError, RecursionError) as error:
        # A file of answers may be given by mistake. So neither the message nor the context of
        # the error may hold the text.
        remedy = f"{_reason(error, text)}{_SWAPPED}"
        problem = message(name, f"is not valid TOML or JSON{_place(error)}", None, remedy)
    if problem is not None:
        raise StudyError(problem)
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("study", data), dict)
        or "attributes" not in data.get("study", data)
    ):
        rule = "has no table 'attributes', so it is not a study file"
        raise StudyError(name, rule, None, _SWAPPED)
    return data


def _place(error: Exception) -> str:
    """Where a parser stopped, for a message that quotes nothing from the text."""
    if isinstance(error, json.JSONDecodeError):
        return f", at line {error.lineno}, column {error.colno}"
    found = re.search(r"\(at (line \d+, column \d+|end of document)\)\Z", str(error))
    return f", at {found[1]}" if found else ""


def _reason(error: Exception, text: str) -> str:
    """What a parser stopped at, in words that quote nothing from the text."""
    said = str(error)
    if (found := re.search(r"line (\d+)", _place(error))) is not None:
        line = text.split("\n")[int(found[1]) - 1].strip()
        for habit, told in _HABITS.items():
            if re.search(habit, line):
                return f"{told}. "
    return next((f"{told}. " for known, told in _REASONS.items() if said.startswith(known)), "")
