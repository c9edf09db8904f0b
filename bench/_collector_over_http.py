"""How fast the collector counts over HTTP: single reports, and batches of 1,000, with full durability.

    python bench/_collector_over_http.py --seconds 60

It needs the extra "serve", which the environment of the other benchmarks does not have.

The server is ``warner serve`` in a process of its own. The clients are connections of this process
that are kept alive; each sends again as soon as it has its answer. Waiting is measured from the
writing of a request until its answer is there. Processor time of the server is that of its process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from collector_load import STUDY, bodies
from warner.collector.submissions import SubmissionFormat
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


def main() -> None:
    """Start a server, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        study.write_text(STUDY)
        limits = ["--port", "0", "--rate", "0", "--rate-of-all", "0"]
        command = [sys.executable, "-m", "warner", "serve", str(study), *limits]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        found = re.search(r":(\d+)/", server.stdout.readline())
        assert found is not None
        port = int(found[1])
        try:
            run(server, port, 1, 1, options.seconds / 5)
            run(server, port, 1, options.connections, options.seconds)
            run(server, port, 1000, 16, options.seconds)
        finally:
            server.terminate()
            print(f"ended with {server.wait()}")


if __name__ == "__main__":
    main()
