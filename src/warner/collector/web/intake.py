"""POST /reports, /reports/simulated and /spent: from the bytes of a request to its answer.

The answer to reports comes after they are stored. A device asks first whether its invitation was
used already, because two reports with one id tell more about a person than one. It asks with a
body, since addresses of requests are what proxies log.

Requests that wait at one moment are checked and counted as one batch, because checking a thousand
reports at once takes little longer than checking one. A bad request among them is refused alone.
The endpoints are written for the server's interface itself (ASGI), without a request object. Plain
requests, nearly all that devices send, need not even that: the server hands over their bodies.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.types import Receive, Scope, Send

from warner.collector.access import ID_BYTES
from warner.collector.collector import OPEN, Accepted, Collector
from warner.collector.refusals import Refused
from warner.collector.submissions import HEAD_BYTES, MOST, Batch, SubmissionFormat
from warner.collector.web.limits import Buckets, Held, Limits, Tokens
from warner.collector.web.metrics import Times
from warner.collector.web.responses import HttpRefused, RawHeaders, accepted, raw_json, send_raw

SIMULATED = "/reports/simulated"  # where the owner sends reports that a program made
CONTENT_TYPE = "application/octet-stream"
DRAINED_SECONDS = 2.0
_DRAINED_BYTES = 16 << 20
_PAUSE = 0.003  # seconds in which further requests may join the first one that waits
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
# A request with no other headers than these means what its body says, whoever reads it.
_PLAIN = frozenset(
    [
        b"accept",
        b"accept-encoding",
        b"accept-language",
        b"connection",
        b"content-length",
        b"content-type",
        b"forwarded",
        b"host",
        b"user-agent",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-proto",
        b"x-real-ip",
    ]
)


Answered = Callable[[BaseException | None], None]
"""What is called when reports are stored, with None, or when they are not, with the reason."""


def is_plain(headers: RawHeaders) -> bool:
    """Whether a request with these headers, in small letters, may be taken without ASGI."""
    names = {name for name, _ in headers}
    return len(names) == len(headers) and names <= _PLAIN


def sender(scope: Scope) -> str:
    """The address from which a request came; "" where it is not known."""
    client = scope.get("client")
    return client[0] if client else ""


@dataclass(frozen=True)
class Headers:
    """The headers of a request that stand at most once."""

    stated: Mapping[bytes, bytes]  # by names in lower case

    @classmethod
    def of(cls, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """The headers of a request."""
        stated: dict[bytes, bytes] = {}
        for name, value in headers:
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

    def require_bytes(self) -> None:
        """Refuse a body of another type than bytes, or one that is compressed."""
        encoded = self.text(b"content-encoding").lower() not in ("", "identity")
        if self.media_type != CONTENT_TYPE or encoded:
            raise HttpRefused("type")

    @property
    def length(self) -> int:
        """The stated length of the body; 0 where it is not stated."""
        value = self.stated.get(b"content-length", b"0")
        if not value.isdigit() or len(value) > 18:
            raise HttpRefused("bad_request")
        return int(value)

    @property
    def has_body(self) -> bool:
        """Whether a body comes after the headers, as far as they say."""
        stated = self.stated
        return b"transfer-encoding" in stated or stated.get(b"content-length", b"0") != b"0"


class Body:
    """The body of a request, which arrives in pieces."""

    __slots__ = ("_headers", "_receive", "is_whole")

    def __init__(self, receive: Receive, headers: Headers) -> None:
        self._receive, self._headers = receive, headers
        self.is_whole = not headers.has_body  # whether all of it arrived

    async def read(self, limits: Limits, held: Held) -> bytes:
        """The body, refused as soon as it is too large or too slow."""
        if self._headers.length > limits.body:
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
                self.is_whole = not event.get("more_body", False)
                if size + len(piece) > most:
                    raise HttpRefused("too_large")
                if self.is_whole:
                    return b"".join([*pieces, piece]) if pieces else piece
                held.add(len(piece))
                size += len(piece)
                pieces.append(piece)
        finally:
            held.drop(size)

    async def drain(self) -> None:
        """Throw away what is left of the body, for a short time."""
        # A sender that is still writing when the connection closes would not read the answer.
        left = _DRAINED_BYTES
        try:
            async with asyncio.timeout(DRAINED_SECONDS):
                while left > 0 and not self.is_whole:
                    event = await self._receive()
                    self.is_whole = not event.get("more_body", False)
                    left -= len(event.get("body", b""))
        except TimeoutError:
            return


@dataclass(slots=True)
class _Waiting:
    """The body of a request that waits for its answer."""

    body: bytes
    answer: Answered
    began: float  # when the body was whole


def _settle(stored: asyncio.Future[None], error: BaseException | None) -> None:
    """Tell who waits for a future how it ended, unless nobody waits any longer."""
    if stored.done():
        return
    if error is None:
        stored.set_result(None)
    else:
        stored.set_exception(error)


class Together:
    """Counts the submissions of all requests that wait at one moment as one batch."""

    # ``submit`` is the collector's method; its future has a result when the batch is stored.

    def __init__(
        self, form: SubmissionFormat, submit: Callable[[Batch], concurrent.futures.Future[Accepted]]
    ) -> None:
        self._form, self._submit = form, submit
        self._waiting: list[_Waiting] = []
        self.times = Times()  # until bodies are stored

    def add(self, body: bytes, answer: Answered) -> None:
        """Count the submissions of a body of this study."""
        self._waiting.append(_Waiting(body, answer, time.perf_counter()))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_later(_PAUSE, self._start)

    def _start(self) -> None:
        """Check those who wait, and hand them over."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            taken = self._that_fit(waiting)
            group, waiting = waiting[:taken], waiting[taken:]
            try:
                batch = self._form.parse(self._joined(group))
            except Refused:
                self._each(group)
            else:
                self._hand_over(group, batch)

    def _joined(self, group: Sequence[_Waiting]) -> bytes:
        """All bodies of a group as one; a single one, which may be large, is not copied."""
        if len(group) == 1:
            return group[0].body
        return b"".join([self._form.head, *(request.body[HEAD_BYTES:] for request in group)])

    def _that_fit(self, waiting: Sequence[_Waiting]) -> int:
        """How many of those who wait fit into one batch, at least one."""
        total = 0
        for i, request in enumerate(waiting):
            total += (len(request.body) - HEAD_BYTES) // self._form.length
            if i and total > MOST:
                return i
        return len(waiting)

    def _each(self, group: Sequence[_Waiting]) -> None:
        """Refuse the bad requests of a group, and hand the good ones over."""
        good: list[_Waiting] = []
        batches: list[Batch] = []
        for request in group:
            try:
                batches.append(self._form.parse(request.body))
                good.append(request)
            except Refused as refused:
                request.answer(refused)
        if good:
            self._hand_over(good, self._form.join(batches))

    def _hand_over(self, group: Sequence[_Waiting], batch: Batch) -> None:
        """Give a batch to the collector, and answer the requests when it is stored."""
        loop = asyncio.get_running_loop()
        self._submit(batch).add_done_callback(
            lambda stored: loop.call_soon_threadsafe(self._finish, group, stored)
        )

    def _finish(
        self, group: Sequence[_Waiting], stored: concurrent.futures.Future[Accepted]
    ) -> None:
        """Answer the requests of a batch that is stored, or was refused as a whole."""
        error = stored.exception()
        if len(group) > 1 and isinstance(error, Refused) and error.position is not None:
            for request in group:  # one of them is the reason
                self._hand_over([request], self._form.parse(request.body))
            return
        now = time.perf_counter()
        for request in group:
            request.answer(error)
            if error is None:
                self.times.add(now - request.began)


