"""The files of the live page say what the page says, and what ``warner estimate`` says of them."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.spec.app._command import run
from tests.spec.collector._live import ONE_IS_SMALL, STUDY, Memory, published
from warner.collector.live.estimates import NotPublished, tally_json
from warner.collector.live.publisher import LivePublisher
from warner.collector.live.state import Section
from warner.collector.live.tables import command
from warner.errors import MissingExtraError
from warner.reports.tally import load_tallies
from warner.studies.study import Study

SILENT = Study.parse(
    """
[collect]
step = 50
[attributes.pills]
integers = [0, 5]
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 2.0
[attributes.place]
values = ["home", "work", "out"]
[attributes.pet]
values = ["cat", "dog"]
[[joint]]
attributes = ["place", "pet"]
mechanism = "RandomizedResponse"
epsilon = 2.0
[attributes.weight]
interval = { low = 0, high = 100, bins = 32 }
mechanism = "SquareWave"
epsilon = 2.0
"""
)


@pytest.mark.parametrize("study", [STUDY, SILENT])
def test_warner_estimate_writes_the_same_files_from_the_tally(study: Study, tmp_path: Path) -> None:
    """The whole of both files is equal, save for the last digits of floats."""
    publisher = _publisher(study)
    view = publisher.view()
    (tmp_path / "tally.json").write_text(tally_json(view, study))
    out, table = tmp_path / "out.json", tmp_path / "out.csv"
    tally = str(tmp_path / "tally.json")
    options = shlex.split(command(view))[3:]
    run("estimate", tally, *options, "-o", str(out), "-o", str(table))
    _close(json.loads(out.read_text()), json.loads(publisher.file("estimates.json")))
    ours, theirs = (
        list(csv.reader(io.StringIO(str(text))))
        for text in (publisher.file("estimates.csv"), table.read_text())
    )
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(
            np.array(mine[2:6], float), np.array(other[2:6], float), rtol=1e-9, atol=1e-12
        )
    shares = {data["attribute"]: data["shares"] for data in json.loads(out.read_text())}
    for section in view.sections:
        _are_shown(section, shares[section.name])


def _are_shown(section: Section, shares: list[dict[str, float]]) -> None:
    """A table of the page has the shares of a file."""
    for row, shown in zip(shares, section.tables[0].rows, strict=True):
        figures = [f"{100 * row[key]:.2f} %" for key in ("estimate", "low", "high")]
        assert list(shown.cells[1:]) == figures


def _publisher(study: Study) -> LivePublisher:
    if study is STUDY:
        return published(450)
    memory = Memory(study, answers={}, seed=3)
    reports = {}
    for name, mechanism in study.mechanisms.items():
        labels = mechanism.domain.labels
        given = [labels[place] for place in memory.rng.integers(len(labels), size=600)]
        if name == "pills":
            given = [None if value == labels[-1] else value for value in given]
        reports[name] = mechanism.randomize(given, rng=memory.rng)
    memory.tallies, memory.n = dict(study.tally(reports)), 600
    publisher = LivePublisher(memory, study)
    publisher.look()
    return publisher


def _close(a: object, b: object) -> None:
    """Two JSON values are equal, floats up to their last digits."""
    if isinstance(a, float):
        assert isinstance(b, float | int)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    elif isinstance(a, dict):
        assert isinstance(b, dict) and a.keys() == b.keys()
        for key in a:
            _close(a[key], b[key])
    elif isinstance(a, list):
        assert isinstance(b, list) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            _close(x, y)
    else:
        assert a == b


def test_files_are_of_the_last_step_and_not_of_what_came_since() -> None:
    memory = Memory(STUDY)
    memory.send(100)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()
    before = [file(publisher) for file in _FILES]
    memory.send(99)
    publisher.look()
    assert [file(publisher) for file in _FILES] == before


_FILES: tuple[Callable[[LivePublisher], object], ...] = (
    lambda live: tally_json(live.view(), STUDY),
    lambda live: tally_json(live.view(), STUDY, "ward"),
    lambda live: live.file("estimates.json"),
    lambda live: live.file("estimates.csv"),
)


@pytest.mark.parametrize("file", [*_FILES, lambda live: live.file("picture.png")])
def test_before_the_first_step_there_are_no_files(file: Callable[[LivePublisher], object]) -> None:
    publisher = published(99)
    with pytest.raises(NotPublished, match="published first after 100 reports") as caught:
        file(publisher)
    assert caught.value.name == "no_estimate_yet"


def test_the_tally_of_all_has_no_groups_and_that_of_groups_hides_small_ones(
    tmp_path: Path,
) -> None:
    publisher = published(450, wards=ONE_IS_SMALL, now="closed")
    path = tmp_path / "tally.json"
    path.write_text(tally_json(publisher.view(), STUDY))
    assert {tally.n for tally in load_tallies(path).values()} == {450}
    path.write_text(tally_json(publisher.view(), STUDY, "ward"))
    for tally in load_tallies(path).values():
        hidden = 450 - tally.n
        assert min(tally.sizes) >= 10 and (hidden == 0 or hidden >= 10)


def test_tables_of_groups_are_those_of_the_tally_of_groups(tmp_path: Path) -> None:
    publisher = published(450)
    groups = publisher.groups("ward")
    assert groups is not None and publisher.groups("ward") is groups
    path = tmp_path / "tally.json"
    path.write_text(tally_json(publisher.view(), STUDY, "ward"))
    out = tmp_path / "out.json"
    kind = f"anytime:{groups.planned}"
    run("estimate", str(path), "--interval", kind, "-o", str(out))
    found = {
        (tuple(data["group"].values()), data["attribute"]): data
        for data in json.loads(out.read_text())
    }
    for name, n, sections in groups.groups:
        for section in sections:
            data = found[(name,), section.name]
            assert data["n"] == n
            _are_shown(section, data["shares"])


def test_a_picture_is_a_png_or_a_named_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    publisher = published(150)
    picture = publisher.file("picture.png")
    assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG")
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(MissingExtraError, match=re.escape("warner[plot]")):
        publisher.file("picture.png")
