"""A package that is not installed is refused by the command that installs it."""

from __future__ import annotations

import sys

import pytest

from tests.refusals import refused
from warner import __main__
from warner._core.extras import duckdb, imported, pa
from warner.errors import MissingExtraError


@pytest.mark.parametrize(
    ("name", "extra"),
    [("duckdb", "files"), ("pyarrow", "files"), ("altair", "plot"), ("openpyxl", "excel")],
)
def test_a_missing_package_names_the_command(
    name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    refused(MissingExtraError, rf'Run: pip install "warner\[{extra}\]"', imported, name)


def test_packages_are_imported_when_they_are_used() -> None:
    assert pa.int8() == pa.int8() and duckdb.connect is not None
    with pytest.raises(AttributeError):
        _ = pa.__wrapped__


def test_the_command_line_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "click", None)
    refused(
        SystemExit, r'the command line: needs the package click, .*"warner\[cli\]"', __main__.run
    )
