"""Builds a release twice from what is committed, compares, installs and checks it: `make release`.

In dist/ it leaves the wheel, the source archive (with documents and tests), the package for npm,
the list of all that an installation with the extra "all" brings (SBOM, CycloneDX), and SHA256SUMS.

    make release                        # all of it; the attacks take five minutes
    make release RELEASE="--minutes 0"  # without the attacks
    make release RELEASE=--changes      # what stands in changes/ becomes a section of CHANGELOG.md

It ends with an error where a version differs, something is not committed, the two builds differ,
the source archive gives another wheel, the installed package fails, or a package of a lock has a
known weakness. Where the index gives no advisories, it says which packages were not looked up.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = ROOT / ".ci" / ".venv" / "bin"
LOCKS = ("requirements.lock", ".ci/requirements.lock")

# Where the version stands, and how.
PLACES: Mapping[str, str] = {
    "pyproject.toml": r'^version = "(.+)"$',
    "src/warner/__init__.py": r'^__version__ = "(.+)"$',
    "src/warner/_core/references.py": r'"howpublished": "version (.+)"',
    "src/warner/browser/package.json": r'^  "version": "(.+)",$',
    "clients/rust/Cargo.toml": r'^version = "(.+)"$',
    "r/warner/DESCRIPTION": r"^Version: (.+)$",
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## (\d[^\s,]*)",
}


def versions(root: Path = ROOT) -> dict[str, str]:
    """{file: the version that stands in it, "" where there is no version}."""
    first = {path: re.search(p, (root / path).read_text(), re.M) for path, p in PLACES.items()}
    return {path: match[1] if match else "" for path, match in first.items()}


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> str:
    """What a command prints; the release ends if it fails."""
    made = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE
    )
    if made.returncode:
        sys.exit(f"{made.stdout}\n{' '.join(map(str, command))}: failed ({made.returncode})")
    return made.stdout


def build(folder: Path) -> dict[str, bytes]:
    """{name: content} of the wheel, the source archive and the npm package of what is committed."""
    source, made = folder / "source", folder / "made"
    source.mkdir(parents=True)
    made.mkdir()
    run("git", "archive", "-o", folder / "source.tar", "HEAD")
    with tarfile.open(folder / "source.tar") as archive:
        archive.extractall(source, filter="data")
    time = run("git", "log", "-1", "--format=%ct").strip()
    run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-d",
        made,
        folder=source,
        SOURCE_DATE_EPOCH=time,
    )
    browser = source / "tests" / "browser"
    (browser / "node_modules").symlink_to(ROOT / "tests" / "browser" / "node_modules")
    package = folder / "package"
    package.mkdir()
    run("node", browser / "build.mjs", package, folder=source)
    run("npm", "pack", "--silent", "--pack-destination", made, folder=package)
    return {path.name: path.read_bytes() for path in sorted(made.iterdir())}


def wheel_of_sources(folder: Path, sources: Path) -> bytes:
    """The wheel that the source archive gives."""
    with tarfile.open(sources) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    time = run("git", "log", "-1", "--format=%ct").strip()
    run(
        *(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder),
        folder=unpacked,
        SOURCE_DATE_EPOCH=time,
    )
    return next(folder.glob("*.whl")).read_bytes()


def install(folder: Path, wheel: Path) -> Path:
    """The Python of a new environment with the wheel and its extra "all", as the lock pins them."""
    run(sys.executable, "-m", "venv", folder)
    pins = re.findall(r"^[\w.-]+==[^\\\n]+", (ROOT / LOCKS[0]).read_text(), re.M)
    (folder / "pins.txt").write_text("\n".join(pins) + "\n")
    pip = (folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*pip, "-c", folder / "pins.txt", f"warner[all] @ {wheel.as_uri()}")
    return folder / "bin" / "python"


def advisories() -> None:
    """Look all packages of the locks up; a known weakness ends the release."""
    for lock in LOCKS:
        looked = subprocess.run(
            [TOOLS / "pip-audit", "--disable-pip", "--require-hashes", "-r", lock, "-f", "json"],
            cwd=ROOT,
            text=True,
            capture_output=True,
        )
        found = json.loads(looked.stdout or '{"dependencies": []}')["dependencies"]
        weak = [f"{one['name']} {one['version']}" for one in found if one.get("vulns")]
        if weak:
            sys.exit(f"{lock}: known weaknesses of {', '.join(weak)}")
        unknown = sum("skip_reason" in one for one in found)
        print(
            f"{lock}: {len(found) - unknown} of {len(found)} packages have no known weakness,"
            f" {unknown} are not known to the index"
            if found
            else f"{lock}: could not be looked up"
        )
    looked = subprocess.run(
        ["npm", "audit", "--prefix", "tests/browser", "--json"],
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    totals = json.loads(looked.stdout or "{}").get("metadata", {}).get("vulnerabilities")
    if totals is None:
        print("tests/browser/package-lock.json: could not be looked up")
    elif totals["total"]:
        sys.exit(f"tests/browser/package-lock.json: {totals['total']} known weaknesses")
    else:
        print("tests/browser/package-lock.json: no known weakness")


def collect_changes(root: Path = ROOT) -> None:
    """Move the lines of changes/*.md into a section of CHANGELOG.md for the package's version."""
    pieces = sorted(path for path in (root / "changes").glob("*.md") if path.name != "README.md")
    if not pieces:
        sys.exit("changes/ holds no change")
    version = versions(root)["pyproject.toml"]
    path = root / "CHANGELOG.md"
    text = path.read_text()
    if re.search(rf"^## {re.escape(version)}\b", text, re.M):
        sys.exit(f"CHANGELOG.md has {version} already: the version in pyproject.toml comes first")
    lines = "".join(piece.read_text().strip() + "\n" for piece in pieces)
    head, _, rest = text.partition("\n## ")
    path.write_text(f"{head}\n## {version}\n\n{lines}\n## {rest}")
    for piece in pieces:
        piece.unlink()


def main() -> None:
    """Build, compare, install, check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="of attacks; 0 for no attacks")
    parser.add_argument("--changes", action="store_true", help="collect changes/ and end")
    arguments = parser.parse_args()
    if arguments.changes:
        collect_changes()
        return
    stated = versions()
    if len(set(stated.values())) != 1:
        sys.exit(
            "the versions differ: " + ", ".join(f"{v or 'none'} in {p}" for p, v in stated.items())
        )
    if changed := run("git", "status", "--porcelain"):
        sys.exit(f"not committed:\n{changed}")
    advisories()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        first, second = build(folder / "first"), build(folder / "second")
        differing = [name for name in first if first[name] != second.get(name)]
        if differing or first.keys() != second.keys():
            sys.exit(
                f"two builds differ: {', '.join(differing or sorted(first.keys() ^ second.keys()))}"
            )
        for name, content in first.items():
            (DIST / name).write_bytes(content)
        (wheel,), (sources,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
        (folder / "again").mkdir()
        if wheel_of_sources(folder / "again", sources) != wheel.read_bytes():
            sys.exit("the source archive gives another wheel")
        python = install(folder / "installed", wheel)
        for command in (["--version"], ["demo"]):
            run(python, "-m", "warner", *command, folder=folder)
        parts = DIST / f"warner-{stated['pyproject.toml']}.cdx.json"
        run(
            *(TOOLS / "cyclonedx-py", "environment", python, "--output-reproducible", "-o", parts),
            *("--pyproject", ROOT / "pyproject.toml"),
        )
    sums = [
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(DIST.iterdir())
    ]
    (DIST / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")
    if arguments.minutes:
        run(sys.executable, "-m", "tests.attack", "--minutes", f"{arguments.minutes:g}")
        print(f"{arguments.minutes:g} minutes of attacks found nothing")


if __name__ == "__main__":
    main()
