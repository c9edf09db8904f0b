"""POST /reports and POST /spent: from the bytes of a request to its answer.

The answer to reports comes after they are stored. A device asks first whether its invitation was
used already, because two reports with one id tell more about a person than one. It asks with a
body, since addresses of requests are what proxies log.

Requests that wait at one moment are checked and counted as one batch, because checking a thousand
reports at once takes little longer than checking one. A bad request among them is refused alone.
The endpoints are written for the server's interface itself (ASGI), without a request object.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Sequence

from starlette.types import Receive, Scope, Send

from warner.collector.collector import OPEN, Accepted, Collector
from warner.collector.refusals import Refused
from warner.collector.submissions import HEAD_BYTES, ID_BYTES, MOST, Batch, SubmissionFormat
from warner.collector.web.http_refusals import HttpRefused
from warner.collector.web.limits import Buckets, Held, Limits, Tokens
from warner.collector.web.requests import Body, Headers, sender
from warner.collector.web.responses import RawHeaders, accepted, raw_json, send_raw

CONTENT_TYPE = "application/octet-stream"
_PAUSE = 0.003  # seconds in which further requests may join the first one that waits


class Together:
    """Counts the submissions of all requests that wait at one moment as one batch.

    Args:
        form: how submissions are written.
        submit: the collector's method; its future has a result when the batch is stored.
    """

    def __init__(
        self, form: SubmissionFormat, submit: Callable[[Batch], concurrent.futures.Future[Accepted]]
    ) -> None:
        self._form, self._submit = form, submit
        self._waiting: list[_Waiting] = []

    def add(self, body: bytes) -> asyncio.Future[None]:
        """Count the submissions of a body of this study."""
        loop = asyncio.get_running_loop()
        one = _Waiting(body, loop.create_future())
        self._waiting.append(one)
        if len(self._waiting) == 1:
            loop.call_later(_PAUSE, self._start)
        return one.done

    def _start(self) -> None:
        """Check those who wait, and hand them over."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            taken = self._that_fit(waiting)
            group, waiting = waiting[:taken], waiting[taken:]
            try:
                self._hand_over(group, self._parsed(group))
            except Refused:
                self._each(group)

    def _that_fit(self, waiting: Sequence[_Waiting]) -> int:
        """How many of those who wait fit into one batch, at least one."""
        total = 0
        for i, one in enumerate(waiting):
            total += (len(one.body) - HEAD_BYTES) // self._form.length
            if i and total > MOST:
                return i
        return len(waiting)

    def _parsed(self, group: Sequence[_Waiting]) -> Batch:
        if len(group) == 1:
            return self._form.parse(group[0].body)
        parts = (one.body[HEAD_BYTES:] for one in group)
        return self._form.parse(b"".join([self._form.head, *parts]))

    def _each(self, group: Sequence[_Waiting]) -> None:
        """Refuse the bad requests of a group, and hand the good ones over."""
        good: list[_Waiting] = []
        batches: list[Batch] = []
        for one in group:
            try:
                batches.append(self._form.parse(one.body))
                good.append(one)
            except Refused as refused:
                one.refuse(refused)
        if good:
            self._hand_over(good, self._form.join(batches))

    def _hand_over(self, group: Sequence[_Waiting], batch: Batch) -> None:
        """Give a batch to the collector, and answer the requests when it is stored."""
        loop = asyncio.get_running_loop()
        self._submit(batch).add_done_callback(
            lambda future: loop.call_soon_threadsafe(self._finish, group, batch, future)
        )

    def _finish(
        self,
        group: Sequence[_Waiting],
        batch: Batch,
        stored: concurrent.futures.Future[Accepted],
    ) -> None:
        """Answer the requests of a batch that is stored, or was refused as a whole."""
        error = stored.exception()
        if len(group) > 1 and isinstance(error, Refused) and error.position is not None:
            for one in group:  # one of them is the reason
                self._hand_over([one], self._form.parse(one.body))
            return
        for one in group:
            if error is None:
                one.accept()
            else:
                one.refuse(error)


class _Waiting:
    """The body of a request that waits for its answer."""

    __slots__ = ("body", "done")

    def __init__(self, body: bytes, done: asyncio.Future[None]) -> None:
        self.body, self.done = body, done

    def accept(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def refuse(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Intake:
    """The endpoints of reports and of the question before them, nearly an application of ASGI.

    Args:
        collector: counts them.
        limits: what it takes.
        tokens: tell the owner, for whom there are no limits of rates.
    """

    def __init__(self, collector: Collector, limits: Limits, tokens: Tokens) -> None:
        self._collector, self._limits, self._tokens = collector, limits, tokens
        self._form = collector.format
        self._together = Together(self._form, collector.submit)
        self._buckets, self._held = Buckets(limits), Held(limits.held)

    async def __call__(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer a request, whose headers were read."""
        body = Body(receive, headers)
        try:
            status, answer = await self._answer(scope, headers, body)
        except ConnectionError:
            return  # nobody is left to answer
        except Refused as refused:
            await self._refuse(HttpRefused.of(refused), body, send)
        else:
            await send_raw(send, status, *answer)

    async def _answer(
        self, scope: Scope, headers: Headers, body: Body
    ) -> tuple[int, tuple[RawHeaders, bytes]]:
        """The status of the answer to a request, and its headers and body."""
        if scope["method"] != "POST":
            raise HttpRefused("wrong_method", {"allow": "POST"})
        if headers.media_type != CONTENT_TYPE or headers.is_encoded:
            raise HttpRefused("type")
        address = self._address(scope, headers)
        if (status := self._collector.status()) != OPEN:
            raise HttpRefused(status)
        if address is not None:
            self._buckets.take(address, 0)
        content = await body.read(self._limits, self._held)
        asks = scope["path"].endswith("/spent")
        count = 1 if asks else self._count(content)
        if address is not None:
            self._buckets.take(address, count)
        if asks:
            # Both answers have one length, so that a network cannot tell them apart.
            return 200, raw_json({"spent": int(self._collector.is_spent(self._id(content)))})
        await self._together.add(content)
        return 202, accepted(count)

    def _address(self, scope: Scope, headers: Headers) -> str | None:
        """Whose bucket the reports are taken from; None for the owner."""
        if (token := headers.bearer) is None:
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

    async def _refuse(self, refused: HttpRefused, body: Body, send: Send) -> None:
        """Answer a refused request, and count it by its name."""
        if refused.reason.of_reports:
            self._collector.reject(refused.name)
        headers, content = raw_json(refused.content, refused.headers)
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
