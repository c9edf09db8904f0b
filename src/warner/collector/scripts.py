"""The scripts and styles that pages load, and the digest of what runs on people's devices."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources

_FOLDERS = ("browser", "collector/static")  # below the package
_OF_OWNERS = "live.js"


@cache
def packaged_files() -> Mapping[str, bytes]:
    """The scripts and styles by name."""
    # By way of the import system, because a package may be a zip file.
    return {
        path.name: path.read_bytes()
        for folder in _FOLDERS
        for path in resources.files("warner").joinpath(folder).iterdir()
        if path.name.endswith((".js", ".css"))
    }


def integrity(name: str) -> str:
    """The SHA-256 of a script, as the attribute ``integrity`` of a page has it."""
    digest = hashlib.sha256(packaged_files()[name]).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def scripts_digest(files: Mapping[str, bytes] | None = None) -> str:
    """The SHA-256 of all scripts that people's devices run, in hexadecimal digits.

    It is the digest of the lines that ``sha256sum`` prints for the scripts in the order of their
    names, so everybody can compute it from the files that a collector serves.
    """
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in people_scripts(files)}
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def people_scripts(files: Mapping[str, bytes] | None = None) -> list[tuple[str, bytes]]:
    """The scripts among some files, by default those of this package, that people's devices run."""
    files = packaged_files() if files is None else files
    return [(n, t) for n, t in files.items() if n.endswith(".js") and n != _OF_OWNERS]
