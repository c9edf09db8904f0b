"""The collector's web application: the survey page, the endpoint of reports, the owner's pages.

Every answer has the security headers. Every refusal is JSON with a name (``http_refusals.py``) and
repeats nothing of the request. Links and redirections never use the Host header.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from warner.collector.access import Owner
from warner.collector.collector import Collector
from warner.collector.live.publisher import LivePublisher
from warner.collector.pages.survey import chosen_language, survey_page
from warner.collector.refusals import Refused
from warner.collector.survey_document import survey_bytes
from warner.collector.web.http_refusals import HttpRefused
from warner.collector.web.intake import Intake
from warner.collector.web.limits import Limits, Tokens
from warner.collector.web.owner_pages import OwnerPages
from warner.collector.web.requests import Headers
from warner.collector.web.responses import (
    ASKED_AGAIN,
    TYPES,
    RawHeaders,
    StaticFile,
    json_answer,
    packaged,
    page,
    refusal_answer,
    secured,
    send_refusal,
)
from warner.studies.study import Study

_LOG = logging.getLogger("warner.collector")
_LONGEST_ADDRESS = 8192
_NAMES = {404: "not_found", 405: "wrong_method"}


@dataclass(frozen=True)
class Settings:
    """How the application runs.

    Attributes:
        limits: what it takes.
        hosts: the hosts that requests may name, without ports; () for all.
    """

    limits: Limits = field(default_factory=Limits)
    hosts: Sequence[str] = ()


class Application:
    """The application of one study, for any server of ASGI.

    Args:
        study: the study.
        collector: counts the reports.
        live: publishes what the owner sees. Who runs the application starts and stops it.
        owner: knows the owner.
        settings: how it runs.
    """

    def __init__(
        self,
        study: Study,
        collector: Collector,
        live: LivePublisher,
        owner: Owner,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._study, self._collector = study, collector
        tokens = Tokens(owner, collector)
        self._intake = Intake(collector, self._settings.limits, tokens)
        self._checking = asyncio.Lock()
        self._hosts = frozenset(host.lower() for host in self._settings.hosts)
        # One page for each language of the study, made when it is first asked for.
        self._survey_in = cache(partial(survey_page, study))
        files = packaged()
        files["study.json"] = StaticFile(survey_bytes(study), TYPES[".json"])
        routes = [
            Route("/", self._survey),
            Route("/healthz", self._health),
            *(Route(f"/{name}", partial(_static, file)) for name, file in files.items()),
            *OwnerPages(owner, tokens, collector, live).routes(),
        ]
        self._pages = Starlette(
            routes=routes,
            exception_handlers={HTTPException: _http, Refused: _refused, Exception: _failed},
        )
        self._pages.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _no_other(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            headers = self._checked(scope)
            root = scope.get("root_path", "")
            if scope["path"] in (f"{root}/reports", f"{root}/spent"):
                await self._intake(scope, headers, receive, answer.as_it_is)
            else:
                answer.is_last = headers.has_body
                await self._pages(scope, receive, answer.secured)
        except HttpRefused as refused:
            await send_refusal(answer.as_it_is, refused)
        except ConnectionError:
            return  # nobody is left to answer
        except Exception as error:
            # A traceback can show the error's text, and that a part of the request.
            _LOG.error("%s", _place(error))
            if not answer.started:
                await send_refusal(answer.as_it_is, HttpRefused("error"))
            # Else the server closes a connection whose answer is not whole.

    def _checked(self, scope: Scope) -> Headers:
        """The headers of a request."""
        headers = Headers.of(scope)
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_ADDRESS:
            raise HttpRefused("long_address")
        if self._hosts:
            host = headers.text(b"host").lower()
            name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
            if name not in self._hosts:
                raise HttpRefused("other_host")
        return headers

    async def _survey(self, request: Request) -> Response:
        text = self._survey_in(chosen_language(self._study, request.query_params.get("lang")))
        return page(text, stored=ASKED_AGAIN)

    async def _health(self, request: Request) -> Response:
        async with self._checking:
            try:
                await asyncio.to_thread(self._collector.check)
            except Refused:
                raise HttpRefused("unavailable") from None
        return json_answer({"status": self._collector.status()})


async def _static(file: StaticFile, request: Request) -> Response:
    return file.answer(request)


async def _http(request: Request, error: Exception) -> Response:
    """The answer to a request for which there is no route."""
    assert isinstance(error, HTTPException)
    name = _NAMES.get(error.status_code, "bad_request")
    return refusal_answer(HttpRefused(name, error.headers))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return refusal_answer(HttpRefused.of(error))


async def _failed(request: Request, error: Exception) -> Response:
    return refusal_answer(HttpRefused("error"))


class _Answer:
    """Sends an answer.

    Attributes:
        started: whether it began.
        is_last: whether the connection closes after it. A page reads no body, and what arrives of
            one is then read by nobody.
    """

    def __init__(self, send: Send) -> None:
        self._send, self.started, self.is_last = send, False, False

    async def as_it_is(self, message: Message) -> None:
        self.started = True
        await self._send(message)

    async def secured(self, message: Message) -> None:
        """Send a part of an answer, with the security headers in its first."""
        self.started = True
        if message["type"] == "http.response.start":
            headers: RawHeaders = list(message["headers"])
            if self.is_last:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": secured(headers)}
        await self._send(message)


def _place(error: BaseException) -> str:
    """The type of an error and where it happened, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"a request could not be answered: {type(error).__name__}{where}"


async def _no_other(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer what is not HTTP: the start and end of a server, and WebSockets."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
    while scope["type"] == "lifespan":
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
