"""How fast the collector counts over HTTP: single reports, and batches of 1,000, with full durability.

    python bench/_collector_over_http.py --seconds 60
    python bench/_collector_over_http.py --seconds 20 --many

With ``--many`` it measures how long single reports wait at 50 a second where a question has very
many values and the live page a step of 50 reports, against one of 10 values in turns. Each turn
begins when neither server is at work. Each pair of turns is one line of results/collector_live.jsonl.

It needs the extra "serve", which the environment of the other benchmarks does not have.

The server is ``warner collect serve`` in a process of its own. The clients are connections of this process
that are kept alive; each sends again as soon as it has its answer. Waiting is measured from the
writing of a request until its answer is there. Processor time of the server is that of its process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from _measure import claim, record
from collector_load import STUDY, bodies
from warner.collector.access import ID_BYTES
from warner.collector.submissions import HEAD_BYTES, SubmissionFormat, new_ids
from warner.studies.study import Study

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """What the clients see: how long they waited, and how many answers were no 202."""

    body: Callable[[], bytes]
    size: int
    end: float
    waits: list[float] = field(default_factory=list)
    failed: list[bytes] = field(default_factory=list)


class Client(asyncio.Protocol):
    """One connection that sends a batch, waits for the answer, and sends the next one."""

    def __init__(self, load: Load, done: asyncio.Future[None]) -> None:
        self._load, self._done = load, done
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if time.monotonic() >= self._load.end:
            self._transport.close()
            return
        body = self._load.body()
        head = (
            "POST /reports HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._began = time.monotonic()
        self._transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not self._answer.endswith(b"}"):  # answers are short objects of JSON
            return
        if self._answer.startswith(b"HTTP/1.1 202"):
            self._load.waits.append(time.monotonic() - self._began)
        else:
            self._load.failed.append(self._answer[:400])
        self._answer = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def clients(port: int, count: int, load: Load) -> None:
    """Keep ``count`` connections busy until the end of the load."""
    loop = asyncio.get_running_loop()
    done = [loop.create_future() for _ in range(count)]
    for future in done:
        await loop.create_connection(lambda f=future: Client(load, f), "127.0.0.1", port)
    await asyncio.gather(*done)


def used(process: int) -> float:
    """The seconds of processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(process: int) -> float:
    """The resident memory of a process, in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def run(server: subprocess.Popen[str], port: int, size: int, count: int, seconds: float) -> None:
    """Send batches of one size for so many seconds, and print what was measured."""
    body = bodies(SubmissionFormat(Study.parse(STUDY)), size, 16)
    load = Load(body, size, time.monotonic() + seconds)
    began, before, grown = time.monotonic(), used(server.pid), memory(server.pid)
    own = time.process_time()
    asyncio.run(clients(port, count, load))
    took, spent = time.monotonic() - began, used(server.pid) - before
    own = time.process_time() - own
    n = len(load.waits) * size
    waits = np.quantile(load.waits, [0.5, 0.99])
    print(
        f"{size:5} a request, {count} connections: {n / took:10,.0f} reports/s, "
        f"{len(load.waits) / took:8,.0f} requests/s; wait {1e3 * waits[0]:.1f} ms, p99 "
        f"{1e3 * waits[1]:.1f} ms; processor {spent / took:.2f} of the server, "
        f"{own / took:.2f} of the clients; memory {grown:.0f} -> {memory(server.pid):.0f} MB; "
        f"refused {len(load.failed)}"
    )
    if load.failed:
        print(load.failed[0].decode(errors="replace"))


@contextlib.contextmanager
def served(folder: str, text: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of a study in a process of its own, and its port."""
    study = Path(folder) / f"study{len(os.listdir(folder))}.toml"
    study.write_text(text)
    limits = ["--port", "0", "--rate", "0", "--rate-of-all", "0"]
    command = [sys.executable, "-m", "warner", "collect", "serve", str(study), *limits]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r":(\d+)/", server.stdout.readline())
    assert found is not None
    try:
        yield server, int(found[1])
    finally:
        server.terminate()
        print(f"ended with {server.wait()}")


# Live estimates of very many values

RATE = 50  # reports a second
FEW = 'integers = [0, 9]\nmechanism = "RandomizedResponse"'
MANY = {
    "integers 0..99,999, k-RR": 'integers = [0, 99_999]\nmechanism = "RandomizedResponse"',
    "integers 0..49,999, k-RR": 'integers = [0, 49_999]\nmechanism = "RandomizedResponse"',
    "integers 0..9,999, k-RR": 'integers = [0, 9999]\nmechanism = "RandomizedResponse"',
    "integers 0..1,999, k-RR": 'integers = [0, 1999]\nmechanism = "RandomizedResponse"',
    "integers 0..9,999, local hashing": 'integers = [0, 9999]\nmechanism = "LocalHashing"',
    "100 x 100 cells, local hashing": "grid = { rows = 100, columns = 100, side = 1.0 }\n"
    'mechanism = "LocalHashing"',
}
COLLECT = '\nepsilon = 1.0\n[collect]\npeople = 10_000\nstep = 50\naccess = "open"\n'


