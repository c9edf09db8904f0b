"""Checkpoints of long counts: a line for each file that is counted, so that a restart goes on.

The first line says what was asked: the study, the groups and the options. Each other line holds the
tallies of one file, its size, the time of its last change, what identifies its content, and a
checksum of the line. A line is on the disk before the next file is opened. A line that was cut off,
because the process was killed, counts as not there, and its file is counted again.

A file whose size and time of change are as they were is not read again. Otherwise its content is
compared: a file that was copied or touched is the same, and a file that was changed is refused.

A file has a line only when it passed the checks against all files before it. So a file that was
refused can be removed, and the same command goes on. Files are known again by their real paths, and
else by their names: a folder may be given as a relative or an absolute path, and it may be moved
together with the checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Self

from warner import io as files
from warner._core.canonical_json import canonical
from warner._core.errors import ArgumentError, FileError, WarnerError
from warner.app.command_files import as_file
from warner.app.commands.foreign import CountedFile
from warner.reports.tally import dump_tallies, parse_tallies

_FORMAT = "warner-checkpoint"
_SCHEMA = 1
_START = b'{"asked":'
_ANEW = "Delete the checkpoint to count all files anew"
_OPTIONS = {"by": "--by", "columns": "--column", "ways": "--ways", "keep_reports": "--keep-reports"}


class Checkpoint:
    """The files that are counted, on the disk. A context manager, which closes the file.

    Args:
        path: the file of the checkpoint; it need not exist.
        asked: what is counted and how, as JSON data.
        inputs: all files that are to be counted.

    Raises:
        ArgumentError: a checkpoint of other files or options, or one that another process uses.
        FileError: a file that is no checkpoint, or was altered.
    """

    def __init__(
        self, path: str, asked: Mapping[str, Any], inputs: Iterable[files.DataFile]
    ) -> None:
        self._path = path
        self._entries: dict[str, dict[str, Any]] = {}  # by the real paths of files, or addresses
        self._known: dict[str, dict[str, Any]] = {}  # those of the files to count, by their paths
        self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115 - closed by __exit__
        try:
            self._lock()
            self._read(json.loads(canonical(dict(asked))))
            self._match(list(inputs))
            self._size = self._file.seek(0, os.SEEK_END)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _lock(self) -> None:
        """Refuse a checkpoint that another process writes, where the system can say so."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            pass
        rule = "is in use by another process"
        raise ArgumentError(self._path, rule, None, "Wait for it, or name another file")

    def _read(self, asked: Mapping[str, Any]) -> None:
        """Read all whole lines, and cut off what follows them."""
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        torn = lines.pop()
        head = {"format": _FORMAT, "schema": _SCHEMA, "asked": asked}
        if not lines:
            # A file that holds something else is left as it is.
            if torn[: len(_START)] != _START[: len(torn)]:
                raise self._other_file()
            self._file.truncate(0)
            self._append(head)
            return
        if not (lines[0].startswith(_START) and f'"{_FORMAT}"'.encode() in lines[0]):
            raise self._other_file()
        known = self._parsed(lines[0])
        if known.get("format") != _FORMAT or not isinstance(known.get("asked"), dict):
            raise self._altered()
        if known != head:
            raise self._otherwise(known, asked)
        for line in lines[1:]:
            entry = self._parsed(line)
            if "seal" not in entry or not isinstance(entry.get("file"), str):
                raise self._altered()
            place = entry.get("place") or files.DataFile(entry["file"]).place
            if self._entries.setdefault(place, entry) is not entry:
                raise self._altered()
        self._file.truncate(sum(len(line) + 1 for line in lines))

    def _altered(self) -> FileError:
        return FileError(self._path, "is a checkpoint that was altered", None, _ANEW)

    def _other_file(self) -> FileError:
        remedy = "Name another file, or one that does not exist"
        return FileError(self._path, "is no checkpoint of warner", None, remedy)

    def _otherwise(self, known: Mapping[str, Any], asked: Mapping[str, Any]) -> ArgumentError:
        """The error of a checkpoint of another study or of other options."""
        there = known["asked"]
        remedy = "Give the same options, or name another checkpoint"
        if known.get("schema") != _SCHEMA:
            rule, remedy = "was written by another version of warner", _ANEW
        elif there.get("study") != asked["study"]:
            rule, remedy = "is of another study", "Name another checkpoint"
            if None in (there.get("study"), asked["study"]):
                rule = f"was made {'with' if asked['study'] is None else 'without'} --study"
        else:
            others = [name for key, name in _OPTIONS.items() if there.get(key) != asked[key]]
            rule = f"was made with another {', '.join(others)}"
        return ArgumentError(self._path, rule, None, remedy)

    def _parsed(self, line: bytes) -> dict[str, Any]:
        """The entry of a line, whose checksum is compared."""
        try:
            entry = json.loads(line)
            checksum = entry.pop("sha256")
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            raise self._altered() from None
        if checksum != _checksum(entry):
            raise self._altered()
        return dict(entry)

    def _append(self, entry: Mapping[str, Any]) -> None:
        """Write a line, and wait until it is on the disk."""
        text = canonical({**entry, "sha256": _checksum(entry)})
        self._file.seek(0, os.SEEK_END)
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _match(self, inputs: Sequence[files.DataFile]) -> None:
        """Find the line of each file, and refuse lines of files that are not asked for."""
        left = dict(self._entries)
        for file in inputs:
            if file.place in left:
                self._known[file.path] = left.pop(file.place)
        names = {entry["file"]: place for place, entry in left.items()}
        for file in inputs:
            if file.path not in self._known and file.name in names:
                self._known[file.path] = left.pop(names.pop(file.name))
        if left:
            many = "1 file that is" if len(left) == 1 else f"{len(left):,} files that are"
            first = min(entry["file"] for entry in left.values())
            rule = f"has counted {many} not named now, the first is {first}"
            remedy = f"Were they removed or moved? Put them back, or name them as before. {_ANEW}"
            raise ArgumentError(self._path, rule, None, remedy)

    def knows(self, file: files.DataFile) -> bool:
        """Whether a file has a line."""
        return file.path in self._known

    def found(self, file: files.DataFile) -> CountedFile | None:
        """What was counted in a file; None for a file that is not counted yet."""
        entry = self._known.get(file.path)
        if entry is None:
            return None
        if [*file.state()] != entry["state"]:
            with as_file(file.path) as path:
                seal = files.content_digest(path)
            if seal != entry["seal"]:
                rule = f"was changed after it was counted for {self._path}"
                raise FileError(file.name, rule, None, _ANEW)
        try:
            tallies = parse_tallies(entry["tallies"].encode(), self._path)
        except WarnerError:
            raise self._altered() from None
        # Tallies of different files may be equal: the contents of the files are not.
        others = {name: tally.of_others() for name, tally in tallies.items()}
        return CountedFile(entry["group"], entry["seal"], others, entry["foreign"], entry["named"])

    def add(self, file: files.DataFile, before: files.State, counted: CountedFile) -> None:
        """Keep what was counted in a file, after it passed all checks."""
        if file.state() != before:
            rule = "was changed while it was counted"
            raise FileError(file.name, rule, None, "Count it again")
        self._append(
            {
                "file": file.name,
                "place": file.place,
                "state": [*before],
                "seal": counted.seal,
                "group": counted.group,
                "foreign": counted.foreign,
                "named": counted.named,
                "tallies": dump_tallies(counted.tallies),
            }
        )

    def undo(self) -> None:
        """Leave out the lines that were added since the checkpoint was opened."""
        self._file.truncate(self._size)


def _checksum(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(dict(entry)).encode()).hexdigest()
