"""The web application of a study, in memory and behind a real server, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import selectors
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from warner.collector.access import Owner, new_token, token_hash
from warner.collector.collector import Collector
from warner.collector.live.publisher import LivePublisher
from warner.collector.stores import SQLiteStore, Store
from warner.collector.web.application import Application, Settings
from warner.collector.web.limits import Limits
from warner.collector.web.server import ListenAddress, server_of
from warner.studies.study import Study

TEXT = """
title = "Habits"
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 9]
mechanism = "UnaryEncoding"
epsilon = 1.0
[collect]
people = 100
step = 10
"""
SERVED = TEXT + 'access = "open"\n'  # warner collect serve needs to know who may answer
KIND = {"content-type": "application/octet-stream"}


@dataclass
class Site:
    """An application with everything behind it."""

    study: Study
    collector: Collector
    live: LivePublisher
    application: Application
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def body(self, n: int = 1, ids: np.ndarray | None = None) -> bytes:
        """A body of n people, all of whom answer alike."""
        answers = {"smokes": ["yes"] * n, "drinks": [7] * n}
        made = {name: m.randomize(answers[name]) for name, m in self.study.mechanisms.items()}
        return self.collector.format.seal(made, {}, ids)


@contextlib.contextmanager
def site(
    path: Path,
    more: str = "",
    settings: Settings | None = None,
    store: Store | None = None,
    text: str = TEXT,
) -> Iterator[Site]:
    """The application of the study, with a store in a file unless another is given."""
    study = Study.parse(text + more)
    collector = Collector(study, SQLiteStore(path) if store is None else store)
    live = LivePublisher(collector, study)
    token = new_token()
    collector.keep_owner("", token_hash(token))
    owner = Owner(lambda: collector.owners)
    application = Application(study, collector, live, owner, settings or Settings(Limits(rate=0)))
    try:
        yield Site(study, collector, live, application, token)
    finally:
        live.stop()
        collector.stop()


@contextlib.contextmanager
def served(application: Application, place: ListenAddress | None = None) -> Iterator[int]:
    """The port of a real server of the application, in a thread."""
    place = place or ListenAddress(port=0)
    ports: list[int] = []
    ready = threading.Event()

    def tell(port: int) -> None:
        ports.append(port)
        ready.set()

    with place.listen() as listening:
        server = server_of(application, place, tell, lambda: None)

        async def until_it_should_exit() -> None:  # uvicorn itself looks ten times a second
            while not await server.on_tick(0):
                await asyncio.sleep(0.01)

        server.main_loop = until_it_should_exit  # type: ignore[method-assign]
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        assert ready.wait(20)
        try:
            yield ports[0]
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


class Client:
    """Asks an application without a server, on one event loop."""

    def __init__(self, application: Application) -> None:
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(application)  # type: ignore[arg-type]
        self._client = httpx.AsyncClient(transport=transport, base_url="http://survey.test")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer to one request. A body may come in pieces."""
        if isinstance(options.get("content"), Iterator):
            options["content"] = _later(options["content"])
        return self._runner.run(self._client.request(method, path, **options))

    def together(self, *asked: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        """The answers to requests that are sent at one moment."""

        async def all_of_them() -> list[httpx.Response]:
            return await asyncio.gather(
                *(self._client.request(method, path, **more) for method, path, more in asked)
            )

        return self._runner.run(all_of_them())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def head(self, path: str, **options: Any) -> httpx.Response:
        return self.request("HEAD", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)


async def _later(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body of an answer of a server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


HAS_CROWDS = sys.platform == "linux"  # others have one address of the machine itself


class Crowd:
    """Connections of another address that are held open, and opened again when they are ended."""

    def __init__(self, port: int, number: int, says: bytes) -> None:
        self._port, self._says = port, says
        self._open = selectors.DefaultSelector()
        for _ in range(number):
            self._another()

    def _another(self) -> None:
        with contextlib.ExitStack() as undone:
            one = undone.enter_context(socket.socket())
            one.bind(("127.0.0.2", 0))
            one.settimeout(10)
            with contextlib.suppress(ConnectionError):
                one.connect(("127.0.0.1", self._port))
                one.sendall(self._says)
            self._open.register(one, selectors.EVENT_READ)
            undone.pop_all()

    def again(self) -> int:
        """Open what was ended again; how many."""
        ended = [key.fileobj for key, _ in self._open.select(0)]
        for one in ended:
            assert isinstance(one, socket.socket)
            self._open.unregister(one)
            one.close()
            self._another()
        return len(ended)

    def close(self) -> None:
        for key in list(self._open.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._open.close()