def whole(process: int) -> set[int]:
    """A process and those that it started."""
    found = {process}
    for task in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                found |= whole(int(child))
    return found


def quiet(servers: list[int]) -> None:
    """Wait until neither of some servers is at work."""
    before = -1.0
    while (now := sum(used(p) for server in servers for p in whole(server))) - before > 0.05:
        before = now
        time.sleep(2.0)


def one_of_each(text: str) -> Callable[[], bytes]:
    """A function that gives the body of one report with a fresh id."""
    study = Study.parse(text)
    form, ((name, mechanism),) = SubmissionFormat(study), study.mechanisms.items()
    index = np.random.default_rng(1).integers(0, mechanism.domain.size, 256)
    made = form.seal({name: mechanism.randomize(mechanism.domain.decode(index))})
    each = np.frombuffer(made[HEAD_BYTES:], np.uint8).reshape(256, -1)

    def body() -> bytes:
        report = each[os.urandom(1)[0]].tobytes()[ID_BYTES:]
        return made[:HEAD_BYTES] + new_ids(1).tobytes() + report

    return body


async def paced(port: int, body: Callable[[], bytes], seconds: float) -> list[float]:
    """How long each of the reports waited that were sent at a steady pace, in ms."""
    loop, waits, connections = asyncio.get_running_loop(), [], list[Any]()

    async def post(due: float) -> None:
        streams = connections.pop() if connections else None
        reader, writer = streams or await asyncio.open_connection("127.0.0.1", port)
        sent = body()
        head = (
            "POST /reports HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        writer.write(head.encode() + sent)
        answer = await reader.readuntil(b"}")
        if not answer.startswith(b"HTTP/1.1 202"):
            raise SystemExit(answer[:400].decode())
        waits.append(1e3 * (loop.time() - due))
        connections.append((reader, writer))

    began, posts = loop.time(), []
    for i in range(int(seconds * RATE)):
        due = began + i / RATE
        await asyncio.sleep(max(0.0, due - loop.time()))
        posts.append(asyncio.create_task(post(due)))
    await asyncio.gather(*posts)
    for _, writer in connections:
        writer.close()
    return waits


def many_values(seconds: float, turns: int, names: list[str]) -> None:
    """Waiting and memory with few and with many values, in turns."""
    for name in names:
        few, many = (f"[attributes.income]\n{asked}{COLLECT}" for asked in (FEW, MANY[name]))
        with (
            tempfile.TemporaryDirectory() as folder,
            served(folder, few) as (one, port),
            served(folder, many) as (other, other_port),
        ):
            bodies_of = one_of_each(few), one_of_each(many)
            for turn in range(turns):
                found: list[list[float]] = []
                for at, body in zip((port, other_port), bodies_of, strict=True):
                    quiet([one.pid, other.pid])
                    found.append(asyncio.run(paced(at, body, seconds)))
                peak = sum(peak_of(process) for process in whole(other.pid))
                p50, p99, most = (
                    [round(float(np.quantile(waits, q)), 1) for waits in found]
                    for q in (0.5, 0.99, 1.0)
                )
                print(
                    f"{name}: p50 {p50} ms, p99 {p99} ms ({p99[1] / p99[0]:.2f} times), most {most}"
                    f" ms, peak {peak:.0f} MB",
                    flush=True,
                )
                if name in list(MANY)[:1]:
                    held = p99[1] <= 3 * p99[0]
                    claim("p99 at most 3 times that of 10 values", held, f"{p99[1] / p99[0]:.2f}")
                    claim("less than 1 GB, all processes", peak < 1000, f"{peak:.0f} MB")
                cell = {"cell": name, "turn": turn, "seconds": seconds, "rate": RATE}
                waited = {"p50_ms": p50, "p99_ms": p99, "most_ms": most, "peak_mb": round(peak)}
                record("collector_live", cell | waited, ("numpy", "scipy", "uvicorn"))


def peak_of(process: int) -> float:
    """The largest resident memory of a process so far, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Start servers, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--many", action="store_true", help="live estimates of very many values")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cell", action="append", choices=list(MANY), help="default: all")
    options = parser.parse_args()
    if options.many:
        many_values(options.seconds, options.turns, options.cell or list(MANY))
        return
    with tempfile.TemporaryDirectory() as folder, served(folder, STUDY) as (server, port):
        run(server, port, 1, 1, options.seconds / 5)
        run(server, port, 1, options.connections, options.seconds)
        run(server, port, 1000, 16, options.seconds)


if __name__ == "__main__":
    main()
