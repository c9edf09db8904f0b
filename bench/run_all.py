"""Run every benchmark in turn, then print all claims; exit status 1 if any is MISSED or a script
fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ONE, ALL = True, False
# Every benchmark of this folder, in the order in which they run, and whether it gets one thread of
# linear algebra: where small matrices are worked on many thousand times, threads that wait for a
# busy core make that ten times longer at random. The other benchmarks may use the whole machine, as
# their peers may. A test compares the names with the folder.
SCRIPTS = {
    "side_by_side": ONE,
    "import_time": ALL,
    "slow_places": ONE,
    "exact_likelihood_of_randomized_response": ONE,
    "likelihood_at_scale": ALL,
    "likelihood_of_many_bins": ONE,
    "time_does_not_grow_with_people": ONE,
    "intervals_cover_the_truth": ONE,
    "regression_covers_the_truth": ONE,
    "two_group_intervals_cover_the_truth": ONE,
    "tests_of_clusters_keep_their_size": ONE,
    "products_grow_with_the_domain": ONE,
    "choice_of_steps": ONE,
    "memory_of_unary_reports": ALL,
    "tally_of_a_hundred_million": ALL,
    "few_values_err_little": ONE,
    "leaderboard": ONE,
    "all_pairs_of_nltcs": ALL,
    "several_reports_of_one_value": ALL,
    "joint_margins": ONE,
    "one_question_each": ONE,
    "whole_reports_gain": ONE,
    "unknown_words": ONE,
    "optimal_on_ratings": ONE,
    "joint_of_a_million_cells": ONE,
    "many_attributes": ONE,
    "large_domains": ONE,
    "groups_pooled": ONE,
    "true_reports_are_plausible": ONE,
    "plan_predictions": ONE,
    "advice_at_once": ONE,
    "collector_load": ONE,
    "counts_in_databases": ONE,
    "lake": ALL,
}
ELSEWHERE = {"spark"}  # in the environment of make test-spark, as its file says
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main() -> int:
    """The exit status."""
    claims: list[str] = []
    for name, one_thread in SCRIPTS.items():
        print(f"== {name}", flush=True)
        command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / f"{name}.py")]
        environment = {**(ONE_THREAD if one_thread else {}), **os.environ, "PYTHONUNBUFFERED": "1"}
        if name == "tally_of_a_hundred_million":
            command += sys.argv[1:]
        if name == "leaderboard":  # the whole of it is make leaderboard
            command.append("--quick")
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                if line.startswith("claim "):
                    claims.append(line.rstrip())
        if process.returncode:
            claims.append(f"claim {name} runs: MISSED (exit status {process.returncode})")
        print(flush=True)
    print(f"== not run here, see their files: {', '.join(sorted(ELSEWHERE))}")
    missed = [line for line in claims if ": MISSED (" in line]
    print(f"== {len(claims) - len(missed)} of {len(claims)} claims hold")
    print("\n".join(claims))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
