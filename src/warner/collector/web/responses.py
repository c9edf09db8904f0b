"""Answers of the collector over HTTP: refusals by name, pages, files, and the headers of all.

A refusal never repeats what a request held. Refused reports are counted by the names of refusals.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import brotli
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from warner.collector.refusals import READ_AGAIN, Refused
from warner.collector.scripts import packaged_files
from warner.reports.public_columns import SMALLEST_GROUP

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Reason:
    """Why a request is refused."""

    status: int  # of HTTP
    rule: str
    remedy: str | None = None
    of_reports: bool = False  # whether reports were refused, which is counted


_LATER = "Send the request again later"
_BY_POST = "Send reports by POST to /reports"
REASONS: Mapping[str, Reason] = {
    "bad_request": Reason(400, "cannot be read"),
    "malformed": Reason(400, "holds no reports of this study", None, True),
    "duplicate_header": Reason(400, "repeats a header that may appear only once"),
    "no_owner": Reason(
        401, "needs the owner's token", 'Send the header "Authorization: Bearer TOKEN"'
    ),
    "wrong_tokens": Reason(429, "comes after too many wrong tokens", _LATER),
    "forbidden": Reason(403, "did not come from the owner's page", "Open the owner's page again"),
    "not_invited": Reason(403, "has an invitation code that this study does not have", None, True),
    "no_token": Reason(
        403,
        "has no valid token: a device gets a token from the issuer in exchange for the person's "
        "invitation code",
        None,
        True,
    ),
    "exchanged": Reason(
        409, "has an invitation code that was already used, perhaps on another device", None, True
    ),
    "other_origin": Reason(
        403,
        "comes from a web page that the study does not list",
        'In the study file, add the beginning of this page\'s address to "origins" in [collect], '
        'such as "https://app.example.org"',
    ),
    "not_found": Reason(404, "names an address where there is nothing", _BY_POST),
    "no_estimate_yet": Reason(404, "asks for a result that is not published yet"),
    "small_groups": Reason(
        404,
        "asks for groups that are not shown, so that nobody in a group of fewer than "
        f"{SMALLEST_GROUP} people is recognised",
    ),
    "groups_after_closing": Reason(
        404, "asks for results by groups, which are shown only after the closing"
    ),
    "no_picture": Reason(404, "asks for a picture of shares, but only means were estimated"),
    "no_extra": Reason(
        404, "needs an optional part of warner that is not installed where the collector runs"
    ),
    "wrong_method": Reason(
        405,
        "has a method that this address does not take",
        f"{_BY_POST}. An address that redirects, such as from http:// to https://, makes a GET of "
        "a POST",
    ),
    "slow": Reason(408, "took too long to arrive", "Send the request again", True),
    "other_study": Reason(409, "holds reports of another study", READ_AGAIN, True),
    "simulated": Reason(
        409,
        "would mix real and simulated reports, which must be kept in separate stores",
        None,
        True,
    ),
    "ids_dropped": Reason(409, "opens a survey that was closed for good"),
    "not_by_invitation": Reason(409, "invites people to a survey that is open to everyone"),
    "codes_of_issuer": Reason(
        409,
        "sends invitation codes to the collector, but only the issuer may have the codes",
        "Use the issuer's web address",
    ),
    "no_backup": Reason(
        409,
        "asks for a copy of the store, but the store is a database, which warner cannot copy",
        "Whoever runs the database can copy it with pg_dump; see docs/collector.md",
    ),
    "closed": Reason(410, "comes after the survey closed", None, True),
    "too_large": Reason(
        413, "is larger than this collector takes", "Send fewer reports at once", True
    ),
    "long_address": Reason(414, "has too long an address"),
    "type": Reason(
        415,
        "must have the type application/octet-stream, and must not be compressed",
        'Send the header "Content-Type: application/octet-stream", and no "Content-Encoding"',
        True,
    ),
    "other_host": Reason(
        421,
        "names a host that this collector does not serve",
        "Start the collector with the web address that people use: warner collect serve STUDY "
        "--url https://survey.example.org",
    ),
    "not_open": Reason(425, "comes before the survey opens", _LATER, True),
    "too_many": Reason(429, "comes after too many others", _LATER, True),
    "long_headers": Reason(431, "has too long headers"),
    "error": Reason(500, "could not be answered", _LATER),
    "estimate_failed": Reason(
        503, "asks for estimates that could not be computed; the live page says why"
    ),
    "estimating": Reason(503, "asks for estimates that are being computed", _LATER),
    "unavailable": Reason(503, "comes while the store cannot be written", _LATER),
    "store_full": Reason(507, "comes while the store is full", _LATER, True),
}
"""Every reason of a refusal over HTTP, by its name."""

# Refusals of the collector that say more than a sender needs to know.
_SENT_AS: Mapping[str, str] = {
    "busy": "too_many",
    "too_many_groups": "store_full",
    "store_failed": "unavailable",
    "store_restored": "unavailable",
    "stopped": "unavailable",
}
# What is wrong with the reports, or with the owner's wish, is said in the collector's words. Other
# refusals can name files, which are no business of senders: they have the sentence of their name.
_OF_CONTENTS = ("malformed", "other_study", "no_token", "simulated", "ids_dropped")


class HttpRefused(Refused):
    """A request that is refused, with the headers of the answer beyond the usual ones.

    >>> refused = HttpRefused("closed")
    >>> refused.reason.status, refused.content
    (410, {'error': 'closed', 'message': 'request: comes after the survey closed.'})
    """

    def __init__(
        self, name: str, headers: Mapping[str, str] | None = None, rule: str | None = None
    ) -> None:
        self.reason = REASONS[name]
        super().__init__(name, "request", rule or self.reason.rule, None, self.reason.remedy)
        self.headers = dict(headers or {})
        self._text, self._rule = str(self), rule

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.headers, self._rule)

    @classmethod
    def of(cls, refused: Refused) -> HttpRefused:
        """A refusal of the collector as it is sent."""
        if isinstance(refused, cls):
            return refused
        name = _SENT_AS.get(refused.name, refused.name)
        sent = cls(name if name in REASONS else "error")
        if name in _OF_CONTENTS:
            sent._text, sent.position = str(refused), refused.position
        return sent

    @property
    def content(self) -> dict[str, str | int]:
        """The body of the answer."""
        body: dict[str, str | int] = {"error": self.name, "message": self._text}
        return body if self.position is None else {**body, "position": self.position}

    @property
    def raw(self) -> tuple[RawHeaders, bytes]:
        """The headers and the body of the answer."""
        return raw_json(self.content, self.headers)


# -----------------------------------------------------------------------------------------------
# Headers and bodies.


def policy(form_action: str, origins: Sequence[str] = (), issuer: str = "") -> str:
    """The content security policy of a page, with frames in ``origins``, asking also ``issuer``."""
    # Nothing is loaded from elsewhere, no script or style stands in a page, and no other site may
    # frame it. Where a form could send answers past the script, form-action 'none' forbids it.
    frames = " ".join(origins) or "'none'"
    sources = f"'self' {issuer}".rstrip()
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src {sources}; "
        "manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
        f"form-action {form_action}; frame-ancestors {frames}; "
        "require-trusted-types-for 'script'"
    )


SECURITY: Mapping[str, str] = {
    "content-security-policy": policy("'none'"),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
    "x-frame-options": "DENY",
}
"""Headers of every answer, unless it has such a header of its own."""

NOT_STORED = "no-store"
ASKED_AGAIN = "no-cache"  # kept, and asked whether it is still the same before each use
_SECURITY_RAW = [(name.encode(), value.encode()) for name, value in SECURITY.items()]


def secured(headers: RawHeaders) -> RawHeaders:
    """The headers of an answer with those that every answer has."""
    stated = {name.lower() for name, _ in headers}
    more = [(n, v) for n, v in _SECURITY_RAW if n not in stated]
    # A page that some origins may frame says so in its policy, and not in a header of its own.
    return [(n, v) for n, v in [*headers, *more] if v]


def raw_json(content: Any, extra: Mapping[str, str] | None = None) -> tuple[RawHeaders, bytes]:
    """The headers and the body of an answer in JSON that is not to be stored."""
    body = json.dumps(content, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", NOT_STORED.encode()),
        *((n.encode(), v.encode()) for n, v in (extra or {}).items()),
    ]
    return secured(headers), body


@lru_cache(maxsize=256)
def accepted(count: int) -> tuple[RawHeaders, bytes]:
    """The headers and the body of the answer to ``count`` reports that are stored."""
    return raw_json({"accepted": count})


async def send_raw(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """Send an answer whole."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_refusal(send: Send, refusal: HttpRefused) -> None:
    """Send the answer to a refused request."""
    await send_raw(send, refusal.reason.status, *refusal.raw)


