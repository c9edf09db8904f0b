"""A study whose reports tell people apart, and stores that fail on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from warner.collector.refusals import Refused
from warner.collector.stores import SQLiteStore, Store
from warner.collector.submissions import SubmissionFormat, new_ids
from warner.reports.tally import Tally
from warner.studies import study as studies

LARGEST = 1200  # values, more than the people of a test
WARDS = ("north", "east", "south")

# Each person's report is the value itself: at an infinite epsilon, and one bit made by hand. So a
# lost report shows as a count of 0, and one that is counted twice as a count of 2.
TEXT = f"""
[public.ward]
values = ["north", "east", "south"]
[attributes.value]
integers = [0, {LARGEST - 1}]
mechanism = "RandomizedResponse"
epsilon = inf
[attributes.bits]
integers = [0, {LARGEST - 1}]
mechanism = "UnaryEncoding"
epsilon = 1.0
[collect]
opens = 2026-01-02T00:00:00Z
closes = 2026-01-04T00:00:00Z
keep_ids = "always"
"""


def study_of(text: str = TEXT) -> studies.Study:
    """The study."""
    return studies.Study.parse(text)


def sealed(form: SubmissionFormat, values: Iterable[int], ids: np.ndarray | None = None) -> bytes:
    """The body of people with these values; the ward follows from the value."""
    given = list(values)
    direct, bits = form.study.mechanisms.values()
    one = np.zeros((len(given), LARGEST), dtype=np.uint8)
    one[np.arange(len(given)), given] = 1
    reports = {"value": direct.randomize(given), "bits": bits.reports(one)}
    wards = [WARDS[value % len(WARDS)] for value in given]
    ids = new_ids(len(given)) if ids is None else ids
    return form.seal(reports, {"ward": wards}, ids)


def counted(tallies: Any) -> dict[str, dict[int, int]]:
    """{ward: {value: count}} of all counts that are not 0; both attributes must agree."""
    found: dict[str, dict[int, int]] = {}
    value, bits = tallies["value"], tallies["bits"]
    assert isinstance(value, Tally)
    assert list(value) == list(bits)
    for (ward,), tally in value.items():
        where = np.flatnonzero(tally.counts)
        found[str(ward)] = dict(zip(where.tolist(), tally.counts[where].tolist(), strict=True))
        assert np.array_equal(tally.counts, bits[ward,].counts)
        assert tally.n == bits[ward,].n == tally.counts.sum()
    return found


def expected(values: Iterable[int]) -> dict[str, dict[int, int]]:
    """What :func:`counted` must give for people with these values."""
    found: dict[str, dict[int, int]] = {}
    for value in values:
        found.setdefault(WARDS[value % len(WARDS)], {})[value] = 1
    return found


class FailingStore:
    """A store that loses its connection before or after it commits, as often as it is told."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.before = self.after = self.away = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def open(self) -> bool:
        if self.away:
            self.away -= 1
            raise Refused("store_failed", "store", "is away")
        return self.store.open()

    @contextmanager
    def changing(self, alone: bool = False) -> Iterator[None]:
        with self.store.changing(alone):
            yield
            if self.before:
                self.before -= 1
                self._lose()
        if self.after:
            self.after -= 1
            self._lose()

    def _lose(self) -> None:
        self.store.close()
        raise Refused("store_failed", "store", "lost its connection")


class SmallSQLiteStore(SQLiteStore):
    """An SQLite store whose disk can be full."""

    def limit(self, pages: int | None) -> None:
        """Let the file grow by so many disk pages, or without limit."""
        connection = self._opened()
        (count,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {2**30 if pages is None else count + pages}")
