"""The files that commands read and write, and the mistakes with files that they refuse."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from warner import io as files
from warner._core.atomic_files import write_whole
from warner._core.errors import ArgumentError, MismatchError, message
from warner.app.study import Study
from warner.app.terminal import plural
from warner.mechanisms import Mechanism, from_header
from warner.reports.tally import (
    Tally,
    dump_tallies,
    load_tallies,
    parse_tallies,
    require_same_origin,
    save_tallies,
)


def read_tallies(path: str) -> dict[str, Tally]:
    """The tallies in a tally file, or on standard input for ``-``, by attribute."""
    if path == "-":
        return parse_tallies(sys.stdin.buffer.read(), "standard input")
    return load_tallies(path)


def read_or_count_tallies(path: str) -> dict[str, Tally]:
    """The tallies in a tally file, or those of the reports in a report file."""
    return files.tally_file(path) if files.is_report_file(path) else read_tallies(path)


def write_tallies(tallies: dict[str, Tally], path: str) -> None:
    """Write tallies to a file, or to standard output for ``-``, and print the number of reports."""
    if path == "-":
        click.echo(dump_tallies(tallies), nl=False)
    else:
        save_tallies(tallies, path)
    click.echo(plural(next(iter(tallies.values())).n, "report", "reports"), err=True)


def write_text(text: str, path: str) -> None:
    """Write a text to a file, or to standard output for ``-``."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_whole(path, text.encode())


def refuse_overwriting(output: str | None, *inputs: str) -> None:
    """Refuse an output that is one of the inputs, by its name or as standard input."""
    if output in (None, "-") or not Path(str(output)).is_file():
        return
    target = Path(str(output)).stat()
    for path in inputs:
        try:
            status = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
        except (OSError, ValueError):
            continue  # no such file, or a standard input that is no file of the system
        if os.path.samestat(target, status):
            raise ArgumentError(
                message(
                    "output", "must not be one of the inputs", str(output), "Choose another name"
                )
            )


def refuse_shared_outputs(outputs: Mapping[str, str | None]) -> None:
    """Refuse two results with one file name: the second would replace the first."""
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
            continue
        if (other := seen.setdefault(Path(path).resolve(), option)) != option:
            raise ArgumentError(
                message(
                    f"--{other} and --{option}",
                    "must not go to one file",
                    path,
                    "Choose another name",
                )
            )


def add_tallies(
    parts: dict[str, dict[str, Tally]], allow_equal: bool, allow_simulated: bool
) -> dict[str, Tally]:
    """The sum of the tallies of several inputs.

    Args:
        parts: {path: {attribute: tally}}.
        allow_equal: whether two inputs may have equal counts.
        allow_simulated: whether simulated reports may be added to real ones.

    Raises:
        MismatchError: the inputs are of different attributes, or only some of them are simulated.
        ArgumentError: two inputs have equal counts.
    """
    marks = [part.simulated for tallies in parts.values() for part in tallies.values()]
    if allow_simulated:
        parts = {
            path: {name: part.marked(any(marks)) for name, part in tallies.items()}
            for path, tallies in parts.items()
        }
    else:
        require_same_origin(marks, "tallies")
    total: dict[str, Tally] = {}
    seen: dict[str, str] = {}
    for path, part in parts.items():
        if total and part.keys() != total.keys():
            raise MismatchError(
                message(
                    "tallies",
                    "are of different attributes",
                    f"{', '.join(total)} and {', '.join(part)}",
                )
            )
        content = ",".join(f"{name!r}:{t.digest}" for name, t in sorted(part.items()))
        if not allow_equal and content in seen:
            raise ArgumentError(
                message(
                    "tallies",
                    "must not be added twice",
                    f"{seen[content]} and {path}, whose counts are equal",
                    "Leave one out; if they are of different people, say --allow-equal",
                )
            )
        seen[content] = path
        total = {name: total[name] + t if total else t for name, t in part.items()}
    return total


def require_study(file: files.ReportFile, study: Study, together: bool) -> files.ReportFile:
    """The report file, refused where its headers are not those of the study.

    Headers are compared as text. No mechanism is built from a header that was not expected.
    """
    known: dict[str, Mechanism] = dict(study.mechanisms)
    if together and len(known) > 1 and len(file.headers) == 1:
        # Reports of PerAttribute that were written as one attribute.
        known = dict.fromkeys(file.headers, study.together)
    return file.expected(known)


def mechanisms_of(path: str) -> tuple[dict[str, Mechanism], bool]:
    """The mechanisms in a study, report or tally file, and whether its reports are simulated."""
    suffix = Path(path).suffix
    if files.is_report_file(path):
        opened = files.open_reports(path)
        return opened.mechanisms, opened.simulation
    if suffix == ".json" and _is_tally_file(path):
        tallies = load_tallies(path)
        mechanisms = {name: from_header(t.header) for name, t in tallies.items()}
        return mechanisms, any(t.simulated for t in tallies.values())
    return Study.load(path).mechanisms, False


def _is_tally_file(path: str) -> bool:
    start = Path(path).read_text(encoding="utf-8", errors="replace")[:200]
    return '"warner-tally"' in start


@contextlib.contextmanager
def as_file(path: str) -> Iterator[str]:
    """A file name for ``path``; standard input becomes a temporary file.

    A report file is read twice, and standard input can be read once only.
    """
    if path != "-":
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file.name