def json_answer(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in JSON that is not to be stored."""
    raw, body = raw_json(content, headers)
    answer = Response(body, status)
    answer.raw_headers = raw
    return answer


def refusal_answer(refusal: HttpRefused) -> Response:
    """The answer to a refused request."""
    return json_answer(refusal.content, refusal.reason.status, refusal.headers)


def page(text: str, form_action: str = "'none'", status: int = 200) -> Response:
    """A page of HTML with its content security policy, which is not to be stored."""
    headers = {"content-security-policy": policy(form_action), "cache-control": NOT_STORED}
    return Response(text, status, headers, "text/html")


# -----------------------------------------------------------------------------------------------
# Files that are served as they are, with a strong entity tag, from the package itself.


TYPES: Mapping[str, str] = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
}
"""The content type by the end of a file's name."""


@dataclass(frozen=True)
class StaticFile:
    """A file in memory that is the same for everybody, and is compressed once."""

    # Nothing of a request or a person is in it, so its compressed length tells nothing (BREACH).

    content: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    varies: tuple[str, ...] = ()  # the headers of requests by which another file is answered

    @cached_property
    def tag(self) -> str:
        """The entity tag: the SHA-256 of the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()}"'

    @cached_property
    def forms(self) -> Mapping[str, bytes]:
        """The content in each coding, the shortest first."""
        return {
            "br": brotli.compress(self.content),
            "gzip": gzip.compress(self.content, mtime=0),
            "identity": self.content,
        }

    async def answer(self, request: Request) -> Response:
        """The file, or 304 without it for a sender who has it."""
        coding = coding_for(request.headers.getlist("accept-encoding"), self.forms)
        # Several forms of a file are several things for a cache, so each has a tag.
        tag = self.tag if coding == "identity" else f'{self.tag[:-1]}-{coding}"'
        headers = {
            **self.headers,
            "etag": tag,
            "cache-control": ASKED_AGAIN,
            "vary": ", ".join(["accept-encoding", *self.varies]),
        }
        # Tags that a sender has are such as ``W/"a", "b"`` or ``*``.
        stated = ",".join(request.headers.getlist("if-none-match")).split(",")
        if {tag, "*"} & {one.strip().removeprefix("W/") for one in stated}:
            return Response(status_code=304, headers=headers)
        headers["content-type"] = self.content_type
        if coding != "identity":
            headers["content-encoding"] = coding
        return Response(self.forms[coding], headers=headers)


def coding_for(stated: Sequence[str], codings: Iterable[str]) -> str:
    """The first of some codings that a sender takes, by its headers Accept-Encoding.

    >>> codings = ["br", "gzip", "identity"]
    >>> coding_for(["gzip;q=1.0, br;q=0.8"], codings), coding_for(["br;q=0, gzip"], codings)
    ('br', 'gzip')
    >>> coding_for([], codings)
    'identity'
    """
    named = [one.partition(";") for one in ",".join(stated).lower().split(",")]
    taken = {name.strip() for name, _, weight in named if _weight(weight)}
    return next((coding for coding in codings if coding in taken), "identity")


def language_for(stated: Sequence[str], languages: Sequence[str]) -> str | None:
    """The one of some languages that a reader prefers, by headers Accept-Language, or None.

    >>> language_for(["de-AT,de;q=0.9,en;q=0.8"], ["en", "de"])
    'de'
    >>> language_for(["da, en;q=0"], ["en", "de"]) is None
    True
    """
    named = [one.partition(";") for one in ",".join(stated).lower().split(",")]
    tags = [(_weight(weight), name.strip()) for name, _, weight in named]
    for weight, tag in sorted(tags, key=lambda one: -one[0]):
        exact = [one for one in languages if one.lower() == tag]
        near = [one for one in languages if one.lower().split("-")[0] == tag.split("-")[0]]
        if weight and (exact or near):
            return (exact or near)[0]
    return None


def _weight(text: str) -> float:
    """The weight in ``q=0.8``; 1 where there is none that can be read."""
    written = re.fullmatch(r"\s*q\s*=\s*(\d(?:\.\d{0,3})?)\s*", text)
    return float(written[1]) if written else 1.0


def packaged() -> dict[str, StaticFile]:
    """The scripts and styles that pages load, by name."""
    return {
        name: StaticFile(content, TYPES["." + name.rpartition(".")[2]])
        for name, content in packaged_files().items()
    }
