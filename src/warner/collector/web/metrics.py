"""What a monitoring system reads, in the text format of Prometheus.

The numbers are of one moment in a minute, and those of people are the ones of the live page: who
reads them learns nothing of people that the live page does not say.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate

from warner.collector.collector import OPEN, Collector
from warner.collector.deployment_card import software_version
from warner.collector.live.publisher import LivePublisher
from warner.collector.refusals import Refused

TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = 60.0  # between two pictures, as between two of the counters of rejects
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # of seconds


class Times:
    """How long replies took, as a histogram.

    >>> times = Times()
    >>> times.add(0.03)
    >>> list(times.lines("x"))[1:4]
    ['x_bucket{le="0.025"} 0', 'x_bucket{le="0.05"} 1', 'x_bucket{le="0.1"} 1']
    """

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one reply."""
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> Iterator[str]:
        """The lines of the histogram."""
        counts = list(accumulate(self._counts))
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], counts, strict=True):
            yield f'{name}_bucket{{le="{bound}"}} {count}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {counts[-1]}"


class Metrics:
    """The numbers of one server."""

    def __init__(self, collector: Collector, live: LivePublisher, times: Times) -> None:
        self._collector, self._live, self._times = collector, live, times
        self._next, self._text = -float("inf"), ""

    def text(self) -> str:
        """The numbers of this minute. It can wait for the store."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + _SECONDS
            self._text = "".join(f"{line}\n" for line in self._lines())
        return self._text

    def _lines(self) -> Iterator[str]:
        view = self._live.view()
        store = None
        with suppress(Refused):
            store = self._collector.about_store() if self._collector.is_written else None
        yield from _metric(
            "warner_info", "gauge", "The version.", f'{{version="{software_version()}"}} 1'
        )
        yield from _metric(
            "warner_survey_open",
            "gauge",
            "1 if the survey is open for reports, otherwise 0.",
            view.status == OPEN,
        )
        yield from _metric(
            "warner_people",
            "gauge",
            "People counted so far by all servers together.",
            view.counted,
        )
        yield from _metric(
            "warner_people_published",
            "gauge",
            "People counted in the newest published results.",
            view.n,
        )
        rejects = [f'{{reason="{name}"}} {count}' for name, count in sorted(view.rejects.items())]
        yield from _metric(
            "warner_refused_total",
            "counter",
            "Refused requests of all servers, up to a minute late. The live page says the reasons.",
            *rejects,
        )
        yield from _metric(
            "warner_waiting",
            "gauge",
            "Reports that wait to be written to the store.",
            self._collector.waiting,
        )
        yield from _metric(
            "warner_store_up",
            "gauge",
            "1 if reports can be written to the store, otherwise 0.",
            store is not None,
        )
        if store is not None:
            yield from _metric(
                "warner_store_bytes", "gauge", "Size of the store, in bytes.", store.size
            )
        if store is not None and store.free_bytes is not None:
            name, about = "warner_store_free_bytes", "Free bytes on the disk of the store."
            yield from _metric(name, "gauge", about, store.free_bytes)
        name = "warner_reply_seconds"
        about = "Seconds between the arrival of a request with reports and the reply."
        yield from _metric(name, "histogram", about)
        yield from self._times.lines(name)


def _metric(name: str, kind: str, about: str, *values: str | int) -> Iterator[str]:
    """The lines of a metric, each value with its labels before it."""
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for value in values:
        yield f"{name}{value}" if isinstance(value, str) else f"{name} {int(value)}"