class Endpoint(ABC):
    """An endpoint of bytes that devices send, nearly an application of ASGI."""

    def __init__(self, collector: Collector, limits: Limits) -> None:
        self._collector, self._limits = collector, limits
        self._buckets, self._held = Buckets(limits), Held(limits.held)

    async def __call__(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer a request, whose headers were read."""
        body = Body(receive, headers)
        try:
            status, answer = await self._answer(scope, headers, body)
        except ConnectionError:
            return  # nobody is left to answer
        except Refused as refused:
            await self._refuse(self.refusal(refused), body, send)
        else:
            await send_raw(send, status, *answer)

    def refusal(self, refused: Refused) -> HttpRefused:
        """What a refused sender is told; refused reports are counted by its name."""
        answer = HttpRefused.of(refused)
        if answer.reason.of_reports:
            self._collector.reject(answer.name)
        return answer

    def _require_open(self) -> None:
        """Refuse everything while the survey takes no reports."""
        if (status := self._collector.status()) != OPEN:
            raise HttpRefused(status)

    @abstractmethod
    async def _answer(
        self, scope: Scope, headers: Headers, body: Body
    ) -> tuple[int, tuple[RawHeaders, bytes]]:
        """The status of the answer to a request, and its headers and body."""

    async def _arrived(
        self, scope: Scope, headers: Headers, body: Body
    ) -> tuple[bytes, str | None]:
        """The body of a request, and whose bucket is to give what the body asks for."""
        if scope["method"] != "POST":
            raise HttpRefused("wrong_method", {"allow": "POST"})
        headers.require_bytes()
        address = self._address(scope, headers)
        self._require_open()
        self._take_from(address, 0)
        return await body.read(self._limits, self._held), address

    def _address(self, scope: Scope, headers: Headers) -> str | None:
        """Whose bucket the reports are taken from; None for who has no limit."""
        return sender(scope)

    def _take_from(self, address: str | None, count: int) -> None:
        """Take reports from the bucket of an address, where it has one."""
        if address is not None:
            self._buckets.take(address, count)

    async def _refuse(self, refused: HttpRefused, body: Body, send: Send) -> None:
        """Answer a refused request."""
        headers, content = refused.raw
        status = refused.reason.status
        if body.is_whole:
            await send_raw(send, status, headers, content)
            return
        headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        # The sender has the whole answer now. It may read it only after it has sent everything.
        await send({"type": "http.response.body", "body": content, "more_body": True})
        await body.drain()
        await send({"type": "http.response.body", "body": b""})


class Intake(Endpoint):
    """The endpoints of reports and of the question before them."""

    def __init__(self, collector: Collector, limits: Limits, tokens: Tokens) -> None:
        super().__init__(collector, limits)
        self._tokens = tokens
        self._form = collector.format
        self._together = Together(self._form, collector.submit)
        self.times = self._together.times

    def take(self, address: str, body: bytes, answer: Answered) -> int:
        """The number of reports in a whole body; ``answer`` is called when they are stored."""
        self._require_open()
        if len(body) > self._limits.body:
            raise HttpRefused("too_large")
        count = self._count(body)
        self._buckets.take(address, count)
        self._together.add(body, answer)
        return count

    async def _answer(
        self, scope: Scope, headers: Headers, body: Body
    ) -> tuple[int, tuple[RawHeaders, bytes]]:
        content, address = await self._arrived(scope, headers, body)
        asks = scope["path"].endswith("/spent")
        count = 1 if asks else self._count(content)
        self._take_from(address, count)
        if address is None and not asks:
            # The owner sends many at once, and is told how many of them are new. Who has their ids
            # could ask for each. A device is told nothing: all its answers are alike.
            began = time.perf_counter()
            batch, simulated = self._form.parse(content), scope["path"].endswith(SIMULATED)
            taken = await asyncio.wrap_future(self._collector.submit(batch, simulated))
            self.times.add(time.perf_counter() - began)
            return 202, raw_json({"accepted": count, "new": taken.new})
        if asks:
            # Both answers have one length, so that a network cannot tell them apart.
            spent = await asyncio.to_thread(self._collector.is_spent, self._id(content))
            return 200, raw_json({"spent": int(spent)})
        stored = asyncio.get_running_loop().create_future()
        self._together.add(content, partial(_settle, stored))
        await stored
        return 202, accepted(count)

    def _address(self, scope: Scope, headers: Headers) -> str | None:
        """Whose bucket the reports are taken from; None for the owner, who has no limit."""
        if (token := headers.bearer) is None:
            if scope["path"].endswith(SIMULATED):
                # Who could make a survey one of simulated reports would close it to people.
                raise HttpRefused("no_owner", {"www-authenticate": "Bearer"})
            return sender(scope)
        self._tokens.check(token, sender(scope))
        return None

    def _count(self, body: bytes) -> int:
        """The number of submissions in a body of this study."""
        count, left = divmod(len(body) - HEAD_BYTES, self._form.length)
        if left or not 1 <= count <= MOST or not body.startswith(self._form.head):
            self._form.parse(body)
            raise HttpRefused("malformed")
        return count

    def _id(self, body: bytes) -> bytes:
        """The id that is asked for, in the first bytes of the body that would be sent with it."""
        if len(body) != HEAD_BYTES + ID_BYTES or not body.startswith(self._form.head):
            self._form.parse(body)
            raise HttpRefused("malformed")
        return body[HEAD_BYTES:]
