"""The collector against a slow twin: a dictionary of ids, and a list of all reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warner.collector import collector as module
from warner.collector.access import ID_BYTES
from warner.collector.collector import Collector
from warner.collector.stores import SQLiteStore
from warner.collector.submissions import HEAD_BYTES, SubmissionFormat
from warner.reports.reports import Reports
from warner.studies.study import Study

EVERY = (Path(__file__).parents[3] / "docs" / "every_mechanism.toml").read_text()
PUBLIC = """
[public.ward]
values = ["north", "east", "south"]
[public.visit]
dates = "week"
"""
FEW = """
[attributes.smokes]
values = ["never", "sometimes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [18, 49]
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.drinks]
values = ["no", "yes"]
mechanism = "SubsetSelection"
epsilon = 1.0
"""


class Twin:
    """Keeps everything, which a collector must not."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.seen: dict[bytes, bytes] = {}

    def submit(self, rows: list[bytes]) -> int:
        new = 0
        for row in rows:
            if row[:ID_BYTES] not in self.seen:
                self.seen[row[:ID_BYTES]] = row[ID_BYTES:]
                new += 1
        return new

    def reports(self) -> tuple[dict[str, Reports], dict[str, list[object]]]:
        """All reports, and the values of the public columns."""
        rows, start = list(self.seen.values()), 0
        public: dict[str, list[object]] = {}
        for name, domain in self.study.public.items():
            index = [int.from_bytes(row[start : start + 4], "little") for row in rows]
            public[name], start = domain.decode(np.array(index)), start + 4
        reports = {}
        for name, mechanism in self.study.mechanisms.items():
            columns = mechanism.schema.empty(len(rows))
            for column in columns.values():
                size = column[:1].nbytes
                for i, row in enumerate(rows):
                    part = np.frombuffer(row[start : start + size], column.dtype)
                    column[i] = part.reshape(column.shape[1:])
                start += size
            reports[name] = Reports(mechanism.header, columns)
        return reports, public


def _people(study: Study, form: SubmissionFormat, n: int, rng: np.random.Generator) -> bytes:
    """A body of n people with random answers."""
    reports = {
        name: m.randomize(m.domain.decode(rng.integers(0, min(m.domain.size, 9), n)))
        for name, m in study.mechanisms.items()
    }
    weeks = [f"2026-01-{day:02}" for day in rng.integers(1, 22, n)]
    values = {"ward": rng.choice(["north", "east", "south"], n).tolist(), "visit": weeks}
    return form.seal(reports, {name: values[name] for name in study.public})


@pytest.mark.parametrize(
    ("text", "ways", "sizes"),
    [
        (EVERY, None, [3, 1, 40, 2]),
        (EVERY + PUBLIC, None, [1, 25, 1, 3]),
        (FEW, 2, [1, 700, 30]),
        (PUBLIC + FEW, 3, [2, 60, 1]),
    ],
    ids=["every mechanism", "in groups", "joint", "joint in groups"],
)
def test_the_collector_counts_as_its_twin(
    text: str,
    ways: int | None,
    sizes: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PACE", 0.0)
    study, rng = Study.parse(text), np.random.default_rng(5)
    twin, file = Twin(study), SQLiteStore(tmp_path / "survey.db")
    collector = Collector(study, file, ways)
    form, old = collector.format, b""
    for size in sizes:
        body = _people(study, form, size, rng) + old[-2 * form.length :]
        body += body[-form.length :]  # once more in the same body
        rows = body[HEAD_BYTES:]
        split = [rows[i : i + form.length] for i in range(0, len(rows), form.length)]
        found = collector.submit(form.parse(body)).result(20)
        assert (found.accepted, found.new) == (len(split), twin.submit(split))
        old = rows
    reports, public = twin.reports()
    wanted = study.tally(reports, public) if public else study.tally(reports)
    for _ in range(2):
        state = collector.state()
        assert state.n == len(twin.seen)
        assert list(state.tallies) == list(wanted)
        for name, tally in wanted.items():
            assert state.tallies[name] == tally.sums(), name
        if ways is not None:
            joint = study.together
            columns = joint.schema.join({name: r.columns for name, r in reports.items()})
            whole = Reports(joint.header, columns)
            if public:
                assert state.joint == joint.tally(whole, _declared(study, public), ways=ways)
            else:
                assert state.joint == joint.count(whole.columns, ways=ways)
        collector.stop()
        collector = Collector(study, SQLiteStore(tmp_path / "survey.db"), ways)  # as it was stored
    collector.stop()


def _declared(study: Study, public: dict[str, list[object]]) -> dict[str, object]:
    from warner.reports.public_columns import PublicColumn

    return {name: PublicColumn(study.public[name], values) for name, values in public.items()}
