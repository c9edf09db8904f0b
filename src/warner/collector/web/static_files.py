"""Files that are served as they are, with a strong entity tag, from the package itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from warner.collector.web.responses import ASKED_AGAIN

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
