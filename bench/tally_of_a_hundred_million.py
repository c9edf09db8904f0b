"""Claim: ``warner tally`` counts 100,000,000 k-RR reports in under 3 s and 500 MB, and 10,000,000
OUE reports in under 10 s.

The command is timed as a whole fresh process, from start to exit, with its peak resident memory; it
also checks every report and the digest of the whole. The k-RR reports have K = 16 and lie in one
Parquet file, the OUE reports K = 256 in 32 byte columns. Beside it, also in a fresh process: the
naive way, which reads the whole file with pyarrow and counts with NumPy's bincount, checking
nothing. Files are read from the page cache by both.

The files are kept in bench/out with --keep, and used again when they are there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from _measure import EPSILON, OUT, SEED, claim, run

CHUNK = 2**20
CASES = {
    "krr": (100_000_000, 16, 3, 500),
    "oue": (10_000_000, 256, 10, None),
}  # reports, K, seconds, megabytes


def make(kind: str, path: str) -> None:
    """In a fresh process: simulate the reports and write them in parts."""
    import numpy as np

    from warner import Integers, RandomizedResponse, UnaryEncoding
    from warner.io import ReportWriter

    n, size, _, _ = CASES[kind]
    domain = Integers(0, size - 1)
    mechanism = (
        RandomizedResponse(domain, EPSILON)
        if kind == "krr"
        else UnaryEncoding(domain, EPSILON, "oue")
    )
    rng = np.random.default_rng(SEED)
    with ReportWriter(path, {"answer": mechanism}) as writer:
        for start in range(0, n, CHUNK):
            values = np.minimum(rng.geometric(0.2, min(CHUNK, n - start)) - 1, size - 1)
            writer.write({"answer": mechanism.randomize(values, rng)})


def naive(path: str) -> None:
    """In a fresh process: the whole file in memory, then one bincount per column."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    counts = [np.bincount(column.to_numpy(), minlength=256) for column in table.columns]
    print(sum(int(c.sum()) for c in counts) // len(counts))


def measure(kind: str) -> list[tuple[str, bool, str]]:
    """Both ways three times, in turn; the claims."""
    n, size, most_seconds, most_megabytes = CASES[kind]
    path, tally = OUT / f"{kind}.parquet", OUT / f"{kind}.json"
    if not path.exists():
        seconds, megabytes, _ = run([sys.executable, __file__, "make", kind, str(path)])
        print(f"{kind}: made in {seconds:.1f} s, peak {megabytes:.0f} MB")
    print(f"{kind}: {n:,} reports, K = {size}, file of {path.stat().st_size / 1e6:,.1f} MB")
    ways = {
        "warner tally": [
            sys.executable,
            "-m",
            "warner.app.cli",
            "tally",
            str(path),
            "-o",
            str(tally),
        ],
        "pyarrow and bincount": [sys.executable, __file__, "naive", str(path)],
    }
    for command in ways.values():
        run(command)  # brings file and modules into the page cache
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(3):
        for name in list(ways) if turn % 2 == 0 else reversed(list(ways)):
            runs[name].append(run(ways[name])[:2])
    seconds = {name: median(s for s, _ in found) for name, found in runs.items()}
    megabytes = {name: max(m for _, m in found) for name, found in runs.items()}
    for name in ways:
        print(f"  {name:<22} {seconds[name]:>7.2f} s  peak {megabytes[name]:>8.1f} MB")
    ours, theirs = ways
    print(
        f"  naive / warner: {seconds[theirs] / seconds[ours]:.2f} in time, {megabytes[theirs] / megabytes[ours]:.2f} in memory"
    )
    found = [
        (
            f"{n:,} {kind} reports tallied in under {most_seconds} s",
            seconds[ours] < most_seconds,
            f"{seconds[ours]:.2f} s",
        )
    ]
    if most_megabytes is not None:
        found.append(
            (
                f"{n:,} {kind} reports tallied in under {most_megabytes} MB",
                megabytes[ours] < most_megabytes,
                f"{megabytes[ours]:.0f} MB",
            )
        )
    return found


def main(keep: bool) -> None:
    """Both files, then the claims."""
    OUT.mkdir(exist_ok=True)
    try:
        for verdict in [v for kind in CASES for v in measure(kind)]:
            claim(*verdict)
    finally:
        if not keep:
            for kind in CASES:
                for suffix in (".parquet", ".json"):
                    Path(OUT / (kind + suffix)).unlink(missing_ok=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(sys.argv[2], sys.argv[3])
    elif sys.argv[1:2] == ["naive"]:
        naive(sys.argv[2])
    else:
        main("--keep" in sys.argv[1:])
