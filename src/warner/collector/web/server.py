"""Runs the application with uvicorn, without a log of requests, until a signal ends it.

HTTP is as uvicorn speaks it, with limits on heads of requests and errors that are JSON. A plain
request with reports that arrives in one piece is answered where it is parsed, which takes a third
of the time of an answer by ASGI; all others, and all pages, are the application's.

SIGTERM, SIGINT and SIGHUP end it gracefully: no new connections, streams end, requests that are
being answered are answered. A second SIGINT does not wait for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import ssl
import sys
import threading
from asyncio.sslproto import SSLProtocol
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from warner._core.errors import ArgumentError
from warner.collector.web.application import Application, Site
from warner.collector.web.intake import is_plain
from warner.collector.web.limits import Connections
from warner.collector.web.responses import HttpRefused, RawHeaders, accepted

try:
    import resource
except ImportError:  # Windows, where sockets are no files
    resource = None  # type: ignore[assignment]

HEAD_BYTES = 65536
HEAD_SECONDS = 15
GRACE_SECONDS = 10
MOST_CONNECTIONS = 4096
_OTHER_FILES = 256  # of the store, of estimates, and connections that are being closed
_BACKLOG = 2048  # connections that are not accepted yet
_A_YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class ListenAddress:
    """Where the server listens."""

    host: str = "127.0.0.1"  # a name or an address of this machine
    port: int = 8000  # 0 for one that is free
    root_path: str = ""  # what a proxy takes away from the beginning of paths, such as "/survey"
    # Proxies, with commas between, whose X-Forwarded-For and X-Forwarded-Proto are believed.
    proxy: str | None = None
    certificate: str | None = None  # the file of a certificate for HTTPS
    key: str | None = None
    # Whether people reach the survey by HTTPS, here or at a proxy. Browsers are then told to use
    # nothing else for this host.
    is_secure: bool = False

    def url(self, port: int) -> str:
        """The address by which this machine reaches the server, without a slash at its end.

        >>> ListenAddress("0.0.0.0", root_path="/s").url(8000), ListenAddress("::1").url(80)
        ('http://127.0.0.1:8000/s', 'http://[::1]:80')
        """
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)
        shown = f"[{host}]" if ":" in host else host
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{shown}:{port}{self.root_path}"

    def listen(self) -> socket.socket:
        """A socket that listens."""
        try:
            family, _, _, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        except (OSError, OverflowError, UnicodeError) as error:
            stated = getattr(error, "strerror", None) or type(error).__name__
            reason = stated.partition(" (while")[0]
            is_of_port = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
        where = f"{self.host}:{self.port}"
        remedy = "Choose another --port, or --port 0 for any free port"
        remedy = remedy if is_of_port else "Choose another --host"
        raise ArgumentError(where, f"the server cannot use this address ({reason})", None, remedy)


class _Answering:
    """A request with reports that waits for its answer, with the fields that uvicorn reads."""

    __slots__ = ("count", "disconnected", "keep_alive", "message_event", "response_complete")

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive, self.count = keep_alive, 0
        self.response_complete = self.disconnected = False
        self.message_event = _NOBODY_WAITS


@lru_cache(maxsize=64)
def joined(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%s: %s\r\n" % header for header in headers])


class _NoEvent:
    """An event for which nobody waits."""

    def set(self) -> None:
        pass


_NOBODY_WAITS = _NoEvent()


class _Senders:
    """The addresses from which plain requests come."""

    def __init__(self, proxies: str | None) -> None:
        # As uvicorn reads the headers of proxies for the application.
        self._read = None if proxies is None else ProxyHeadersMiddleware(_no_application, proxies)

    def of(self, client: tuple[str, int] | None, headers: RawHeaders) -> str:
        """The address from which a request came, also where proxies passed it on."""
        if self._read is not None:
            scope: Any = {"type": "http", "client": client, "headers": headers}
            nobody: Any = None
            with contextlib.suppress(StopIteration):  # nothing in it waits
                self._read(scope, nobody, nobody).send(None)
            client = scope["client"]
        return client[0] if client else ""


async def _no_application(scope: Any, receive: Any, send: Any) -> None:
    """Answers nothing."""


class Connection(HttpToolsProtocol):
    """One connection, whose requests must have a short head that arrives soon."""

    # Otherwise an endless header would fill the memory, and silent connections would use up all
    # that the system has.

    def __init__(
        self, application: Site, connections: Connections, senders: _Senders, **made: Any
    ) -> None:
        super().__init__(**made)
        self._connections, self._senders = connections, senders
        # An issuer takes no reports.
        self._plain = application if isinstance(application, Application) else None

    _wire: asyncio.Transport | None = None
    _pieces: list[bytes] | None = None  # of the body of a request that may be plain
    _checked: RawHeaders | None = None  # of the last plain request
    _refusal = "bad_request"
    _head_size = 0
    _is_in_head = True
    _timer: asyncio.TimerHandle | None = None
    _unanswered: deque[RequestResponseCycle]

    def open(self, wire: asyncio.Transport) -> None:
        """Count the connection, as soon as it is accepted."""
        self._wire = wire
        address = wire.get_extra_info("peername")
        self._connections.add(self, address[0] if isinstance(address, tuple) else None)

    def closed(self) -> None:
        """Count the connection no longer."""
        self._connections.remove(self)

    def abort(self) -> None:
        """End the connection at once, without an answer."""
        if self._wire is not None:
            self._wire.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        if self._wire is None:
            self.open(transport)
        self._unanswered = deque()
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer, and tell all requests: uvicorn tells the last one alone."""
        self._wait_no_longer()
        self.closed()
        super().connection_lost(exc)
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Parse bytes; refuse a head that grows too long."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport.is_closing():
            return  # it was refused
        if self._pieces is not None:
            # The rest of the body comes later, perhaps slowly: the application waits for it.
            self._give_to_application()
        if not self._is_in_head:
            self._wait_no_longer()
            return
        self._head_size += len(data)
        if self._head_size > HEAD_BYTES:
            self._end(HttpRefused("long_headers"))
        elif self._head_size and self._timer is None:
            self._wait()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._is_in_head, self._head_size = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head ends."""
        size = len(self.url)
        for name, value in self.headers:
            size += len(name) + len(value)
            if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                raise ValueError("transfer-encoding")
        if size > HEAD_BYTES:
            # It came in few large pieces, of which the last one ended it.
            self._refusal = "long_headers"
            raise ValueError("head")
        self._is_in_head = False
        self._connections.is_asked(self)
        if self._may_be_plain():
            self._pieces = []
        else:
            self._give_to_application()

    def _may_be_plain(self) -> bool:
        """Whether the request whose head is there brings reports, and no other one waits."""
        return (
            self._plain is not None
            and self.url == b"/reports"
            and self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.parser.should_upgrade()
            # A device sends the same headers again and again.
            and (self.headers == self._checked or is_plain(self.headers))
        )

    def _give_to_application(self) -> None:
        """Let the application answer the request whose head is there."""
        pieces, self._pieces = self._pieces or (), None
        super().on_headers_complete()
        while self._unanswered and self._unanswered[0].response_complete:
            self._unanswered.popleft()
        self._unanswered.append(self.cycle)
        for piece in pieces:
            super().on_body(piece)

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        if self._pieces is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        if self._pieces is None:
            super().on_message_complete()
            return
        body, self._pieces = b"".join(self._pieces), None
        assert self._plain is not None
        self.cycle = waiting = _Answering(self.parser.should_keep_alive())  # type: ignore[assignment]
        try:
            if self.headers != self._checked:
                self._plain.check_plain(self.headers)
                self._checked = self.headers
            sender = self._senders.of(self.client, self.headers)
            waiting.count = self._plain.take(sender, body, partial(self._stored, waiting))
        except Exception as error:
            self._stored(waiting, error)

    def _stored(self, waiting: _Answering, error: BaseException | None) -> None:
        """Answer a request whose reports are stored, or that is refused."""
        waiting.response_complete = True
        if waiting.disconnected or self.transport.is_closing():
            return
        assert self._plain is not None
        refused = None if error is None else self._plain.refusal(error)
        status, (headers, body) = (
            (202, accepted(waiting.count))
            if refused is None
            else (refused.reason.status, refused.raw)
        )
        self._send(status, [*headers, *self._plain.headers_of_all], body, waiting.keep_alive)
        self.on_response_complete()

    def _send(self, status: int, headers: RawHeaders, body: bytes, keep_alive: bool) -> None:
        """Write an answer, and close the connection after one that is the last."""
        last = [] if keep_alive else [(b"connection", b"close")]
        head = joined((*headers, *self.server_state.default_headers, *last))
        self.transport.write(STATUS_LINE[status] + head + b"\r\n" + body)
        if not keep_alive:
            self.transport.close()

    def on_response_complete(self) -> None:
        """An answer was sent; the next one, or a wait for a request, begins."""
        if all(cycle.response_complete for cycle in self._unanswered):
            self._connections.waits(self)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no HTTP, or too long a head."""
        self._end(HttpRefused(self._refusal))

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._is_in_head and not self.transport.is_closing():
            self._end(HttpRefused("slow"))

    def _end(self, refused: HttpRefused) -> None:
        """Send a refusal where no answer is on its way, and close the connection."""
        self._wait_no_longer()
        self._give_up_on_body()
        if self.cycle is None or self.cycle.response_complete:
            self._send(refused.reason.status, *refused.raw, keep_alive=False)
        self.transport.close()

    def _give_up_on_body(self) -> None:
        """Take the only request that is not answered from the application if its body is broken."""
        waiting = [cycle for cycle in self._unanswered if not cycle.response_complete]
        if [cycle.more_body and not cycle.response_started for cycle in waiting] == [True]:
            waiting[0].response_complete = waiting[0].disconnected = True
            waiting[0].message_event.set()


