"""Claim: a million OUE reports at K = 256 are made, tallied and estimated from in less than 100 MB.

The figure is the peak resident memory of a fresh process less what it held just before:
interpreter, imports, input. It is taken twice, with the values as input (randomise, tally,
estimate) and with the reports as input (tally, estimate). A peer holds 256 numbers of 8 bytes for
each report; it is measured with 100,000 reports, and scaled.
"""

from __future__ import annotations

import json
import sys

from _measure import EPSILON, SEED, K, claim, peak, resident, run_json

N, PEERS_N, BAR = 1_000_000, 100_000, 100
WAYS = ("from-values", "from-reports", "pure-ldp", "multi-freq-ldpy")


def measure(way: str) -> None:
    """In a fresh process: do the work one way, print the megabytes."""
    import numpy as np

    values = np.random.default_rng(SEED).integers(0, K, N if way.startswith("from") else PEERS_N)
    if way.startswith("from"):
        from warner import Integers, UnaryEncoding, estimate

        mechanism = UnaryEncoding(Integers(0, K - 1), EPSILON, "oue")
        estimate(
            mechanism.tally(mechanism.randomize(values[:1000]))
        )  # what is imported late belongs to the baseline
        reports = (
            mechanism.randomize(values, np.random.default_rng(SEED))
            if way == "from-reports"
            else None
        )
        # An earlier peak counts as if it were reached now: the figure is never too small.
        before, peak_before = resident(), peak()
        estimate(mechanism.tally(mechanism.randomize(values) if reports is None else reports))
    else:
        from _peers import clients, collectors

        client, collector = clients("OUE", K, EPSILON)[way], collectors("OUE", K, EPSILON)[way]
        few = values.tolist()
        collector([client(value) for value in few[:1000]])
        before, peak_before = resident(), peak()
        collector([client(value) for value in few])
    print(json.dumps({"before": before, "peak_before": peak_before, "peak": peak()}))


def main() -> None:
    """Measure each way three times and state the claim."""
    added = {}
    for way in WAYS:
        runs = sorted(
            (run_json(__file__, way) for _ in range(3)), key=lambda r: r["peak"] - r["before"]
        )
        middle = runs[1]
        added[way] = middle["peak"] - middle["before"]
        ours = way.startswith("from")
        if not ours:
            added[way] *= N / PEERS_N
        note = "" if ours else f", measured at {PEERS_N:,} and scaled"
        print(
            f"  {'warner, ' + way.replace('-', ' ') if ours else way:<22} {added[way]:>8.1f} MB added for {N:,} reports "
            f"(process: {middle['before']:.0f} MB before, peak {middle['peak_before']:.0f} MB before and {middle['peak']:.0f} MB after{note})"
        )
    best = min(added[way] for way in WAYS if not way.startswith("from"))
    print(f"  the thriftier peer needs {best / added['from-values']:.0f} times as much")
    claim(
        f"{N:,} OUE reports from values in less than {BAR} MB",
        added["from-values"] < BAR,
        f"{added['from-values']:.1f} MB",
    )
    claim(
        f"{N:,} OUE reports tallied and estimated from in less than {BAR} MB more",
        added["from-reports"] < BAR,
        f"{added['from-reports']:.1f} MB",
    )


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else main()
