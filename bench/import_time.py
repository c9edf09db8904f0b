"""Claim: ``import warner`` in a fresh process takes less than 0.3 s, the start of the interpreter
included.

Median of nine, in turn with NumPy alone and with the peers' modules that hold the same mechanisms.
"""

from __future__ import annotations

import sys
from statistics import median

from _measure import claim, run

WAYS = {
    "the interpreter alone": "pass",
    "numpy": "import numpy",
    "warner": "import warner",
    "pure-ldp": "from pure_ldp.frequency_oracles import direct_encoding, local_hashing, unary_encoding",
    "multi-freq-ldpy": "from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, UE",
}
TURNS, BAR = 9, 0.3


def main() -> None:
    """Time every import, then state the claim."""
    commands = {name: [sys.executable, "-W", "ignore", "-c", code] for name, code in WAYS.items()}
    for command in commands.values():
        run(command)  # compiles and brings the files into the page cache
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(TURNS):
        for name in list(WAYS) if turn % 2 == 0 else reversed(list(WAYS)):
            seconds[name].append(run(commands[name])[0])
    middle = {name: median(taken) for name, taken in seconds.items()}
    for name, taken in middle.items():
        print(f"  {name:<22} {taken * 1e3:>7.0f} ms  {taken / middle['warner']:.2f} of warner's")
    claim(
        f"import warner in less than {BAR} s", middle["warner"] < BAR, f"{middle['warner']:.3f} s"
    )


if __name__ == "__main__":
    main()
