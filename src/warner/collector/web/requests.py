"""Headers of requests, read once, and bodies, read with limits while they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import Receive, Scope

from warner.collector.web.http_refusals import HttpRefused
from warner.collector.web.limits import Held, Limits

# Headers that mean something here. Two of them could be read differently by a proxy before us.
_ONCE = frozenset(
    [
        b"host",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"transfer-encoding",
        b"authorization",
        b"origin",
        b"sec-fetch-site",
    ]
)
_BEARER = "bearer "
DRAINED_SECONDS = 2.0
_DRAINED_BYTES = 16 << 20


def sender(scope: Scope) -> str:
    """The address from which a request came; "" where it is not known."""
    client = scope.get("client")
    return client[0] if client else ""


@dataclass(frozen=True)
class Headers:
    """The headers of a request that stand at most once.

    Attributes:
        stated: {name in lower case: value}.
    """

    stated: Mapping[bytes, bytes]

    @classmethod
    def of(cls, scope: Scope) -> Headers:
        """The headers of a request."""
        stated: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _ONCE and name in stated:
                raise HttpRefused("duplicate_header")
            stated[name] = value
        return cls(stated)

    def text(self, name: bytes) -> str:
        """The value of a header, "" without it."""
        return self.stated.get(name, b"").decode("latin-1").strip()

    @property
    def bearer(self) -> str | None:
        """The token of ``Authorization: Bearer TOKEN``; None without this header."""
        if b"authorization" not in self.stated:
            return None
        value = self.text(b"authorization")
        return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else ""

    @property
    def media_type(self) -> str:
        """The type of the body, without its parameters, in lower case."""
        return self.text(b"content-type").partition(";")[0].strip().lower()

    @property
    def is_encoded(self) -> bool:
        """Whether the body is compressed."""
        return self.text(b"content-encoding").lower() not in ("", "identity")

    @property
    def length(self) -> int | None:
        """The stated length of the body; None where it is not stated."""
        if b"content-length" not in self.stated:
            return None
        value = self.stated[b"content-length"]
        if not value.isdigit() or len(value) > 18:
            raise HttpRefused("bad_request")
        return int(value)

    @property
    def has_body(self) -> bool:
        """Whether a body comes after the headers, as far as they say."""
        stated = self.stated
        return b"transfer-encoding" in stated or stated.get(b"content-length", b"0") != b"0"


class Body:
    """The body of a request, which arrives in pieces.

    Args:
        receive: gives the pieces.
        headers: the headers of the request.
    """

    __slots__ = ("_headers", "_is_whole", "_receive")

    def __init__(self, receive: Receive, headers: Headers) -> None:
        self._receive, self._headers = receive, headers
        self._is_whole = not headers.has_body

    async def read(self, limits: Limits, held: Held) -> bytes:
        """The body, refused as soon as it is too large or too slow."""
        if (self._headers.length or 0) > limits.body:
            raise HttpRefused("too_large")
        # A timer of the loop costs a fifth of asyncio.timeout, at each report.
        task, late = asyncio.current_task(), False

        def end() -> None:
            nonlocal late
            late = True
            if task is not None:
                task.cancel()

        timer = asyncio.get_running_loop().call_later(limits.body_seconds, end)
        try:
            return await self._pieces(limits.body, held)
        except asyncio.CancelledError:
            if not late or task is None or task.uncancel() > 0:
                raise
            raise HttpRefused("slow") from None
        finally:
            timer.cancel()

    async def _pieces(self, most: int, held: Held) -> bytes:
        pieces: list[bytes] = []
        size = 0
        try:
            while True:
                event = await self._receive()
                if event["type"] != "http.request":
                    raise ConnectionError
                piece: bytes = event.get("body", b"")
                self._is_whole = not event.get("more_body", False)
                if size + len(piece) > most:
                    raise HttpRefused("too_large")
                if self._is_whole:
                    return b"".join([*pieces, piece]) if pieces else piece
                held.add(len(piece))
                size += len(piece)
                pieces.append(piece)
        finally:
            held.drop(size)

    @property
    def is_whole(self) -> bool:
        """Whether all of it arrived."""
        return self._is_whole

    async def drain(self) -> None:
        """Throw away what is left of the body, for a short time.

        A sender that is still writing when the connection closes would not read the answer.
        """
        left = _DRAINED_BYTES
        try:
            async with asyncio.timeout(DRAINED_SECONDS):
                while left > 0 and not self._is_whole:
                    event = await self._receive()
                    self._is_whole = not event.get("more_body", False)
                    left -= len(event.get("body", b""))
        except TimeoutError:
            return
