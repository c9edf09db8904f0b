"""The collector's web application: the survey page, the endpoint of reports, the owner's pages.

Every answer has the security headers. Every refusal is JSON with a name (``responses.py``) and
repeats nothing of the request. Links and redirections never use the Host header.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
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
from warner.collector.pages.wording import WordsFile
from warner.collector.refusals import Refused
from warner.collector.survey_document import survey_bytes
from warner.collector.web.intake import SIMULATED, Answered, Endpoint, Headers, Intake
from warner.collector.web.limits import Limits, Tokens
from warner.collector.web.owner import LIVE, OwnerPages
from warner.collector.web.responses import (
    TYPES,
    HttpRefused,
    RawHeaders,
    StaticFile,
    json_answer,
    language_for,
    packaged,
    policy,
    refusal_answer,
    secured,
    send_raw,
    send_refusal,
)
from warner.studies.study import Study

_LOG = logging.getLogger("warner.collector")
_LONGEST_ADDRESS = 8192
_NAMES = {404: "not_found", 405: "wrong_method"}


@dataclass(frozen=True)
class Settings:
    """How the application runs."""

    limits: Limits = field(default_factory=Limits)
    hosts: Sequence[str] = ()  # that requests may name, without ports; () for all
    words: Mapping[str, WordsFile] = field(default_factory=dict)  # of the page, by language
    preview: bool = False  # whether the page says that nothing is counted
    # What the page loads of its owner: {name: (content, content type)}.
    brand: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)


class Site:
    """An ASGI application of pages, and of endpoints of bytes, that refuses what it does not know.

    ``endpoints`` are by their paths. Pages of ``origins`` may read answers, "*" for all; the paths
    below ``/live`` are for the owner alone.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        endpoints: Mapping[str, Endpoint],
        hosts: Sequence[str],
        origins: Sequence[str],
    ) -> None:
        self._endpoints, self._origins = endpoints, origins
        self._hosts = frozenset(host.lower() for host in hosts)
        self._pages = Starlette(
            routes=routes,
            exception_handlers={HTTPException: _http, Refused: _refused, Exception: _failed},
        )
        self._pages.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the start and end of a server, and WebSockets
            await self._pages(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            headers = Headers.of(scope["headers"])
            root, path = scope.get("root_path", ""), scope["path"]
            path = path[len(root) :] if path.startswith(root) else ""
            if not path.startswith(LIVE):
                answer.of_origin(headers.text(b"origin"), self._origins)
            if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_ADDRESS:
                raise HttpRefused("long_address")
            self._require_host(headers)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers.stated:
                await self._preflight(answer)
            elif (endpoint := self._endpoints.get(path)) is not None:
                await endpoint(scope, headers, receive, answer.as_it_is)
            else:
                answer.is_last = headers.has_body
                await self._pages(scope, receive, answer.secured)
        except HttpRefused as refused:
            await send_refusal(answer.as_it_is, refused)
        except ConnectionError:
            return  # nobody is left to answer
        except Exception as error:
            failed = failure(error)
            if not answer.started:
                await send_refusal(answer.as_it_is, failed)
            # Else the server closes a connection whose answer is not whole.

    async def _preflight(self, answer: _Answer) -> None:
        """Tell a browser that a page of an origin of the study may send bytes."""
        if not answer.is_of_origin:
            raise HttpRefused("other_origin")
        headers = [
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"content-type"),
            (b"access-control-max-age", b"86400"),
        ]
        await send_raw(answer.as_it_is, 204, secured(headers), b"")

    def _require_host(self, headers: Headers) -> None:
        """Refuse a request that names a host of others."""
        if not self._hosts:
            return
        host = headers.text(b"host").lower()
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if name not in self._hosts:
            raise HttpRefused("other_host")


