"""HTTP as uvicorn speaks it, with limits on heads of requests and errors that are JSON."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from warner.collector.web.http_refusals import HttpRefused
from warner.collector.web.limits import Connections
from warner.collector.web.responses import raw_json

HEAD_BYTES = 65536
HEAD_SECONDS = 15


class LimitedProtocol(HttpToolsProtocol):
    """One connection. The head of a request must be short and arrive soon.

    Without that, an endless header would fill the memory, and connections that never say anything
    would use up all that the system has.

    Args:
        connections: all that are open.
        made: what uvicorn gives to a protocol.
    """

    def __init__(self, connections: Connections, **made: Any) -> None:
        super().__init__(**made)
        self._connections = connections

    _wire: asyncio.Transport | None = None
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
        super().on_headers_complete()
        while self._unanswered and self._unanswered[0].response_complete:
            self._unanswered.popleft()
        self._unanswered.append(self.cycle)

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
            headers: list[Any]
            headers, body = raw_json(refused.content, refused.headers)
            headers += [*self.server_state.default_headers, (b"connection", b"close")]
            head = b"".join(b"%s: %s\r\n" % header for header in headers)
            status = STATUS_LINE[refused.reason.status]
            self.transport.write(status + head + b"\r\n" + body)
        self.transport.close()

    def _give_up_on_body(self) -> None:
        """Take the only request that is not answered from the application if its body is broken."""
        waiting = [cycle for cycle in self._unanswered if not cycle.response_complete]
        if [cycle.more_body and not cycle.response_started for cycle in waiting] == [True]:
            waiting[0].response_complete = waiting[0].disconnected = True
            waiting[0].message_event.set()


class _Secured(SSLProtocol):
    """TLS below a connection, which is counted before the handshake and not after it."""

    def __init__(self, inner: LimitedProtocol, context: ssl.SSLContext) -> None:
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


def protocols(
    connections: Connections, context: ssl.SSLContext | None
) -> Callable[..., asyncio.BaseProtocol]:
    """What makes the protocol of each connection, from what uvicorn gives."""
    if context is None:
        return partial(LimitedProtocol, connections)
    return lambda **made: _Secured(LimitedProtocol(connections, **made), context)
