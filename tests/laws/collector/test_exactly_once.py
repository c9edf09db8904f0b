"""Every accepted submission is counted once, whatever happens: a state machine over real stores."""

from __future__ import annotations

import shutil
import tempfile
import time
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.laws.collector._survey import (
    LARGEST,
    FailingStore,
    SmallSQLiteStore,
    counted,
    expected,
    sealed,
    study_of,
)
from tests.services import postgres_address
from warner.collector.collector import Accepted, Collector
from warner.collector.refusals import Refused
from warner.collector.stores import PostgresStore, Store

START = datetime(2026, 1, 3, tzinfo=UTC)  # the survey is open on two days around it
STUDY = study_of()
PEOPLE = st.integers(1, 5)
# One of those before, by a number of a fixed range: how many of them there are depends on when the
# store was tidied and its disk was full, and what Hypothesis draws must not.
EARLIER = st.integers(0, 2**16 - 1)


class Machine(RuleBasedStateMachine):
    """Devices, an owner and a clock, over a collector whose store fails now and then."""

    def _store(self) -> Store:
        raise NotImplementedError

    def _start(self) -> None:
        self.store = FailingStore(self._store())
        self.collector = Collector(STUDY, self.store, ways=1, clock=lambda: self.now)

    @initialize()
    def begin(self) -> None:
        """A new survey, in its opening hours."""
        self.folder = Path(tempfile.mkdtemp())
        self.now = START
        self.wish: str | None = None
        self.next = 0
        self.accepted: list[tuple[bytes, list[int]]] = []
        self.waiting: list[tuple[bytes, list[int]]] = []
        self.rejects: dict[str, int] = {}
        self._start()

    # What is expected.

    def status(self) -> str:
        if self.wish is not None:
            return self.wish
        if self.now >= START + timedelta(days=1):
            return "closed"
        return "not_open" if self.now < START - timedelta(days=1) else "open"

    def made(self, people: int) -> tuple[bytes, list[int]]:
        """A body of people with values that nobody had before."""
        values = [(self.next + i) % LARGEST for i in range(people)]
        self.next += people
        assert self.next < LARGEST
        return sealed(self.collector.format, values), values

    def send(self, body: bytes) -> Accepted:
        """The reply to a body; what the store refuses is sent again."""
        for _ in range(8):
            try:
                return self.collector.submit(self.collector.format.parse(body)).result(20)
            except Refused as error:
                if error.name != "store_failed":
                    raise
        raise AssertionError("the store does not come back")

    def upload(self, body: bytes, values: list[int]) -> None:
        if self.status() != "open":
            with pytest.raises(Refused) as refused:
                self.send(body)
            assert refused.value.name == self.status()
            return
        new = {v for v in values if v not in self.values()}
        found = self.send(body)
        assert found.accepted == len(values)
        assert found.new <= len(new)  # those of a reply that was lost are no longer new
        self.accepted.append((body, values))

    def values(self) -> set[int]:
        return {value for _, values in self.accepted for value in values}

    # What happens.

    @rule(people=PEOPLE)
    def new_people_send(self, people: int) -> None:
        self.upload(*self.made(people))

    @rule(people=st.lists(PEOPLE, min_size=2, max_size=6))
    def many_send_at_once(self, people: list[int]) -> None:
        if self.status() != "open":
            return
        made = [self.made(count) for count in people]
        futures: list[Future[Accepted]] = [
            self.collector.submit(self.collector.format.parse(body)) for body, _ in made
        ]
        for future, (body, values) in zip(futures, made, strict=True):
            try:
                future.result(20)
            except Refused as error:
                assert error.name == "store_failed"
                self.send(body)
            self.accepted.append((body, values))

    @precondition(lambda self: self.accepted)
    @rule(which=EARLIER)
    def somebody_sends_again(self, which: int) -> None:
        self.upload(*self.accepted[which % len(self.accepted)])

    @precondition(lambda self: self.accepted)
    @rule(which=EARLIER, people=PEOPLE)
    def an_old_submission_stands_among_new_ones(self, which: int, people: int) -> None:
        old, values = self.accepted[which % len(self.accepted)]
        form = self.collector.format
        new, others = self.made(people)
        self.upload(new + old[36 : 36 + form.length], [*others, values[0]])

    @rule(people=PEOPLE)
    def a_submission_stands_twice_in_a_body(self, people: int) -> None:
        body, values = self.made(people)
        self.upload(body + body[-self.collector.format.length :], [*values, values[-1]])

    @rule(people=PEOPLE, data=st.data())
    def a_bad_one_refuses_its_body(self, people: int, data: Any) -> None:
        body, _ = self.made(people)
        form, place = self.collector.format, data.draw(st.integers(0, people - 1))
        rows = np.frombuffer(body, np.uint8)[36:].reshape(people, form.length).copy()
        rows[place, 16:20] = 255  # no ward
        with pytest.raises(Refused) as refused:
            form.parse(body[:36] + rows.tobytes())
        assert (refused.value.name, refused.value.position) == ("malformed", place)
        self.collector.reject(refused.value.name)
        self.rejects["malformed"] = self.rejects.get("malformed", 0) + 1

    @rule(people=PEOPLE)
    def a_request_is_dropped(self, people: int) -> None:
        self.waiting.append(self.made(people))

    @rule(people=PEOPLE)
    def a_reply_is_dropped(self, people: int) -> None:
        body, values = self.made(people)
        if self.status() == "open":
            self.send(body)
            self.accepted.append((body, values))
        self.waiting.append((body, values))

    @precondition(lambda self: self.waiting)
    @rule()
    def a_device_sends_what_it_keeps(self) -> None:
        self.upload(*self.waiting.pop())

    @rule(days=st.integers(-3, 3))
    def the_clock_is_moved(self, days: int) -> None:
        self.now = START + timedelta(days=days)

    @rule()
    def the_owner_opens(self) -> None:
        self._asked(self.collector.open_survey)
        self.wish = "open"

    @rule()
    def the_owner_closes(self) -> None:
        self._asked(self.collector.close_survey)
        self.wish = "closed"

    def _asked(self, action: Any) -> None:
        for _ in range(8):
            try:
                action()
                return
            except Refused as error:
                assert error.name == "store_failed"
        raise AssertionError("the store does not come back")

    @rule()
    def the_collector_starts_again(self) -> None:
        self.store.before = self.store.after = self.store.away = 0
        self.collector.stop()
        self._start()

    @rule(before=st.integers(0, 2), after=st.integers(0, 2), away=st.integers(0, 2))
    def the_store_will_fail(self, before: int, after: int, away: int) -> None:
        self.store.before, self.store.after, self.store.away = before, after, away

    @invariant()
    def each_accepted_submission_is_counted_once(self) -> None:
        if not hasattr(self, "collector"):
            return
        state = self.collector.state()
        values = self.values()
        assert state.n == len(values)
        assert counted(state.tallies) == expected(values)
        assert state.joint is not None
        assert state.joint.n == len(values)
        assert state.status == self.status()

    def teardown(self) -> None:
        if not hasattr(self, "collector"):
            return
        self.store.before = self.store.after = self.store.away = 0
        self.collector.stop()
        self._start()
        self.each_accepted_submission_is_counted_once()
        assert dict(self.collector.state().rejects) == self.rejects
        self.collector.stop()
        shutil.rmtree(self.folder)


