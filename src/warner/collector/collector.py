"""The collector: it counts each submission exactly once, and keeps counts and spent ids only.

One thread writes. It takes all submissions that wait, leaves out those whose id is spent, and
writes the new ids and the changed counts in one transaction. Only then it adds them to the counts
in memory and resolves the futures of :meth:`Collector.submit`. A device whose reply is lost sends
the same bytes again, and the id is spent: no report is lost or counted twice.

Nothing that orders people is kept: no clock, no address, no number of arrival. The clock is
compared with the study's opening and closing times, and never stored. A survey that the clock has
closed for an hour of one run is closed as if its owner had closed it: ids are dropped or sorted. A
clock that was wrong for a moment drops nothing, also where the collector stops or starts at it.

One copy of the store at rest does not say which id sent which report: the store's log is emptied
a tenth of a second after a commit, also while more of them follow, and at each start. But until
then the log, and any two copies, show by which counts and by which ids they differ: where one
person came in between, that is this person's report. Then epsilon alone protects. So what waits is
committed together. What the pages of ids reveal of the order while the survey runs is said in
:mod:`warner.collector.spent_ids`. While a single person is counted, the counts are that report.

After the reply nothing in the process refers to a submission. But Python does not wipe memory: its
bytes stand there until that memory is used again. Of 60 submissions, 5 could be read from a memory
dump right after the last reply, and 2 after 500 more. Counts and ids stay in memory.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.text import canonical
from warner.collector.counts import BLOCK, Added, Counts
from warner.collector.refusals import Refused
from warner.collector.spent_ids import IdSet, Runs, first_of_each, load, words_of
from warner.collector.stores import (
    COUNTS,
    DISTINCT,
    INVITED,
    SPENT,
    Change,
    Pages,
    Store,
    number_of,
)
from warner.collector.submissions import ID_BYTES, Batch, SubmissionFormat
from warner.reports.tally import Tally
from warner.studies.study import Study

_T = TypeVar("_T")

OPEN, CLOSED, NOT_OPEN = "open", "closed", "not_open"
PACE = 0.02  # seconds from the beginning of one commit to that of the next, unless many wait
MANY = 1000  # submissions, which are not made to wait
_GROUP = 2**23  # bytes of submissions, about the most of one commit
_WAITING = 2**26  # bytes of submissions, the most that wait
_QUIET = 1.0  # seconds between counters of rejects, and between tidying while many wait
_LOOK = 10.0  # seconds between looks at the clock of a survey that closes by it
_GRACE = 3600.0  # seconds for which the clock must say so before ids are dropped
_TRUSTED = 5.0  # seconds for which the last commit says whether the store can be written
_TRIAL = 2**16  # bytes, the fewest that are written to see whether the store can be written
_DISK_PAGE = 2**12  # bytes that a page of the store takes besides its contents, at most
_REASONS = 100  # different reasons of rejects
_STUDY, _OWNER = "study", "owner"
_MARK = "mark"  # random, of the tallies of this collector
_REMEMBERED = "remembered "  # the beginning of the names of facts that others keep
_LAYOUT, _REJECTS, _WISH, _DROPPED = "layout", "rejects", "wish", "dropped"
_TRIED = "tried"  # random bytes, which were written to see whether the store can be written


@dataclass(frozen=True)
class Accepted:
    """Submissions that are counted."""

    accepted: int  # how many submissions the batch had. It is the same for a repeat
    new: int  # how many of them were counted now. A device is not told


@dataclass(frozen=True)
class State:
    """What a collector has committed at one moment."""

    version: int  # it grows with each change
    n: int
    tallies: Mapping[str, Tally]  # by attribute
    # The tally of tables of several attributes; None unless these are asked for.
    joint: Tally | None
    rejects: Mapping[str, int]  # {reason: how many requests}
    status: str  # ``open``, ``closed`` or ``not_open``


@dataclass
class _Group:
    """What one transaction is to write, and what becomes of memory afterwards."""

    facts: Mapping[str, bytes] = field(default_factory=dict)
    pages: Mapping[str, Pages] = field(default_factory=dict)
    number: int = 0
    added: Added | None = None
    ids: Mapping[str, np.ndarray] = field(default_factory=dict)  # new ones, by their table
    runs: Mapping[str, Runs] = field(default_factory=dict)  # of tables of ids, afterwards
    rejects: dict[str, int] = field(default_factory=dict)
    wish: str | None = None
    dropped: bool = False

    @property
    def shows(self) -> bool:
        """Whether the state is another one afterwards."""
        return self.added is not None or bool(self.rejects) or self.wish is not None

    @property
    def is_usual(self) -> bool:
        """Whether it is as large as reports, and so tells whether reports can be written."""
        return self.added is not None or _TRIED in self.facts

    @property
    def size(self) -> int:
        """About how many bytes a store writes for it."""
        pages = [
            content or b"" for of_table in self.pages.values() for content in of_table.values()
        ]
        return sum(map(len, [*pages, *self.facts.values()])) + _DISK_PAGE * len(pages)


@dataclass(frozen=True)
class _Upload:
    """A batch that waits."""

    batch: Batch
    future: Future[Accepted]


@dataclass(frozen=True)
class _Task:
    """Something else that the writer is to do."""

    action: Callable[[], object]
    future: Future[object]

    def do(self) -> None:
        """Do it, and tell the future."""
        try:
            self.future.set_result(_twice(self.action))
        except BaseException as error:
            self.future.set_exception(error)


class Collector:
    """Counts the submissions of a study in a store.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from warner.collector.stores import SQLiteStore
    >>> study = Study.parse('''
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> folder = tempfile.TemporaryDirectory()
    >>> collector = Collector(study, SQLiteStore(Path(folder.name) / "survey.db"))
    >>> body = collector.format.seal({"smokes": study.mechanisms["smokes"].randomize(["no"])})
    >>> for attempt in range(2):
    ...     collector.submit(collector.format.parse(body)).result().accepted
    1
    1
    >>> collector.state().tallies["smokes"].n
    1
    >>> collector.stop()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        study: Study,
        store: Store[Any],
        ways: int | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.format = SubmissionFormat(study)
        self._study, self._store, self._clock = study, store, clock
        self._counts = Counts(self.format, ways)
        self._news = threading.Condition()  # of the queue
        self._changed = threading.Condition()  # of the state
        self._queue: deque[_Upload | _Task] = deque()
        self._waiting = self._waiting_bytes = 0
        self._over_since: float | None = None
        self._stopping = False
        self._unsaved: dict[str, int] = {}
        self._unsettled: _Group | None = None
        self._version = 0
        # When reports, or a trial, were last written; why they were not, and how many bytes.
        self._written: tuple[float, Refused | None, int] = (-np.inf, None, 0)
        try:
            store.open()
            self._load(ways)
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
            store.close()
            raise self._damaged(f"holds what cannot be read ({type(error).__name__})") from None
        except BaseException:
            store.close()
            raise
        self._thread = threading.Thread(target=self._run, name="warner-collector", daemon=True)
        self._thread.start()

    def _load(self, ways: int | None) -> None:
        """Take what the store holds, and write what a new store is to hold."""
        facts, digest = self._store.facts(), self._study.digest.encode()
        self._number = number_of(facts)
        # The digest of a study does not cover the order of its attributes, but submissions have it.
        order = [*self._study.public, *self._study.mechanisms]
        layout = canonical([1, ways, BLOCK, order]).encode()
        if facts.get(_STUDY, digest) != digest:
            rule = "holds the counts of another study: a question, its values or its epsilon differ"
            remedy = "Serve the study as it was, or name another store for the new one"
            raise Refused("store_of_another_study", self._store.name, rule, None, remedy)
        if facts.get(_LAYOUT, layout) != layout:
            rule = "was made with other ways of joint tables, or attributes in another order"
            name = self._store.name
            raise Refused("store_of_another_study", name, rule, None, "State them as before")
        if _STUDY not in facts:
            if facts:
                raise self._damaged("does not say which study it is of")
            mark = secrets.token_hex(12).encode()
            new = {_STUDY: digest, _LAYOUT: layout, _MARK: mark}
            self._store.commit(Change(self._number + 1, new))
            self._number, facts = self._number + 1, {**facts, **new}
        self._marks = [facts[_MARK].decode()] if _MARK in facts else []
        self._remembered = {k: v for k, v in facts.items() if k.startswith((_REMEMBERED, _OWNER))}
        self._wish = facts.get(_WISH, b"").decode()
        if self._wish not in ("", OPEN, CLOSED):
            raise self._damaged("does not say whether the survey is open")
        self._dropped = _DROPPED in facts
        rejects = json.loads(facts.get(_REJECTS, b"{}"))
        self._rejects = {str(name): int(count) for name, count in rejects.items()}
        self._counts.load(self._store.pages(COUNTS), self._store.pages(DISTINCT))
        self._load_ids(self._store.pages)
        if not self._dropped and len(self._ids[SPENT]) != self._counts.n:
            rule = "counts other people than there are spent ids"
            raise self._damaged(rule, f"{self._counts.n:,} and {len(self._ids[SPENT]):,}")
        if (problem := self._counts.contradiction()) is not None:
            raise self._damaged(problem)
        # The log of a process that was killed holds its last commits.
        self._dirty = not self._try(self._store.tidy)

    def _load_ids(self, pages: Callable[[str], Iterable[tuple[int, bytes]]]) -> None:
        """Take the ids of a store."""
        self._ids: dict[str, IdSet] = {}
        self._runs: dict[str, Runs] = {}
        for table in (SPENT, INVITED):
            self._ids[table], self._runs[table] = load(pages(table))

    def _damaged(self, rule: str, got: str | None = None) -> Refused:
        """The error of a store that contradicts itself."""
        remedy = "Its disk or a copy has changed it: go on with a copy from before"
        return Refused("store_damaged", self._store.name, rule, got, remedy)

    # What requests ask for.

    def submit(self, batch: Batch) -> Future[Accepted]:
        """Count the submissions of a batch, unless they are counted already."""
        future: Future[Accepted] = Future()
        future.set_running_or_notify_cancel()  # a request that is dropped is counted
        refused = self._refusal() or self._uninvited(batch.ids)
        with self._news:
            if refused is None and self._stopping:
                refused = Refused("stopped", "survey", "is stopping", None, "Send again later")
            if refused is None and self._waiting_bytes + batch.rows.nbytes > _WAITING:
                rule = "has more submissions waiting than it can take"
                refused = Refused("busy", "survey", rule, None, "Send again later")
            if refused is None:
                self._queue.append(_Upload(batch, future))
                self._waiting += len(batch)
                self._waiting_bytes += batch.rows.nbytes
                self._news.notify()
        if refused is not None:
            future.set_exception(refused)
        return future

    def is_spent(self, submission_id: bytes) -> bool:
        """Whether a submission with this id is counted. One that still waits is not."""
        ids = np.frombuffer(submission_id, np.uint8).reshape(1, ID_BYTES)
        refused = self._refusal() or self._uninvited(ids)
        if refused is not None:
            raise refused
        with self._changed:
            return bool(self._ids[SPENT].has(words_of(ids))[0])

    def reject(self, reason: str) -> None:
        """Count a request that was refused, by its reason alone."""
        if not re.fullmatch("[a-z][a-z_]{0,39}", reason):
            rule = "must be a name of small letters"
            raise ArgumentError("reason", rule, None, "For example 'malformed'")
        with self._news:
            reasons = self._unsaved.keys() | self._rejects.keys()
            name = reason if reason in reasons or len(reasons) < _REASONS else "other"
            self._unsaved[name] = self._unsaved.get(name, 0) + 1
            self._news.notify()

    def status(self) -> str:
        """``open``, ``closed`` or ``not_open``, by the owner's wish or else by the clock."""
        if self._dropped or self._wish == CLOSED:
            return CLOSED
        if self._wish == OPEN:
            return OPEN
        collect, now = self._study.collect, self._clock()
        if collect.closes is not None and now >= collect.closes:
            return CLOSED
        return NOT_OPEN if collect.opens is not None and now < collect.opens else OPEN

    def _refusal(self) -> Refused | None:
        """Why no submissions are taken now; None where they are."""
        status = self.status()
        if status == CLOSED:
            return Refused(CLOSED, "survey", "is closed")
        if status == NOT_OPEN:
            return Refused(NOT_OPEN, "survey", "has not opened yet")
        return None

    def _uninvited(self, ids: np.ndarray) -> Refused | None:
        """The error of the first of these ids that no invitation makes; None for none."""
        if self._study.collect.access != "invited":
            return None
        with self._changed:
            invited = self._ids[INVITED].has(words_of(ids))
        if invited.all():
            return None
        first = int(np.argmin(invited))
        rule = f"number {first} of {len(ids)} has no invitation; none of them was counted"
        return Refused("not_invited", "submissions", rule, position=first)

    # What the owner asks for.

    def state(self) -> State:
        """All that is committed, as of one moment."""
        with self._changed:
            tallies, joint, n = self._counts.tallies(), self._counts.joint(), self._counts.n
            # Two tallies of this collector have people in common, so they are not to be added.
            tallies = {name: t.of_collectors(self._marks) for name, t in tallies.items()}
            joint = None if joint is None else joint.of_collectors(self._marks)
            rejects = dict(self._rejects)
            return State(self._version, n, tallies, joint, rejects, self.status())

    @property
    def n(self) -> int:
        """The number of people who are counted."""
        with self._changed:
            return self._counts.n

    @property
    def version(self) -> int:
        """The version of the state; it grows with each change."""
        return self._version

    @property
    def is_final(self) -> bool:
        """Whether the survey is closed for good, because ids were dropped."""
        return self._dropped

    def wait_for(self, version: int, timeout: float | None = None) -> bool:
        """Wait until the state is newer than ``version``."""
        with self._changed:
            return self._changed.wait_for(lambda: self._version > version, timeout)

    def close_survey(self) -> None:
        """Refuse submissions from now on; those that wait are counted first."""
        # After ids were dropped, the survey cannot be opened again: a repeat would be counted
        # twice.
        self._ask(self._close)

    def open_survey(self) -> None:
        """Take submissions from now on, whatever the clock says."""
        self._ask(self._open)

    def invite(self, ids: np.ndarray) -> None:
        """Take submissions with these ids in a study for which people are invited.

        Shapes: ids (n, 16).
        """
        if ids.ndim != 2 or ids.shape[1] != ID_BYTES or ids.dtype != np.uint8:
            rule = f"must be uint8 of shape (n, {ID_BYTES})"
            raise ArgumentError("ids", rule, f"{ids.dtype} {ids.shape}")
        words = words_of(ids)
        self._ask(lambda: self._invite(words))

    @property
    def invitations(self) -> tuple[int, int]:
        """How many people are invited, and how many of them have sent."""
        with self._changed:
            # After the ids were dropped nobody knows who has sent, but n people have.
            return len(self._ids[INVITED]), self._counts.n

    @property
    def owner_hash(self) -> bytes | None:
        """The SHA-256 of the owner's token; None where none is kept."""
        return self._remembered.get(_OWNER)

    def keep_owner_hash(self, digest: bytes) -> None:
        """Keep the SHA-256 of the owner's token."""
        self._ask(lambda: self._keep(_OWNER, digest))

    def remembered(self, name: str) -> bytes | None:
        """What :meth:`remember` kept under a name; None where nothing is kept."""
        return self._remembered.get(_REMEMBERED + name)

    def remember(self, name: str, content: bytes) -> None:
        """Keep something beside the counts, such as the last result that was published."""
        self._ask(lambda: self._keep(_REMEMBERED + name, content))

    def check(self) -> None:
        """Raise why the last reports could not be written, unless they can be now."""
        when, problem, size = self._written
        if time.monotonic() - when >= _TRUSTED:
            # As many bytes as failed, or as some reports need: a full disk often has space for a
            # small change.
            trial = {_TRIED: secrets.token_bytes(max(size, _TRIAL))}
            self._ask(lambda: self._commit(_Group(trial)))
        elif problem is not None:
            raise problem.with_traceback(None)

    def stop(self) -> None:
        """Count the submissions that wait, and give the store free."""
        with self._news:
            self._stopping = True
            self._news.notify()
        self._thread.join()

    def _ask(self, action: Callable[[], object]) -> None:
        """Have the writer do something after all that waits."""
        future: Future[object] = Future()
        with self._news:
            if self._stopping:
                raise Refused("stopped", "survey", "is stopping")
            self._queue.append(_Task(action, future))
            self._news.notify()
        future.result()

    # The writer.

    def _run(self) -> None:
        """Take what waits, commit it, and go on until the collector stops."""
        self._began = self._tidied = time.monotonic()
        while True:
            with self._news:
                closes = self._study.collect.closes is not None and not self._wish
                if not (self._unsaved or self._dirty):
                    quiet = _LOOK if closes else None
                    self._news.wait_for(lambda: self._has_work or self._unsaved, quiet)
                if self._unsaved or self._dirty:
                    quiet = self._store.rest if self._dirty else _QUIET
                    self._news.wait_for(lambda: self._has_work, quiet)
                if self._queue and not self._stopping:
                    left = self._began + PACE - time.monotonic()
                    self._news.wait_for(lambda: self._waiting >= MANY or self._stopping, left)
            if self._work():
                self._store.close()
                return

    @property
    def _has_work(self) -> bool:
        """Whether something waits that is done at once."""
        return bool(self._queue) or self._stopping

    def _work(self) -> bool:
        """Do what waits, or what is done in quiet moments; whether the collector is to end."""
        # Nothing refers to submissions when this returns.
        with self._news:
            uploads, task = self._taken()
            ending = self._stopping and not self._queue
        self._began = time.monotonic()
        idle = not uploads and task is None
        if uploads:
            self._write(uploads)
        if task is not None:
            task.do()
        if not ending and self._is_over():
            self._try(self._close)
        if self._unsaved and (idle or ending):
            self._try(lambda: self._commit(_Group()))
        # Of many at once the log shows no single person.
        rest = _QUIET if self._waiting >= MANY else self._store.rest
        if self._dirty and (idle or ending or self._began - self._tidied >= rest):
            self._dirty = not self._try(self._store.tidy)
            self._tidied = time.monotonic()
        return ending

    def _taken(self) -> tuple[list[_Upload], _Task | None]:
        """What is done next, under the lock of the queue: batches, and then perhaps a task."""
        # A batch does not wait for the task before it, which could leave it alone in its commit.
        uploads: list[_Upload] = []
        left: deque[_Upload | _Task] = deque()
        task, size = None, 0
        for job in self._queue:
            if isinstance(job, _Task) and not left and task is None:
                task = job
                continue
            if isinstance(job, _Task) or size >= _GROUP:
                left.append(job)
                continue
            uploads.append(job)
            size += job.batch.rows.nbytes
            self._waiting -= len(job.batch)
            self._waiting_bytes -= job.batch.rows.nbytes
        self._queue = left
        return uploads, task

    @staticmethod
    def _try(action: Callable[[], object]) -> bool:
        """Do something that may fail, and is tried again later. The writer must never end."""
        with suppress(Exception):
            _twice(action)
            return True
        return False

    def _write(self, uploads: Sequence[_Upload]) -> None:
        """Commit batches together, and tell their futures."""
        batches = [upload.batch for upload in uploads]
        try:
            new = _twice(lambda: self._count(batches))
        except Refused as error:
            if error.name == "too_many_groups" and len(uploads) > 1:
                fits = self._counts.that_fit(batches)
                if any(fits):
                    self._write([one for one, fit in zip(uploads, fits, strict=True) if fit])
                for one in (one for one, fit in zip(uploads, fits, strict=True) if not fit):
                    self._write([one])
                return
            problem = error
        except Exception as error:
            # Its text may hold contents.
            rule = f"could not be counted ({type(error).__name__})"
            problem = Refused("store_failed", "submissions", rule)
        else:
            for upload, new_count in zip(uploads, new, strict=True):
                upload.future.set_result(Accepted(len(upload.batch), new_count))
            return
        for upload in uploads:
            # A traceback would hold the submissions in memory.
            upload.future.set_exception(problem.with_traceback(None))

    def _count(self, batches: Sequence[Batch]) -> list[int]:
        """Commit batches together; how many submissions of each are new."""
        self._settle()
        if (refused := self._refusal()) is not None:
            raise refused
        joined = self.format.join(batches)
        words = words_of(joined.ids)
        fresh = self._are_new(SPENT, words)
        if fresh.any():
            added = self._counts.added(joined.take(fresh))
            pages = {COUNTS: added.pages, DISTINCT: added.distinct_pages}
            self._commit(self._with_ids(SPENT, words[fresh], _Group(pages=pages, added=added)))
        ends = np.cumsum([len(batch) for batch in batches])
        return [int(of_batch.sum()) for of_batch in np.split(fresh, ends[:-1])]

    def _are_new(self, table: str, words: np.ndarray) -> np.ndarray:
        """Which ids (n,) are the first of their value, and not in a table."""
        return np.asarray(first_of_each(words) & ~self._ids[table].has(words))

    def _with_ids(self, table: str, words: np.ndarray, group: _Group) -> _Group:
        """A group that also adds ids, which are new, to a table."""
        runs, pages = self._runs[table].with_ids(words, partial(self._store.pages, table))
        ids, changed = {table: words}, {**group.pages, table: pages}
        return replace(group, ids=ids, runs={table: runs}, pages=changed)

    def _commit(self, group: _Group) -> None:
        """Write a group of changes, with the counters of rejects, and then apply it to memory."""
        self._settle()
        with self._news:
            group.rejects = dict(self._unsaved)
        facts = dict(group.facts)
        if group.rejects:
            facts[_REJECTS] = canonical(_summed(self._rejects, group.rejects)).encode()
        group.number = self._number + 1
        change = Change(group.number, facts, group.pages)
        try:
            self._store.commit(change)
        except Refused as error:
            problem = error
        else:
            self._apply(group)
            return
        finally:
            self._dirty = True
        self._unsettled = group
        with suppress(Refused):
            self._settle()
            if self._number == group.number:
                return
        if group.is_usual:
            self._written = (time.monotonic(), problem, group.size)
        raise problem

    def _settle(self) -> None:
        """Have the store open, and know whether the last change took place."""
        group = self._unsettled
        if not self._store.open() and group is None:
            return
        number = number_of(self._store.facts())
        if number == self._number:
            self._unsettled = None
        elif group is not None and number == group.number:
            self._unsettled = None
            self._apply(group)
        else:
            self._store.close()  # so that it is asked again
            rule = "was written by another process meanwhile"
            raise Refused("store_in_use", "store", rule, None, "Start the collector again")

    def _apply(self, group: _Group) -> None:
        """Change the memory as the store was changed."""
        if group.is_usual:
            self._written = (time.monotonic(), None, 0)
        with self._news:
            for reason, count in group.rejects.items():
                self._unsaved[reason] -= count
            self._unsaved = {reason: count for reason, count in self._unsaved.items() if count}
        with self._changed:
            self._number = group.number
            self._rejects = _summed(self._rejects, group.rejects)
            if group.added is not None:
                self._counts.add(group.added)
            if group.dropped:
                self._dropped, self._wish = True, CLOSED
                self._load_ids(lambda table: [])
            for table, words in group.ids.items():
                self._ids[table].add(words)
            self._runs |= group.runs
            self._wish = self._wish if group.wish is None else group.wish
            if group.shows:
                self._version += 1
                self._changed.notify_all()

    # Actions of the writer.

    def _close(self) -> None:
        """Close the survey, for good where ids are dropped."""
        self._settle()
        facts = {_WISH: CLOSED.encode()}
        if self._study.collect.keep_ids == "closed":
            gone = {table: dict.fromkeys(runs.sizes) for table, runs in self._runs.items()}
            self._commit(_Group({**facts, _DROPPED: b"1"}, gone, wish=CLOSED, dropped=True))
        else:
            runs, pages = self._runs[SPENT].in_one_order(partial(self._store.pages, SPENT))
            self._commit(_Group(facts, {SPENT: pages}, runs={SPENT: runs}, wish=CLOSED))
        self._store.tidy()

    def _is_over(self) -> bool:
        """Whether the clock has closed the survey for so long that it cannot be wrong by chance."""
        if self._wish or self.status() != CLOSED:
            self._over_since = None
            return False
        if self._over_since is None:
            self._over_since = time.monotonic()
        return time.monotonic() - self._over_since >= _GRACE

    def _open(self) -> None:
        """Open the survey."""
        self._settle()
        if self._dropped:
            rule = "cannot be opened again: the ids of counted submissions were dropped"
            remedy = 'State keep_ids = "always" in [collect] of the next survey'
            raise Refused("ids_dropped", "survey", rule, None, remedy)
        self._commit(_Group({_WISH: OPEN.encode()}, wish=OPEN))

    def _invite(self, words: np.ndarray) -> None:
        """Keep ids of invitations that are not there yet."""
        self._settle()
        if self._dropped:
            raise Refused(CLOSED, "survey", "is closed for good: nobody can answer it any more")
        words = words[self._are_new(INVITED, words)]
        if len(words):
            self._commit(self._with_ids(INVITED, words, _Group()))

    def _keep(self, name: str, content: bytes) -> None:
        """Keep a fact."""
        self._commit(_Group({name: content}))
        self._remembered[name] = content


def _twice(action: Callable[[], _T]) -> _T:
    """The result of an action, which is done again where the store loses its connection once."""
    try:
        return action()
    except Refused as error:
        if error.name != "store_failed":
            raise
    return action()


def _summed(ours: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    """The sums of counters."""
    return {name: ours.get(name, 0) + theirs.get(name, 0) for name in sorted({*ours, *theirs})}
