"""The owner's part: the live page, its downloads, opening and closing, invitations, copies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from warner._core.errors import MissingExtraError
from warner.collector.access import COOKIE, MOST_INVITED, invitations_in, is_proof, may, proof_of
from warner.collector.collector import Collector
from warner.collector.deployment_card import deployment_card
from warner.collector.live.estimates import ESTIMATES, NotPublished, tally_json
from warner.collector.live.publisher import LivePublisher, live_events
from warner.collector.pages.live import FIELD, card_page, live_page, no_owner_page
from warner.collector.status import status_of
from warner.collector.web.intake import Body, Headers, sender
from warner.collector.web.limits import Held, Limits, Tokens
from warner.collector.web.metrics import TYPE, Metrics, Times
from warner.collector.web.responses import NOT_STORED, HttpRefused, json_answer, page
from warner.studies.study import Study

_T = TypeVar("_T")


_FORM = Limits(body=4096, body_seconds=10.0)
_INVITATIONS = Limits(body=100 + 16 * MOST_INVITED, body_seconds=30.0)
_FORM_TYPE = "application/x-www-form-urlencoded"
LIVE = "/live"  # the beginning of the owner's addresses
_READERS, _MOST_WAITING = 2, 8  # requests for estimates that are made, and that wait or are made

_IN_A_MINUTE = {"retry-after": "60"}

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


class OwnerActions:
    """What an owner does to a collector, or to an issuer, below ``/live``; it needs a token."""

    def __init__(self, tokens: Tokens, collector: Collector, study: Study, invites: bool) -> None:
        self._tokens, self._collector, self._study = tokens, collector, study
        self._invites = invites  # whether people are invited here
        self._held = Held(1 << 20)

    def routes(self) -> list[Route]:
        """The routes of the application."""
        changes = {"close": self._collector.close_survey, "open": self._collector.open_survey}
        return [
            *(
                Route(f"{LIVE}/{n}", partial(self._change, do), methods=["POST"])
                for n, do in changes.items()
            ),
            Route(f"{LIVE}/invite", self._invite, methods=["POST"]),
            Route(f"{LIVE}/backup", self._backup, methods=["POST"]),
        ]

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
        headers = Headers.of(request.scope["headers"])
        headers.require_bytes()
        if not self._invites:
            has_tokens = self._study.collect.access == "tokens"
            raise HttpRefused("codes_of_issuer" if has_tokens else "not_by_invitation")
        body = await Body(request.receive, headers).read(_INVITATIONS, self._held)
        ids = invitations_in(body, self._study.digest)
        await asyncio.to_thread(self._collector.invite, ids)
        return json_answer({"invited": self._collector.invitations[0]}, 202)

    async def _backup(self, request: Request) -> Response:
        """Have a copy of the store written beside it. It never comes here."""
        asker = self._asker(request)
        if asker.is_browser:
            raise HttpRefused("forbidden")
        # The copy has what the live page does not show yet: who has the machine alone reads it.
        return json_answer({"backup": await asyncio.to_thread(self._collector.backup, asker.name)})

    def _asker(self, request: Request, deed: str = "act") -> _Asker:
        """Who asks; everyone is refused who has no token for this deed."""
        bearer = Headers.of(request.scope["headers"]).bearer
        token = request.cookies.get(COOKIE) if bearer is None else bearer
        if token is None:
            raise HttpRefused("no_owner", {"www-authenticate": "Bearer"})
        name = self._tokens.check(token, sender(request.scope), deed)
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


class OwnerPages(OwnerActions):
    """The actions of a collector's owner, and the pages with what was counted."""

    def __init__(
        self, tokens: Tokens, collector: Collector, live: LivePublisher, times: Times
    ) -> None:
        super().__init__(tokens, collector, live.study, live.study.collect.access == "invited")
        self._live, self._metrics = live, Metrics(collector, live, times)
        # Estimates can take minutes. In the threads of all requests they would keep health waiting.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="warner-live-page")
        self._waiting = 0

    def routes(self) -> list[Route]:
        """The routes of the application."""
        return [
            *super().routes(),
            Route(LIVE, self._page),
            Route(f"{LIVE}/events", self._events),
            Route(f"{LIVE}/metrics", self._measured),
            Route(f"{LIVE}/status.json", self._status),
            *(Route(f"{LIVE}/{n}", partial(self._download, n)) for n in _DOWNLOADS),
            Route(f"{LIVE}/leave", self._leave, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        try:
            if "token" in request.query_params:
                return self._log_in(request)
            asker = self._asker(request, "read")
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
            raise HttpRefused("estimating", _IN_A_MINUTE)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, read)
        finally:
            self._waiting -= 1

    def _text(self, by: str | None, asker: _Asker) -> str:
        """The live page."""
        groups = None if by is None else self._live.groups(by)
        view, proof, record = self._live.view(), proof_of(asker.token), self._collector.record
        return live_page(view, self._study, proof, by, groups, record, may(asker.name, "act"))

    def _column(self, request: Request) -> str | None:
        """The public column that a request asks for; None for none."""
        by = request.query_params.get("by") or None
        if by is not None and by not in self._study.public:
            raise HttpRefused("not_found")
        return by

    def _log_in(self, request: Request) -> Response:
        """Turn the token in the address into a cookie, so that it does not stay in the address."""
        tokens = request.query_params.getlist("token")
        if len(tokens) != 1:
            raise HttpRefused("no_owner")
        self._tokens.check(tokens[0], sender(request.scope), "read")
        return _with_cookie(request, tokens[0])

    async def _leave(self, request: Request) -> Response:
        """Take the token from the browser again."""
        await self._require_own_form(request, self._asker(request, "read"))
        return _with_cookie(request, "")

    async def _events(self, request: Request) -> Response:
        self._asker(request, "read")
        headers = {"cache-control": NOT_STORED, "x-accel-buffering": "no"}
        return StreamingResponse(
            live_events(self._live), media_type="text/event-stream", headers=headers
        )

    async def _measured(self, request: Request) -> Response:
        self._asker(request, "metrics")
        text = await asyncio.to_thread(self._metrics.text)
        return Response(text, headers={"cache-control": NOT_STORED, "content-type": TYPE})

    async def _status(self, request: Request) -> Response:
        """How the collector is, for ``warner collect status``."""
        self._asker(request, "read")
        text = (
            await asyncio.to_thread(status_of, self._study, self._collector, self._live)
        ).to_json()
        headers = {"cache-control": NOT_STORED, "content-type": "application/json"}
        return Response(text, headers=headers)

    async def _download(self, name: str, request: Request) -> Response:
        self._asker(request, "read")
        read = partial(self._content, name, self._column(request))
        try:
            content = await (self._in_turn(read) if name in ESTIMATES else asyncio.to_thread(read))
        except NotPublished as error:
            wait = _IN_A_MINUTE if error.name == "estimating" else {}
            raise HttpRefused(error.name, wait) from None
        except MissingExtraError:
            raise HttpRefused("no_extra") from None
        headers = {"cache-control": NOT_STORED, "content-type": _DOWNLOADS[name]}
        if name != "card.html":
            headers["content-disposition"] = f'attachment; filename="{name}"'
        return Response(content, headers=headers)

    def _content(self, name: str, by: str | None) -> str | bytes:
        """A file that the owner can load."""
        study, view = self._study, self._live.view()
        if name == "tally.json":
            return tally_json(view, study, by)
        if name in ESTIMATES:
            return self._live.file(name)
        card = deployment_card(study, view)
        if name == "card.html":
            return card_page(card)
        return json.dumps(card, indent=1, ensure_ascii=False) + "\n"


def _path(request: Request) -> str:
    """The path of the live page, as a browser knows it."""
    return str(request.scope.get("root_path", "")) + LIVE


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
