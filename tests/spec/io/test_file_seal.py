"""A checksum that fits does not make a forged report file valid."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import warner
from warner.io import read_reports, tally_file, write_reports
from warner.io.file_format import seal


def _resealed(path: str, change: tuple[str, str]) -> None:
    """Edit a CSV report file and put a checksum that fits: an attack that the seal is not meant to
    stop.
    """
    text = Path(path).read_text()
    assert change[0] in text
    text = re.sub(
        r'"sha256":"[0-9a-f]{64}"(?=}\n$)', '"sha256":"' + "0" * 64 + '"', text.replace(*change)
    )
    Path(path).write_text(text)
    seal(path)


def test_what_a_seal_does_not_stop_the_law_does(here: Path) -> None:
    domain = warner.Integers(0, 9)
    mechanisms = {
        "n": warner.RandomizedResponse(domain, 9.0),
        "range": warner.RandomizedResponse(domain, 9.0),
        "padding": warner.UnaryEncoding(domain, 9.0),
        "size": warner.SubsetSelection(domain, 9.0),
    }
    changes = {
        "n": ('"n":3', '"n":4'),
        "range": ("\n3\n", "\n10\n"),
        "padding": ("\n16,0\n", "\n16,1\n"),
        "size": ("\n16,0\n", "\n48,0\n"),
    }
    words = {
        "n": "must have 4 reports",
        "range": r"must be from 0 to 9",
        "padding": "unused .padding. bits must be 0",
        "size": "1 bits set",
    }
    for name, mechanism in mechanisms.items():
        write_reports(
            mechanism.reports(
                {
                    c: np.array([[16, 0]] * 3) if c == "bits" else np.array([3] * 3)
                    for c in mechanism.schema.empty(0)
                }
            ),
            f"{name}.csv",
        )
        assert tally_file(f"{name}.csv")["value"].n == 3
        _resealed(f"{name}.csv", changes[name])
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError), match=words[name]):
            tally_file(f"{name}.csv")
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError)):
            read_reports("f.csv")
