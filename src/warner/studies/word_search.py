"""Unknown words: the most common ones among words that nobody has listed, in a few steps.

Words have too many letters to ask for all at once: 8 letters of 26 make 2 * 10^11 words. So people,
each in one step alone, are asked for a piece of their word, of at most 2^22 values; then for two
pieces beside each other, of the 950 of each with the smallest p-values; and so on. In the last
step the pieces are whole words.

    p_i = Pr(Bin(n, q) >= s_i)

is the p-value of "nobody has value i", exactly: s_i of n reports support the value, each with
probability q. The words of the last step are tested by Holm's method with weights (Holm, 1979;
Genovese, Roeder and Wasserman, 2006): somebody has word i if p_i <= a w_i / sum_j w_j, over all j
that were not settled before. The weights fall with the ranks r of the two pieces of a word in
earlier steps, w = 1 / (1 + (r / 2k)^2) for each piece. Those steps are of other people, so the
chance that any listed word is nobody's is at most a.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, pairwise
from typing import Any, Self

import numpy as np

from warner._core.atomic_files import read_whole, write_whole
from warner._core.checks import budget, confidence_level, integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError, FileError, MismatchError
from warner._core.extras import scipy
from warner._core.projective_space import count_points, is_prime
from warner._core.table import Column, Table, Tabular
from warner._core.text import canonical, percent
from warner.domains.words import Words, count_pieces
from warner.mechanisms.geometry import ProjectiveGeometryResponse
from warner.reports.tally import Tally, require_tally
from warner.results.from_tally import likelihood_data, tested
from warner.results.intervals import interval_column
from warner.studies.study import Study

_MOST = 2**22  # values of one step
_KEPT = 950  # pieces of a step: two lists of them fit spaces of 7 and of 97 well
_LAST = 1.6  # people in the last step, beside one of each other step
_MOST_SETTLED = 2**16  # words that a search lists
_LARGEST_PRIME = 257
_EXCESS = 1.05**2  # of the squared error
_NAME = "word"
_POWER = 0.8  # with which the smallest share is found
_FORMAT = "warner-words"


def find(words: Words, epsilon: float, k: int = 20, level: float = 0.95) -> WordSearch:
    """Begin a search for the most common words.

    Args:
        words: the alphabet and the longest word.
        epsilon: the budget of a person, in nats, who takes part in one step.
        k: about how many words are looked for; the search is best for words of such ranks.
        level: the probability with which no listed word is nobody's, and all intervals hold.

    Returns:
        WordSearch: its ``study`` is what the people of the first step answer; ``next(tally)`` is
        the search after it.

    Raises:
        ArgumentTypeError: no Words.
        ArgumentError: words of which letters were chosen already, k not in 1..1000, or an alphabet
            of which no letter can be asked.
        BudgetError: epsilon not positive.

    Source: steps from short to long pieces as Bassily, Nissim, Stemmer and Thakurta (2017) take,
    who extend prefixes; the test of Holm (1979), with weights of earlier steps as Genovese, Roeder
    and Wasserman (2006).

    >>> from warner.domains import Words
    >>> search = find(Words("a-z", 6), epsilon=4.0, k=5)
    >>> search.steps, search.study.mechanisms["word"].domain.size
    (3, 18280)
    >>> rng = np.random.default_rng(1)
    >>> people = ["coffee"] * 6000 + ["tea"] * 3000 + ["milk"] * 1000
    >>> while not search.is_finished:
    ...     reports = search.mechanism.randomize(people, rng)
    ...     search = search.next(search.mechanism.tally(reports))
    >>> [row["word"] for row in search.rows()]
    ['coffee', 'tea', 'milk']
    """
    if not isinstance(words, Words):
        remedy = "For example Words('a-z', 8)"
        raise ArgumentTypeError("words", "must be a Words object", kind(words), remedy)
    if words.left or (words.start, words.stop) != (0, words.longest):
        rule = "must be about whole words, not about parts of words"
        remedy = f"Write Words({words.alphabet!r}, {words.longest})"
        raise ArgumentError("words", rule, repr(words), remedy)
    search = WordSearch(
        words.alphabet,
        words.longest,
        budget(epsilon),
        integer("k", k, 1, 1000),
        confidence_level(level),
    )
    if search._at_once == 0:
        rule = f"has too many letters: one step of the search can have at most {_MOST:,} values"
        raise ArgumentError("alphabet", rule, None, "Use fewer letters")
    return search


@dataclass(frozen=True, eq=False)
class WordSearch(Tabular):
    """A search for words, after some of its steps. :func:`find` begins one.

    Attributes:
        alphabet, longest, epsilon, k, level: as in :func:`find`.
        lists: of the steps that are done, (where the pieces begin, where they end, the pieces in
            the order of their evidence).
        people: how many people took part in each step that is done.
        listed: after the last step, the words that were settled: a dict for each, with its share
            and interval. None before.
        simulated: whether any reports were simulated.
    """

    alphabet: str
    longest: int
    epsilon: float
    k: int
    level: float
    lists: tuple[tuple[int, int, tuple[str, ...]], ...] = ()
    people: tuple[int, ...] = ()
    listed: tuple[Mapping[str, Any], ...] | None = None
    simulated: bool = False

    @property
    def is_finished(self) -> bool:
        return self.listed is not None

    # -------------------------------------------------------------------------------------------
    # The steps.

    @cached_property
    def _at_once(self) -> int:
        """The most letters of which all pieces can be asked at once."""
        letters, length = len(Words(self.alphabet, 1).letters), 0
        while length < self.longest and count_pieces(letters, length + 1) < _MOST:
            length += 1
        return length

    @cached_property
    def _plan(self) -> list[tuple[int, int, int]]:
        """The steps (start, middle, stop); start = middle where all pieces are asked."""
        parts = -(-self.longest // self._at_once)
        ends = [round(self.longest * i / parts) for i in range(parts + 1)]
        plan = [(0, 0, ends[1])]
        for begin, end in pairwise(ends[1:]):
            plan += [(begin, begin, end), (0, begin, end)]
        return plan

    @property
    def steps(self) -> int:
        """How many steps the search has."""
        return len(self._plan)

    @property
    def shares_of_people(self) -> list[float]:
        """The share of all people that should take part in each step."""
        weights = [1.0] * (self.steps - 1) + [_LAST]
        return [weight / sum(weights) for weight in weights]

    def step_of(self, person: str) -> int:
        """The step, from 0, in which somebody takes part, by a draw that everybody can repeat.

        Args:
            person: what names a person or an installation, and stays the same.
        """
        drawn = hashlib.sha256(f"{canonical(self._stated)}\n{person}".encode()).digest()
        share = int.from_bytes(drawn[:8], "big") / 2**64
        return int(np.searchsorted(np.cumsum(self.shares_of_people)[:-1], share, side="right"))

    @property
    def _stated(self) -> dict[str, Any]:
        """What everybody may know before the search."""
        names = ("alphabet", "longest", "epsilon", "k", "level")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def _domain(self) -> Words:
        """The values of the step that comes next."""
        if self.is_finished:
            rule, remedy = "is finished", "Read the words with search.rows(), or print the search"
            raise ArgumentError("search", rule, None, remedy)
        start, middle, stop = self._plan[len(self.lists)]
        if start == middle:
            return Words(self.alphabet, self.longest, start, stop)
        left, right = self._list(start, middle), self._list(middle, stop)
        return Words(self.alphabet, self.longest, start, stop, middle, left, right)

    def _list(self, start: int, stop: int) -> tuple[str, ...]:
        """The pieces of some letters, of the step that was about them."""
        return next(pieces for begin, end, pieces in self.lists if (begin, end) == (start, stop))

    @cached_property
    def mechanism(self) -> ProjectiveGeometryResponse:
        """The mechanism of the step that comes next."""
        return _mechanism(self._domain, self.epsilon)

    @property
    def study_text(self) -> str:
        """The study of the step that comes next, as the text of a study file (JSON)."""
        words = {key: v for key, v in self._domain.spec().items() if key != "kind"}
        mechanism = {"mechanism": "ProjectiveGeometryResponse", "epsilon": self.epsilon}
        mechanism |= self.mechanism.parameters()
        title = f"Words, step {len(self.lists) + 1} of {self.steps}"
        stated = {"title": title, "attributes": {_NAME: {"words": words, **mechanism}}}
        return json.dumps(stated, indent=1, ensure_ascii=False) + "\n"

    @property
    def study(self) -> Study:
        """The study of the step that comes next, with the question ``word``."""
        return Study.parse(self.study_text, "study of words")

    def smallest_share(self, people: int) -> float:
        """The smallest share of people with a word that is found with probability .8, about.

        Args:
            people: in all steps together, divided as ``shares_of_people`` says.

        It takes normal noise, pieces that no other common word has, and k words of such a share.
        """
        integer("people", people, 1)
        letters = len(Words(self.alphabet, 1).letters)
        first = Words(self.alphabet, self.longest, *self._plan[0][::2])
        law = _mechanism(first, self.epsilon).channel().support_law()
        assert law is not None
        error = np.sqrt(law.q[0] * (1 - law.q[0])) / law.gap[0]
        errors = error / np.sqrt(people * np.array(self.shares_of_people))
        levels = [
            -scipy.special.ndtri(
                min(_KEPT / (count_pieces(letters, c - a) if a == b else _KEPT**2), 0.5)
            )
            for a, b, c in self._plan
        ]
        rank = _weights(_KEPT, self.k)
        ends = rank[self.k - 1] / rank.sum()
        weight = ends**2 if self.steps > 1 else 1 / first.size
        levels[-1] = -scipy.special.ndtri((1 - self.level) * weight)
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            power = float(np.prod(scipy.special.ndtr(middle / errors - levels)))
            low, high = (low, middle) if power >= _POWER else (middle, high)
        return high

    # -------------------------------------------------------------------------------------------
    # From one step to the next.

    def next(self, tally: Tally | Mapping[str, Tally]) -> WordSearch:
        """The search after the step that comes next.

        Args:
            tally: of the reports of the step's people, who took part in no other step.

        Raises:
            MismatchError: a tally of another step or study, or counts that no answers make.
            EmptyError: no reports.
            ArgumentError: the search is finished.
        """
        if isinstance(tally, Mapping):
            if _NAME not in tally:
                raise MismatchError("tally", f"must be of the question {_NAME!r}", ", ".join(tally))
            tally = tally[_NAME]
        require_tally(tally)
        tally = tally.total()
        domain = self._domain
        if canonical(tally.header) != canonical(self.mechanism.header):
            rule = f"must be of step {len(self.lists) + 1} of this search"
            remedy = "Count the reports that were made with the study of this step"
            raise MismatchError("tally", rule, None, remedy)
        data = likelihood_data(tally)
        tested(tally, data)
        law = data.channel.support_law()
        assert law is not None
        supports = np.rint(data.channel.support_shares(data.weights) * data.n).astype(np.int64)[:-1]
        # All values have one q. So a p-value is computed once for each number of reports.
        least = int(supports.min())
        p = scipy.special.bdtrc(np.arange(least, supports.max() + 1) - 1, data.n, law.q[0])[
            supports - least
        ]
        weights = self._weights_of(domain)
        simulated = self.simulated or tally.simulated
        done = replace(self, people=(*self.people, data.n), simulated=simulated)
        start, _, stop = self._plan[len(self.lists)]
        if len(self.lists) + 1 < self.steps:
            order = _first(p / weights, _KEPT)
            pieces = [piece for piece in domain.pieces(order) if piece is not None]
            return replace(done, lists=(*self.lists, (start, stop, tuple(pieces))))
        listed = _settled(p, weights, 1 - self.level)
        chance = (1 - self.level) * weights[listed] / weights.sum()
        low, high = _limits(supports[listed], data.n, chance)
        shares = (supports[listed] / data.n - law.q[listed]) / law.gap[listed]
        ends = [(end - law.q[listed]) / law.gap[listed] for end in (low, high)]
        columns = np.clip([shares, *ends], 0.0, 1.0).tolist()
        rows = [
            {"word": word, "estimate": share, "low": below, "high": above}
            for word, share, below, above in zip(domain.decode(listed), *columns, strict=True)
        ]
        rows.sort(key=lambda row: -row["estimate"])
        return replace(done, lists=(*self.lists, (start, stop, ())), listed=tuple(rows))

    def _weights_of(self, domain: Words) -> np.ndarray:
        """The weights (K - 1,) of values, by the ranks of their pieces in earlier steps."""
        if not domain.left:
            return np.ones(domain.size - 1)
        first, second = domain.places_in(np.arange(domain.size - 1))
        of_left, of_right = (_weights(len(side), self.k) for side in (domain.left, domain.right))
        return np.asarray(of_left[first] * of_right[second])

    # -------------------------------------------------------------------------------------------
    # What people read, and files.

    def table(self) -> Table:
        """The words as a table; before the last step, what is to be done."""
        if self.listed is None:
            return self._table_of_steps()
        sure = percent(self.level, 0)
        columns = [Column("word"), Column("estimate", unit="share"), interval_column(self.level)]
        last, every = f"{self.people[-1]:,}", f"{sum(self.people):,}"
        simulated = "simulated " * self.simulated
        notes = [
            f"With {sure} probability, each of these words is the word of at least one person, "
            "and every interval contains the true share.",
            f"The shares come from the {last} people of the last step. In all steps together, "
            f"{every} people took part.",
        ]
        title = f"Words that were found in steps with {every} {simulated}people"
        if not self.listed:
            title = "No word could be found"
        return Table(columns, self.listed, notes, title, self.simulated)

    def _table_of_steps(self) -> Table:
        """The steps, and who has taken part in them."""
        rows = []
        for i, (start, middle, stop) in enumerate(self._plan):
            letters = f"{start + 1} to {stop} of {self.longest}"
            values = "all possible pieces" if start == middle else "joined pieces of earlier steps"
            people = f"{self.people[i]:,}" if i < len(self.people) else "to come"
            share = self.shares_of_people[i]
            rows.append(
                {"step": i + 1, "letters": letters, "asked": values, "share": share, "who": people}
            )
        columns = [
            Column("step"),
            Column("letters"),
            Column("asked", "values"),
            Column("share", "of all people", "share"),
            Column("who", "people"),
        ]
        smallest = percent(self.smallest_share(1_000_000), 2)
        notes = [
            "Each person takes part in one step.",
            f"With a million people, a word that {smallest} of them have is found with 80 % "
            "probability.",
        ]
        title = f"Words, before step {len(self.lists) + 1} of {self.steps}"
        return Table(columns, rows, notes, title)

    __repr__ = Tabular.__str__

    def to_json(self) -> dict[str, Any]:
        """The search as JSON data, from which :meth:`from_json` makes it again."""
        return {
            "format": _FORMAT,
            "schema": 1,
            **self._stated,
            "people": list(self.people),
            "simulated": self.simulated,
            "lists": [[start, stop, list(pieces)] for start, stop, pieces in self.lists],
            "words": None if self.listed is None else list(map(dict, self.listed)),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The search of JSON data.

        Raises:
            ArgumentError: other data.
        """
        try:
            if data["format"] != _FORMAT or data["schema"] != 1:
                raise KeyError("format")
            begun = find(
                Words(data["alphabet"], data["longest"]), data["epsilon"], data["k"], data["level"]
            )
            return cls(
                **begun._stated,
                lists=tuple((start, stop, tuple(pieces)) for start, stop, pieces in data["lists"]),
                people=tuple(data["people"]),
                listed=None if data["words"] is None else tuple(data["words"]),
                simulated=bool(data["simulated"]),
            )
        except (KeyError, TypeError, ValueError):
            pass
        raise ArgumentError("search", "must be what WordSearch.to_json returned")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the search to a file. It holds pieces of words, and nothing of any one person."""
        write_whole(path, (json.dumps(self.to_json(), ensure_ascii=False) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The search in a file.

        Raises:
            FileError: a file that cannot be read, or that holds something else.
        """
        content = read_whole(path)
        try:
            return cls.from_json(json.loads(content))
        except (ValueError, ArgumentError):
            pass
        remedy = "Give a file that WordSearch.save has written"
        raise FileError(os.fspath(path), "holds no search for words", None, remedy)