class Application(Site):
    """The application of one study for any ASGI server; who runs it starts and stops ``live``."""

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
        # One page for each language of the study, made when it is first asked for.
        self._survey_in = cache(self._survey_page)
        files = packaged()
        files |= {name: StaticFile(*each) for name, each in self._settings.brand.items()}
        files["study.json"] = StaticFile(survey_bytes(study), TYPES[".json"])
        routes = [
            Route("/", self._survey),
            health(collector),
            *(Route(f"/{name}", file.answer) for name, file in files.items()),
            *OwnerPages(tokens, collector, live, self._intake.times).routes(),
        ]
        endpoints = dict.fromkeys(("/reports", SIMULATED, "/spent"), self._intake)
        super().__init__(routes, endpoints, self._settings.hosts, study.collect.origins)

    def check_plain(self, raw: RawHeaders) -> None:
        """Refuse a plain request to ``/reports`` for its headers, see ``intake.is_plain``."""
        headers = Headers.of(raw)
        self._require_host(headers)
        headers.require_bytes()

    def take(self, address: str, body: bytes, answer: Answered) -> int:
        """Take the body of a plain request, see ``Intake.take``."""
        return self._intake.take(address, body, answer)

    def refusal(self, error: BaseException) -> HttpRefused:
        """What is answered to a plain request that ended in an error."""
        return self._intake.refusal(error) if isinstance(error, Refused) else failure(error)

    @property
    def headers_of_all(self) -> RawHeaders:
        """The headers of answers to plain requests, beyond those of every answer."""
        # A cache keeps the answers to different origins apart.
        return [(b"vary", b"origin")] if self._origins else []

    def _survey_page(self, language: str) -> StaticFile:
        chosen = self._settings
        text = survey_page(self._study, language, chosen.words, chosen.preview, chosen.brand)
        origins = self._study.collect.origins
        tokens = self._study.collect.tokens
        issuer = "" if tokens is None else tokens.issuer
        headers = {"content-security-policy": policy("'none'", origins, issuer)}
        if origins:
            headers["x-frame-options"] = ""
        html = "text/html; charset=utf-8"
        return StaticFile(text.encode(), html, headers, ("accept-language",))

    async def _survey(self, request: Request) -> Response:
        language = request.query_params.get("lang")
        if language is None:
            preferred = request.headers.getlist("accept-language")
            language = language_for(preferred, self._study.languages)
        language = chosen_language(self._study, language)
        return await self._survey_in(language).answer(request)


def health(collector: Collector) -> Route:
    """The address that says whether the store can be written, and whether the survey is open."""
    checking = asyncio.Lock()

    async def answer(request: Request) -> Response:
        async with checking:
            try:
                await asyncio.to_thread(collector.check)
            except Refused:
                raise HttpRefused("unavailable") from None
        return json_answer({"status": collector.status()})

    return Route("/healthz", answer)


def failure(error: BaseException) -> HttpRefused:
    """What is answered to a request that failed; the log says where."""
    # A traceback can show the error's text, and that a part of the request. So the log has the type
    # of the error and where it happened.
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    _LOG.error(
        "a request could not be answered (%s%s). If this happens again, please report it",
        type(error).__name__,
        where,
    )
    return HttpRefused("error")


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
    """Sends an answer; the connection closes after one that is the last."""

    # A page reads no body, and what arrives of one is then read by nobody.

    def __init__(self, send: Send) -> None:
        self._send, self.started, self.is_last = send, False, False
        self.is_of_origin, self._of_origin = False, RawHeaders()

    def of_origin(self, origin: str, origins: Sequence[str]) -> None:
        """Let the pages of some origins read the answer, without cookies or other credentials."""
        self.is_of_origin = bool(origin) and not {origin, "*"}.isdisjoint(origins)
        if origins:  # a cache keeps the answers to different origins apart
            self._of_origin = [(b"vary", b"origin")]
        if self.is_of_origin:
            self._of_origin.append((b"access-control-allow-origin", origin.encode("latin-1")))

    async def as_it_is(self, message: Message) -> None:
        self.started = True
        if self._of_origin and message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *self._of_origin]}
        await self._send(message)

    async def secured(self, message: Message) -> None:
        """Send a part of an answer, with the security headers in its first."""
        self.started = True
        if message["type"] == "http.response.start":
            headers: RawHeaders = list(message["headers"])
            if self.is_last:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": secured(headers)}
        await self.as_it_is(message)
