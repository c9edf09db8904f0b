"""Attacks on what would end in a plausible wrong number: tests of hypotheses, and labels."""

from __future__ import annotations

import unicodedata

import numpy as np

import warner
from tests.attack._frame import require
from warner import Categorical
from warner.errors import WarnerError
from warner.mechanisms import Mechanism

LETTERS = "aeiou\u00e9\u00fcn\u00f1 -x\ufb01\u00c5\u0130\u03c3\u6771\u05d0\u0905"
UNSEEN = ["\u200b", "\u200d", "\u2060", "\u00ad", "\ufe0f", "\ufeff"]


def hypotheses(rng: np.random.Generator) -> str:
    """Tests of random hypotheses: p is a number in [0, 1], and 0 where reports rule them out."""
    size = int(rng.integers(2, 7))
    domain = Categorical([f"v{i}" for i in range(size)])
    secret = [f"v{i}" for i in range(int(rng.integers(1, size)))]
    made: list[Mechanism] = [
        warner.RandomizedResponse(domain, [0.5, 4.0, np.inf][rng.integers(3)]),
        warner.UtilityOptimizedRR(domain, 1.0, sensitive=secret),
        warner.mechanisms.UtilityOptimizedRappor(domain, 1.0, sensitive=secret),
        warner.mechanisms.UtilityOptimizedSubset(domain, 1.0, sensitive=secret),
        warner.SubsetSelection(domain, 2.0),
    ]
    mechanism = made[rng.integers(len(made))]
    people = rng.multinomial(int(rng.integers(2, 400)), rng.dirichlet(np.full(size, 0.4)), size=2)
    tallies = [
        mechanism.tally(mechanism.randomize(np.repeat(domain.labels, each), rng)).sums()
        for each in people
    ]
    without = rng.random(size) < 0.4
    without[rng.integers(size)] = False
    shares = rng.dirichlet(np.full(size, 0.6)) * ~without
    shares = shares / shares.sum() if shares.sum() > 0 else ~without / (~without).sum()
    channel, tally = mechanism.channel(), tallies[0]
    data = warner.estimate(tally, warner.Inversion()).data
    p = warner.results.goodness_of_fit(tally, shares).p_value
    require(0 <= p <= 1, f"p = {p} of {mechanism!r} at {shares.tolist()}")
    if channel.matvec(shares)[data.weights > 0].min() == 0:
        require(p == 0, f"p = {p} where reports cannot be made: {mechanism!r}, {shares.tolist()}")
    for target in ("population", "respondents"):
        p = warner.compare_groups(*map(warner.estimate, tallies), target=target).test.p_value
        require(0 <= p <= 1, f"p = {p} of a difference, {target}: {mechanism!r}, {people.tolist()}")
    return f"{mechanism!r}, {tally.n} people"


def labels(rng: np.random.Generator) -> str:
    """Random labels, and one of them as it would look the same: refused, and both are shown."""
    made = {"".join(rng.choice(list(LETTERS), 6)).strip() + f"q{i}" for i in range(4)}
    label = str(rng.choice(sorted(made)))
    place = int(rng.integers(len(label)))
    ways = [
        label.swapcase(),
        unicodedata.normalize("NFD", label),
        unicodedata.normalize("NFKC", label),
        f"{label[:place]}{rng.choice(UNSEEN)}{label[place:]}",
        label.replace(" ", "\u00a0 ") + " ",
    ]
    other = ways[rng.integers(len(ways))]
    if other == label:
        return "the same text"
    try:
        Categorical([*sorted(made), other])
    except WarnerError as error:
        shown = ascii(other) in str(error) or "distinct" in str(error)
        require(shown, f"{other!a} is not shown: {str(error)!a}")
    else:
        require(False, f"{label!a} and {other!a} are two labels")
    return ascii(other)
