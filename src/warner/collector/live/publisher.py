"""When the live page shows something new: in steps of B reports, estimated in another process.

    publish, if n >= (n of the last step) + B

Two published steps therefore always differ by at least B people, also over a restart: the last
step is remembered in the store. When the survey closes, the reports since the last step are
published too, so that no answer is lost. They can be fewer than B. That happens once: whoever opens
and closes the survey again and again would otherwise see every report alone. In a study with public
columns a step holds of each group no new person or at least 10, see
:mod:`warner.collector.live.state`.

Between two steps the page says how many people are counted, and nothing else of their reports. That
number needs no estimate. It is refreshed every few seconds.

Several processes may collect one survey. They publish one sequence of steps: each shows the step
that the store has, and one that loses against another shows the other's.

One thread has the steps estimated, so that uploads never wait for it. It takes the newest counts
whenever it is free, so what came in during a slow estimate is in the next step.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from warner.collector.collector import Collector
from warner.collector.live.estimates import BoundedEstimates, StepEstimates, estimated_step
from warner.collector.live.state import (
    LiveView,
    Step,
    fewest_new,
    groups_come_late,
    next_step,
    share_asked,
    step_due,
)
from warner.collector.live.tables import GroupsView, event_of
from warner.studies.study import Study

FACT = "published"  # the name of the last step among the facts of the store
_POLL = 1.0  # seconds, after which the clock may have opened or closed the survey
_PAUSE = 0.2  # seconds between two looks at the counts
_COUNT_SECONDS = 5.0  # between two pictures of the number of reports
_REJECTS_SECONDS = 60.0  # between two pictures of the counters of rejects

_LOG = logging.getLogger(__name__)


class LivePublisher:
    """Publishes the steps of a survey."""

    def __init__(
        self,
        collector: Collector,
        study: Study,
        estimates: StepEstimates | BoundedEstimates | None = None,
    ) -> None:
        self.study, self._collector = study, collector
        self._estimates = StepEstimates(study) if estimates is None else estimates
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()  # estimates, of steps and of groups
        self._stopping = threading.Event()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._groups: dict[str, tuple[int, GroupsView]] = {}
        self._stored: bytes | None = None  # the step that is shown, as the store has it
        self._thread: threading.Thread | None = None
        self._next_rejects = self._next_count = 0.0
        # The minute of UTC in which the number of people grew last, since this process started.
        self.last_report: str | None = None
        collect, status = study.collect, collector.status()
        final = collector.is_final
        fewest = self._fewest(groups_come_late(study))
        self._view = LiveView(
            1,
            collect.people,
            collect.step,
            status,
            collector.n,
            final,
            fewest=fewest,
            by=tuple(study.public),
            share=share_asked(study),
        )

    # What the page and the streams ask for.

    def view(self) -> LiveView:
        """What is shown now; it takes no time. The status is that of this moment."""
        with self._lock:
            shown = self._view
        now = {"status": self._collector.status(), "is_final": self._collector.is_final}
        return shown if _has(shown, now) else replace(shown, **now)  # type: ignore[arg-type]

    @property
    def is_stopping(self) -> bool:
        """Whether streams are to end."""
        return self._stopping.is_set()

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event of the running loop, which is set whenever there is something new."""
        listener = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._listeners.add(listener)
        try:
            yield listener[1]
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def groups(self, column: str) -> GroupsView | None:
        """The tables by one public column, of the last published step, or None."""
        # This can take long, so it belongs into a thread of its own.
        with self._one_at_a_time:
            step = self.view().step
            if step is None or not step.shows_groups:
                return None
            stored = self._groups.get(column)
            if stored is None or stored[0] != step.number:
                view = self._estimates.groups(step, column)
                self._groups[column] = stored = (step.number, view)
            return stored[1]

    def file(self, name: str) -> str | bytes:
        """A file of the estimates of the last published step. It can take long."""
        return self._estimates.file(estimated_step(self.view()), name)

    # The thread.

    def start(self) -> None:
        """Take up the last published step, and publish from now on."""
        self._survive(self._take_up)  # before the first request
        self._thread = threading.Thread(target=self._run, name="warner-live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and all streams. A running estimate is not waited for."""
        self._stopping.set()
        self._estimates.stop()
        self._tell()

    def _run(self) -> None:
        """Publish until :meth:`stop`."""
        self._survive(self._follow)
        seen = -1
        while not self._stopping.is_set():
            self._collector.wait_for(seen, _POLL)
            seen = self._collector.version
            self._survive(self._look_in_time)
            self._stopping.wait(_PAUSE)

    def _take_up(self) -> None:
        """Show at once the numbers of before a restart that need no estimate."""
        stored = self._collector.remembered(FACT)
        before = None if stored is None else Step.from_bytes(stored)
        rejects = dict(self._collector.state().rejects)
        self._change(before=before, is_estimating=stored is not None, rejects=rejects)

    def _look_in_time(self) -> None:
        """Look, and refresh the numbers that are not of a step when it is time for them."""
        now = time.monotonic()
        self.look(now >= self._next_rejects, now >= self._next_count)

    def _survive(self, action: Callable[[], object]) -> None:
        """Do something that is tried again later if it fails, as while the store is full."""
        try:
            action()
        except Exception as error:
            if not self.is_stopping:
                name = type(error).__name__
                _LOG.error(
                    "the live page could not publish a new result (%s). The page tries again", name
                )

    def _follow(self) -> None:
        """Show the step that was published last, before a restart or by another process."""
        stored = self._collector.remembered(FACT)
        if stored is not None and stored != self._stored:
            self._show(Step.from_bytes(stored))
            self._stored = stored

    def look(self, refresh_rejects: bool = True, refresh_count: bool = True) -> None:
        """Publish a step if one is due, and show whether the survey is open."""
        self._follow()
        shown = self.view()
        status = self._collector.status()
        if refresh_count:
            self._next_count = time.monotonic() + _COUNT_SECONDS
            self._change(counted=self._collector.n)
        due = self._due(self._collector.n, status, shown)
        if due == "step" and shown.fewest and not refresh_count:
            due = ""  # whether too many people wait is told by all counts, which are not small
        if due or refresh_rejects:
            state = self._collector.state()
            # Between the two looks the survey can have been opened: then the rest is not due.
            due = self._due(state.n, state.status, shown)
            step = next_step(state, shown.step, self.study, due == "rest") if due else None
            self._next_rejects = time.monotonic() + _REJECTS_SECONDS
            final, rejects = self._collector.is_final, dict(state.rejects)
            news = {"status": state.status, "is_final": final, "rejects": rejects}
            self._change(**news, is_estimating=step is not None)
            if step is not None:
                # First remembered, then shown: otherwise a crash in between could lead to a
                # smaller step. In place of the step that it follows: so do those of two processes.
                content = step.to_bytes()
                if not self._collector.replace(FACT, self._stored, content):
                    self._follow()
                    return
                self._stored = content
                _LOG.info(
                    "the live page has a new result (the number %s), from %s reports",
                    step.number,
                    step.n,
                )
                self._show(step)
        else:
            self._change(status=status, is_final=self._collector.is_final)
        if not due and shown.step is not None and self._estimates.retry_is_due():
            self._show(shown.step)

    def _due(self, n: int, status: str, shown: LiveView) -> str:
        """Whether a step may be due, as :func:`step_due` says."""
        return step_due(n, status, shown.step, shown.size, bool(self.study.public))

    def _show(self, step: Step) -> None:
        """Estimate a step and show it."""
        with self._one_at_a_time, self._counting():
            estimated = [self._estimates.shown(step, name) for name in step.tallies]
        shown = {
            "sections": tuple(section for each in estimated for section in each.sections),
            "options": tuple(option for each in estimated for option in each.options),
            "fewest": self._fewest(step.late_groups),
        }
        counted = max(step.n + step.waiting, self.view().counted)
        self._change(step=step, **shown, counted=counted, is_estimating=False)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Refresh the number of people meanwhile: the estimate of a step can take a minute."""
        is_over = threading.Event()

        def count() -> None:
            while not is_over.wait(_COUNT_SECONDS):
                self._survive(lambda: self._change(counted=self._collector.n))

        counter = threading.Thread(target=count, name="warner-live-count", daemon=True)
        counter.start()
        try:
            yield
        finally:
            is_over.set()
            counter.join()

    def _fewest(self, late_groups: bool) -> int:
        """The fewest new people of a group that a step adds; 0 where nobody waits for others."""
        waits = self.study.public and not late_groups
        return fewest_new(self.study.collect.step) if waits else 0

    def _change(self, **changes: object) -> None:
        """Show something new, unless it is what is shown."""
        with self._lock:
            old = self._view
            if _has(old, changes):
                return
            self._view = replace(old, version=old.version + 1, **changes)  # type: ignore[arg-type]
            if self._view.counted > old.counted:
                self.last_report = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
        self._tell()

    def _tell(self) -> None:
        """Wake all streams."""
        with self._lock:
            listeners = list(self._listeners)
        for loop, event in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)


def _has(view: LiveView, values: Mapping[str, object]) -> bool:
    """Whether a view has these values."""
    return all(getattr(view, name) == value for name, value in values.items())


KEEP_ALIVE = 15.0  # seconds; proxies close streams that are silent for about a minute
_RETRY = 3000  # milliseconds, after which a browser connects again
ALIVE = b": alive\n\n"


def event_text(view: LiveView) -> bytes:
    """A view as one event of the stream.

    >>> event_text(LiveView(7, 1000, 50, "open")).splitlines()[:2]
    [b'id: 7', b'event: step']
    """
    data = json.dumps(event_of(view), separators=(",", ":"))
    return f"id: {view.version}\nevent: step\ndata: {data}\n\n".encode()


async def live_events(
    publisher: LivePublisher, keep_alive: float = KEEP_ALIVE
) -> AsyncIterator[bytes]:
    """The stream of one reader until the publisher stops: the view now, then each change."""
    yield f"retry: {_RETRY}\n\n".encode()
    with publisher.listening() as news:
        sent = -1
        while not publisher.is_stopping:
            # A slow reader gets the newest view, and not those in between.
            news.clear()
            view = publisher.view()
            if view.version != sent:
                sent = view.version
                yield event_text(view)
            try:
                await asyncio.wait_for(news.wait(), keep_alive)
            except TimeoutError:
                yield ALIVE
