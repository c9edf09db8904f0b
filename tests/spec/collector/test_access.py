"""Invitation codes: read again from their file for the next round."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.refusals import refused
from warner.collector.access import codes_in, invited_ids, new_codes
from warner.errors import ArgumentError

DIGEST = "00" * 32


def test_the_codes_of_a_file_are_those_that_were_written(tmp_path: Path) -> None:
    codes, path = new_codes(5), tmp_path / "codes.csv"
    path.write_text(
        "code,link\r\n" + "".join(f"{code},https://x/#code={code}\r\n" for code in codes)
    )
    assert codes_in(str(path)) == codes
    assert (invited_ids(DIGEST, codes) == invited_ids(DIGEST, codes_in(str(path)))).all()


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "must have a first column named 'code'"),
        ("name\nAlice\n", "must have a first column named 'code'"),
        ("code\nABCD-EFGH-JKMN-PQRS\nSECRET\n", "row 3: has no valid invitation code"),
        ("code\nABCD-EFGH-JKMN-PQRS\nabcdefghjkmnpqrs\n", "has the same code in several rows"),
    ],
)
def test_a_file_without_codes_is_refused_and_no_message_has_one(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "codes.csv"
    path.write_text(text)
    assert "SECRET" not in str(refused(ArgumentError, words, codes_in, str(path)))
