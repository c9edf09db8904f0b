"""The real collector in a process of its own, and a relay that records and disturbs requests.

The relay stands between browser and collector. It sees what the page and its service worker send,
byte for byte, and it can be down, lose replies, or lead to another collector.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from tests.spec.app._command import run
from warner.app.cli import main
from warner.collector.collector import Collector
from warner.collector.stores import store_at
from warner.studies.study import Study

Headers = list[tuple[str, str]]
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "date", "server"}


# The processes of collectors are forked from one that has imported the package once.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "warner.collector.web.server", "uvloop"])


def _main(arguments: tuple[str, ...], said: Connection) -> None:
    """The command line, in a process of its own."""
    for stream in (1, 2):
        os.dup2(said.fileno(), stream)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    main(arguments, prog_name="warner")


class Started:
    """A command of warner in a process of its own.

    Args:
        arguments: of the command line.
    """

    def __init__(self, *arguments: str) -> None:
        read, write = _FORKS.Pipe(duplex=False)
        # Not a daemon: those may not start processes, and the live page is estimated in one.
        self._process = _FORKS.Process(target=_main, args=(arguments, write))
        self._process.start()
        write.close()
        self._connection = read  # which would close the pipe with itself
        self._said = os.fdopen(read.fileno(), closefd=False, encoding="utf-8")

    def line(self) -> str:
        """The next line that it says; empty where it has ended."""
        return self._said.readline()

    def stop(self) -> str:
        """End it as an owner does; returns what else it said."""
        if not self._said.closed:
            if self._process.is_alive():
                os.kill(self._process.pid or 0, signal.SIGTERM)
            self._left = self._said.read()
            self._process.join(30)
            self._said.close()
            self._connection.close()
        assert self._process.exitcode == 0, self._left
        return self._left


class Served:
    """``warner collect serve`` of one study.

    Args:
        folder: where the study and the store lie.
        text: the study, as TOML.
        codes: how many invitation codes to make.

    Attributes:
        url: the address of the survey.
        live: the address of the live page, with the owner's token.
    """

    def __init__(self, folder: Path, text: str, codes: int = 0) -> None:
        self.path = folder / "study.toml"
        self.path.write_text(text, encoding="utf-8")
        self.study = Study.load(self.path)
        self.store = str(folder / "counts.sqlite")
        self.codes: list[str] = []
        if codes:
            listed = folder / "codes.csv"
            made = ["-n", str(codes), "-o", str(listed), "--store", self.store]
            run("collect", "invite", str(self.path), *made)
            found_codes = r"\b(?:[2-9A-Z]{4}-){3}[2-9A-Z]{4}\b"
            self.codes = re.findall(found_codes, listed.read_text(encoding="utf-8"))
            assert len(self.codes) == codes, "no codes were made"
        self._process = self.again(0)
        lines = self._process.line() + self._process.line()
        found = re.match(r"Survey:\s+(\S+)\nLive result:\s+(\S+)", lines)
        assert found, f"warner collect serve did not start: {lines}{self._process.stop()}"
        self.url, self.live = found[1], found[2]

    def again(self, port: int) -> Started:
        """The same command in another process, on a port."""
        where = ["--port", str(port), "--store", self.store]
        return Started("collect", "serve", str(self.path), *where)

    def stop(self) -> str:
        """End it as an owner does; returns what it said."""
        return self._process.stop()

    def people(self) -> int:
        """End it, and return how many people were counted."""
        self.stop()
        collector = Collector(self.study, store_at(self.store))
        try:
            return int(collector.n)
        finally:
            collector.stop()


@dataclass(frozen=True)
class Sent:
    """A request as it arrived.

    Attributes:
        method, path: its first line.
        headers: names and values in their order.
        body: its bytes.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass
class Relay:
    """A relay to a collector on an address of its own.

    Attributes:
        target: the address of the collector.
        requests: all that arrived, also while the collector was out of reach.
        down: whether connections are cut before anything is passed on.
        stalls: the path whose replies stop in their middle, until another one is set.
        lost_replies: how many of the next replies to reports, or to requests for tokens, are lost
            after they were made.
        replies: the status of each reply to a report that reached the browser.
        forged: what the headers and the body of a reply to GET become, by its path.
        certificate: a file of a certificate and its key, with which HTTPS is served; "" for HTTP.
    """

    target: str
    requests: list[Sent] = field(default_factory=list)
    down: bool = False
    stalls: str = ""
    lost_replies: int = 0
    replies: list[int] = field(default_factory=list)
    forged: Callable[[str, Headers, bytes], tuple[Headers, bytes]] | None = None
    certificate: str = ""

    def __post_init__(self) -> None:
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                pass

            def do_GET(self) -> None:
                relay.pass_on(self)

            do_POST = do_HEAD = do_OPTIONS = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        scheme = "https" if self.certificate else "http"
        if self.certificate:
            secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            secure.load_cert_chain(self.certificate)
            self._server.socket = secure.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def posts(self) -> list[Sent]:
        """The reports that arrived."""
        return [s for s in self.requests if (s.method, s.path) == ("POST", "/reports")]

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        """Pass one request on, and its reply back."""
        handler.close_connection = True
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        if self.down:
            _cut(handler.connection)
            return
        sent = Sent(handler.command, handler.path, tuple(handler.headers.items()), body)
        self.requests.append(sent)
        place = urlsplit(self.target)
        onward = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
        try:
            headers = {k: v for k, v in sent.headers if k.lower() not in HOP_BY_HOP}
            if self.forged is not None:
                headers = {k: v for k, v in headers.items() if k.lower() != "accept-encoding"}
            onward.request(sent.method, sent.path, body or None, headers)
            reply = onward.getresponse()
            content = reply.read()
        except OSError:
            _cut(handler.connection)
            return
        finally:
            onward.close()
        is_sent = sent.method == "POST" and sent.path in ("/reports", "/token")
        if is_sent and self.lost_replies > 0:
            self.lost_replies -= 1
            _cut(handler.connection)
            return
        stated = reply.getheaders()
        if self.forged is not None and sent.method == "GET":
            stated, content = self.forged(sent.path, stated, content)
            stated = [(k, v) for k, v in stated if k.lower() != "content-length"]
            stated.append(("content-length", str(len(content))))
        handler.send_response_only(reply.status)
        for name, value in stated:
            if name.lower() not in HOP_BY_HOP:
                handler.send_header(name, value)
        handler.end_headers()
        if self.stalls == sent.path:
            handler.wfile.write(content[: len(content) // 2])
            while self.stalls == sent.path:
                time.sleep(0.05)
            _cut(handler.connection)
            return
        handler.wfile.write(content)
        if sent.path == "/reports":
            self.replies.append(reply.status)


def _cut(connection: socket.socket) -> None:
    """Cut a connection."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
