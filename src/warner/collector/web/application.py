"""The collector's web application: the survey page, the endpoint of reports, the owner's pages.

Every answer has the security headers. Every refusal is JSON with a name (``responses.py``) and
repeats nothing of the request. Links and redirections never use the Host header.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from warner._core.errors import MissingExtraError
from warner.collector.access import COOKIE, MOST_INVITED, Owner, invitations_in, is_proof, proof_of
from warner.collector.collector import Collector
from warner.collector.deployment_card import deployment_card
from warner.collector.live.estimates import ESTIMATES, NotPublished, tally_json
from warner.collector.live.publisher import LivePublisher, live_events
from warner.collector.pages.live import FIELD, card_page, live_page, no_owner_page
from warner.collector.pages.survey import chosen_language, survey_page
from warner.collector.pages.wording import WordsFile
from warner.collector.refusals import Refused
from warner.collector.status import status_of
from warner.collector.survey_document import survey_bytes
from warner.collector.web.intake import Answered, Body, Headers, Intake, sender
from warner.collector.web.limits import Held, Limits, Tokens
from warner.collector.web.metrics import TYPE, Metrics, Times
from warner.collector.web.responses import (
    NOT_STORED,
    TYPES,
    HttpRefused,
    RawHeaders,
    StaticFile,
    json_answer,
    packaged,
    page,
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

_T = TypeVar("_T")


@dataclass(frozen=True)
class Settings:
    """How the application runs."""

    limits: Limits = field(default_factory=Limits)
    hosts: Sequence[str] = ()  # that requests may name, without ports; () for all
    words: Mapping[str, WordsFile] = field(default_factory=dict)  # of the page, by language
    preview: bool = False  # whether the page says that nothing is counted
    # What the page loads of its owner: {name: (content, content type)}.
    brand: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)


class Application:
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
        self._checking = asyncio.Lock()
        self._hosts = frozenset(host.lower() for host in self._settings.hosts)
        # One page for each language of the study, made when it is first asked for.
        self._survey_in = cache(self._survey_page)
        files = packaged()
        files |= {name: StaticFile(*each) for name, each in self._settings.brand.items()}
        files["study.json"] = StaticFile(survey_bytes(study), TYPES[".json"])
        routes = [
            Route("/", self._survey),
            Route("/healthz", self._health),
            *(Route(f"/{name}", file.answer) for name, file in files.items()),
            *OwnerPages(tokens, collector, live, self._intake.times).routes(),
        ]
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
            root = scope.get("root_path", "")
            if not scope["path"].startswith(f"{root}{_PATH}"):  # which is for the owner alone
                answer.of_origin(headers.text(b"origin"), self._study.collect.origins)
            self._require_address(scope)
            self._require_host(headers)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers.stated:
                await self._preflight(answer)
            elif scope["path"] in (f"{root}/reports", f"{root}/spent"):
                await self._intake(scope, headers, receive, answer.as_it_is)
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
        return [(b"vary", b"origin")] if self._study.collect.origins else []

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

    def _require_address(self, scope: Scope) -> None:
        """Refuse a request that names too long an address."""
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_ADDRESS:
            raise HttpRefused("long_address")

    def _require_host(self, headers: Headers) -> None:
        """Refuse a request that names a host of others."""
        if not self._hosts:
            return
        host = headers.text(b"host").lower()
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if name not in self._hosts:
            raise HttpRefused("other_host")

    def _survey_page(self, language: str) -> StaticFile:
        chosen = self._settings
        text = survey_page(self._study, language, chosen.words, chosen.preview, chosen.brand)
        origins = self._study.collect.origins
        headers = {"content-security-policy": policy("'none'", origins)}
        if origins:
            headers["x-frame-options"] = ""
        return StaticFile(text.encode(), "text/html; charset=utf-8", headers)

    async def _survey(self, request: Request) -> Response:
        language = chosen_language(self._study, request.query_params.get("lang"))
        return await self._survey_in(language).answer(request)

    async def _health(self, request: Request) -> Response:
        async with self._checking:
            try:
                await asyncio.to_thread(self._collector.check)
            except Refused:
                raise HttpRefused("unavailable") from None
        return json_answer({"status": self._collector.status()})


def failure(error: BaseException) -> HttpRefused:
    """What is answered to a request that failed; the log says where."""
    # A traceback can show the error's text, and that a part of the request. So the log has the type
    # of the error and where it happened.
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    _LOG.error("a request could not be answered: %s%s", type(error).__name__, where)
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
        self.is_of_origin = origin in origins
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


# -----------------------------------------------------------------------------------------------
# The owner's part: the live page, its downloads, opening and closing.


_FORM = Limits(body=4096, body_seconds=10.0)
_INVITATIONS = Limits(body=100 + 16 * MOST_INVITED, body_seconds=30.0)
_FORM_TYPE = "application/x-www-form-urlencoded"
_PATH = "/live"
_READERS, _MOST_WAITING = 2, 8  # requests for estimates that are made, and that wait or are made

# The files that the owner can load, with their types.
_DOWNLOADS = {
    "tally.json": "application/json",
    "estimates.json": "application/json",
    "estimates.csv": "text/csv; charset=utf-8",
    "picture.png": "image/png",
    "card.json": "application/json",
    "card.html": "text/html; charset=utf-8",  # shown in the browser
}


class _Asker(NamedTuple):
    """Who asks for a page of the owner."""

    name: str  # "" for the owner
    token: str
    is_browser: bool  # whether the token came as a cookie


class OwnerPages:
    """The routes below ``/live``. All of them need a token of the owner."""

    def __init__(
        self, tokens: Tokens, collector: Collector, live: LivePublisher, times: Times
    ) -> None:
        self._tokens, self._collector, self._live = tokens, collector, live
        self._metrics = Metrics(collector, live, times)
        self._held = Held(1 << 20)
        # Estimates can take minutes. In the threads of all requests they would keep health waiting.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="warner-live-page")
        self._waiting = 0

    def routes(self) -> list[Route]:
        """The routes of the application."""
        changes = {"close": self._collector.close_survey, "open": self._collector.open_survey}
        return [
            Route(_PATH, self._page),
            Route(f"{_PATH}/events", self._events),
            Route(f"{_PATH}/metrics", self._measured),
            Route(f"{_PATH}/status.json", self._status),
            *(Route(f"{_PATH}/{n}", partial(self._download, n)) for n in _DOWNLOADS),
            *(
                Route(f"{_PATH}/{n}", partial(self._change, do), methods=["POST"])
                for n, do in changes.items()
            ),
            Route(f"{_PATH}/leave", self._leave, methods=["POST"]),
            Route(f"{_PATH}/invite", self._invite, methods=["POST"]),
            Route(f"{_PATH}/backup", self._backup, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        try:
            if "token" in request.query_params:
                return self._log_in(request)
            asker = self._asker(request)
        except HttpRefused as refused:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            return page(no_owner_page(), status=refused.reason.status)
        by = self._column(request)
        read = partial(self._text, by, asker)
        text = read() if by is None else await self._in_turn(read)
        return page(text, "'self'")

    async def _in_turn(self, read: Callable[[], _T]) -> _T:
        """What a function that may wait for an estimate returns."""
        if self._waiting >= _MOST_WAITING:
            raise HttpRefused("estimating", headers={"retry-after": "60"})
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, read)
        finally:
            self._waiting -= 1

    def _text(self, by: str | None, asker: _Asker) -> str:
        """The live page."""
        groups = None if by is None else self._live.groups(by)
        view, proof, record = self._live.view(), proof_of(asker.token), self._collector.record
        return live_page(view, self._live.study, proof, by, groups, record)

    def _column(self, request: Request) -> str | None:
        """The public column that a request asks for; None for none."""
        by = request.query_params.get("by") or None
        if by is not None and by not in self._live.study.public:
            raise HttpRefused("not_found")
        return by

    def _log_in(self, request: Request) -> Response:
        """Turn the token in the address into a cookie, so that it does not stay in the address."""
        tokens = request.query_params.getlist("token")
        if len(tokens) != 1:
            raise HttpRefused("no_owner")
        self._tokens.check(tokens[0], sender(request.scope))
        return _with_cookie(request, tokens[0])

    async def _leave(self, request: Request) -> Response:
        """Take the token from the browser again."""
        await self._require_own_form(request, self._asker(request))
        return _with_cookie(request, "")

    async def _events(self, request: Request) -> Response:
        self._asker(request)
        headers = {"cache-control": NOT_STORED, "x-accel-buffering": "no"}
        return StreamingResponse(
            live_events(self._live), media_type="text/event-stream", headers=headers
        )

    async def _measured(self, request: Request) -> Response:
        self._asker(request, for_metrics=True)
        text = await asyncio.to_thread(self._metrics.text)
        return Response(text, headers={"cache-control": NOT_STORED, "content-type": TYPE})

    async def _status(self, request: Request) -> Response:
        """How the collector is, for ``warner collect status``."""
        self._asker(request)
        text = (await asyncio.to_thread(status_of, self._collector, self._live)).to_json()
        headers = {"cache-control": NOT_STORED, "content-type": "application/json"}
        return Response(text, headers=headers)

    async def _download(self, name: str, request: Request) -> Response:
        self._asker(request)
        read = partial(self._content, name, self._column(request))
        try:
            content = await (self._in_turn(read) if name in ESTIMATES else asyncio.to_thread(read))
        except NotPublished as error:
            raise HttpRefused(error.name) from None
        except MissingExtraError:
            raise HttpRefused("no_extra") from None
        headers = {"cache-control": NOT_STORED, "content-type": _DOWNLOADS[name]}
        if name != "card.html":
            headers["content-disposition"] = f'attachment; filename="{name}"'
        return Response(content, headers=headers)

    def _content(self, name: str, by: str | None) -> str | bytes:
        """A file that the owner can load."""
        study, view = self._live.study, self._live.view()
        if name == "tally.json":
            return tally_json(view, study, by)
        if name in ESTIMATES:
            return self._live.file(name)
        card = deployment_card(study, view)
        if name == "card.html":
            return card_page(card)
        return json.dumps(card, indent=1, ensure_ascii=False) + "\n"

    async def _change(self, change: Callable[[str], object], request: Request) -> Response:
        """Open or close the survey, and show the page again."""
        asker = self._asker(request)
        if asker.is_browser:
            await self._require_own_form(request, asker)
        await asyncio.to_thread(change, asker.name)
        return _to_the_page(request)

    async def _invite(self, request: Request) -> Response:
        """Invite people by the ids that their codes make. The codes never come here."""
        if self._asker(request).is_browser:
            raise HttpRefused("forbidden")  # a browser sends the cookie for other sites too
        study, headers = self._live.study, Headers.of(request.scope["headers"])
        headers.require_bytes()
        if study.collect.access != "invited":
            raise HttpRefused("not_by_invitation")
        body = await Body(request.receive, headers).read(_INVITATIONS, self._held)
        ids = invitations_in(body, study.digest)
        await asyncio.to_thread(self._collector.invite, ids)
        return json_answer({"invited": self._collector.invitations[0]}, 202)

    async def _backup(self, request: Request) -> Response:
        """Have a copy of the store written beside it. It never comes here."""
        asker = self._asker(request)
        if asker.is_browser:
            raise HttpRefused("forbidden")
        # The copy has what the live page does not show yet: who has the machine alone reads it.
        return json_answer({"backup": await asyncio.to_thread(self._collector.backup, asker.name)})

    def _asker(self, request: Request, for_metrics: bool = False) -> _Asker:
        """Who asks; everyone is refused who has no token."""
        bearer = Headers.of(request.scope["headers"]).bearer
        token = request.cookies.get(COOKIE) if bearer is None else bearer
        if token is None:
            raise HttpRefused("no_owner", {"www-authenticate": "Bearer"})
        name = self._tokens.check(token, sender(request.scope), for_metrics)
        return _Asker(name, token, bearer is None)

    async def _require_own_form(self, request: Request, asker: _Asker) -> None:
        """Refuse a form that another site made the owner's browser send."""
        headers = Headers.of(request.scope["headers"])
        site, origin = headers.text(b"sec-fetch-site"), headers.text(b"origin")
        # Our pages send no referrer, and browsers then write the origin of their forms as "null".
        host = headers.text(b"host") if origin in ("", "null") else origin.partition("://")[2]
        if site not in ("", "same-origin") or host != headers.text(b"host"):
            raise HttpRefused("forbidden")
        if headers.media_type != _FORM_TYPE:
            raise HttpRefused("forbidden")
        text = (await Body(request.receive, headers).read(_FORM, self._held)).decode("latin-1")
        try:
            values = parse_qs(text, max_num_fields=10).get(FIELD, [])
        except ValueError:
            values = []
        if not is_proof("".join(values), asker.token):
            raise HttpRefused("forbidden")


def _path(request: Request) -> str:
    """The path of the live page, as a browser knows it."""
    return str(request.scope.get("root_path", "")) + _PATH


def _with_cookie(request: Request, token: str) -> Response:
    """The way to the live page for a browser that is to keep a token; "" for none."""
    answer = _to_the_page(request)
    answer.set_cookie(
        COOKIE,
        token,
        max_age=None if token else 0,
        path=_path(request),
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


def _to_the_page(request: Request) -> RedirectResponse:
    return RedirectResponse(_path(request), 303, {"cache-control": NOT_STORED})
