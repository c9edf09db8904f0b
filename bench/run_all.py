"""Run every benchmark in turn, then print all claims; exit status 1 if any is MISSED or a script fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = (
    "import_time",
    "clients_outrun_peers",
    "collectors_outrun_peers",
    "exact_likelihood_of_randomized_response",
    "likelihood_at_scale",
    "likelihood_of_many_bins",
    "time_does_not_grow_with_people",
    "intervals_cover_the_truth",
    "bias_correction_with_few_people",
    "products_grow_with_the_domain",
    "likelihood_beats_inversion_on_places",
    "logspline_against_smoothed_em",
    "memory_of_unary_reports",
    "tally_of_a_hundred_million",
    "shrinkage_errs_least",
    "all_pairs_of_nltcs",
    "several_reports_of_one_value",
    "joint_error_and_dependence",
    "joint_of_a_million_cells",
    "joint_tables_of_adult",
    "conditional_means_of_keys",
)
# One thread of linear algebra where small matrices are worked on many thousand times: threads that wait for a busy core make
# that ten times longer at random. Elsewhere both sides may use the machine.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PINNED = (
    "products_grow_with_the_domain",
    "likelihood_beats_inversion_on_places",
    "exact_likelihood_of_randomized_response",
    "likelihood_of_many_bins",
    "time_does_not_grow_with_people",
    "intervals_cover_the_truth",
    "logspline_against_smoothed_em",
    "protect_only_what_is_sensitive",
    "mixture_reduction_with_and_without_merging",
    "shrinkage_errs_least",
    "bias_correction_with_few_people",
    "joint_error_and_dependence",
    "joint_of_a_million_cells",
    "joint_tables_of_adult",
    "conditional_means_of_keys",
)


def main() -> int:
    """The exit status."""
    claims: list[str] = []
    for name in SCRIPTS:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / f"{name}.py")]
        environment = {**(ONE_THREAD if name in PINNED else {}), **os.environ, "PYTHONUNBUFFERED": "1"}
        if name == "tally_of_a_hundred_million":
            command += sys.argv[1:]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                if line.startswith("claim "):
                    claims.append(line.rstrip())
        if process.returncode:
            claims.append(f"claim {name} runs: MISSED (exit status {process.returncode})")
        print(flush=True)
    missed = [line for line in claims if ": MISSED (" in line]
    print(f"== {len(claims) - len(missed)} of {len(claims)} claims hold")
    print("\n".join(claims))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
