"""The lines of the keys of TOML texts, for what tomllib has read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from warner.studies.problems import Path, key_lines, line_of

HARD = '''\
# a comment = 1
title = """two
lines, and a quote: \\""" ""\\"
[not.a.table]
"""   # here
'literal "key"' . "with \\u0041 dot." . bare-1 = \'\'\'
x = 1\'\'\'\'
[ a . "b c" ]  # the header
list = [ # several lines
  1, [2, 3], "]",
  { deep = [{ x = "}" }], date = 1979-05-27T07:32:00Z },
]
[[tables]]
name = "one"
[tables.inner]
k = true
[[tables]]
[[tables.inner]]
k.v = -inf
[[tables.inner]]
k.w = { }
'''


def paths(data: Any, before: Path = ()) -> Iterator[Path]:
    """Every path in data."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*before, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*before, key))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_key_of_a_hard_text_has_its_line(end: str) -> None:
    text = HARD.replace("\n", end)
    lines = key_lines(text)
    assert set(lines) == set(paths(tomllib.loads(text)))
    assert lines['literal "key"', "with A dot.", "bare-1"] == 6
    assert lines["a", "b c"] == 8 and lines["a", "b c", "list", 1, 1] == 10
    assert lines["a", "b c", "list", 3, "deep", 0, "x"] == 11
    assert lines["tables", 0, "inner", "k"] == 16 and lines["tables", 1, "inner", 1, "k", "w"] == 21
    assert line_of(lines, ("tables", 1, "inner", 0, "none")) == 18


@pytest.mark.parametrize("file", sorted(File("docs").glob("*.toml")), ids=lambda f: f.name)
def test_every_key_of_the_documents_has_its_line(file: File) -> None:
    text = file.read_text()
    lines = key_lines(text)
    assert set(lines) == set(paths(tomllib.loads(text)))
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in text.splitlines()[line - 1]


def test_what_is_no_toml_has_no_lines() -> None:
    for text in ("[a", "a = ", "= 3", "a = [1", "[" * 10**5):
        key_lines(text)  # the scanner ends, and raises nothing
