"""Runs the application with uvicorn, without a log of requests, until a signal ends it.

SIGTERM, SIGINT and SIGHUP end it gracefully: no new connections, streams end, requests that are
being answered are answered. A second SIGINT does not wait for them.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn

from warner._core.errors import ArgumentError
from warner.collector.web.application import Application
from warner.collector.web.limits import Connections
from warner.collector.web.protocol import protocols

try:
    import resource
except ImportError:  # Windows, where sockets are no files
    resource = None  # type: ignore[assignment]

GRACE_SECONDS = 10
MOST_CONNECTIONS = 4096
_OTHER_FILES = 256  # of the store, of estimates, and connections that are being closed
_BACKLOG = 2048  # connections that are not accepted yet
_A_YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class Place:
    """Where the server listens.

    Attributes:
        host: a name or an address of this machine.
        port: the port; 0 for one that is free.
        root_path: what a proxy takes away from the beginning of paths, such as ``/survey``.
        proxy: the addresses of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are
            believed, with commas between; None to believe nobody.
        certificate: the file of a certificate for HTTPS, None for HTTP.
        key: the file of its key.
        is_secure: whether people reach the survey by HTTPS, here or at a proxy. Browsers are then
            told to use nothing else for this host.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    root_path: str = ""
    proxy: str | None = None
    certificate: str | None = None
    key: str | None = None
    is_secure: bool = False

    def url(self, port: int) -> str:
        """The address by which this machine reaches the server, without a slash at its end.

        >>> Place("0.0.0.0", root_path="/s").url(8000), Place("::1").url(80)
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
        where = f"{self.host}:{self.port}"
        remedy = "Choose another --port, or --port 0 for one that is free; or another --host"
        raise ArgumentError(where, f"cannot be listened on ({reason})", None, remedy)


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
    application: Application, place: Place, ready: Callable[[int], None], stop: Callable[[], None]
) -> None:
    """Serve the application until a signal ends it."""
    quiet_logs()
    with place.listen() as listening:
        server_of(application, place, ready, stop).run(sockets=[listening])


def _room() -> tuple[int, int]:
    """The most connections, and the most that wait to be accepted, for which there are files.

    The system's soft limit of open files is raised as far as it may be.
    """
    wanted = MOST_CONNECTIONS + _BACKLOG + _OTHER_FILES
    if resource is None:
        return MOST_CONNECTIONS, _BACKLOG
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    # All that wait are accepted at one moment, and the first of them are not closed by then.
    backlog = min(_BACKLOG, files // 3)
    return max(files - backlog - _OTHER_FILES, files // 4), backlog


def server_of(
    application: Application, place: Place, ready: Callable[[int], None], stop: Callable[[], None]
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
        headers=[("strict-transport-security", f"max-age={_A_YEAR}")] if place.is_secure else None,
        proxy_headers=place.proxy is not None,
        forwarded_allow_ips=place.proxy,
        root_path=place.root_path,
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=backlog,
    )
    config.load()
    proxies = getattr(config.loaded_app, "trusted_hosts", ())
    made: Any = protocols(Connections(most, proxies), config.ssl)
    config.http_protocol_class, config.ssl = made, None
    return _Server(config, ready, stop)


class _Brief(logging.Formatter):
    """The first line of a message, without the traceback and without values.

    Texts of errors and of connections could hold an address or a part of a request.
    """

    def format(self, record: logging.LogRecord) -> str:
        # Our own messages have no values but those that may be shown.
        own = record.name.startswith("warner")
        text = (record.getMessage() if own else str(record.msg)).partition("\n")[0]
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
