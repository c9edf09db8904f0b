"""The owner's part of the application: the live page, its downloads, opening and closing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import TypeVar
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from warner._core.errors import MissingExtraError
from warner.collector.access import COOKIE, MOST_INVITED, Owner, invitations_in
from warner.collector.collector import Collector
from warner.collector.deployment_card import deployment_card
from warner.collector.live.downloads import (
    ESTIMATES,
    NotPublished,
    tally_json,
)
from warner.collector.live.events import live_events
from warner.collector.live.publisher import LivePublisher
from warner.collector.live.state import LiveView
from warner.collector.pages.live import FIELD, card_page, live_page, no_owner_page
from warner.collector.web.http_refusals import HttpRefused
from warner.collector.web.intake import CONTENT_TYPE
from warner.collector.web.limits import Held, Limits, Tokens
from warner.collector.web.requests import Body, Headers, sender
from warner.collector.web.responses import NOT_STORED, json_answer, page
from warner.studies.study import Study

_FORM = Limits(body=4096, body_seconds=10.0)
_INVITATIONS = Limits(body=100 + 16 * MOST_INVITED, body_seconds=30.0)
_FORM_TYPE = "application/x-www-form-urlencoded"
_PATH = "/live"
_READERS, _MOST_WAITING = 2, 8  # requests for estimates that are made, and that wait or are made

_T = TypeVar("_T")

Asked = str | None
"""The public column that a request asks for; None for none."""


@dataclass(frozen=True)
class _Download:
    """A file that the owner can load: its type and what makes it."""

    content_type: str
    content: Callable[[LivePublisher, Asked], str | bytes]


_DOWNLOADS: Mapping[str, _Download] = {
    "tally.json": _Download(
        "application/json", lambda live, by: tally_json(live.view(), live.study, by)
    ),
    "estimates.json": _Download("application/json", lambda live, _: live.file("estimates.json")),
    "estimates.csv": _Download(
        "text/csv; charset=utf-8", lambda live, _: live.file("estimates.csv")
    ),
    "picture.png": _Download("image/png", lambda live, _: live.file("picture.png")),
    "card.json": _Download("application/json", lambda live, _: _card(live)),
    "card.html": _Download(
        "text/html; charset=utf-8", lambda live, _: card_page(deployment_card(*_known(live)))
    ),
}
_SHOWN = ("card.html",)  # in the browser, not as a file


class OwnerPages:
    """The routes below ``/live``. All of them need the owner's token.

    Args:
        owner: knows its own forms.
        tokens: tell the owner from others.
        collector: is opened and closed.
        live: publishes what the owner sees.
    """

    def __init__(
        self, owner: Owner, tokens: Tokens, collector: Collector, live: LivePublisher
    ) -> None:
        self._owner, self._tokens, self._collector, self._live = owner, tokens, collector, live
        self._held = Held(1 << 20)
        # Estimates can take minutes. In the threads of all requests they would keep health waiting.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="warner-live-page")
        self._waiting = 0

    def routes(self) -> list[Route]:
        """The routes of the application."""
        return [
            Route(_PATH, self._page),
            Route(f"{_PATH}/events", self._events),
            *(Route(f"{_PATH}/{n}", partial(self._download, n)) for n in _DOWNLOADS),
            Route(f"{_PATH}/close", self._close, methods=["POST"]),
            Route(f"{_PATH}/open", self._open, methods=["POST"]),
            Route(f"{_PATH}/invite", self._invite, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        try:
            if "token" in request.query_params:
                return self._log_in(request)
            self._require_owner(request)
        except HttpRefused as refused:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            return page(no_owner_page(), status=refused.reason.status)
        by = self._asked(request)
        text = self._text(by) if by is None else await self._in_turn(partial(self._text, by))
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

    def _text(self, by: Asked) -> str:
        """The live page."""
        groups = None if by is None else self._live.groups(by)
        return live_page(self._live.view(), self._live.study, self._owner.proof, by, groups)

    def _asked(self, request: Request) -> Asked:
        """The public column that a request asks for."""
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
        place = _place(request)
        answer = RedirectResponse(place, 303, {"cache-control": NOT_STORED})
        answer.set_cookie(
            COOKIE,
            tokens[0],
            path=place,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def _events(self, request: Request) -> Response:
        self._require_owner(request)
        headers = {"cache-control": NOT_STORED, "x-accel-buffering": "no"}
        return StreamingResponse(
            live_events(self._live), media_type="text/event-stream", headers=headers
        )

    async def _download(self, name: str, request: Request) -> Response:
        self._require_owner(request)
        known, by = _DOWNLOADS[name], self._asked(request)
        try:
            read = partial(known.content, self._live, by)
            content = await (self._in_turn(read) if name in ESTIMATES else asyncio.to_thread(read))
        except NotPublished as error:
            raise HttpRefused(error.name) from None
        except MissingExtraError:
            raise HttpRefused("no_extra") from None
        headers = {"cache-control": NOT_STORED, "content-type": known.content_type}
        if name not in _SHOWN:
            headers["content-disposition"] = f'attachment; filename="{name}"'
        return Response(content, headers=headers)

    async def _close(self, request: Request) -> Response:
        return await self._change(request, self._collector.close_survey)

    async def _open(self, request: Request) -> Response:
        return await self._change(request, self._collector.open_survey)

    async def _change(self, request: Request, change: Callable[[], object]) -> Response:
        """Open or close the survey, and show the page again."""
        if self._require_owner(request):
            await self._require_own_form(request)
        await asyncio.to_thread(change)
        return RedirectResponse(_place(request), 303, {"cache-control": NOT_STORED})

    async def _invite(self, request: Request) -> Response:
        """Invite people by the ids that their codes make. The codes never come here."""
        if self._require_owner(request):
            raise HttpRefused("forbidden")  # a browser sends the cookie for other sites too
        study, headers = self._live.study, Headers.of(request.scope)
        if headers.media_type != CONTENT_TYPE or headers.is_encoded:
            raise HttpRefused("type")
        if study.collect.access != "invited":
            raise HttpRefused("not_by_invitation")
        body = await Body(request.receive, headers).read(_INVITATIONS, self._held)
        ids = invitations_in(body, study.digest)
        await asyncio.to_thread(self._collector.invite, ids)
        return json_answer({"invited": self._collector.invitations[0]}, 202)

    def _require_owner(self, request: Request) -> bool:
        """Refuse everyone but the owner."""
        bearer, cookie = Headers.of(request.scope).bearer, _cookie(request)
        token = cookie if bearer is None else bearer
        if token is None:
            raise HttpRefused("no_owner", {"www-authenticate": "Bearer"})
        self._tokens.check(token, sender(request.scope))
        return bearer is None

    async def _require_own_form(self, request: Request) -> None:
        """Refuse a form that another site made the owner's browser send."""
        headers = Headers.of(request.scope)
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
        if not self._owner.is_proof("".join(values)):
            raise HttpRefused("forbidden")


def _known(live: LivePublisher) -> tuple[Study, LiveView]:
    return live.study, live.view()


def _card(live: LivePublisher) -> str:
    return json.dumps(deployment_card(*_known(live)), indent=1, ensure_ascii=False) + "\n"


def _place(request: Request) -> str:
    """The path of the live page, as a browser knows it."""
    return str(request.scope.get("root_path", "")) + _PATH


def _cookie(request: Request) -> str | None:
    """The token in the owner's cookie."""
    try:
        cookies: SimpleCookie = SimpleCookie("; ".join(request.headers.getlist("cookie")))
    except CookieError:
        return None
    return cookies[COOKIE].value if COOKIE in cookies else None
