"""A lower bound on epsilon from samples: it examines the sampler itself, not its law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.reports.counting import unique_rows
from warner.reports.reports import Reports

_ERROR = 1e-6  # probability that the sampled lower bound is above the true epsilon


def sampled_bound(
    mechanism: Mechanism, samples: int, draw: Callable[[np.ndarray], np.ndarray] | None = None
) -> float:
    """A lower bound on epsilon from reports of two values.

    The two values are the first and the last. If only some values are protected, a protected value
    is compared with one that is not, whose reports may name it. Then only events that are likelier
    under the protected value count. Half of the samples chooses an event: one serialised report, or
    a byte or a bit of it. The other half bounds its two probabilities (Clopper-Pearson), so the
    choice does not bias the bound.

    Shapes: draw (n,).
    """
    if draw is None:

        def draw(index: np.ndarray) -> np.ndarray:
            return Reports(
                mechanism.header, mechanism.randomize_index(index, Source(None))
            ).record_array()

    half = samples // 2
    delta = mechanism.guarantee.delta or 0.0
    sensitive = mechanism.sensitive_mask
    first, last, one_sided = 0, mechanism.domain.size - 1, False
    if sensitive is not None and not sensitive.all():
        first, last, one_sided = int(np.argmax(sensitive)), int(np.argmin(sensitive)), True
    a, b = (draw(np.full(samples, x)) for x in (first, last))
    bound = 0.0
    for likely, unlikely in ((a, b),) if one_sided else ((a, b), (b, a)):
        event = _most_telling(likely[:half], unlikely[:half])
        hits = [int(np.count_nonzero(event(part[half:]))) for part in (likely, unlikely)]
        bound = max(bound, _log_bound(hits[0], hits[1], samples - half, delta))
    distances = mechanism.distances(np.array([first, last]))
    return bound if distances is None else bound / float(distances[0, 1])


@dataclass(frozen=True)
class _Event:
    """The event that a serialised report equals ``content`` where ``mask`` is set."""

    mask: np.ndarray  # (bytes,) uint8
    content: np.ndarray  # (bytes,) uint8

    def __call__(self, records: np.ndarray) -> np.ndarray:
        return np.asarray(((records & self.mask) == self.content).all(axis=1))


def _most_telling(a: np.ndarray, b: np.ndarray) -> _Event:
    """The event with the largest odds in a and b (n, bytes): a record, a byte or a bit of it."""
    width = a.shape[1]
    records, inverse = unique_rows(np.concatenate([a, b]))
    seen_a, seen_b = (
        np.bincount(part, minlength=len(records)) for part in (inverse[: len(a)], inverse[len(a) :])
    )
    best = int(np.argmax(_cautious(seen_a, seen_b)))
    found = [
        (
            float(_cautious(seen_a[best], seen_b[best])),
            _Event(np.full(width, 255, np.uint8), records[best]),
        )
    ]
    for i in range(width):
        histogram_a, histogram_b = (np.bincount(part[:, i], minlength=256) for part in (a, b))
        for mask in (255, *(1 << bit for bit in range(8))):
            for value in np.unique(np.arange(256) & mask):
                same = np.arange(256) & mask == value
                odds = float(_cautious(histogram_a[same].sum(), histogram_b[same].sum()))
                event = _Event(np.zeros(width, np.uint8), np.zeros(width, np.uint8))
                event.mask[i], event.content[i] = mask, value
                found.append((odds, event))
    return max(found, key=lambda pair: pair[0])[1]


def _cautious(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log odds of counts, each moved five standard deviations towards the other.

    Without it, some of many rare events would always look telling.
    """
    odds: np.ndarray = np.log(np.maximum(a - 5 * np.sqrt(a), 0.1)) - np.log(b + 5 * np.sqrt(b) + 25)
    return odds


def _log_bound(hits_a: int, hits_b: int, n: int, delta: float = 0.0) -> float:
    """ln of a lower bound for Pr(event | a) - delta over an upper bound for Pr(event | b).

    There are two events with two bounds each, so every bound may err with a quarter of ``_ERROR``.
    """
    from scipy.stats import beta

    if hits_a == 0:
        return 0.0
    low = float(beta.ppf(_ERROR / 4, hits_a, n - hits_a + 1))
    high = 1.0 if hits_b == n else float(beta.ppf(1 - _ERROR / 4, hits_b + 1, n - hits_b))
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
