"""Answers of the collector over HTTP: JSON, pages, and the headers that every answer has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from warner.collector.web.http_refusals import HttpRefused


def policy(form_action: str) -> str:
    """The content security policy of a page.

    Nothing is loaded from elsewhere, no script or style stands in a page, and no other site may
    frame it. Where a form could send answers past the script, ``form-action 'none'`` forbids it.
    """
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
        f"form-action {form_action}; frame-ancestors 'none'; require-trusted-types-for 'script'"
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

RawHeaders = list[tuple[bytes, bytes]]


def secured(headers: RawHeaders) -> RawHeaders:
    """The headers of an answer with those that every answer has."""
    stated = {name.lower() for name, _ in headers}
    return [*headers, *((n, v) for n, v in _SECURITY_RAW if n not in stated)]


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
    await send_raw(send, refusal.reason.status, *raw_json(refusal.content, refusal.headers))


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


def page(
    text: str, form_action: str = "'none'", stored: str = NOT_STORED, status: int = 200
) -> Response:
    """A page of HTML with its content security policy."""
    headers = {"content-security-policy": policy(form_action), "cache-control": stored}
    return Response(text, status, headers, "text/html")


# -----------------------------------------------------------------------------------------------
# Files that are served as they are, with a strong entity tag, from the package itself.


TYPES: Mapping[str, str] = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
}
"""The content type by the end of a file's name."""

_OF_PAGES = (".js", ".css", ".svg", ".webmanifest")
_FOLDERS = ("browser", "collector/static")  # below the package


@dataclass(frozen=True)
class StaticFile:
    """A file in memory.

    Attributes:
        content: its bytes.
        content_type: its type.
    """

    content: bytes
    content_type: str

    @cached_property
    def tag(self) -> str:
        """The entity tag: the SHA-256 of the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()}"'

    def answer(self, request: Request) -> Response:
        """The file, or 304 without it for a sender who has it."""
        headers = {"etag": self.tag, "cache-control": ASKED_AGAIN}
        if _names(request.headers.getlist("if-none-match"), self.tag):
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers={**headers, "content-type": self.content_type})


def packaged() -> dict[str, StaticFile]:
    """The scripts and styles that pages load, by name.

    They are read by way of the import system, because a package may be a zip file.
    """
    found = {}
    for folder in _FOLDERS:
        for path in resources.files("warner").joinpath(folder).iterdir():
            ending = "." + path.name.rpartition(".")[2]
            if ending in _OF_PAGES:
                found[path.name] = StaticFile(path.read_bytes(), TYPES[ending])
    return found


def _names(stated: list[str], tag: str) -> bool:
    """Whether the tags that a sender has, such as ``W/"a", "b"`` or ``*``, include ``tag``."""
    known = {part.strip().removeprefix("W/") for line in stated for part in line.split(",")}
    return tag in known or "*" in known
