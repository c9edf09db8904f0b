"""The collector: it counts each submission exactly once, and keeps counts and spent ids only.

One thread writes. It takes all submissions that wait, and in one transaction it adds their ids to
those that are spent, and to the counts what the submissions with new ids say. Only then it adds
this to the counts in memory and resolves the futures of :meth:`Collector.submit`. A device whose
reply is lost sends the same bytes again, and the id is spent: no report is lost or counted twice.
The same holds for a transaction whose outcome is not known.

In PostgreSQL several processes count one survey. Each keeps in memory what all of them had counted
a moment ago: it reads the counts of the others about once a second, and before a state is given.

Nothing that orders people is kept: no clock, no address, no number of arrival. The clock is
compared with the study's opening and closing times, and never stored. A survey that the clock has
closed for an hour of one run is closed as if its owner had closed it: ids are dropped or sorted. A
clock that was wrong for a moment drops nothing, also where the collector stops or starts at it.

One copy of the store at rest does not say which id sent which report. The store's log is emptied
at each start, and a tenth of a second after a commit, also while more commits follow. While each
commit adds 50 people or more, the log shows no single person, and is emptied every second. The
tables are rewritten in the order of ids, as often as this takes a fiftieth of the time. But until
then the file, its log, and any two copies, show which ids came last and by which counts they
differ: where one person came in between, that is this person's report. Then epsilon alone protects.
So what waits is committed together. While a single person is counted, the counts are that report.

After the reply nothing in the process refers to a submission. But Python does not wipe memory: its
bytes stand there until that memory is used again. Of 60 submissions, 5 could be read from a memory
dump right after the last reply, and 2 after 500 more. Counts stay in memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.text import canonical
from warner.collector.access import ID_BYTES
from warner.collector.counts import Added, Counts
from warner.collector.refusals import NAMES, Refused
from warner.collector.stores import INVITED, SPENT, AboutStore, Store
from warner.collector.submissions import Batch, SubmissionFormat
from warner.reports.tally import Tally
from warner.studies.study import Study, round_with

_T = TypeVar("_T")

_LOG = logging.getLogger(__name__)

OPEN, CLOSED, NOT_OPEN = "open", "closed", "not_open"
PACE = 0.02  # seconds from the beginning of one commit to that of the next, unless a crowd waits
_CROWD = 50  # submissions, of which a commit shows no single person, are not made to wait
_GROUP = 2**23  # bytes of submissions, about the most of one commit
_WAITING = 2**26  # bytes of submissions, the most that wait
_QUIET = 1.0  # seconds between counters of rejects, and between tidying while crowds are counted
_LOOK = 10.0  # seconds between looks at the clock of a survey that closes by it
_GRACE = 3600.0  # seconds for which the clock must say so before ids are dropped
_TRUSTED = 5.0  # seconds for which the last commit says whether the store can be written
_TRIAL = 2**16  # bytes, the fewest that are written to see whether the store can be written
_LARGEST_TRIAL = 2**20  # bytes
_DISK_PAGE = 2**12  # bytes, of which each new id may change one
_OTHERS = 1.0  # seconds between looks at what other processes have counted, at least
_SHARE = 20  # to read that takes at most one second in so many
_REASONS = 100  # different reasons of rejects
_STUDY, _OWNER = "study", "owner"
_RECORD = "record "  # the beginning of the names of facts, before the time of what was done
_MARK = "mark"  # random, of the tallies of this collector
_REMEMBERED = "remembered "  # the beginning of the names of facts that others keep
_LAYOUT, _WISH, _DROPPED = "layout", "wish", "dropped"
_SIMULATED = "simulated"  # a fact of a store whose reports are all simulated
_OF_STATUS = (_WISH, _DROPPED, _SIMULATED)
_ANOTHER_STORE = (
    "Start a second server with a store of its own (--store NAME), and send these reports to it"
)
_STOPPING = "cannot be reached, because its server is being stopped"
_REJECTS = "rejects "  # the beginning of the names of facts, before the number of a shard
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


@dataclass(frozen=True)
class _Upload:
    """A batch that waits."""

    batch: Batch
    future: Future[Accepted]
    simulated: bool


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
        issues: bool = False,
    ) -> None:
        self._issues = issues  # whether it exchanges codes for tokens, and counts no reports
        self._by_code = issues or study.collect.access == "invited"
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
        self._rejects: dict[str, int] = {}  # those of this shard that are stored
        self._shard = -1
        self._dirty = False
        self._fewest = np.inf  # people of a commit that the store's log shows
        self._version = 0
        # When reports, or a trial, were last written; why they were not, and how many bytes.
        self._written: tuple[float, Refused | None, int] = (-np.inf, None, 0)
        try:
            self._begin(ways)
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
            store.close()
            raise self._damaged(
                f"holds data that cannot be read ({type(error).__name__})"
            ) from None
        except BaseException:
            store.close()
            raise
        self._thread = threading.Thread(target=self._run, name="warner-collector", daemon=True)
        self._thread.start()

    def _begin(self, ways: int | None) -> None:
        """Open the store, write what a new one is to hold, and take what it holds."""
        # The digest of a study does not cover the order of its attributes, but submissions have it.
        order = [*self._study.public, *self._study.mechanisms]
        of_codes = canonical([2, "codes"]).encode()
        layout = of_codes if self._issues else canonical([2, ways, order]).encode()
        new = {_STUDY: self._study.digest.encode(), _LAYOUT: layout}
        self._store.open()
        with self._store.changing(alone=True):
            facts = self._store.facts(*new)
            if _STUDY not in facts:
                if facts or self._store.commits():
                    raise self._damaged("does not say which study it is of")
                facts = new
                self._store.put({**new, _MARK: secrets.token_hex(12).encode()})
            if facts[_STUDY] != new[_STUDY]:
                rule = "belongs to another study: a question, its values or an epsilon is different"
                remedy = (
                    "Use the study file with which this store was begun, or choose another store "
                    "with --store"
                )
                number = round_with(self._study, facts[_STUDY].decode())
                if number is not None:
                    rule = (
                        f"holds reports of round {number}, but the study file is of round "
                        f"{self._study.round}"
                    )
                    remedy = "Choose another store with --store: each round has a store of its own"
                raise Refused("store_of_another_study", self._store.name, rule, None, remedy)
            if facts.get(_LAYOUT) != layout:
                rule = "was begun with a different number for --ways"
                remedy = "Use the same --ways as before"
                if not facts.get(_LAYOUT, b"").endswith(canonical(order).encode() + b"]"):
                    rule = "was begun with questions and public columns in another order"
                    remedy = "In the study file, put them into the same order as before"
                if of_codes in (layout, facts.get(_LAYOUT)):
                    rule = (
                        "belongs to a server that issues tokens, but this server collects reports"
                    )
                    if self._issues:
                        rule = (
                            "belongs to a server that collects reports, but this server issues "
                            "tokens"
                        )
                    remedy = (
                        "Choose another store with --store: invitation codes and reports must "
                        "never be kept together"
                    )
                raise Refused("store_of_another_study", self._store.name, rule, None, remedy)
            if self._store.was_copy:
                self._store.put(self._noted("went on with a copy of the store", ""))
            self._read()
            ids = self._store.size(SPENT)
        if not self._dropped and not self._issues and ids != self._counts.n:
            rule = "has counted more or fewer people than it has ids of reports"
            raise self._damaged(rule, f"{self._counts.n:,} and {ids:,}")
        if (problem := self._counts.contradiction()) is not None:
            raise self._damaged(problem)
        # The log of a process that was killed holds its last commits.
        self._tidy(is_quiet=True)

    def _read(self) -> None:
        """Take what the store holds, and what other processes have written; in a transaction."""
        start = time.monotonic()
        contents, invited = self._store.read(), self._store.size(INVITED)
        facts, shard = contents.facts, self._store.shard
        rejects = {
            name: {str(reason): int(count) for reason, count in json.loads(content).items()}
            for name, content in facts.items()
            if name.startswith(_REJECTS)
        }
        of_shard = rejects.pop(f"{_REJECTS}{shard}", {})
        with self._changed:
            self._marks = [facts[_MARK].decode()] if _MARK in facts else []
            starts = (_REMEMBERED, _OWNER, _RECORD)
            remembered = {name: fact for name, fact in facts.items() if name.startswith(starts)}
            self._remembered = remembered
            self._take_status(facts)
            if self._shard != shard:
                # Of the same shard this process knows better: a reply can have been lost.
                self._shard, self._rejects = shard, of_shard
            self._others_rejects: dict[str, int] = {}
            for counters in rejects.values():
                self._others_rejects = _summed(self._others_rejects, counters)
            self._counts.load(contents.counts)
            self._n_invited = invited
            self._others = contents.commits - self._store.written
            self._version += 1
            self._changed.notify_all()
        now = time.monotonic()
        self._next_read = now + max(_OTHERS, _SHARE * (now - start))

    def _take_status(self, facts: Mapping[str, bytes]) -> None:
        """Take from facts whether the survey is open, and whether it counts simulated reports."""
        self._wish = facts.get(_WISH, b"").decode()
        if self._wish not in ("", OPEN, CLOSED):
            raise self._damaged("does not say whether the survey is open")
        self._dropped = _DROPPED in facts
        self._simulated = _SIMULATED in facts

    def _sync(self) -> None:
        """Have the store open, and know what it holds."""
        if self._store.open():
            self._read_again()

    def _follow(self) -> None:
        """Take what other processes have counted."""
        self._sync()
        if self._store.is_shared and self._store.commits() - self._store.written != self._others:
            self._read_again()

    def _read_again(self) -> None:
        """Take what the store holds now."""
        with self._store.changing():
            self._read()

    def _damaged(self, rule: str, got: str | None = None) -> Refused:
        """The error of a store that contradicts itself."""
        remedy = "A disk fault or a bad copy has changed the store. Continue with an earlier backup"
        return Refused("store_damaged", self._store.name, rule, got, remedy)

    # What requests ask for.

    def submit(self, batch: Batch, simulated: bool = False) -> Future[Accepted]:
        """Count the submissions of a batch, unless they are counted already.

        A store holds either real reports or simulated ones: the first that is counted decides.
        """
        future: Future[Accepted] = Future()
        future.set_running_or_notify_cancel()  # a request that is dropped is counted
        refused = self._refusal()
        with self._news:
            if refused is None and self._stopping:
                refused = Refused("stopped", "survey", _STOPPING, None, "Send again later")
            if refused is None and self._waiting_bytes + batch.rows.nbytes > _WAITING:
                rule = "cannot take more reports now, because too many wait to be counted"
                refused = Refused("busy", "survey", rule, None, "Send again later")
            if refused is None:
                self._queue.append(_Upload(batch, future, simulated))
                self._waiting += len(batch)
                self._waiting_bytes += batch.rows.nbytes
                self._news.notify()
        if refused is not None:
            future.set_exception(refused)
        return future

    def is_spent(self, submission_id: bytes) -> bool:
        """Whether a submission with this id is counted. One that still waits is not."""
        return bool(self.are_spent(submission_id)[0])

    def are_spent(self, submission_ids: bytes) -> np.ndarray:
        """Whether submissions with these ids, one after the other, are counted: bool (n,)."""
        ids = np.frombuffer(submission_ids, np.uint8).reshape(-1, ID_BYTES)
        if (refused := self._refusal()) is not None:
            raise refused
        return np.asarray(self._ask(lambda: self._are_spent(ids)))

    def exchange(self, code_id: bytes, request: bytes) -> None:
        """Keep that the code with this id was exchanged, unless it was by another request.

        The same request may come again, because its answer can be lost.
        """
        again = hashlib.sha256(b"warner exchange\n" + code_id + request).digest()[:ID_BYTES]
        ids = np.frombuffer(code_id + again, np.uint8).reshape(2, ID_BYTES)
        self._ask(lambda: self._exchange(ids))

    def reject(self, reason: str) -> None:
        """Count a request that was refused, by its reason alone."""
        if not re.fullmatch("[a-z][a-z_]{0,39}", reason):
            rule = "must have only small letters and underscores"
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

    # What the owner asks for.

    def state(self) -> State:
        """All that is committed, as of one moment, by all processes."""
        if self._store.is_shared:
            with suppress(Refused):  # while the store is away, what was read before
                self._ask(self._follow)
        with self._changed:
            tallies, joint, n = self._counts.tallies(), self._counts.joint(), self._counts.n
            tallies = {name: self._with_marks(tally) for name, tally in tallies.items()}
            joint = None if joint is None else self._with_marks(joint)
            rejects = _summed(self._rejects, self._others_rejects)
            return State(self._version, n, tallies, joint, rejects, self.status())

    def _with_marks(self, tally: Tally) -> Tally:
        """A tally marked with its collector, and as simulated where its reports are."""
        # Two tallies of this collector have people in common, so they are not to be added.
        return tally.of_collectors(self._marks).marked(self._simulated)

    @property
    def is_simulated(self) -> bool:
        """Whether the reports that are counted are simulated."""
        return self._simulated

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

    def close_survey(self, who: str = "") -> None:
        """Refuse submissions from now on; those that wait are counted first."""
        # After ids were dropped, the survey cannot be opened again: a repeat would be counted
        # twice.
        noted = self._noted("closed", who)
        self._ask(lambda: self._close(noted))

    def open_survey(self, who: str = "") -> None:
        """Take submissions from now on, whatever the clock says."""
        noted = self._noted("opened", who)
        self._ask(lambda: self._open(noted))

    @property
    def record(self) -> list[tuple[str, str, str]]:
        """What was done to the survey: (when, what, by whose token), the first of it first."""
        facts = sorted(self._remembered.items())
        return [tuple(json.loads(fact)) for name, fact in facts if name.startswith(_RECORD)]

    def invite(self, ids: np.ndarray) -> None:
        """Take submissions with these ids (n, 16) in a study for which people are invited."""
        if ids.ndim != 2 or ids.shape[1] != ID_BYTES or ids.dtype != np.uint8:
            rule = f"must be an array of uint8 with a row of {ID_BYTES} bytes for each invitation"
            raise ArgumentError("ids", rule, f"an array of {ids.dtype} of shape {ids.shape}")
        self._ask(lambda: self._invite(ids))

    @property
    def invitations(self) -> tuple[int, int]:
        """How many people are invited, and how many of them have sent."""
        with self._changed:
            # After the ids were dropped nobody knows who has sent, but n people have.
            return self._n_invited, self._counts.n

    @property
    def waiting(self) -> int:
        """How many submissions wait to be written."""
        return self._waiting

    def about_store(self) -> AboutStore:
        """What those who operate the store ask of it."""
        about = self._ask(self._about_store)
        assert isinstance(about, AboutStore)
        return about

    @property
    def is_written(self) -> bool:
        """Whether the last reports could be written."""
        return self._written[1] is None

    def backup(self, who: str = "") -> str:
        """Have the store write a whole copy of itself beside it; the name of its file."""
        return str(self._ask(lambda: self._backup(who)))

    @property
    def owners(self) -> dict[str, bytes]:
        """The SHA-256 of each token, by whose it is; "" is the owner's own."""
        facts = self._remembered.items()
        return {n.removeprefix(_OWNER)[1:]: h for n, h in facts if n.startswith(_OWNER) and h}

    def keep_owner(self, name: str, digest: bytes) -> None:
        """Keep the SHA-256 of somebody's token; b"" ends it."""
        self._ask(lambda: self._keep_owner(name, digest))

    def remembered(self, name: str) -> bytes | None:
        """What :meth:`remember` kept under a name; None where nothing is kept."""
        return self._remembered.get(_REMEMBERED + name)

    def remember(self, name: str, content: bytes) -> None:
        """Keep something beside the counts, such as the texts of the questions."""
        self._ask(lambda: self._keep({_REMEMBERED + name: content}))

    def replace(self, name: str, before: bytes | None, content: bytes) -> bool:
        """Keep something in place of ``before``; False where another process was faster."""
        return bool(self._ask(lambda: self._replace(_REMEMBERED + name, before, content)))

    def check(self) -> None:
        """Raise why the last reports could not be written, unless they can be now."""
        when, problem, size = self._written
        if time.monotonic() - when >= _TRUSTED:
            # As many bytes as failed, or as some reports need: a full disk often has space for a
            # small change.
            size = min(max(size, _TRIAL), _LARGEST_TRIAL)
            trial = {_TRIED: secrets.token_bytes(size)}
            self._ask(lambda: self._commit(lambda: self._store.put(trial), size))
        elif problem is not None:
            raise problem.with_traceback(None)

    def stop(self) -> None:
        """Count the submissions that wait, and give the store free."""
        with self._news:
            self._stopping = True
            self._news.notify()
        self._thread.join()

    def _ask(self, action: Callable[[], object]) -> object:
        """What the writer gives that does something after all that waits."""
        future: Future[object] = Future()
        with self._news:
            if self._stopping:
                raise Refused("stopped", "survey", _STOPPING)
            self._queue.append(_Task(action, future))
            self._news.notify()
        return future.result()

    # The writer.

    def _run(self) -> None:
        """Take what waits, commit it, and go on until the collector stops."""
        self._began = self._tidied = time.monotonic()
        while True:
            with self._news:
                closes = self._study.collect.closes is not None and not self._wish
                if not (self._unsaved or self._dirty):
                    quiet = _OTHERS if self._store.is_shared else _LOOK if closes else None
                    self._news.wait_for(lambda: self._has_work or self._unsaved, quiet)
                if self._unsaved or self._dirty:
                    quiet = self._store.rest if self._dirty else _QUIET
                    self._news.wait_for(lambda: self._has_work, quiet)
                if self._queue and not self._stopping:
                    left = self._began + PACE - time.monotonic()
                    self._news.wait_for(lambda: self._waiting >= _CROWD or self._stopping, left)
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
        for simulated in (False, True):
            if of_origin := [one for one in uploads if one.simulated is simulated]:
                self._write(of_origin)
        if task is not None:
            task.do()
        if not ending and self._is_over():
            self._try(partial(self._close, self._noted("closed", "its date")))
        if self._store.is_shared and not ending and self._began >= self._next_read:
            self._try(self._follow)
        if self._unsaved and (idle or ending):
            self._try(lambda: self._commit(lambda: None))
        # Of crowds the log shows no single person.
        rest = _QUIET if self._fewest >= _CROWD else self._store.rest
        if self._dirty and (idle or ending or self._began - self._tidied >= rest):
            self._tidy(idle)
        if ending and self._dirty and not self._store.is_shared:
            self._try(self._store.rewrite)  # so that the file at rest shows no order
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

    def _tidy(self, is_quiet: bool) -> None:
        """Empty the log of the store, and rewrite its tables where that is due."""

        def tidy() -> None:
            self._sync()
            self._dirty = not self._store.tidy(is_quiet)

        self._dirty = True
        if self._try(tidy):
            self._fewest = np.inf
        self._tidied = time.monotonic()

    @staticmethod
    def _try(action: Callable[[], object]) -> bool:
        """Do something that may fail, and is tried again later. The writer must never end."""
        with suppress(Exception):
            _twice(action)
            return True
        return False

    def _write(self, uploads: Sequence[_Upload]) -> None:
        """Commit batches of one origin together, and tell their futures."""
        try:
            if self._by_code:
                uploads = _twice(partial(self._invited_of, uploads))
            if not uploads:
                return
            batches = [upload.batch for upload in uploads]
            simulated = uploads[0].simulated
            new = _twice(lambda: self._count(batches, simulated))
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
            problem = Refused("store_failed", "submissions", rule, None, "Send again later")
        else:
            for upload, new_count in zip(uploads, new, strict=True):
                upload.future.set_result(Accepted(len(upload.batch), new_count))
            return
        for upload in uploads:
            # A traceback would hold the submissions in memory.
            upload.future.set_exception(problem.with_traceback(None))

    def _uninvited(self, batches: Sequence[np.ndarray]) -> list[Refused | None]:
        """For the ids of each batch, the error of the first that no invitation makes, or None."""
        ids = np.concatenate(batches)
        invited = self._store.has(INVITED, ids) if self._by_code else np.ones(len(ids), dtype=bool)
        refused: list[Refused | None] = []
        for of_batch in np.split(invited, np.cumsum([len(ids) for ids in batches])[:-1]):
            first = int(np.argmin(of_batch))
            rule = (
                f"number {first + 1} of {len(of_batch)} has no invitation. No submission of this "
                "request was counted"
            )
            error = Refused("not_invited", "submissions", rule, position=first)
            refused.append(None if of_batch.all() else error)
        return refused

    def _invited_of(self, uploads: Sequence[_Upload]) -> Sequence[_Upload]:
        """The batches of invited people; the others are refused."""
        self._sync()
        with self._store.changing():
            refused = self._uninvited([upload.batch.ids for upload in uploads])
        for upload, error in zip(uploads, refused, strict=True):
            if error is not None:
                upload.future.set_exception(error)
        return [one for one, error in zip(uploads, refused, strict=True) if error is None]

    def _count(self, batches: Sequence[Batch], simulated: bool) -> list[int]:
        """Commit batches of one origin together; how many submissions of each are new."""
        joined = self.format.join(batches)

        def counted() -> tuple[np.ndarray, Added | None]:
            self._require_open()
            self._require_origin(simulated)
            fresh = self._store.claim(SPENT, joined.ids)
            added = self._counts.added(joined.take(fresh)) if fresh.any() else None
            if added is not None:
                self._store.add(added.stored)
            return fresh, added

        # The first simulated reports must not come beside the first real ones of another process.
        size = joined.rows.nbytes + _DISK_PAGE * len(joined)
        fresh, added = self._commit(counted, size, alone=simulated)
        self._simulated = simulated
        if added is not None:
            self._fewest = min(self._fewest, int(fresh.sum()))
            with self._changed:
                self._counts.add(added)
                self._version += 1
                self._changed.notify_all()
        ends = np.cumsum([len(batch) for batch in batches])
        return [int(of_batch.sum()) for of_batch in np.split(fresh, ends[:-1])]

    def _require_open(self) -> None:
        """Refuse what comes after another process has closed the survey; in a transaction."""
        if self._store.is_shared:
            self._take_status(self._store.facts(*_OF_STATUS))
        if (refused := self._refusal()) is not None:
            raise refused

    def _require_origin(self, simulated: bool) -> None:
        """Refuse real reports among simulated ones, and the other way; in a transaction."""
        if self._simulated and not simulated:
            rule = "are real, but this survey is a trial that counts only simulated reports"
            raise Refused("simulated", "submissions", rule, None, _ANOTHER_STORE)
        if simulated and _SIMULATED not in self._store.facts(_SIMULATED):
            if self._store.size(SPENT):
                rule = "are simulated, but this survey has counted real reports"
                raise Refused("simulated", "submissions", rule, None, _ANOTHER_STORE)
            self._store.put({_SIMULATED: b"1"})

    def _commit(self, change: Callable[[], _T], size: int | None = None, alone: bool = False) -> _T:
        """What a change gives that is written in one transaction, with the counters of rejects.

        ``size`` is about how many bytes it writes, if it is as large as reports, and so tells
        whether reports can be written.
        """
        self._sync()
        with self._news:
            unsaved = dict(self._unsaved)
        # The sum is written, and not added to: where the reply is lost it is written again.
        rejects = _summed(self._rejects, unsaved)
        self._dirty = True
        try:
            with self._store.changing(alone):
                result = change()
                if unsaved:
                    name = f"{_REJECTS}{self._store.shard}"
                    self._store.put({name: canonical(rejects).encode()})
        except Refused as error:
            self._fewest = 0  # it may be there, whoever was in it
            if size is not None and error.name.startswith("store"):
                self._wrote(error.with_traceback(None), size)
            raise
        if size is not None:
            self._wrote(None, 0)
        with self._news:
            for reason, count in unsaved.items():
                self._unsaved[reason] -= count
            self._unsaved = {reason: count for reason, count in self._unsaved.items() if count}
        with self._changed:
            self._rejects = rejects
            if unsaved:
                self._version += 1
                self._changed.notify_all()
        return result

    def _wrote(self, problem: Refused | None, size: int) -> None:
        """Remember how a try to write reports went, and log where that has changed."""
        before, self._written = self._written[1], (time.monotonic(), problem, size)
        if problem is not None and before is None:
            _LOG.error("reports cannot be written to the store: %s", NAMES[problem.name])
        elif problem is None and before is not None:
            _LOG.info("reports can be written to the store again")

    # Actions of the writer.

    def _noted(self, what: str, who: str) -> dict[str, bytes]:
        """A fact that says what is done, by whose token and when; it stays for good."""
        now = self._clock().astimezone(UTC)
        name = f"{_RECORD}{now:%Y-%m-%d %H:%M:%S.%f} {secrets.token_hex(4)}"
        return {name: canonical([f"{now:%Y-%m-%d %H:%M}", what, who]).encode()}

    def _close(self, noted: Mapping[str, bytes]) -> None:
        """Close the survey, for good where ids are dropped."""
        dropping = self._study.collect.keep_ids == "closed"

        def closed() -> None:
            self._store.put({_WISH: CLOSED.encode(), **noted})
            if dropping:
                self._store.put({_DROPPED: b"1"})
                self._store.drop_ids()

        self._commit(closed, alone=True)
        _LOG.info("the survey was closed")
        self._read_again()
        self._dirty = not self._try(self._store.rewrite)

    def _is_over(self) -> bool:
        """Whether the clock has closed the survey for so long that it cannot be wrong by chance."""
        if self._wish or self.status() != CLOSED:
            self._over_since = None
            return False
        if self._over_since is None:
            self._over_since = time.monotonic()
        return time.monotonic() - self._over_since >= _GRACE

    def _open(self, noted: Mapping[str, bytes]) -> None:
        """Open the survey."""

        def opened() -> None:
            self._take_status(self._store.facts(*_OF_STATUS))
            if self._dropped:
                rule = (
                    "cannot be opened again: the ids of its reports were deleted at the closing, "
                    "and without these ids a report could count twice"
                )
                remedy = (
                    'To keep the ids of your next survey, write keep_ids = "always" in [collect] '
                    "of its study file"
                )
                raise Refused("ids_dropped", "survey", rule, None, remedy)
            self._store.put({_WISH: OPEN.encode(), **noted})

        self._commit(opened, alone=True)
        _LOG.info("the survey was opened")
        self._read_again()

    def _are_spent(self, ids: np.ndarray) -> np.ndarray:
        """Which of these ids are spent."""
        self._sync()
        with self._store.changing():
            refused = self._uninvited([ids])[0]
            spent = self._store.has(SPENT, ids)
        if refused is not None:
            raise refused
        return spent

    def _exchange(self, ids: np.ndarray) -> None:
        """Spend the id of a code and that of a request, unless only the code was spent before."""

        def exchanged() -> None:
            self._require_open()
            if not self._store.has(INVITED, ids[:1])[0]:
                raise Refused(
                    "not_invited", "request", "has an invitation code that this study does not have"
                )
            self._fewest = 0  # the log shows the one code
            code, request = self._store.claim(SPENT, ids)
            if request and not code:
                raise Refused(
                    "exchanged",
                    "request",
                    "has an invitation code that was already used",
                )

        self._commit(exchanged, ids.nbytes)

    def _invite(self, ids: np.ndarray) -> None:
        """Keep ids of invitations that are not there yet."""

        def invited() -> int:
            self._take_status(self._store.facts(*_OF_STATUS))
            if self._dropped:
                rule = "is closed for good: nobody can answer it any more"
                raise Refused(CLOSED, "survey", rule)
            self._store.claim(INVITED, ids)
            self._fewest = 0
            return self._store.size(INVITED)

        n_invited = self._commit(invited)
        with self._changed:
            self._n_invited = n_invited

    def _about_store(self) -> AboutStore:
        """What those who operate the store ask of it."""
        self._sync()
        return self._store.about()

    def _backup(self, who: str) -> str:
        """Copy the store."""
        self._sync()
        name = self._store.backup()
        _LOG.info("the store was copied")
        self._keep(self._noted("copied", who))
        return name

    def _keep_owner(self, name: str, digest: bytes) -> None:
        """Keep somebody's token, or its end."""
        what = "token made" if digest else "token ended"
        facts = {f"{_OWNER} {name}".rstrip(): digest, **self._noted(what, name)}
        self._keep(facts)

    def _keep(self, facts: Mapping[str, bytes]) -> None:
        """Keep facts."""
        self._commit(lambda: self._store.put(facts))
        self._remembered = {**self._remembered, **facts}  # which others may be reading

    def _replace(self, name: str, before: bytes | None, content: bytes) -> bool:
        """Keep a fact, if it is still as before."""

        def replaced() -> bool:
            there = self._store.facts(name).get(name)
            if there not in (before, content):
                return False
            self._store.put({name: content})
            return True

        if not self._commit(replaced, alone=True):
            self._read_again()
            return False
        self._remembered = {**self._remembered, name: content}
        return True


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
