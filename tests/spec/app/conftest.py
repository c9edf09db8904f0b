"""What all tests of commands share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services import hurried as hurried
from warner.io.parquet_format import shared_connection


@pytest.fixture(autouse=True, scope="module")
def one_database() -> Iterator[None]:
    """One database reads all foreign files of these tests: making it takes longer than a file."""
    with shared_connection():
        yield
