"""What the benchmarks share: alternating timings, processes measured from outside, results that are
kept until what made them changes, and the lines that say whether a claim holds.

Nothing heavy is imported here. On Linux a process inherits the peak memory of the one that started
it, so whoever measures the memory of others must be small itself.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

OUT = Path(__file__).parent / "out"
RESULTS = Path(__file__).parent / "results"
SRC = Path(__file__).parents[1] / "src"
K = 256
EPSILON = 1.0
SEED = 20240229
_SHORT = 0.05  # seconds
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB here


def alternate(
    jobs: Mapping[str, Callable[[], Any]],
    repetitions: int = 3,
    before: Mapping[str, Callable[[], Any]] | None = None,
    clock: Callable[[], float] = time.perf_counter,
    of_turns: Callable[[list[float]], float] = median,
) -> dict[str, float]:
    """Median seconds of every job; the jobs take turns, so that a slow moment of the machine hits
    them alike.

    A job that is over in less than 50 ms is called again until that time is up, and its turn is the
    mean of its calls: else a job of a millisecond would be charged for the caches that its
    neighbour emptied.

    Args:
        jobs: what is timed, by name; each has been warmed up by the caller where it needs it.
        repetitions: how many turns.
        before: what is done, untimed, before every turn of the job of that name; such a job is called once a turn.
        clock: ``time.process_time`` for seconds of the processor, which a busy machine changes less.
        of_turns: what stands for the turns of a job; ``min`` for the turn that was disturbed least.
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(repetitions):
        # Every second turn goes backwards: nobody always runs after the same neighbour.
        for name in list(jobs) if turn % 2 == 0 else reversed(list(jobs)):
            once = before is not None and name in before
            if before is not None and once:
                before[name]()
            gc.collect()
            calls, start = 0, clock()
            while True:
                jobs[name]()
                calls += 1
                taken = clock() - start
                if once or taken > _SHORT:
                    break
            seconds[name].append(taken / calls)
    return {name: of_turns(taken) for name, taken in seconds.items()}


def claim(text: str, holds: bool, figure: str) -> None:
    """The line that counts."""
    print(f"claim {text}: {'holds' if holds else 'MISSED'} ({figure})", flush=True)


def faster(text: str, ours: float, theirs: float, bar: float) -> None:
    """The claim that ``theirs`` takes at least ``bar`` times as long as ``ours``."""
    claim(
        f"{text} at least {bar:g} times as fast", theirs / ours >= bar, f"{theirs / ours:.2f} times"
    )


def row(name: str, seconds: float, n: int, note: str = "") -> None:
    """One line of a table of timings."""
    print(
        f"  {name:<46} {seconds:>10.4f} s {seconds / n * 1e9:>12.1f} ns/report  {note}".rstrip(),
        flush=True,
    )


def run(command: list[str]) -> tuple[float, float, str]:
    """Seconds, peak megabytes and standard output of a fresh process, from its start to its end."""
    seconds, _, megabytes, text = run_with_processor(command)
    return seconds, megabytes, text


def run_with_processor(command: list[str], quiet: bool = False) -> tuple[float, float, float, str]:
    """The same with the seconds of processors, of all threads, which a busy machine changes less.

    Args:
        command: the process.
        quiet: whether its standard error goes nowhere.

    Returns:
        Seconds, seconds of processors, peak megabytes, and standard output.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        text=True,
    )
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[1:])} ended with status {process.returncode}")
    processor = usage.ru_utime + usage.ru_stime
    return seconds, processor, usage.ru_maxrss * _RSS_UNIT / 1e6, text


def run_json(script: str, *arguments: str) -> dict[str, Any]:
    """What ``script`` prints as JSON when run in a fresh process with these arguments."""
    return json.loads(run([sys.executable, "-W", "ignore", script, *arguments])[2])


def peak() -> float:
    """Peak memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT / 1e6


def record(name: str, entry: Mapping[str, Any], packages: tuple[str, ...]) -> None:
    """Append a line to the results of a benchmark, with the machine, its load and versions."""
    from importlib.metadata import version

    model = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    line = {
        **entry,
        "load": [round(x, 1) for x in os.getloadavg()[:2]],
        "cores": os.cpu_count(),
        "processor": model,
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }
    _append(RESULTS / f"{name}.jsonl", line)


def _append(file: Path, line: Mapping[str, Any]) -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def stored(file: Path) -> list[dict[str, Any]]:
    """The lines of results that a file holds."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def resume(
    file: Path,
    cells: Iterable[Sequence[Any]],
    work: Callable[..., Mapping[str, Any] | None],
    made_of: Callable[..., str] | None = None,
    processes: int = 1,
) -> list[dict[str, Any]]:
    """The lines of some cells, in their order; a cell that has no line in the file is done first.

    Each line is written when its cell is done, so a script may be stopped at any time.

    Args:
        file: the results, one JSON line for each cell.
        cells: strings and numbers each.
        work: makes the rest of a line from a cell; None where its data are not there. With several
            processes it must be importable. The line says its seconds, of the processor.
        made_of: a digest of what a line depends on. A line with another digest is done again, and
            replaced; without it a line stands whatever changes.
        processes: how many share the work.
    """
    from warner._core.processes import Workers

    asked = {tuple(cell): made_of(*cell) if made_of else None for cell in cells}
    lines = {tuple(line["cell"]): line for line in stored(file)}
    missing = [
        cell
        for cell, digest in asked.items()
        if cell not in lines or (digest is not None and lines[cell].get("of") != digest)
    ]
    replaced = any(cell in lines for cell in missing)
    with Workers(processes) as workers:
        tasks = [(work, *cell) for cell in missing]
        for number, ((_, *parts), result) in enumerate(workers.work(_timed, tasks), 1):
            cell = tuple(parts)
            if result is not None:
                digest = {} if asked[cell] is None else {"of": asked[cell]}
                lines[cell] = {"cell": cell, **digest, **result}
                _append(file, lines[cell])
            print(f"{number} of {len(missing)} done:", *cell, flush=True)
    if replaced:
        file.write_text("".join(json.dumps(line) + "\n" for line in lines.values()))
    return [lines[cell] for cell in asked if cell in lines]


def _timed(work: Callable[..., Mapping[str, Any] | None], *cell: Any) -> dict[str, Any] | None:
    start = time.process_time()
    result = work(*cell)
    return result and {"seconds": float(f"{time.process_time() - start:.3g}"), **result}


def code_of(*modules: str, rooms: Sequence[str]) -> str:
    """A digest of modules of the package and of all that they import from some of its rooms.

    Comments and docstrings do not change it; a constant does.
    """
    names, waiting = set(), [*modules]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += [each for each in _parsed(name)[1] if each.split(".")[1] in rooms]
    dumps = [_parsed(name)[0] for name in sorted(names)]
    return hashlib.sha256("\n".join(dumps).encode()).hexdigest()[:8]


@cache
def _parsed(module: str) -> tuple[str, tuple[str, ...]]:
    """The code of a module, and the modules of the package that it imports."""
    tree = ast.parse(_file_of(module).read_text())
    imports: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() if ast.get_docstring(node):
                del node.body[0]
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "warner":
            imports += [f"{node.module}.{each.name}" for each in node.names]
            imports.append(str(node.module))
    names = [each for each in imports if each.count(".") and _file_of(each).exists()]
    return ast.dump(tree), tuple(names)


def _file_of(module: str) -> Path:
    path = SRC.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def resident() -> float:
    """Memory of this process now, in megabytes; its peak so far where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return peak()
