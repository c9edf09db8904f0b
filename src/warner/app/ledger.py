"""The ledgers beside a study: which answers were randomised, and what was spent on them.

An answer leaves no mark of its own. A mark is a keyed hash of a whole column of answers, or of all
columns together, and only where trying them out would take 2**64 steps, as their frequencies say.
Of fewer answers the file is marked: its path and the time of its last change. Whoever has the
ledger can test a guess of *all* answers with it, so it is as secret as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import lgamma, log
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from warner._core.errors import ArgumentError, FileError
from warner._core.text import canonical, series
from warner.mechanisms import Mechanism
from warner.studies.study import Study

_FORMAT = "warner-ledger"
_NOTE = (
    "Keep this file as secret as the answers, and delete it together with the answers. Whoever has "
    "this file can guess the answers of all people, and then check whether the whole guess is "
    "right. "
    'The command "warner randomize" needs this file to notice answers that were randomised before.'
)
_BITS = 64.0  # of surprise: no equal answers by chance, and none that are found by trying
_FEWEST = 17  # people: of fewer, no answers can hold that many bits
_BUCKETS = 2**12
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd; 2**64 / golden ratio: neighbours fall far apart
_SHIFT = np.uint64(52)


class Ledger:
    """What one run of ``warner randomize`` reads, against the earlier runs that files record."""

    def __init__(self, path: str, answers: str, *folders: Path) -> None:
        self._answers = answers
        self._folders = (Path(path).parent, *folders)  # whose ledgers are read, too
        self._own = _LedgerFile(path, answers, True)
        self._files = [self._own]
        self._files += [_LedgerFile(other, answers, False) for other in self._beside()]
        for file in self._files:
            if Path(file.path).exists():
                with file.opened():
                    pass
        self._leave_out_copies()
        self.is_entered = False
        self.is_known = False  # whether earlier runs had these answers
        self.in_all = 0.0  # the epsilon of a person, with that of earlier runs on these answers
        self.at_most = 0.0  # the epsilon of a person who was in all earlier runs
        self.earlier = 0  # runs
        self.recorded_in: list[str] = []  # the files that record them
        self.has_twin = False  # whether one of them had as many people

    def _beside(self) -> list[str]:
        """The other ledgers in the folders, in one order."""
        of_folders = [sorted(folder.glob("*.ledger")) for folder in self._folders]
        paths = {path.resolve(): str(path) for path in chain(*of_folders) if path.is_file()}
        paths.pop(Path(self._own.path).resolve(), None)
        return list(paths.values())

    def _leave_out_copies(self) -> None:
        """Leave out runs that a copy of a ledger has, as a backup does: they spent nothing more."""
        before: dict[bytes, list[dict[str, Any]]] = {}
        for file in self._files:
            others = before.setdefault(file.key, [])
            file.runs = [run for run in file.runs if run not in others]
            others += file.runs

    def add(self, group: str | None, batch: Mapping[str, np.ndarray]) -> None:
        """Take in some rows of the answers of a group, (m,) or (m, parts) for each attribute."""
        words = {
            name: _words(answers)
            for key, column in batch.items()
            # One field for each question, of which each person is asked one.
            for name, answers in (
                [(key, column)]
                if column.dtype.names is None
                else [(field, column[field]) for field in column.dtype.names]
            )
        }
        rows = np.zeros(len(next(iter(words.values()))), np.uint64)
        for column in words.values():
            rows = (rows ^ column) * _SPREAD
        for name, column in {**words, "": rows}.items():
            for file in self._files:
                file.add(group, name, column)

    def refuse(self, studies: Mapping[str | None, Study]) -> None:
        """Refuse answers that were randomised before, and say what was spent on them."""
        for group, n in self._own.sizes.items():
            before = self._before(group)
            if not before:
                continue
            spent, many = sum(before.values()), max(before)
            those = "all its answers" if many == n else f"the first {many:,} of {n:,} answers"
            in_all = spent + studies[group].epsilon
            remedy = (
                "Use the earlier reports"
                if many == n
                else "Put the new answers alone into a file, and randomise that file"
            )
            record = series([file.path for file in self._files if file.before(group)], "and")
            raise ArgumentError(
                "standard input" if self._answers == "-" else self._answers,
                f"{those} were randomised before. According to {record}, epsilon = {spent:.10g} "
                "was spent on them",
                None,
                f"{remedy}. With --again, warner makes new reports, and each person spends epsilon "
                f"= {in_all:.10g} in all",
            )

    def _before(self, group: str | None) -> dict[int, float]:
        """{number of people: epsilon} that earlier runs spent on answers of these people."""
        before: dict[int, float] = {}
        for people, epsilon in chain(*(file.before(group) for file in self._files)):
            before[people] = before.get(people, 0.0) + epsilon
        return before

    def enter(self, studies: Mapping[str | None, Study], again: bool) -> None:
        """Write down what is spent, unless the answers are too few to be noticed again."""
        groups = self._own.sizes
        if self._answers == "-" and max(groups.values()) < _FEWEST:
            return
        with contextlib.ExitStack() as opened:
            # In one order, or two processes could wait for each other.
            for file in sorted(self._files, key=lambda file: Path(file.path).resolve()):
                opened.enter_context(file.opened())  # now maybe with the same answers
            for path in set(self._beside()).difference(file.path for file in self._files):
                raise FileError(path, _RACE, None, _ONCE_MORE)
            self._leave_out_copies()
            if not again:
                self.refuse(studies)
            epsilons = {group: studies[group].epsilon for group in groups}
            before = {group: sum(self._before(group).values()) for group in groups}
            self.is_known = any(before.values())
            self.in_all = max(epsilon + before[group] for group, epsilon in epsilons.items())
            runs = {file.path: spent for file in self._files if (spent := file.epsilons)}
            self.recorded_in, self.earlier = list(runs), sum(map(len, runs.values()))
            self.at_most = max(epsilons.values()) + sum(map(sum, runs.values()))
            people = {run["people"] for file in self._files for run in file.runs}
            self.has_twin = bool(people & set(groups.values()))
            self._own.write({group: studies[group] for group in groups})
        self.is_entered = True


_RACE, _ONCE_MORE = (
    "was made by another process while the answers were read",
    "Run the command again",
)


class _LedgerFile:
    """The runs that one file records, and the answers of this run under its key."""

    def __init__(self, path: str, answers: str, is_own: bool) -> None:
        self.path, self._answers = path, answers
        self._is_own = is_own  # others are only read
        self.key = secrets.token_bytes(32)
        self.runs: list[dict[str, Any]] = []  # one for each group of people in a run
        self._columns: dict[tuple[str | None, str], _Column] = {}
        self._handle: BinaryIO | None = None

    def add(self, group: str | None, name: str, words: np.ndarray) -> None:
        """Take in some rows of a column, as numbers; name "" for all columns together."""
        if (group, name) not in self._columns:
            self._columns[group, name] = _Column(self.key, {run["people"] for run in self.runs})
        self._columns[group, name].add(words)

    @property
    def sizes(self) -> dict[str | None, int]:
        """{group: the number of people whose answers were read}."""
        return {group: column.n for (group, name), column in self._columns.items() if not name}

    @property
    def epsilons(self) -> list[float]:
        """What each run spent, of the group that spent most."""
        spent: dict[int, float] = {}
        for run in self.runs:
            spent[run["run"]] = max(spent.get(run["run"], 0.0), float(run["epsilon"]))
        return list(spent.values())

    def before(self, group: str | None) -> list[tuple[int, float]]:
        """The number of people, and epsilon, of each run that spent some on these answers."""
        spent = [(run["people"], self._spent(run, group)) for run in self.runs]
        return [(people, epsilon) for people, epsilon in spent if epsilon]

    def write(self, studies: Mapping[str | None, Study]) -> None:
        """Add a run to the file, which is open."""
        assert self._handle is not None
        number = len(self.epsilons)
        for group, study in studies.items():
            each = {
                mark: repr(epsilon * study.rows_per_person)
                for name, epsilon in _spent_on(study).items()
                for mark in self._marks(group, name)
            }
            spent = {"run": number, "epsilon": repr(study.epsilon), "each": each}
            entry = {"people": self.sizes[group], "all": self._marks(group, ""), **spent}
            self._handle.write(f"{canonical(entry)}\n".encode())
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def _spent(self, run: Mapping[str, Any], group: str | None) -> float:
        """The epsilon that an earlier run spent on these answers; 0 where it had others."""
        people = run["people"]
        if set(run["all"]) & set(self._marks(group, "", people)):
            return float(run["epsilon"])
        names = [name for of, name in self._columns if of == group and name]
        marks = {mark for name in names for mark in self._marks(group, name, people)}
        spent = sum(float(epsilon) for mark, epsilon in run["each"].items() if mark in marks)
        return min(spent, float(run["epsilon"]))  # of several questions, each is asked one or some

    def _marks(self, group: str | None, name: str, people: int | None = None) -> list[str]:
        """The marks of a column, or of its first answers; name "" for all columns together."""
        column = self._columns[group, name]
        if people not in (None, column.n):
            return [column.at[people]] if people in column.at else []
        marks = column.marks(in_any_order=not name)
        file = Path(self._answers).resolve()
        if name and not marks and file.is_file():
            text = canonical([str(file), file.stat().st_mtime_ns, group, name])
            marks = [_hash(self.key, b"file", text.encode()).hexdigest()]
        return marks

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Read the file, for which other processes wait where the system can say so."""
        problem = None
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND if self._is_own else os.O_RDONLY
        try:
            handle = os.open(self.path, flags, 0o600)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            rule, remedy = "cannot be written", "Name another file with --ledger"
            if not self._is_own:
                rule = "may record answers that were randomised before, but cannot be read"
                remedy = "Make the file readable, or move it to another folder"
            problem = FileError(self.path, rule, reason, remedy)
        if problem is not None:
            raise problem
        with os.fdopen(handle, "a+b" if self._is_own else "rb") as self._handle:
            with contextlib.suppress(ImportError):  # Windows
                import fcntl

                # Some file systems lock a file that is only read for readers alone.
                fcntl.flock(self._handle, fcntl.LOCK_EX if self._is_own else fcntl.LOCK_SH)
            self._read(self._handle)
            yield

    def _read(self, file: BinaryIO) -> None:
        """Read all whole lines, and cut off what a crash left of the last one."""
        file.seek(0)
        lines = file.read().split(b"\n")
        torn = lines.pop()
        if not lines and not torn and self._is_own:
            head = {"format": _FORMAT, "schema": 1, "note": _NOTE, "key": self.key.hex()}
            file.write(f"{json.dumps(head)}\n".encode())
            return
        if not self._is_own and f'"{_FORMAT}"'.encode() not in [*lines, torn][0]:
            return  # other programs have ledgers, too
        with contextlib.suppress(ValueError, KeyError, TypeError):
            head, *runs = map(json.loads, lines)
            if (head["format"], head["schema"]) == (_FORMAT, 1):
                if self._columns and head["key"] != self.key.hex():
                    raise FileError(self.path, _RACE, None, _ONCE_MORE)
                keys = ("people", "epsilon", "all", "each")
                self.key = bytes.fromhex(head["key"])
                # Older lines do not say of which run they are.
                self.runs = [
                    {key: run[key] for key in keys} | {"run": run.get("run", -number)}
                    for number, run in enumerate(runs, 1)
                ]
                if self._is_own:
                    file.truncate(sum(len(line) + 1 for line in lines))
                return
        rule = "is not a ledger of warner, or was changed"
        remedy = "Put back the file as it was, or name another file with --ledger"
        if not self._is_own:
            rule = "is a ledger of warner, but was changed"
            remedy = "Put back the file as it was, or move it to another folder"
        raise FileError(self.path, rule, None, remedy)


