"""How fast the collector counts: single reports, batches of 1,000, waiting, memory and disk.

    python bench/collector_load.py --seconds 60 --path survey.db

The store level: no HTTP. Submissions are parsed, checked, counted and committed with full
durability. Clients send again as soon as they have a reply. Waiting is measured from the call of
``submit`` until the future resolves.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from _measure import claim, resident
from warner.collector.access import ID_BYTES
from warner.collector.collector import Collector
from warner.collector.stores import SQLiteStore
from warner.collector.submissions import HEAD_BYTES, new_ids
from warner.studies import study as studies

STUDY = """
[attributes.smokes]
values = ["never", "sometimes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [18, 99]
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.town]
integers = [0, 999]
mechanism = "LocalHashing"
epsilon = 1.0
[collect]
access = "open"
keep_ids = "always"
"""


def bodies(form: object, size: int, count: int) -> Callable[[], bytes]:
    """A function that gives bodies of ``size`` submissions with fresh ids."""
    study = studies.Study.parse(STUDY)
    rng = np.random.default_rng(1)
    made = []
    for _ in range(count):
        answers = {
            "smokes": rng.choice(["never", "sometimes", "often"], size).tolist(),
            "age": rng.integers(18, 100, size),
            "town": rng.integers(0, 1000, size),
        }
        reports = {a: m.randomize(answers[a]) for a, m in study.mechanisms.items()}
        made.append(form.seal(reports))  # type: ignore[attr-defined]
    length = (len(made[0]) - HEAD_BYTES) // size

    def body() -> bytes:
        data = np.frombuffer(made[os.urandom(1)[0] % count], np.uint8).copy()
        data[HEAD_BYTES:].reshape(size, length)[:, :ID_BYTES] = new_ids(size)
        return data.tobytes()

    return body


def disk(path: str) -> float:
    """The bytes of the store on disk, in MB."""
    return (
        sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end)) / 1e6
    )


def run(collector: Collector, path: str, size: int, waiting: int, seconds: float) -> float:
    """Keep ``waiting`` bodies of ``size`` submissions waiting for so many seconds; reports/s."""
    body = bodies(collector.format, size, 16)
    slots = threading.Semaphore(waiting)
    waits: list[float] = []
    failed: list[BaseException] = []
    start, cpu, before = time.monotonic(), time.process_time(), collector.n
    marks = [(0.0, resident())]
    while (now := time.monotonic()) < start + seconds:
        slots.acquire()
        began = time.monotonic()
        future = collector.submit(collector.format.parse(body()))

        def done(future: object, began: float = began) -> None:
            waits.append(time.monotonic() - began)
            error = future.exception()  # type: ignore[attr-defined]
            if error is not None:
                failed.append(error)
            slots.release()

        future.add_done_callback(done)
        if now - start > len(marks) * seconds / 6:
            marks.append((now - start, resident()))
    for _ in range(waiting):
        slots.acquire()
    took, used = time.monotonic() - start, time.process_time() - cpu
    counted = collector.n - before
    p50, p99 = np.quantile(waits, [0.5, 0.99]) * 1000
    print(
        f"{size:5} in a body: {counted / took:10,.0f} reports/s; waiting p50 {p50:.1f} ms, "
        f"p99 {p99:.1f} ms, most {max(waits) * 1000:.0f} ms; {1e6 * used / counted:.1f} us of "
        f"processor each; failed {len(failed)}"
    )
    print("      memory MB: " + ", ".join(f"{m:.0f}" for _, m in marks), f"-> {resident():.0f}")
    print(f"      n {collector.n:,}; disk {disk(path):.1f} MB", flush=True)
    if failed:
        raise SystemExit(f"{len(failed)} bodies failed")
    return counted / took


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--path", default=None, help="the file of the store; default: a new one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.path or str(Path(folder) / "survey.db")
        collector = Collector(studies.Study.parse(STUDY), SQLiteStore(path))
        run(collector, path, 1, 1, options.seconds / 6)
        single = run(collector, path, 1, 200, options.seconds)
        claim("5,000 single reports/s", single >= 5000, f"{single:,.0f}")
        before, people = resident(), collector.n
        many = run(collector, path, 1000, 16, options.seconds)
        claim("200,000 reports/s in bodies of 1,000", many >= 200_000, f"{many:,.0f}")
        each = (resident() - before) * 1e6 / (collector.n - people)
        claim("less than 64 bytes of memory for each id", each < 64, f"{each:.0f}")
        began = time.monotonic()
        collector.close_survey()
        print(
            f"closed in {time.monotonic() - began:.1f} s; disk {disk(path):.1f} MB, n {collector.n:,}"
        )
        per = 1e6 * disk(path) / collector.n
        claim("less than 60 MB on disk for a million ids", per < 60, f"{per:.1f}")
        collector.stop()
        began = time.monotonic()
        again = Collector(studies.Study.parse(STUDY), SQLiteStore(path))
        print(f"opened again in {time.monotonic() - began:.1f} s, n {again.n:,}")
        again.stop()


if __name__ == "__main__":
    main()
