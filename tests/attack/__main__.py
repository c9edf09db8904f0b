"""Run attacks for some minutes: each in a process of its own, with bounded memory and time, from
where the last run stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from tests.attack._frame import Attack, Finding, generator
from tests.attack.attacks import ATTACKS

STATE = Path(__file__).parent / "out" / "state.json"  # git-ignored
_PATIENCE = 4.0  # times the limit of a case, after which its process is ended


def child(name: str, seed: int, first: int, seconds: float, only: bool) -> None:
    """Run cases and say what happens, one line of JSON for each start and end; the parent keeps the
    count.
    """
    attack = ATTACKS[name]
    _limit(attack)
    end = time.monotonic() + seconds
    number = first
    while True:
        _say(start=number)
        began, problem, line = time.monotonic(), None, None
        try:
            line = attack.case(generator(name, seed, number))
        except Finding as finding:
            problem = str(finding)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            problem = f"not a named error: {type(error).__name__} at {place}: {str(error)[:300]}"
            if only:
                traceback.print_exc()
        taken = time.monotonic() - began
        if problem is None and taken > attack.seconds:
            problem = f"took {taken:.0f} s, longer than {attack.seconds:.0f} s"
        _say(end=number, finding=problem, line=line)
        number += 1
        if only or time.monotonic() >= end:
            return


def _say(**facts: Any) -> None:
    print(json.dumps(facts), file=_CHANNEL, flush=True)


_CHANNEL = sys.stdout


def _limit(attack: Attack) -> None:
    """Bound the address space: what asks for more gets a MemoryError. Systems without such limits
    go without.
    """
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (attack.memory, attack.memory))
    except (ImportError, ValueError, OSError):
        print("no limit of memory on this system", file=sys.stderr)


def parent(name: str, seed: int, state: dict[str, Any], seconds: float, save: Any) -> int:
    """Run one attack in children until its time is over; how many findings it made."""
    attack = ATTACKS[name]
    known = state["attacks"].setdefault(name, {"done": 0, "findings": []})
    end, found, cases, last = time.monotonic() + seconds, 0, 0, ""
    while (left := end - time.monotonic()) > 0 or cases == 0:
        command = [
            sys.executable,
            "-m",
            "tests.attack",
            name,
            "--seed",
            str(seed),
            "--child",
            str(known["done"]),
            str(max(0.0, left)),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        lines: queue.Queue[str | None] = queue.Queue()
        listener = threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True)
        listener.start()
        running: int | None = None
        problem: str | None = None
        while True:
            try:
                text = lines.get(timeout=_PATIENCE * attack.seconds)
            except queue.Empty:
                process.kill()
                problem = f"did not end within {_PATIENCE * attack.seconds:.0f} s"
                break
            if text is None:
                code = process.wait()
                problem = f"ended the process, with status {code}" if running is not None else None
                if running is None and code:
                    raise SystemExit(f"{name}: the attack itself failed with status {code}")
                break
            facts = json.loads(text)
            if "start" in facts:
                running = facts["start"]
                continue
            running, cases = None, cases + 1
            known["done"] = facts["end"] + 1
            last = facts["line"] or last
            if name == "timing":
                print(f"  {facts['line']}", flush=True)
            if facts["finding"]:
                found += _report(known, name, seed, facts["end"], facts["finding"])
            save()
        process.wait()
        listener.join()
        assert process.stdout is not None
        process.stdout.close()
        if problem is not None and running is not None:
            known["done"], cases = running + 1, cases + 1
            found += _report(known, name, seed, running, problem)
            save()
    print(
        f"{name}: {cases} cases, {found} findings; {known['done']} cases of seed {seed} in all; "
        f"{attack.about}",
        flush=True,
    )
    return found


def _listen(stream: Any, lines: queue.Queue[str | None]) -> None:
    for text in stream:
        lines.put(text)
    lines.put(None)


def _report(known: dict[str, Any], name: str, seed: int, number: int, text: str) -> int:
    known["findings"].append([number, text])
    print(
        f"FINDING {name}: {text}\n"
        f"  again: python -m tests.attack {name} --seed {seed} --case {number}",
        flush=True,
    )
    return 1


def main() -> None:
    usage = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    usage.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"which attacks, of {', '.join(ATTACKS)}; all by default",
    )
    usage.add_argument("--minutes", type=float, default=5.0, help="in all (default 5)")
    usage.add_argument(
        "--seed", type=int, help="of all random choices; drawn and printed if not given"
    )
    usage.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help=f"go on with the seed and the cases of a state file, such as {_shown(STATE)}",
    )
    usage.add_argument(
        "--case",
        type=int,
        metavar="N",
        help="run this case of one attack, in this process, with a traceback",
    )
    usage.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = usage.parse_args()
    names = asked.names or list(ATTACKS)
    if unknown := [name for name in names if name not in ATTACKS]:
        usage.error(f"no attack {unknown[0]!r}; there are {', '.join(ATTACKS)}")
    if asked.child:
        child(names[0], asked.seed, int(asked.child[0]), float(asked.child[1]), False)
        return
    if asked.case is not None:
        if len(names) != 1 or asked.seed is None:
            usage.error("--case goes with one NAME and a --seed")
        child(names[0], asked.seed, asked.case, 0.0, True)
        return
    state: dict[str, Any] = {"attacks": {}}
    if asked.resume is not None and asked.resume.exists():
        state = json.loads(asked.resume.read_text())
        if asked.seed not in (None, state["seed"]):
            usage.error(f"--resume goes on with seed {state['seed']}, not {asked.seed}")
    seed = state.setdefault(
        "seed", int.from_bytes(os.urandom(4), "little") if asked.seed is None else asked.seed
    )
    place = asked.resume or STATE
    place.parent.mkdir(parents=True, exist_ok=True)

    def save() -> None:
        partial = place.with_suffix(".partial")
        partial.write_text(json.dumps(state))
        partial.replace(place)

    print(f"seed {seed}, {asked.minutes:g} minutes; state in {_shown(place)}", flush=True)
    whole = sum(ATTACKS[name].share for name in names)
    found = sum(
        parent(name, seed, state, 60 * asked.minutes * ATTACKS[name].share / whole, save)
        for name in names
    )
    print(f"{found} findings, seed {seed}")
    raise SystemExit(found > 0)


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


if __name__ == "__main__":
    main()