def _spent_on(study: Study) -> dict[str, float]:
    """What a person spends at most on the answers in each column."""
    spent: dict[str, float] = {}
    for name, mechanism in study.mechanisms.items():
        most = mechanism.guarantee.between_any_values().epsilon
        spent |= dict.fromkeys(mechanism.takers or [name], most)
    if study.draw is not None:  # a question that is asked alone can have less
        for block, inner in zip(study.draw.blocks, study.draw.parts.values(), strict=True):
            if len(block) == 1 and isinstance(study.draw.takers[block[0]], Mechanism):
                spent[block[0]] = inner.guarantee.between_any_values().epsilon
    return spent


class _Column:
    """The answers of one column, as they stream by."""

    def __init__(self, key: bytes, stops: Iterable[int]) -> None:
        self.key, self._hash = key, _hash(key, b"in order")
        self._counts = np.zeros(_BUCKETS, np.int64)
        self._stops = sorted(stops)
        self.n = 0
        self.at: dict[int, str] = {}  # {n: the hash of the first n answers}

    def add(self, words: np.ndarray) -> None:
        """Take in (m,) numbers of 64 bits, equal ones for equal answers."""
        buckets = (words * _SPREAD >> _SHIFT).astype("<u2")
        self._counts += np.bincount(buckets, minlength=_BUCKETS)
        start = 0
        for stop in self._stops:
            if self.n < stop <= self.n + len(buckets):
                self._hash.update(buckets[start : stop - self.n].tobytes())
                self.at[stop], start = self._hash.hexdigest(), stop - self.n
        self._hash.update(buckets[start:].tobytes())
        self.n += len(buckets)

    def marks(self, in_any_order: bool) -> list[str]:
        """The hash of the answers in order, and in any order, where nobody can try them out."""
        counts = self._counts[self._counts > 0]
        in_order = -self.n * np.log2(np.sum((counts / self.n) ** 2))
        marks = [self._hash.hexdigest()] if in_order >= _BITS else []
        # The probability that n others have these counts, by the multinomial distribution.
        orders = lgamma(self.n + 1) - sum(lgamma(c + 1) for c in counts.tolist())
        any_order = -(orders + float(np.sum(counts * np.log(counts / self.n)))) / log(2)
        if in_any_order and any_order >= _BITS:
            marks.append(_hash(self.key, b"any order", self._counts.tobytes()).hexdigest())
        return marks


def _hash(key: bytes, purpose: bytes, data: bytes = b"") -> hashlib.blake2b:
    """A hash that only who has the key can compute."""
    return hashlib.blake2b(data, key=key, person=purpose, digest_size=16)


def _words(answers: np.ndarray) -> np.ndarray:
    """Answers (m,) or (m, parts) as numbers of 64 bits, (m,)."""
    plain = answers.astype(np.float64 if answers.dtype.kind == "f" else np.int64)
    words = np.zeros(len(plain), np.uint64)
    for numbers in plain.reshape(len(plain), -1).T:
        words = words * _SPREAD ^ np.ascontiguousarray(numbers).view(np.uint64)
    return words
