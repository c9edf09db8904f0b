"""What those who operate a collector do while reports come: restart the database, and the servers
one after the other. Nothing that was accepted is lost, and nothing is counted twice.
"""

from __future__ import annotations

import http.client
import os
import signal
import time
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from tests.laws.collector._killed import OPENED, STUDY
from tests.laws.collector._survey import counted, expected, sealed
from tests.services import postgres_address, restart_postgres
from tests.spec.collector._web import KIND, SERVED
from tests.spec.collector.web.test_server import _end, _start
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.stores import SPENT, PostgresStore
from warner.studies.study import Study

PATIENCE = 120.0  # seconds, within which a report must be accepted
CLIENTS, REPORTS = 4, 60
BETWEEN, MEANWHILE = 0.02, 1.0  # seconds between the reports of a client; while a server starts


def test_a_database_that_is_restarted_loses_and_doubles_nothing() -> None:
    """Rejects a collector that answers before the database has the report on its disk, and one that
    does not find its way back to the database.
    """
    collector = Collector(STUDY, PostgresStore(postgres_address()), clock=lambda: OPENED)
    accepted: list[int] = []
    errors: set[str] = set()

    def send(first: int) -> None:
        for value in range(first, CLIENTS * REPORTS, CLIENTS):
            batch = collector.format.parse(sealed(collector.format, [value]))
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                try:
                    collector.submit(batch).result(PATIENCE)
                    accepted.append(value)
                    break
                except Refused as error:
                    errors.add(error.name)
                    time.sleep(0.02)

    clients = [Thread(target=send, args=(i,)) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    for share, at_once in ((0.2, False), (0.4, True), (0.6, True)):
        while len(accepted) < share * CLIENTS * REPORTS and any(c.is_alive() for c in clients):
            time.sleep(0.005)
        restart_postgres(at_once)
    for client in clients:
        client.join()
    assert errors <= {"store_failed"}
    assert sorted(accepted) == list(range(CLIENTS * REPORTS))
    assert counted(collector.state().tallies) == expected(accepted)
    collector.stop()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_servers_are_replaced_one_after_the_other_while_reports_come(tmp_path: Path) -> None:
    """The procedure of docs/collector.md. Rejects a server that ends before it has answered, or
    answers before it has counted.
    """
    study = tmp_path / "study.toml"
    study.write_text(SERVED + 'keep_ids = "always"\n')
    plan, address = Study.load(study), postgres_address()
    servers = [_start(study, "--store", address) for _ in range(2)]
    ports = [port for _, port, _ in servers]
    collector = Collector(plan, PostgresStore(address))  # a third process, which makes the bodies
    answers = {"smokes": ["yes"], "drinks": [7]}
    accepted: list[bytes] = []
    stop, pause = Event(), BETWEEN

    def send() -> None:
        number = 0
        while not stop.is_set():
            made = {name: m.randomize(answers[name]) for name, m in plan.mechanisms.items()}
            body, status = collector.format.seal(made), 0
            until = time.monotonic() + PATIENCE
            while status != 202 and time.monotonic() < until:
                # Who has no answer sends the same bytes, to the other server as a proxy would.
                number += 1
                connection = http.client.HTTPConnection("127.0.0.1", ports[number % 2], timeout=60)
                try:
                    connection.request("POST", "/reports", body, {**KIND, "connection": "close"})
                    status = connection.getresponse().status
                except (OSError, http.client.HTTPException):
                    time.sleep(0.01)
                finally:
                    connection.close()
            assert status == 202
            accepted.append(body)
            stop.wait(pause)

    clients = [Thread(target=send) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        for i in (0, 1):
            enough = len(accepted) + 30
            while len(accepted) < enough and any(c.is_alive() for c in clients):
                time.sleep(0.01)
            old = servers[i][0]
            old.send_signal(signal.SIGTERM)
            assert old.wait(60) == 0
            before = len(accepted)
            while len(accepted) < before + 10 and any(c.is_alive() for c in clients):
                time.sleep(0.01)  # the other server goes on alone
            _end(old)
            if i == 0:  # the other one need not be started again
                pause = MEANWHILE
                servers[0] = _start(study, "--store", address)
                pause = BETWEEN
            ports[i] = servers[0][1]
    finally:
        stop.set()
        for client in clients:
            client.join()
        for process, _, _ in servers:
            _end(process)
    assert len(accepted) >= 80
    state = collector.state()
    assert state.n == len(accepted) == collector._store.size(SPENT)
    ids = np.concatenate([collector.format.parse(body).ids for body in accepted])
    assert collector._store.has(SPENT, ids).all()
    collector.stop()
