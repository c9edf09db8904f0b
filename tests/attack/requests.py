"""Damaged requests to a real server: no failure, no echo, a name for each refusal, alive afterwards.

A case is 50 connections. Each sends a request that is valid or was damaged, byte by byte or by its
grammar, and after it a plain one, whose answer ends the connection. What the server logs, counts
and answers is checked. Then one address tries wrong tokens, and another holds more connections than
there are: the owner and others must be served.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import re
import socket
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

from tests.attack._frame import require
from tests.spec.collector._web import HAS_CROWDS, KIND, Crowd, Site, ask, served, site
from warner.collector.web import server
from warner.collector.web.application import Settings
from warner.collector.web.limits import Limits
from warner.collector.web.server import HEAD_BYTES

CONNECTIONS = 50
_MOST = 64  # connections that the server takes
CANARY = "cAnArY8821"
_LAST = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
_SECONDS = 0.15  # for which an answer is awaited, where a request has no end

_METHODS = ("GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "CONNECT", "PRI", "get", "", "G\x00T")
_PATHS = (
    "/",
    "/?lang=de",
    "/reports",
    "/reports/",
    "/reports?x=1",
    "/spent",
    "//reports",
    "/study.json",
    "/warner.js",
    "/healthz",
    "/live",
    f"/live?token={CANARY}",
    "/live/close",
    "/live/open",
    "/live/card.json",
    "/live/tally.json?by=" + CANARY,
    "/live/events",
    "*",
    "http://other.test/reports",
    f"/{CANARY}",
    "/%00%ff/..%2f..%2fetc/passwd",
    "/" + "a" * 9000,
    "/é",
    "reports",
    f"/reports#{CANARY}",
)
_HEADERS = (
    "Content-Type: application/octet-stream",
    "content-type: text/html",
    "Content-Length: 0",
    "Content-Length: 5",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Content-Length: 100000000",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Content-Encoding: gzip",
    "Host: b",
    f"Host: {CANARY}",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "Connection: upgrade",
    "Connection: close",
    "Connection: keep-alive",
    f"Authorization: Bearer {CANARY}",
    "Authorization: Bearer",
    f"Cookie: warner_owner={CANARY}",
    'Cookie: warner_owner="; =; ;;',
    "Cookie: a=b\x7f",
    f"Origin: {CANARY}",
    "Sec-Fetch-Site: cross-site",
    "X-HTTP-Method-Override: POST",
    f"X-Forwarded-For: {CANARY}",
    'If-None-Match: "a", *, W/"',
    "Range: bytes=0-1,2-3",
    f"X-{CANARY}: {CANARY}",
    f"Bad Header: {CANARY}",
    ": nothing",
    " folded",
    "X: " + "x" * 70_000,
    "Trailer: X",
)


@dataclass
class _Log(logging.Handler):
    """Keeps what the server logs."""

    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.WARNING)

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        shown = logging.Formatter().format(record)
        if record.levelno >= logging.ERROR or CANARY in shown:
            self.lines.append(shown)


@dataclass
class Target:
    """A server that is attacked."""

    site: Site
    port: int
    log: _Log
    accepted: int = 0


@cache
def target() -> Target:
    """The server of this process."""
    opened = contextlib.ExitStack()
    folder = opened.enter_context(tempfile.TemporaryDirectory())
    settings = Settings(Limits(rate=0, rate_of_all=0, body_seconds=1.0))
    made = opened.enter_context(site(Path(folder) / "a.sqlite", 'keep_ids = "always"\n', settings))
    with mock.patch.object(server, "_room", lambda: (_MOST, 2 * _MOST)):
        port = opened.enter_context(served(made.application))
    opened.callback(made.live.stop)
    log = _Log()
    for name in ("uvicorn.error", "asyncio", "warner.collector"):
        logging.getLogger(name).addHandler(log)
    atexit.register(opened.close)
    return Target(made, port, log)


def case(rng: np.random.Generator) -> str | None:
    """Send requests, and look at the answers and the server."""
    found = target()
    for _ in range(CONNECTIONS):
        request = _request(rng, found.site)
        answer = _answered(found.port, request + _LAST)
        _check(found, request, answer)
    _try_tokens(rng, found)
    if HAS_CROWDS:
        _crowd(rng, found)
    if found.site.collector.status() == "closed":
        found.site.collector.open_survey()  # a request with the token had closed it
    status, _, body = ask(found.port, "GET", "/healthz")
    require((status, body) == (200, b'{"status":"open"}'), f"not alive: {status} {body[:99]!r}")
    require(not found.log.lines, f"logged: {found.log.lines[:1]}")
    require(found.site.collector.n <= found.accepted, "counted more than was accepted")
    return None


def spent(rng: np.random.Generator) -> str | None:
    """Ask of which ids a report is counted: of those alone, and of near ones not."""
    found = target()
    form, people = found.site.collector.format, 3
    counted = rng.integers(0, 256, (people, 16), dtype=np.uint8)
    body = found.site.body(people, counted)
    refused = rng.integers(0, 256, (people, 16), dtype=np.uint8)
    bad = found.site.body(people, refused)[:-1]
    for sent, status in ((body, 202), (bad, 400)):
        require(ask(found.port, "POST", "/reports", sent, KIND)[0] == status, "not as it was sent")
    found.accepted += people
    near = counted.copy()
    near[:, int(rng.integers(16))] ^= np.uint8(1 << int(rng.integers(8)))
    forms = set()
    for ids, known in ((counted, 1), (near, 0), (refused, 0)):
        for row in ids:
            question = form.head + row.tobytes()
            status, headers, answer = ask(found.port, "POST", "/spent", question, KIND)
            require(answer == b'{"spent":%d}' % known, f"{answer!r} of an id: {known} counted")
            headers.pop("date", None)
            forms.add((status, len(answer), tuple(headers.items())))
    require(len(forms) == 1, f"answers have different forms: {forms}")
    return None


def _try_tokens(rng: np.random.Generator, found: Target) -> None:
    """Try wrong tokens in a row, and the right one."""
    names = set()
    for _ in range(12):
        bearer = {"authorization": f"Bearer {CANARY}{rng.integers(2**60)}"}
        path, method = [("/live", "GET"), ("/live/open", "POST")][int(rng.integers(2))]
        names.add(json.loads(ask(found.port, method, path, None, bearer)[2])["error"])
    require("wrong_tokens" in names, "wrong tokens have no limit")
    require(ask(found.port, "GET", "/live", None, found.site.bearer)[0] == 200, "no owner")
    end = time.monotonic() + 30  # a quiet collector saves its counters after a while
    while found.site.collector.state().rejects.get("no_owner", 0) < 12:
        require(time.monotonic() < end, "tokens left no trace")
        time.sleep(0.1)


def _crowd(rng: np.random.Generator, found: Target) -> None:
    """Hold more connections of one address than there are, while another one asks."""
    whole = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    says = whole[: int(rng.integers(0, len(whole) + 1))]
    with contextlib.closing(Crowd(found.port, 2 * _MOST, says)) as crowd:
        for _ in range(3):
            crowd.again()
            try:
                status = ask(found.port, "GET", "/healthz")[0]
            except OSError:
                status = 0
            require(status == 200, f"{2 * _MOST} connections that say {says!r} shut others out")


def _check(found: Target, request: bytes, answer: bytes) -> None:
    """Require that all answers of a connection are right."""
    shown = request[:300]
    require(CANARY.lower().encode() not in answer.lower(), f"an echo of {shown!r}")
    statuses = [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]
    is_long = len(re.split(rb"\r?\n\r?\n", request)[0]) > HEAD_BYTES + 1000
    require(not is_long or [s for s in statuses[:1] if s < 400] == [], f"a long head: {shown!r}")
    require(all(s < 500 for s in statuses), f"{statuses} to {shown!r}")
    refusals = sum(s >= 400 for s in statuses)
    names = re.findall(rb'\{"error":"([a-z_]+)","message":"', answer)
    require(b"HEAD" in request or refusals == len(names), f"no name in the answer to {shown!r}")
    accepted = re.findall(rb'\r\n\r\n(\{"accepted":\d+\})', answer)
    found.accepted += sum(int(json.loads(text)["accepted"]) for text in accepted)
    # An answer that was not awaited can have been one that accepts, with all that fits in it.
    if not answer.endswith(b'{"status":"open"}') and not refusals:
        found.accepted += len(request) // found.site.collector.format.length


def _answered(port: int, request: bytes) -> bytes:
    """What the server sends until it closes the connection, or says nothing more."""
    parts = []
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.settimeout(_SECONDS)
        try:
            connection.sendall(request)
            while part := connection.recv(65536):
                parts.append(part)
        except OSError:
            pass  # a request without an end, or one whose connection the server closed
    return b"".join(parts)


def _request(rng: np.random.Generator, made: Site) -> bytes:
    """A request, mostly damaged."""
    if rng.random() < 0.02:
        return bytes(rng.integers(0, 256, int(rng.integers(1, 400)), dtype=np.uint8))
    path = str(rng.choice(_PATHS)) if rng.random() < 0.6 else "/reports"
    posted = ("/reports", "/spent", "/live/close", "/live/open")
    usual = "POST" if path.startswith(posted) else "GET"
    method = str(rng.choice(_METHODS)) if rng.random() < 0.2 else usual
    body = _body(rng, made) if method == "POST" else b""
    lines = [f"{method} {path} HTTP/{rng.choice(['1.1'] * 12 + ['1.0', '0.9', '2.0', '9'])}"]
    lines += ["Host: a"] * (rng.random() < 0.95)
    if method == "POST":
        lines += ["Content-Type: application/octet-stream"] * (rng.random() < 0.9)
        if rng.random() < 0.2:
            lines.append("Transfer-Encoding: chunked")
            body = _chunked(rng, body)
        else:
            wrong = int(rng.integers(-3, 4)) if rng.random() < 0.1 else 0
            lines.append(f"Content-Length: {max(0, len(body) + wrong)}")
    lines += [str(rng.choice(_HEADERS)) for _ in range(int(rng.geometric(0.5)) - 1)]
    if rng.random() < 0.1:
        lines.append(f"Authorization: Bearer {made.token}")
    end = "\r\n" if rng.random() < 0.95 else "\n"
    raw = (end.join(lines) + end + end).encode("latin-1", "replace") + body
    return _damaged(rng, raw)


def _body(rng: np.random.Generator, made: Site) -> bytes:
    """A body of reports, whole or not."""
    body = bytearray(made.body(int(rng.integers(1, 4))))
    kind = rng.integers(0, 6)
    if kind == 0:
        return bytes(body[: int(rng.integers(0, len(body)))])
    if kind == 1:
        return bytes(body) + CANARY.encode() * int(rng.integers(1, 200))
    if kind == 2:
        for place in rng.integers(0, len(body), 5):
            body[place] = rng.integers(0, 256)
    if kind == 3:
        return f"anti_forgery={CANARY}&x={'%' * int(rng.integers(0, 9))}".encode()
    return bytes(body)


def _chunked(rng: np.random.Generator, body: bytes) -> bytes:
    """A body in chunks, whose lengths are at times wrong."""
    parts, start = [], 0
    while start < len(body):
        size = int(rng.integers(1, 60))
        chunk = body[start : start + size]
        stated = len(chunk) if rng.random() < 0.98 else int(rng.integers(0, 2**40))
        parts.append(b"%x\r\n%s\r\n" % (stated, chunk))
        start += size
    return b"".join(parts) + (b"0\r\n\r\n" if rng.random() < 0.95 else b"")


def _damaged(rng: np.random.Generator, raw: bytes) -> bytes:
    """A request with some bytes changed, left out or doubled; mostly as it was."""
    data = bytearray(raw)
    if rng.random() < 0.15 and data:
        for place in rng.integers(0, min(len(data), 400), int(rng.integers(1, 4))):
            data[place] = rng.integers(0, 256)
    if rng.random() < 0.03 and data:
        del data[int(rng.integers(0, len(data))) :]
    if rng.random() < 0.05:
        data += raw
    return bytes(data)
