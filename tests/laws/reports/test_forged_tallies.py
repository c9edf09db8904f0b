"""Tallies whose header, law or counts were forged are refused with named errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import smallest
from warner.errors import ArgumentTypeError, EmptyError, FileError, MismatchError
from warner.reports.tally import Tally, load_tallies
from warner.reports.tally_kinds import BitSums, Counted, Histogram


def test_an_altered_law_is_refused(tmp_path: Path) -> None:
    import json

    mechanism = smallest("RandomizedResponse")
    mechanism.tally(mechanism.randomize([0, 1])).save(tmp_path / "t.json")
    for key, value in (
        ("requested", 3.0),
        ("mechanism", "Unknown"),
        ("version", 2),
        ("thresholds", {"other": "0x1"}),
        ("parameters", {"no": 1}),
    ):
        data = json.loads((tmp_path / "t.json").read_text())
        entry = data["attributes"]["value"]
        entry["header"][key] = value
        forged = Tally(
            entry["header"],
            Counted.together(Histogram(), np.array(entry["counts"]), entry["sizes"][0]),
        )  # with a digest that fits
        with pytest.raises(MismatchError):
            warner.estimate(forged)
        data["attributes"]["value"] = entry
        (tmp_path / "u.json").write_text(json.dumps(data))
        with pytest.raises(FileError, match="checksum"):
            load_tallies(tmp_path / "u.json")


def test_a_tally_that_does_not_fit_its_mechanism_is_refused() -> None:
    mechanism = smallest("RandomizedResponse")
    for counts, n in (
        (np.array([1, 2, 3]), 6),
        (np.array([1, -1, 1, 1]), 2),
        (np.array([1, 1, 1, 1]), 5),
    ):
        with pytest.raises(MismatchError, match="does not fit"):
            warner.estimate(Tally(mechanism.header, Counted.together(Histogram(), counts, n)))
    with pytest.raises(EmptyError):
        warner.estimate(Tally(mechanism.header, Counted.together(Histogram(), np.zeros(4, int), 0)))


@pytest.mark.parametrize(
    "header",
    [None, "x", 5, [], {}, {"mechanism": ["a"]}, {"mechanism": "RandomizedResponse", "version": 1}],
    ids=repr,
)
def test_forged_headers_are_refused(header: Any) -> None:
    with pytest.raises((MismatchError, ArgumentTypeError)):
        warner.estimate(Tally(header, Counted.together(Histogram(), np.array([1, 2]), 3)))


@pytest.mark.parametrize(
    "key, value",
    [
        ("requested", 10**400),
        ("requested", None),
        ("domain", {"kind": "integers", "low": 10**400, "high": 3}),
        ("domain", {"kind": "nothing"}),
        ("domain", 3),
        ("domain", {"kind": "integers", "low": 0, "high": 2**60}),
        ("parameters", []),
        ("parameters", {"keep": [1]}),
        ("extra", 1),
    ],
    ids=repr,
)
def test_forged_laws_are_refused(key: str, value: Any) -> None:
    mechanism = smallest("UnaryEncoding symmetric")
    with pytest.raises(MismatchError):
        warner.estimate(
            Tally(
                {**mechanism.header, key: value},
                Counted.together(BitSums(), np.array([1, 2, 1, 0]), 3),
            )
        )


@pytest.mark.parametrize(
    "kind, counts, n",
    [
        ("histogram", [1], 1),
        (Histogram(), [1.5], 1),
        (Histogram(), None, 1),
        (Histogram(), [1], 1.0),
        (BitSums(), [1], 10**30),
        (Histogram(), [1], -1),
    ],
    ids=repr,
)
def test_forged_tallies_are_refused(kind: Any, counts: Any, n: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="tally"):
        Tally(
            smallest("RandomizedResponse").header,
            Counted.together(kind, None if counts is None else np.array(counts), n),
        )