def _mechanism(domain: Words, epsilon: float) -> ProjectiveGeometryResponse:
    """The mechanism of a step: of those that err at most 5 % more than need be, the quickest."""

    # The squared error of a prime q is (e + q - 1)^2 / (4 e (q - 1)) times the least. A tally is of
    # as many counts as a space of this prime has points, which can be q times the values.
    def excess(q: int) -> float:
        return (math.exp(epsilon) + q - 1) ** 2 / (q - 1)

    def points(q: int) -> int:
        return next(m for t in count(2) if (m := count_points(q, t)) >= domain.size)

    primes = [q for q in range(2, _LARGEST_PRIME + 1) if is_prime(q)]
    least = min(map(excess, primes))
    near = [q for q in primes if excess(q) <= _EXCESS * least]
    return ProjectiveGeometryResponse(domain, epsilon, prime=min(near, key=points))


def _weights(size: int, k: int) -> np.ndarray:
    """The weights (size,) of pieces in the order of their evidence."""
    return np.asarray(1 / (1 + (np.arange(size) / (2 * k)) ** 2))


def _settled(p: np.ndarray, weights: np.ndarray, chance: float) -> np.ndarray:
    """The values (s,) that Holm's method with weights (m,) settles, by their evidence."""
    order = _first(p / weights, _MOST_SETTLED)
    w = weights[order]
    open_weight = weights.sum() - np.concatenate([[0.0], np.cumsum(w)[:-1]])
    holds = p[order] * open_weight <= chance * w
    return order if holds.all() else order[: int(np.argmin(holds))]


def _first(numbers: np.ndarray, count: int) -> np.ndarray:
    """The places of the smallest numbers (m,), at most ``count`` of them, in their order."""
    count = min(count, len(numbers))
    smallest = np.sort(np.argpartition(numbers, count - 1)[:count])
    return smallest[np.argsort(numbers[smallest], kind="stable")]


def _limits(supports: np.ndarray, n: int, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The limits (s,) of Clopper and Pearson (1934), each missed with at most ``chance`` (s,)."""
    low = scipy.special.betaincinv(np.maximum(supports, 1), n - supports + 1, chance / 2)
    high = scipy.special.betaincinv(supports + 1, np.maximum(n - supports, 1), 1 - chance / 2)
    return np.where(supports > 0, low, 0.0), np.where(supports < n, high, 1.0)
