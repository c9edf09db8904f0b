"""Claim: three attributes of 100 values, 10^6 cells, are inverted in two seconds and 500 MB; ten
steps of EM likewise. The default takes less than five seconds.

Every job runs in a process of its own, which makes the tally and then is timed; memory is the peak
of the whole process, as the system counts it. The matrix of these reports would have 10^12 entries;
the same job on 2 x 100 values against that matrix gives the ratio.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from _joint import kept, product
from _measure import SEED, alternate, claim, faster, peak, run_json
from warner import EmpiricalBayes, Estimate, ExpectationMaximization, Inversion, MaximumLikelihood
from warner.estimators import Independent
from warner.estimators.base import LikelihoodData
from warner.results.recommend import recommended

SIZE, PEOPLE = 100, 1_000_000
JOBS = (
    "inversion",
    "projected",
    "em:10",
    "independent",
    "intervals",
    "marginal",
    "association",
    "em:10 from independence",
    "default",
)


def data(sizes: list[int], n: int) -> LikelihoodData:
    """A tally of people whose attributes depend on each other."""
    rng = np.random.default_rng(SEED)
    parts = [rng.dirichlet(np.ones(size)) for size in sizes]
    theta = parts[0]
    for part in parts[1:]:
        theta = np.multiply.outer(theta, part).ravel()
    theta = 0.7 * theta + 0.3 * np.where(
        np.arange(theta.size) % (sizes[-1] + 1) == 0, 1.0, 0.0
    ) / np.ceil(theta.size / (sizes[-1] + 1))
    channel = kept(sizes)
    return LikelihoodData(
        channel,
        channel.simulate(theta, n, rng),
        n,
        product([f"a{i}" for i in range(len(sizes))], sizes),
    )


def work(job: str) -> dict[str, float]:
    """Seconds and peak megabytes of one job on 10^6 cells."""
    each = data([SIZE] * 3, PEOPLE)
    whole = Estimate(Inversion().fit(each), each, Inversion())
    start = time.perf_counter()
    if job == "inversion":
        Inversion().fit(each)
    elif job == "projected":
        Inversion("project").fit(each)
    elif job == "em:10":
        ExpectationMaximization(10).fit(each)
    elif job == "em:10 from independence":
        ExpectationMaximization(10, start="independent").fit(each)
    elif job == "default":
        recommended(each.domain, each.channel).fit(each)
    elif job == "independent":
        Independent().fit(each)
    elif job == "intervals":
        whole.interval()
    elif job == "marginal":
        whole.marginal(["a0", "a2"]).interval()
    else:
        whole.cramers_v("a0", "a1")
    return {"seconds": time.perf_counter() - start, "peak": peak()}


def main() -> None:
    """Every job, then what structure saves."""
    found = {}
    for job in JOBS:
        turns = [run_json(__file__, job) for _ in range(3)]
        found[job] = min(turn["seconds"] for turn in turns), max(turn["peak"] for turn in turns)
        print(f"  {job:<26} {found[job][0]:>8.3f} s {found[job][1]:>8.0f} MB", flush=True)
    for job in ("inversion", "em:10"):
        seconds, memory = found[job]
        claim(
            f"{job} of 10^6 cells in 2 s and 500 MB",
            seconds < 2 and memory < 500,
            f"{seconds:.2f} s, {memory:.0f} MB",
        )

    seconds = found["default"][0]
    claim("the default of 10^6 cells in 5 s", seconds < 5, f"{seconds:.2f} s")

    small = data([SIZE, SIZE // 2], PEOPLE)
    dense = small.channel.dense()
    taken = alternate(
        {
            "axis by axis": lambda: small.channel.rmatvec(small.channel.matvec(small.weights)),
            "matrix": lambda: dense.T @ (dense @ small.weights),
        }
    )
    faster(
        "both products of 100 x 50 values than as a matrix",
        taken["axis by axis"],
        taken["matrix"],
        10,
    )

    few = data([15, 10, 2], 32_561)
    for method in (
        recommended(few.domain, few.channel),
        MaximumLikelihood(),
        EmpiricalBayes(),
        ExpectationMaximization("auto", start="independent"),
    ):
        start = time.perf_counter()
        method.fit(few)
        print(f"  300 cells, {method!r:<70} {time.perf_counter() - start:>8.3f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(work(sys.argv[1])))
    else:
        main()
