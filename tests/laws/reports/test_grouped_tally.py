"""Tallies of groups add up bit for bit, and their sum is the tally of all: for all registered."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, COMBINED, smallest
from warner import Categorical
from warner.domains.interval import Dates
from warner.mechanisms import Mechanism
from warner.reports.public_columns import PublicColumn
from warner.reports.reports import Reports
from warner.reports.tally import Tally

N = 200
WARDS = np.random.default_rng(1).choice(["north", "south", "west"], N).tolist()
DAYS = [f"2024-01-{1 + i % 28:02d}" for i in range(N)]
WARD = Categorical(["west", "south", "north", "nobody"])


def _by(rows: slice) -> dict[str, PublicColumn]:
    return {
        "ward": PublicColumn(WARD, WARDS[rows]),
        "visit": PublicColumn(Dates("week"), DAYS[rows]),
    }


def _made(name: str) -> tuple[Mechanism, Reports]:
    if name not in COMBINED:
        mechanism = smallest(name)
        return mechanism, _reports(mechanism, N)
    combined = COMBINED[name](1.0)
    labels = combined.domain.labels
    return combined, combined.randomize([labels[i % len(labels)] for i in range(N)])


NAMES = [*ALL, *COMBINED]


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_the_tallies_of_their_people_and_their_total_is_that_of_all(name: str) -> None:
    mechanism, reports = _made(name)
    groups = mechanism.tally(reports, _by(slice(None)))
    assert groups.total() == mechanism.tally(reports)
    assert groups.total().counts.tobytes() == mechanism.tally(reports).counts.tobytes()
    weeks = Dates("week").decode(Dates("week").encode(DAYS))
    for key, tally in groups.items():
        rows = [i for i in range(N) if (WARDS[i], weeks[i]) == key]
        columns = {c: array[rows] for c, array in reports.columns.items()}
        assert tally == mechanism.tally(Reports(reports.header, columns, reports.simulated))
    assert groups.by("visit", "ward").by("ward") == groups.by("ward")
    assert groups.by("visit").total() == groups.total()


# One mechanism for each layout of reports, and those that send several.
LAYOUTS = [*{type(smallest(name).schema): name for name in ALL}.values(), *COMBINED]


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_partition_in_any_order_gives_the_same_groups(name: str, tmp_path: Path) -> None:
    mechanism, reports = _made(name)
    rng = np.random.default_rng(2)
    edges = [0, *sorted(rng.choice(np.arange(1, N), 3, replace=False).tolist()), N]
    parts = [mechanism.tally(reports[a:b], _by(slice(a, b))) for a, b in pairwise(edges)]
    whole = mechanism.tally(reports, _by(slice(None)))
    assert sum(parts) == whole and sum(parts[::-1]) == whole
    first, second, third, last = parts
    assert (first + second) + (third + last) == first + ((second + third) + last)
    for part in (whole, last):
        part.save(tmp_path / "groups.json")
        again = Tally.load(tmp_path / "groups.json")
        assert again == part and list(again) == list(part) and again.columns == part.columns


@pytest.mark.parametrize("name", ["UnaryEncoding optimized", "RandomizedResponse"])
def test_kept_reports_stay_with_their_groups(name: str, tmp_path: Path) -> None:
    mechanism, reports = _made(name)
    whole = mechanism.tally(reports, _by(slice(None)), keep_reports=True)
    halves = [
        mechanism.tally(reports[rows], _by(rows), keep_reports=True)
        for rows in (slice(0, 90), slice(90, N))
    ]
    assert halves[1] + halves[0] == whole
    assert whole.total() == mechanism.tally(reports, keep_reports=True)
    whole.save(tmp_path / "groups.json")
    assert Tally.load(tmp_path / "groups.json") == whole