class OnSQLite(Machine):
    """With a disk that is full at times."""

    def _store(self) -> Store:
        self.file = SmallSQLiteStore(self.folder / "survey.db")
        return self.file

    @rule(people=PEOPLE)
    def the_disk_is_full(self, people: int) -> None:
        if self.status() != "open":
            return
        self._asked(self.collector.check)  # the store is open, and nothing is unsettled
        made = []
        self.store.before = self.store.after = self.store.away = 0
        self.file.limit(0)
        for _ in range(60):  # freed pages of the file are used up first
            body, values = self.made(people)
            try:
                self.send(body)
            except Refused as error:
                assert error.name == "store_full"
                made.append((body, values))
                break
            self.accepted.append((body, values))
            self.each_accepted_submission_is_counted_once()
            if self.next > LARGEST - 200:
                break
        self.each_accepted_submission_is_counted_once()
        self.file.limit(None)
        for body, values in made:
            self.upload(body, values)


class OnPostgres(Machine):
    """With a server that ends connections."""

    def _store(self) -> Store:
        if not hasattr(self, "address"):
            self.address = postgres_address()
        return PostgresStore(self.address)

    @rule()
    def the_server_ends_the_connection(self) -> None:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            one = "FROM pg_stat_activity WHERE application_name = 'warner'"
            ended = connection.execute(f"SELECT pid, pg_terminate_backend(pid) {one}").fetchall()
            # The server itself would look ten times a second whether they have ended.
            still = f"SELECT 1 {one} AND pid = ANY(%s)"
            while connection.execute(still, [[pid for pid, _ in ended]]).fetchone():
                time.sleep(0.002)


def _settings(examples: int, steps: int) -> settings:
    """The first few examples of a machine do next to nothing."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


def test_each_submission_is_counted_once_in_sqlite() -> None:
    run_state_machine_as_test(OnSQLite, settings=_settings(12, 25))


def test_each_submission_is_counted_once_in_postgresql() -> None:
    postgres_address()
    run_state_machine_as_test(OnPostgres, settings=_settings(8, 25))
