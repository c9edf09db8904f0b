"""Claim: warner plan and warner new --people take at most the time of 60 default estimates.

    draft     warner plan of a draft: a mechanism, an epsilon and intervals are proposed
    study     warner plan of a complete study: the mechanisms are ranked
    people    warner plan of a complete study with --error
    new       warner new --people

Each is run on two questions, against estimates of the same questions from simulated reports of the
same number of people at epsilon 1, in one process, in processor time. Everything is imported before.
Each time is of another number of people, so that nothing is known from the one before.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from click.testing import CliRunner

import warner
from _measure import SEED, claim
from warner import Categorical, Integers
from warner.app.cli import main as warner_command
from warner.design.default_errors import typical_shares
from warner.design.proposal import propose
from warner.domains import Domain

BAR, TURNS, ESTIMATES, PEOPLE = 60.0, 3, 10, 2000
PAIRS = {
    "3 labels, 61 numbers": (3, -61),
    "2 labels, 12 labels": (2, 12),
    "40 labels, 150 labels": (40, 150),
    "11 numbers, 120 numbers": (-11, -120),
}


def question(size: int) -> tuple[Domain, str, list[str]]:
    """A question with labels, or of ``-size`` numbers: its values, for a study, and for ``new``."""
    if size < 0:
        high = -size - 1
        return Integers(0, high), f"integers = [0, {high}]", [f"--range=NAME=0:{high}"]
    labels = [f"v{i}" for i in range(size)]
    stated = ",".join(labels)
    return Categorical(labels), f"values = {labels}", [f"--values=NAME={stated}"]


def seconds(work: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def command(*arguments: str) -> Callable[[], object]:
    """A command of warner, that must succeed."""

    def run() -> object:
        result = CliRunner().invoke(warner_command, list(arguments))
        assert result.exit_code == 0, result.output
        return result

    return run


def estimates(domain: Domain, n: int) -> float:
    """The mean time of a default estimate of a question."""
    mechanism = propose(domain, n, 1.0).mechanism
    rng = np.random.default_rng([SEED, n])
    theta, total = typical_shares(domain), 0.0
    for _ in range(ESTIMATES):
        answers = domain.decode(rng.choice(domain.size, n, p=theta))
        tally = mechanism.tally(mechanism.randomize(answers, rng))
        total += seconds(lambda tally=tally: warner.estimate(tally))  # type: ignore[misc]
    return total / ESTIMATES


def jobs(folder: Path, sizes: tuple[int, int], n: int) -> dict[str, Callable[[], object]]:
    """What is timed, for n people."""
    draft, study, options = "", "", []
    for name, size in zip("ab", sizes, strict=True):
        _, values, stated = question(size)
        mechanism = "RandomizedResponse" if size > 0 else "SquareWave"
        draft += f"[attributes.{name}]\n{values}\n"
        study += f'[attributes.{name}]\n{values}\nmechanism = "{mechanism}"\nepsilon = 1.0\n'
        options += [each.replace("NAME", name) for each in stated]
    (folder / "draft.toml").write_text(draft)
    (folder / "study.toml").write_text(study)
    people = ("--people", str(n))
    new = ("new", "--no-ask", "--force", "--secret=a,b", *options, "-o", str(folder / "new.toml"))
    return {
        "draft": command("plan", str(folder / "draft.toml"), *people),
        "study": command("plan", str(folder / "study.toml"), *people),
        "people": command("plan", str(folder / "study.toml"), *people, "--error", "0.02"),
        "new": command(*new, *people),
    }


def main() -> None:
    """Time all jobs on all pairs of questions."""
    with tempfile.TemporaryDirectory() as folder:
        for warm_up in jobs(Path(folder), (5, -5), 300).values():
            warm_up()
        for pair, sizes in PAIRS.items():
            times: dict[str, list[float]] = {}
            for turn in range(TURNS):
                n = PEOPLE + 10 * turn
                for name in jobs(Path(folder), sizes, n):
                    n += 1
                    job = jobs(Path(folder), sizes, n)[name]
                    times.setdefault(name, []).append(seconds(job))
                one = sum(estimates(question(size)[0], n) for size in sizes)
                times.setdefault("one estimate of both", []).append(one)
            one = median(times.pop("one estimate of both"))
            print(f"{pair}: one estimate of both takes {1000 * one:.1f} ms", flush=True)
            for name, taken in times.items():
                ratio = median(taken) / one
                claim(
                    f"{pair}: {name} takes at most {BAR:g} estimates of both questions",
                    ratio <= BAR,
                    f"{ratio:.1f}, {median(taken):.2f} s",
                )


if __name__ == "__main__":
    main()
