"""A program of two processes that count one survey in a database, and are killed in turn.

    python -m tests.laws.collector._together ADDRESS SEED ROUNDS

In each round both take bodies of the same people, in different orders, while one of them is killed.
One line of JSON: who had a reply, how many bodies both say that they counted, and what is counted in
the end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from functools import partial

from tests.laws.collector._killed import (
    BODIES,
    OPENED,
    PEOPLE,
    STUDY,
    all_of,
    forked,
    prepare,
    store_at,
)
from tests.laws.collector._survey import counted, sealed
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.submissions import SubmissionFormat


def collect(address: str, bodies: list[bytes], seed: int, write: int) -> None:
    """Send bodies in an order of one's own; two bytes for each reply, with how many were new."""
    rng = random.Random(seed)
    collector = Collector(STUDY, store_at(address), clock=lambda: OPENED)
    order = rng.sample(range(len(bodies)), len(bodies))
    while order:
        some, order = order[: rng.randint(1, 4)], order[4:]
        futures = [collector.submit(collector.format.parse(bodies[i])) for i in some]
        for i, future in zip(some, futures, strict=True):
            try:
                os.write(write, bytes([i, future.result(20).new]))
            except Refused as error:
                assert error.name == "store_failed", error
    collector.stop()


def main(address: str, seed: int, rounds: int) -> None:
    module.PACE = 0.0
    prepare(address)
    rng = random.Random(seed)
    form = SubmissionFormat(STUDY)
    replied: list[int] = []
    new = 0
    for round_ in range(rounds):
        first = round_ * BODIES * PEOPLE
        starts = range(first, first + BODIES * PEOPLE, PEOPLE)
        bodies = [sealed(form, range(start, start + PEOPLE)) for start in starts]
        seeds = [rng.randrange(2**32) for _ in range(2)]
        children = [forked(partial(collect, address, bodies, seed)) for seed in seeds]
        time.sleep(rng.uniform(0.05, 0.4))
        os.kill(children[round_ % 2][0], signal.SIGKILL)
        for child, read in children:
            replies = all_of(read)
            os.waitpid(child, 0)
            new += sum(replies[1::2])
            replied += [first + i * PEOPLE + j for i in replies[::2] for j in range(PEOPLE)]
        # Somebody who had no reply from either sends again.
        collector = Collector(STUDY, store_at(address), clock=lambda: OPENED)
        before = counted(collector.state().tallies)
        for body in bodies:
            collector.submit(collector.format.parse(body)).result(20)
        after = counted(collector.state().tallies)
        collector.stop()
        line = {"people": first + BODIES * PEOPLE, "replied": replied, "new": new}
        print(json.dumps({**line, "before": before, "after": after}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
