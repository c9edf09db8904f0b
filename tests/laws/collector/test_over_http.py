"""Whatever happens to requests and replies, each person who had a 202 is counted exactly once.

A state machine drives the real application over a real SQLite file, and over PostgreSQL. The clock
moves before the opening and beyond the closing of the survey. Each person has another value,
so a loss shows as a count of 0, and a double count as one of 2. It rejects an application that
counts a repeat again, or one part of a batch which it refuses, or that answers 202 and forgets, or
that counts before the survey opens.
"""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.laws.collector._survey import LARGEST, counted, expected, sealed, study_of
from tests.services import postgres_address
from tests.spec.collector._web import KIND
from warner.collector import collector as module
from warner.collector.access import Owner, token_hash
from warner.collector.collector import Collector
from warner.collector.live.publisher import LivePublisher
from warner.collector.stores import PostgresStore, SQLiteStore, Store
from warner.collector.submissions import new_ids
from warner.collector.web import application
from warner.collector.web.application import Application, Settings
from warner.collector.web.limits import Limits

STUDY = study_of()
BEFORE, NOW, AFTER = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 3, 5))
OUTSIDE = {BEFORE: 425, AFTER: 410}  # the status of answers before the opening and after closing
DROPPED = ("", "request", "middle", "reply", "cancelled")


class Requests(RuleBasedStateMachine):
    """People who send, and send again what was not answered."""

    @initialize()
    def start(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._runner = asyncio.Runner()
        self._people = 0
        self._bodies: list[tuple[list[int], bytes]] = []
        self._certain: set[int] = set()  # the values of people who had a 202
        self._possible: set[int] = set()  # those whose request was dropped somewhere
        self._now = NOW
        self._is_over = False
        self._open()

    def _open(self) -> None:
        self._collector = Collector(STUDY, self._store(), clock=lambda: self._now)
        live = LivePublisher(self._collector, STUDY)
        limits = Settings(Limits(rate=0))
        self._application = Application(
            STUDY, self._collector, live, Owner(lambda: {"": token_hash("t")}), limits
        )

    def _store(self) -> Store:
        return SQLiteStore(Path(self._folder.name) / "a.sqlite")

    @rule(now=st.sampled_from([BEFORE, NOW, NOW, AFTER]))
    def the_clock_is_moved(self, now: datetime) -> None:
        """The survey has not opened, is open, or is closed."""
        self._now = now

    @rule(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
    def send(self, sizes: list[int], data: st.DataObject) -> None:
        """Several people send at one moment; some connections break, and some bodies are bad."""
        sent = []
        for size in sizes:
            if self._people + size > LARGEST:
                return
            values = list(range(self._people, self._people + size))
            self._people += size
            body = sealed(self._collector.format, values, new_ids(size))
            self._bodies.append((values, body))
            sent.append((values, body, data.draw(st.sampled_from(DROPPED)), False))
        if data.draw(st.booleans()):
            values, body = self._bodies[data.draw(st.integers(0, len(self._bodies) - 1))]
            sent.append((values, body, "", False))  # once more
        if data.draw(st.booleans()):
            values = [self._people % LARGEST]
            bad = bytearray(sealed(self._collector.format, values * 2))
            bad[36 + 16] = 77  # a value of the public column that was never declared
            sent.append((values, bytes(bad), "", True))
        self._settle(sent)

    @rule()
    def send_everything_again(self) -> None:
        """Devices send again until they have an answer."""
        self._settle([(values, body, "", False) for values, body in self._bodies[-6:]])

    @rule()
    def restart(self) -> None:
        """The collector ends and starts again. A survey that is over then is closed for good."""
        self._collector.stop()
        self._is_over = self._is_over or self._now == AFTER
        self._open()

    def _settle(self, sent: list[tuple[list[int], bytes, str, bool]]) -> None:
        async def all_of_them() -> list[int | None]:
            return await asyncio.gather(*(self._status(body, drop) for _, body, drop, _ in sent))

        statuses = self._runner.run(all_of_them())
        refused = OUTSIDE[AFTER] if self._is_over else OUTSIDE.get(self._now)
        for (values, _, drop, is_bad), status in zip(sent, statuses, strict=True):
            if refused is not None:
                assert drop or status == refused
            elif is_bad:
                assert status == 400
            elif drop == "":
                assert status == 202
                self._certain.update(values)
            elif drop != "request":
                self._possible.update(values)

    async def _status(self, body: bytes, drop: str) -> int | None:
        """The status of the answer to a body; None where the connection breaks before it."""
        half = len(body) // 2
        pieces = [{"type": "http.request", "body": body[:half], "more_body": True}]
        pieces += [{"type": "http.request", "body": body[half:], "more_body": False}]
        if drop == "request":
            pieces[1:] = [{"type": "http.disconnect"}]
        statuses: list[int] = []

        async def receive() -> Any:
            await asyncio.sleep(0)
            return pieces.pop(0) if pieces else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if drop == "reply":
                raise ConnectionResetError
            statuses.extend([message["status"]] if "status" in message else [])

        headers = [(k.encode(), v.encode()) for k, v in KIND.items()]
        headers.append((b"content-length", str(len(body)).encode()))
        scope = {"type": "http", "method": "POST", "path": "/reports", "query_string": b""}
        scope |= {"headers": headers, "client": ("192.0.2.1", 1), "root_path": ""}
        task = asyncio.create_task(self._application(scope, receive, send))
        if drop in ("middle", "cancelled"):
            await asyncio.sleep(0 if drop == "middle" else 0.004)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return statuses[0] if statuses else None

    @invariant()
    def everyone_is_counted_once(self) -> None:
        if not hasattr(self, "_collector"):
            return
        self._collector.check()
        found = counted(self._collector.state().tallies) if self._collector.n else {}
        values = {value for ward in found.values() for value in ward}
        assert found == (expected(sorted(values)) if values else {})
        assert self._certain <= values <= self._certain | self._possible

    def teardown(self) -> None:
        if hasattr(self, "_collector"):
            self._collector.stop()
            self._runner.close()
            self._folder.cleanup()


class RequestsOnPostgres(Requests):
    """The same, over PostgreSQL."""

    def _store(self) -> Store:
        if not hasattr(self, "_address"):
            self._address = postgres_address()
        return PostgresStore(self._address)


@pytest.mark.parametrize("machine", [Requests, RequestsOnPostgres])
def test_each_person_with_an_answer_is_counted_once(
    machine: type[Requests], monkeypatch: pytest.MonkeyPatch
) -> None:
    if machine is RequestsOnPostgres:
        postgres_address()  # skips, or names the remedy, where there is no server
    monkeypatch.setattr(module, "PACE", 0.001)
    # A study without protection, which no page asks: only so does each person have another value.
    monkeypatch.setattr(application, "survey_bytes", lambda study: b"{}")
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    case: Any = machine.TestCase
    case.settings = settings(
        max_examples=20 if machine is Requests else 10,  # the first ones do next to nothing
        stateful_step_count=8,
        phases=[Phase.generate],
        deadline=None,
        derandomize=True,
        suppress_health_check=checks,
    )
    case().runTest()
