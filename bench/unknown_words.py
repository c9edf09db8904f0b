"""Claim: a search for unknown words finds four of five of the twenty most common words of a million
people at epsilon 2, nearly all at epsilon 4, and lists no word of nobody.

3,125 words of 8 letters with shares by Zipf's law, of 2 * 10^11 possible words. Recall is the share
of the top 20 that is listed; mean of 10 runs with words of their own. Beside it pure-ldp's method of
extended prefixes, on words of 4 letters: at 8 letters its server asks for 60 GB. It hashes each
report with each of 26^4 values, so 100 of 20,000 reports are timed, which its time is linear in.
"""

from __future__ import annotations

import resource
import string
import sys
import time
from typing import Any

import numpy as np

from _measure import SEED, claim
from warner import Words, find

PEOPLE, WORDS, RUNS, TOP = 1_000_000, 3125, 10, 20
FEW, TIMED = 20_000, 100


def words_of(letters: int, count: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Words of random letters, and their shares, the largest first."""
    drawn = rng.integers(97, 123, (count, letters))
    shares = 1 / np.arange(1, count + 1)
    return ["".join(map(chr, word)) for word in drawn], shares / shares.sum()


def run(epsilon: float, letters: int, people: int, count: int, seed: int) -> dict[str, float]:
    """Recall, words of nobody, shares that intervals miss, and seconds without the people's own."""
    rng = np.random.default_rng(seed)
    words, shares = words_of(letters, count, rng)
    said = rng.choice(words, people, p=shares)
    search, seconds = find(Words("a-z", letters), epsilon, TOP), 0.0
    ends = np.cumsum(np.array(search.shares_of_people) * people).astype(int)[:-1]
    for part in np.split(said, ends):
        tally = search.mechanism.tally(search.mechanism.randomize(part, rng))
        start = time.perf_counter()
        search = search.next(tally)
        seconds += time.perf_counter() - start
    true = dict(zip(words, shares.tolist(), strict=True))
    rows = search.rows()
    return {
        "recall": sum(row["word"] in words[:TOP] for row in rows) / TOP,
        "false": sum(row["word"] not in true for row in rows),
        "missed": sum(not row["low"] <= true.get(row["word"], 0.0) <= row["high"] for row in rows),
        "listed": len(rows),
        "seconds": seconds,
    }


def peer(epsilon: float) -> float | None:
    """Seconds that pure-ldp takes for FEW people with words of 4 letters; None where it fails."""
    try:
        from pure_ldp.heavy_hitters.prefix_extending.pem_client import PEMClient
        from pure_ldp.heavy_hitters.prefix_extending.pem_server import PEMServer

        def index(text: str) -> int:
            return sum(26**i * (ord(letter) - 97) for i, letter in enumerate(reversed(text)))

        options: dict[str, Any] = {
            "start_length": 2,
            "max_string_length": 4,
            "fragment_length": 1,
            "alphabet": list(string.ascii_lowercase),
            "index_mapper": index,
        }
        client, server = PEMClient(epsilon, **options), PEMServer(epsilon, **options)
        words, shares = words_of(4, 625, np.random.default_rng(SEED))
        people = np.random.default_rng(SEED).choice(words, TIMED, p=shares).tolist()
        start = time.perf_counter()
        for word in people:
            server.aggregate(client.privatise(word))
        return (time.perf_counter() - start) * FEW / TIMED
    except (ImportError, TypeError) as error:  # its hashing fails with current versions of xxhash
        print(f"  pure-ldp: {type(error).__name__}: {error}")
        return None


def main() -> None:
    """Tables and claims."""
    means = {}
    for epsilon in (2.0, 4.0):
        runs = [run(epsilon, 8, PEOPLE, WORDS, SEED + i) for i in range(RUNS)]
        mean = {key: float(np.mean([each[key] for each in runs])) for key in runs[0]}
        means[epsilon] = mean
        error = float(np.std([each["recall"] for each in runs], ddof=1) / np.sqrt(RUNS))
        print(
            f"  epsilon {epsilon:g}: recall {mean['recall']:.3f} +- {error:.3f}, "
            f"{mean['listed']:.1f} words listed, {mean['false']:.2f} of nobody, "
            f"{mean['missed']:.2f} outside their interval, {mean['seconds']:.1f} s"
        )
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**30 if sys.platform == "darwin" else 2**20
    )
    ours = run(4.0, 4, FEW, 625, SEED)
    theirs = peer(4.0)
    print(
        f"  4 letters, {FEW:,} people: warner {ours['seconds']:.1f} s, recall {ours['recall']:.2f}"
    )
    print(f"  pure-ldp: {'not measured' if theirs is None else f'{theirs:,.0f} s'}")
    finds = sum(mean["listed"] for mean in means.values())
    for epsilon, bar in ((2.0, 0.8), (4.0, 0.9)):
        recall = means[epsilon]["recall"]
        claim(f"recall at epsilon {epsilon:g} is at least {bar}", recall >= bar, f"{recall:.3f}")
    false = sum(mean["false"] for mean in means.values()) / finds
    claim("at most 5 % of listed words are of nobody", false <= 0.05, f"{100 * false:.1f} %")
    slowest = max(mean["seconds"] for mean in means.values())
    claim("a million reports take less than 10 s", slowest < 10, f"{slowest:.1f} s")
    claim("memory is below 2 GB", largest < 2, f"{largest:.2f} GB")
    if theirs is not None:
        ratio = theirs / ours["seconds"]
        claim("faster than pure-ldp on 4 letters", ratio > 1, f"{ratio:,.0f} times")


if __name__ == "__main__":
    main()