class _Secured(SSLProtocol):
    """TLS below a connection, which is counted before the handshake and not after it."""

    def __init__(self, inner: Connection, context: ssl.SSLContext) -> None:
        nobody: Any = None  # waits for the end of the handshake
        super().__init__(
            inner.loop, inner, context, nobody, server_side=True, ssl_handshake_timeout=HEAD_SECONDS
        )
        self._inner = inner

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._inner.open(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._inner.closed()
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """A server that ends streams when a signal arrives, and whose process then ends with 0."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[int], None], stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ready, self._stop = ready, stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            self._ready(int(listening.getsockname()[1]))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        # Not here: the signal may have come while the thread held a lock that this needs.
        threading.Thread(target=self._stop).start()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals. That of uvicorn raises them again at the end, which would be no 0."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        handled = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(
    application: Site,
    address: ListenAddress,
    ready: Callable[[int], None],
    stop: Callable[[], None],
) -> None:
    """Serve the application until a signal ends it."""
    quiet_logs()
    with address.listen() as listening:
        server_of(application, address, ready, stop).run(sockets=[listening])


def _room() -> tuple[int, int]:
    """The most connections, and the most that wait to be accepted, for which there are files."""
    enough = MOST_CONNECTIONS + _BACKLOG + _OTHER_FILES
    if resource is None:
        return MOST_CONNECTIONS, _BACKLOG
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        # The soft limit of open files is raised as far as it may be.
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    # All that wait are accepted at one moment, and the first of them are not closed by then.
    backlog = min(_BACKLOG, files // 3)
    return max(files - backlog - _OTHER_FILES, files // 4), backlog


def server_of(
    application: Site,
    address: ListenAddress,
    ready: Callable[[int], None],
    stop: Callable[[], None],
) -> uvicorn.Server:
    """The server that :func:`run` runs, which is then given a socket that listens."""
    most, backlog = _room()
    config = uvicorn.Config(
        application,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[("strict-transport-security", f"max-age={_A_YEAR}")]
        if address.is_secure
        else None,
        proxy_headers=address.proxy is not None,
        forwarded_allow_ips=address.proxy,
        root_path=address.root_path,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=backlog,
    )
    config.load()
    proxies = getattr(config.loaded_app, "trusted_hosts", ())
    plain = partial(Connection, application, Connections(most, proxies), _Senders(address.proxy))
    context = config.ssl
    made: Any = plain if context is None else lambda **more: _Secured(plain(**more), context)
    config.http_protocol_class, config.ssl = made, None
    return _Server(config, ready, stop)


class _Brief(logging.Formatter):
    """The first line of a message, without the traceback and without values."""

    # Texts of errors and of connections could hold an address or a part of a request.

    def format(self, record: logging.LogRecord) -> str:
        # Our own messages have no values but those that may be shown.
        is_ours = record.name.startswith("warner")
        text = (record.getMessage() if is_ours else str(record.msg)).partition("\n")[0]
        kind = record.exc_info[0] if record.exc_info else None
        return f"{record.levelname}: {text}" + (f" ({kind.__name__})" if kind else "")


def quiet_logs() -> None:
    """Send errors of the server to standard error, one line each, without addresses."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Brief())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.asgi", "asyncio", "warner.collector"):
        log: Any = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.ERROR)
    logging.getLogger("uvicorn.access").disabled = True
