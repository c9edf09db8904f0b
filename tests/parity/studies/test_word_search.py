"""The steps of a search for words against loops over all words of a small alphabet."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.stats import beta, binom

from warner import Words, find
from warner.studies.word_search import _KEPT, WordSearch, _settled


def _all_words(letters: str, longest: int) -> list[str]:
    return ["".join(w) for m in range(longest + 1) for w in product(letters, repeat=m)]


def test_values_are_the_letters_that_python_cuts_out() -> None:
    every = _all_words("abc", 5)
    for start, stop in ((0, 2), (1, 4), (3, 5)):
        words = Words("a-c", 5, start, stop)
        cut = [word[start:stop] for word in every]
        assert words.pieces(words.encode(every)) == cut
        assert len(set(words.encode(every).tolist())) == len(set(cut)) == words.size - 1
    left, right = ["ab", "c", "aa"], ["", "b", "cc"]
    words = Words("a-c", 5, 1, 5, 3, left, right)
    pairs = [(a, b) for a in left for b in right if len(a) == 2 or b == ""]
    for word in every:
        pair = word[1:3], word[3:5]
        expected = pair[0] + pair[1] if pair in pairs else None
        assert words.pieces(words.encode([word])) == [expected]


def test_one_step_is_a_loop_over_values() -> None:
    rng = np.random.default_rng(7)
    people = (
        ["ab"] * 400 + ["ba"] * 300 + ["a"] * 200 + rng.choice(_all_words("ab", 3), 300).tolist()
    )
    search = find(Words("ab", 3), 1.5, k=2)
    mechanism = search.mechanism
    reports = mechanism.randomize(people, rng)
    done = search.next(mechanism.tally(reports))

    table, domain = mechanism.probabilities().astype(float), mechanism.domain
    supports = table == table.max()
    seen = np.bincount(reports.columns["report"], minlength=len(table))
    p = []
    for value in range(domain.size - 1):
        q = table[supports[:, value], (value + 1) % domain.size].sum()
        p.append((binom.sf(seen[supports[:, value]].sum() - 1, len(people), q), q, value))
    open_values, listed = len(p), []
    for chance, q, value in sorted(p):
        if chance > 0.05 / open_values:
            break
        open_values -= 1
        count = seen[supports[:, value]].sum()
        gap = table[supports[:, value], value].sum() - q
        ends = beta.ppf([0.025 / len(p), 1 - 0.025 / len(p)], [count, count + 1],
                        [len(people) - count + 1, len(people) - count])  # fmt: skip
        share = (count / len(people) - q) / gap
        listed.append((domain.decode([value])[0], share, *np.clip((ends - q) / gap, 0, 1)))
    ours = sorted(tuple(row.values()) for row in done.rows())
    assert [row[0] for row in ours] == [row[0] for row in sorted(listed)] != []
    np.testing.assert_allclose(
        [row[1:] for row in ours], [row[1:] for row in sorted(listed)], rtol=1e-8, atol=1e-10
    )


def test_weights_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    p, w = rng.random(40) ** 6, rng.random(40)
    settled: list[int] = []
    while True:
        rest = [i for i in range(40) if i not in settled]
        best = min(rest, key=lambda i: p[i] / w[i])
        if p[best] > 0.05 * w[best] / sum(w[i] for i in rest):
            break
        settled.append(best)
    assert _settled(p, w, 0.05).tolist() == settled != []


def test_joined_steps_weigh_pieces_by_their_ranks() -> None:
    search = find(Words("a-z", 6), 3.0, k=2)
    rng = np.random.default_rng(2)
    for _ in range(2):
        mechanism = search.mechanism
        search = search.next(mechanism.tally(mechanism.randomize(["coffee", "teapot"] * 2000, rng)))
    left, right = (search._list(*ends) for ends in ((0, 3), (3, 6)))
    assert len(left) == len(right) == _KEPT and {"cof", "tea"} == set(left[:2])
    weights, values = search._weights_of(search._domain), search._domain.pieces(range(2000))
    for value in (0, 1, 5, 1999):
        a, b = (
            w.index(piece) for w, piece in ((left, values[value][:3]), (right, values[value][3:]))
        )
        expected = 1 / (1 + (a / 4) ** 2) / (1 + (b / 4) ** 2)
        assert abs(weights[value] - expected) < 1e-12
    assert isinstance(search, WordSearch)
