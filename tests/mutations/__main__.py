"""Run the tests against small wrong changes of the package, each in a copy of the tree.

A mutation that its tests do not catch is printed as SURVIVED, and the exit status is 1. The tests
are run once without a mutation first: tests that fail anyway catch nothing.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from tests.mutations.entries import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
_PATIENCE = 1200  # seconds for the tests of one mutation
_LEFT_OUT = ("node_modules", "__pycache__", ".venv", "out")
_PASSED, _FAILED = 0, 1  # exit statuses of pytest


class Tree:
    """A copy of the package and of its tests, beside links to all else."""

    _times = count(1_000_000_000, 10)  # compiled files are known by the second

    def __init__(self, folder: Path) -> None:
        self._root = folder
        folder.mkdir()
        for path in ROOT.iterdir():
            if path.name in ("src", "tests"):
                ignored = shutil.ignore_patterns(*_LEFT_OUT)
                shutil.copytree(path, folder / path.name, ignore=ignored)
            elif path.name not in (".git", ".venv"):
                (folder / path.name).symlink_to(path)

    def run(self, tests: tuple[str, ...], *options: str) -> tuple[int, str]:
        """The exit status of pytest and what it printed."""
        paths = [str(self._root / "tests" / test) for test in tests]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        own = {
            "PYTHONPATH": f"{self._root / 'src'}{os.pathsep}{self._root}",
            "PYTHONPYCACHEPREFIX": str(self._root / ".compiled"),
        }
        environment = {**os.environ, **own}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            done = subprocess.run(
                [*command, *options, *paths],
                cwd=self._root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return -1, f"no end after {_PATIENCE} seconds"
        return done.returncode, done.stdout + done.stderr

    def with_mutation(self, mutation: Mutation) -> tuple[int, str]:
        """The same where the package has a mutation."""
        path = self._root / "src" / "warner" / mutation.file
        whole = path.read_text()
        try:
            self._write(path, mutated(whole, mutation))
            return self.run(mutation.tests)
        finally:
            self._write(path, whole)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        moment = next(self._times)
        os.utime(path, (moment, moment))


def mutated(text: str, mutation: Mutation) -> str:
    """The text of a file with a mutation; an error unless its old text occurs exactly once."""
    if (times := text.count(mutation.old)) != 1:
        raise SystemExit(f"{mutation.file}: occurs {times} times, not once: {mutation.old!r}")
    return text.replace(mutation.old, mutation.new)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutations of files whose name has a word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trees at a time")
    asked = parser.parse_args()
    chosen = [
        m for m in MUTATIONS if not asked.words or any(word in m.file for word in asked.words)
    ]
    if not chosen:
        parser.error("no mutation is of such a file")
    with tempfile.TemporaryDirectory(prefix="warner-mutations-") as folder:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for number in range(asked.jobs):
            trees.put(Tree(Path(folder) / str(number)))
        tree = trees.get()
        tests = tuple(sorted({test for mutation in chosen for test in mutation.tests}))
        status, text = tree.run(tests, "-n", str(asked.jobs))
        trees.put(tree)
        if status != _PASSED:
            print(text[-3000:])
            print("These tests fail without a mutation, so they can catch none.")
            return 2

        def tried(mutation: Mutation) -> tuple[int, str, float]:
            tree, start = trees.get(), time.monotonic()
            try:
                return *tree.with_mutation(mutation), time.monotonic() - start
            finally:
                trees.put(tree)

        caught = 0
        with ThreadPoolExecutor(asked.jobs) as pool:
            for mutation, (status, text, seconds) in zip(
                chosen, pool.map(tried, chosen), strict=True
            ):
                test = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
                by = test[1].removeprefix("tests/") if test else text[-200:]
                is_caught = status == _FAILED
                caught += is_caught
                word = "caught" if is_caught else "SURVIVED" if status == _PASSED else "UNDECIDED"
                line = mutation.wrong if not is_caught else f"{mutation.wrong}: {by}"
                print(f"{word:<9} {seconds:4.0f} s  {mutation.file}: {line}", flush=True)
                if word == "UNDECIDED":
                    print(text[-1000:])
    print(f"{caught} of {len(chosen)} mutations are caught")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main())
