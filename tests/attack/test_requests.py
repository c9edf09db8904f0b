"""The attack on requests finds what it is there for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.attack import requests
from tests.attack._frame import Finding, generator
from tests.services import hurried as hurried
from tests.spec.collector._web import HAS_CROWDS
from warner.collector.collector import Collector
from warner.collector.web import application, server
from warner.collector.web.limits import Buckets, Connections
from warner.collector.web.responses import HttpRefused


def found(case: Callable[[np.random.Generator], str | None] = requests.case, first: int = 0) -> str:
    """What an attack finds within some cases."""
    for number in range(first, first + 10):
        try:
            case(generator("requests", 5, number))
        except Finding as finding:
            requests.target().log.lines.clear()
            return str(finding)
    return ""


def test_it_finds_an_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"error": "not_found", "message": requests.CANARY}
    monkeypatch.setattr(HttpRefused, "content", property(lambda self: content))
    assert "echo" in found()


def test_it_finds_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise ValueError("a language that cannot be chosen")

    monkeypatch.setattr(application, "chosen_language", fails)
    assert "500" in found()


def test_it_finds_a_refusal_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpRefused, "content", property(lambda self: "no"))
    assert "no name" in found()


def test_it_finds_an_id_that_is_called_spent_though_another_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert found(requests.spent) == ""
    monkeypatch.setattr(Collector, "is_spent", lambda self, submission_id: True)
    assert "0 counted" in found(requests.spent)


def test_it_finds_long_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_BYTES", 1 << 30)
    assert "a long head" in found(first=4)


def test_it_finds_tokens_that_are_tried_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buckets, "take", lambda *_: None)
    assert "no limit" in found()


@pytest.mark.skipif(not HAS_CROWDS, reason="needs 127.0.0.2")
def test_it_finds_a_server_that_refuses_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(self: Connections, connection: Any, address: str) -> None:
        self._senders[connection] = None
        if len(self._senders) > self._most:
            connection.abort()

    monkeypatch.setattr(Connections, "add", add)
    assert "shut others out" in found()
