"""Mechanisms that report a key and its number together (PCKV-UE, PCKV-GRR)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from warner._core.checks import (
    budget,
    choice,
    kind,
    same_length,
    show,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    ValuesError,
)
from warner._core.exact import ONE, check_representable, divide, exp, rational, up
from warner._core.foreign_tables import index_of_answers
from warner._core.progress import in_blocks
from warner._core.sampling import Source
from warner.channels import TiedChannel
from warner.domains import Domain, Padded, Product
from warner.domains.base import require_domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.direct import direct_law, direct_sample, two_widths
from warner.mechanisms.numeric import Piecewise, StochasticRounding, WindowMechanism
from warner.privacy.report_laws import ReportDistribution, TwoProbabilities
from warner.reports.reports import Reports
from warner.reports.schema import DigitVector, IntegerColumns

_DIGITS = 2**22  # digits that are drawn at a time
_FILLED = 2**20  # pairs up to which the lists of all people are filled up to one length
_CELLS = 255  # with the digit for nothing 256, a byte
_KEY, _VALUE = "key", "value"


@dataclass(frozen=True)
class KeyValueDistribution(ReportDistribution):
    """The exact law of a report of one of d keys and its value."""

    # A person's key is sent with a report of the value. Other keys are sent with a dummy, uniform
    # over the ``cells`` possible reports of a value.

    keep: Fraction  # probability of sending the person's key
    other: Fraction  # probability of sending each other key
    value: TwoProbabilities  # the law of the value's report
    cells: int  # M, the number of possible reports of a value
    # Whether each key is sent or not independently of the other keys. Otherwise exactly one key is
    # sent, and keep + (d - 1) other = 1.
    separate: bool

    @property
    def audit_method(self) -> str:
        return "computed exactly, key by key"

    def ratio(self) -> Fraction:
        """The largest likelihood ratio of two answers, whose keys may be equal or different."""
        dummy = self.other / self.cells
        true_key = self.keep * self.value.high / dummy
        other_key = dummy / (self.keep * self.value.low)
        silent = (1 - self.keep) / (1 - self.other)
        # Separate keys multiply the worst ratios of both keys. Otherwise the worst report is of one
        # of the two keys.
        between = (
            max(true_key, silent) * max(other_key, 1 / silent)
            if self.separate
            else max(true_key, other_key)
        )
        # With equal keys it is the ratio of the value's law.
        return max(between, self.value.ratio())


class KeyValue(Mechanism):
    """Reports a key and its value together, for one (key, value) pair per person (PCKV).

    The person's key is sent with probability a, and any other key with probability b. A numeric
    mechanism randomises the value to one of M cells, with the budget epsilon_2 = ``value_epsilon``.
    The likeliest cell has probability h. The report of any other key carries a dummy, which is
    uniform over the cells. The key alone spends epsilon_1, and a real value instead of a dummy adds
    at most ln(M h) to it:

        epsilon = max(epsilon_2, epsilon_1 + ln(M h))
        epsilon_1 = epsilon - ln(M h),   e_1 = exp(epsilon_1),   e_2 = exp(epsilon_2)

    M h is 2 e_2 / (e_2 + 1) with stochastic rounding, and exp(epsilon_2 / 2) with the piecewise
    mechanism.

    Args:
        keys: d labels.
        values: Interval or Integers. The device does not see the bins of an Interval.
        epsilon: budget in nats of the whole report.
        key: ``"unary"`` sends each key or not, independently, with a = 1/2 and b = 1 / (e_1 + 1). A
            report is then d digits: 0 for a key that is not sent, else the cell 1..M. ``"direct"``
            sends one key, with a = e_1 / (e_1 + d - 1) and b = (1 - a) / (d - 1).
        value: ``"rounding"``, with M = 2, allows estimates of means alone. ``"piecewise"`` also
            allows estimates of distributions.
        value_epsilon: epsilon_2 in nats, at most epsilon; None for epsilon.
        cells: M of the piecewise mechanism; None for 255.
        pairs: l, for people who hold any number of pairs, at most one of each key. An answer is
            then a list of pairs. The device of a person with k pairs draws one of max(l, k) slots.
            For an empty slot it sends padding, with a value drawn uniformly. A frequency is l times
            the share of draws. A person with k > l pairs sends each of them with probability 1 / k
            instead of 1 / l, so frequencies are then too low.

    Answers are pairs like those of a Product: a list of dicts with "key" and "value", or columns of
    these names.

    Raises:
        ArgumentError, ArgumentTypeError: invalid keys, values or options, or options that exclude
            each other.
        BudgetError: epsilon or value_epsilon that 64-bit sampling cannot realise.

    Source: Gu, Li, Cheng, Xiong, Cao (2020); with the piecewise mechanism [P3 sec V-C, app. D],
    which spends epsilon_1 + epsilon_2 / 2; METHODS 2.

    >>> from warner import Categorical, Interval
    >>> pay = KeyValue(Categorical(["police", "fire", "water"]), Interval(0, 200_000, bins=32), 2.0)
    >>> answers = [{"key": "police", "value": 90_000.0}, {"key": "water", "value": 61_500.0}]
    >>> reports = pay.randomize(answers)
    >>> reports.columns["digits"].shape, round(pay.epsilon, 9)
    ((2, 3), 2.0)
    """

    references = ("gu2020", "P3")

    takes_keys = True
    # Columns of a file hold one pair for each person, so ``pairs`` is no option.
    not_options = frozenset({"keys", "values", "epsilon", "pairs"})

    law: KeyValueDistribution
    domain: Product
    schema: DigitVector | IntegerColumns

    def __init__(
        self,
        keys: Domain,
        values: Domain,
        epsilon: float,
        key: str = "unary",
        value: str = "rounding",
        value_epsilon: float | None = None,
        cells: int | None = None,
        pairs: int | None = None,
    ) -> None:
        for name, domain in (("keys", keys), ("values", values)):
            require_domain(domain, name)
        held = keys if pairs is None else Padded(keys, pairs)
        super().__init__(Product(key=held, value=values), epsilon)
        self.key = choice("key", key, ("unary", "direct"))
        self.value = choice("value", value, ("rounding", "piecewise"))
        self.keys, self.values, self.pairs = keys, values, pairs
        self.has_report_channel = self.key == "direct"
        self.value_epsilon = self._checked_value_epsilon(value_epsilon)
        if cells is not None and value == "rounding":
            rule = "can be used only with value='piecewise'"
            remedy = "Leave out the argument cells: with value='rounding' there are always two"
            raise ArgumentError("cells", rule, show(cells), remedy)
        self._value: WindowMechanism = (
            StochasticRounding(values, self.value_epsilon)
            if value == "rounding"
            else Piecewise(values, self.value_epsilon, _CELLS if cells is None else cells)
        )
        # The objects that check the two parts of an answer.
        self.answer_parts = {_KEY: held, _VALUE: self._value}
        self.cells, self.represents_interval = self._value.cells, self._value.represents_interval
        # e^epsilon_1 = e / (M h), with the h that is sampled: so only the roundings below cost
        # epsilon.
        odds = divide(exp(self.requested), rational(self.cells * self._value.law.high))
        d = held.size
        if self.key == "unary":
            share = divide(1, odds + 1)
            check_representable(self.requested, share)
            self._keep_width, self._other_width = ONE // 2, up(share)
            keep, other = Fraction(1, 2), Fraction(self._other_width, ONE)
            self.schema = DigitVector(d, self.cells + 1)
        else:
            share = divide(1, odds + d - 1)
            check_representable(self.requested, share)
            self._keep_width, self._other_width = two_widths(share, odds)
            of_keys = direct_law(d, self._keep_width, self._other_width)
            keep, other = of_keys.high, of_keys.low
            self.schema = IntegerColumns((_KEY, _VALUE), (d, self.cells))
        self.law = KeyValueDistribution(
            keep, other, self._value.law, self.cells, self.key == "unary"
        )
        self.check_realisable()

    def _checked_value_epsilon(self, value_epsilon: float | None) -> float:
        """epsilon_2, which is all of epsilon unless given."""
        if value_epsilon is None:
            return self.requested
        checked = budget(value_epsilon, "value_epsilon")
        if checked > self.requested:
            rule = f"must be at most epsilon, which is {self.requested!r}"
            remedy = "Leave out the argument value_epsilon to use the whole epsilon"
            raise BudgetError("value_epsilon", rule, repr(checked), remedy)
        return checked

    @classmethod
    def from_study(
        cls,
        domain: Domain,
        epsilon: float,
        options: Mapping[str, Any],
        keys: Domain | None = None,
        tags: Sequence[str] | None = None,
    ) -> Self:
        assert keys is not None
        return cls(keys, domain, epsilon, **options)

    @property
    def attribute_domains(self) -> Mapping[str, Domain]:
        return {}  # a key and its value are the two parts of one answer

    def check_combinable(self, argument: str) -> None:
        # A pair is drawn anew for every report, and padding with it: neither the channel of several
        # reports nor that of tuples of answers has that draw.
        if self.pairs is not None:
            rule = (
                "cannot be combined with other mechanisms, because only one pair of a person is "
                "reported"
            )
            remedy = "Leave out the argument pairs, or collect these reports separately"
            raise ArgumentError(argument, rule, f"pairs={self.pairs}", remedy)

    @property
    def values_per_person(self) -> int:
        return 1 if self.pairs is None else self.pairs

    def parameters(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "value": self.value,
            "value_epsilon": self.value_epsilon,
            **({} if self.value == "rounding" else {"cells": self.cells}),
            **({} if self.pairs is None else {"pairs": self.pairs}),
        }

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        if list(domain.attributes) != [_KEY, _VALUE]:
            rule = "must be a Product of the attributes key and value"
            raise ArgumentError("domain", rule, type(domain).__name__)
        keys, values = domain.attributes[_KEY].unpadded, domain.attributes[_VALUE]
        return cls(keys, values, epsilon, **parameters)

    def __repr__(self) -> str:
        more = "".join(f", {k}={show(v)}" for k, v in self.parameters().items())
        return f"KeyValue({self.keys!r}, {self.values!r}, {self.requested!r}{more})"

    def thresholds(self) -> dict[str, str]:
        return {
            "keep": hex(self._keep_width),
            "other": hex(self._other_width),
            **{f"value_{k}": v for k, v in self._value.thresholds().items()},
        }

    # On the device.

    def encode(self, values: Any) -> np.ndarray:
        """Check pairs and convert them to numbers.

        Args:
            values: as for :meth:`randomize`.

        Returns:
            (n, 2): the index of the key, and the position of the value in [0, 1].
        """
        if self.pairs is None and isinstance(values, list | tuple):
            for i, row in enumerate(values):
                if isinstance(row, list | tuple):
                    rule = f"must be one pair, as {{{_KEY!r}: ..., {_VALUE!r}: ...}}"
                    remedy = "If people have up to 3 pairs each, write KeyValue(..., pairs=3)"
                    raise ValuesError(i, rule, kind(row), remedy)
        columns = self.domain.columns(values)
        index = self.domain.attributes[_KEY].encode(columns[_KEY])
        position = self._value.encode(columns[_VALUE])
        same_length("values", {_KEY: index, _VALUE: position})
        return np.stack([index, position], axis=1)

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Randomise one pair per person. See Mechanism.randomize.

        Args:
            values: n pairs; if ``pairs`` is set, n lists of pairs, which may be empty.
            rng: None for the operating system's randomness; a generator makes a simulation.

        Returns:
            Reports: n reports in the order of ``values``.
        """
        source = Source(rng)
        encoded = self.encode(values) if self.pairs is None else self._one_each(values, source)
        columns = self.randomize_encoded(encoded, source)
        return Reports(self.header, columns, source.simulated, index_of_answers(values))

    def _one_each(self, values: Any, source: Source) -> np.ndarray:
        """One pair of every person, encoded (n, 2), drawn among max(l, held) slots."""
        assert self.pairs is not None
        people = _lists_of_pairs(values)
        held = np.array([len(person) for person in people])
        # A short list is filled up with a pair that stands for an empty slot, so that time does not
        # tell how many pairs a person holds.
        slots = np.maximum(held, self.pairs)
        lengths = slots if int(slots.sum()) <= _FILLED else held
        encoded = self._encode_lists(people, lengths)
        ends = np.cumsum(lengths)
        owner = np.repeat(np.arange(len(people)), lengths)
        position = np.arange(len(encoded)) - (ends - lengths)[owner]
        # Each filler counts as a different key.
        key = np.where(
            position < held[owner], encoded[:, 0].astype(np.int64), self.keys.size + position
        )
        _refuse_repeated_keys(owner, key)
        drawn = source.uniform_each(slots)
        # Padding has a value too, uniform on the domain. Then every draw is a pair that the channel
        # knows, and reports of padding are a mixture of those in its columns. Padding is drawn for
        # everybody, so that the random words used do not depend on the number of pairs.
        padding = np.stack(
            [np.full(len(people), float(self.keys.size)), self._anywhere(len(people), source)],
            axis=1,
        )
        if not len(encoded):
            return padding
        chosen = encoded[ends - lengths + np.minimum(drawn, lengths - 1)]
        return np.where((drawn < held)[:, None], chosen, padding)

    def _encode_lists(self, people: Sequence[Sequence[Any]], lengths: np.ndarray) -> np.ndarray:
        """All pairs of all people, encoded (sum of lengths, 2); short lists are filled up."""
        filler = ({_KEY: self.keys.decode([0])[0], _VALUE: self.values.decode([0])[0]},)
        flat = [
            pair
            for person, length in zip(people, lengths.tolist(), strict=True)
            for pair in (*person, *filler * (length - len(person)))
        ]
        if not flat:
            return np.zeros((0, 2))
        try:
            return self.encode(flat)
        except ValuesError as error:
            person = int(np.searchsorted(np.cumsum(lengths), error.position, side="right"))
            problem = error.offset_by("values: a pair of person", person - error.position)
        raise problem

    def _anywhere(self, n: int, source: Source) -> np.ndarray:
        """Positions (n,) of uniform values: between the ends of an Interval, or among Integers."""
        if not self.values.is_binned:
            return source.uniform(self.values.size, n) / (self.values.size - 1)
        return source.words(n, np.uint64) / 2.0**64

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        self.check_index(index)
        key, value = np.unravel_index(index, self.domain.shape)
        position = self._value.encode(self.values.decode(value))
        return self.randomize_encoded(np.stack([key, position], axis=1), source)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        true_key = index[:, 0].astype(np.int64)
        value = self._value._sample(index[:, 1], source)["report"].astype(np.int64)
        if self.key == "direct":
            sent = direct_sample(
                true_key, self.domain.shape[0], self._keep_width, self._other_width, source
            )
            swapped = np.flatnonzero(sent != true_key)
            value[swapped] = source.uniform(self.cells, swapped.size)
            return {_KEY: sent, _VALUE: value}
        out = self.schema.empty(len(true_key))["digits"]
        for some in in_blocks(len(true_key), _DIGITS, out.shape[1]):
            rows = out[some]
            words = source.bits(self._other_width, -(-rows.size // 8))
            sent = np.unpackbits(words, count=rows.size).reshape(rows.shape).astype(bool)
            rows[:] = 0
            rows[sent] = 1 + source.uniform(self.cells, int(np.count_nonzero(sent)))
        sends_key = source.below(self._keep_width, len(true_key))
        out[np.arange(len(true_key)), true_key] = np.where(sends_key, 1 + value, 0)
        return {"digits": out}

    # At the collector.

    def channel(self) -> TiedChannel:
        keep, other = float(self.law.keep), float(self.law.other)
        dummies = np.full(self.cells, other / self.cells)
        silent = self.key == "unary"
        return TiedChannel(
            self.domain.shape[0],
            self._value.channel(),
            keep,
            np.append(1 - other, dummies) if silent else dummies,
            silent,
        )

    def probabilities(self) -> np.ndarray:
        return (
            self._probabilities_of_one() if self.key == "direct" else self._probabilities_of_all()
        )

    def _probabilities_of_one(self) -> np.ndarray:
        """Where one key is sent: (d M, d K)."""
        d, size = self.domain.shape
        table = np.full((d, self.cells, d, size), self.law.other / self.cells, dtype=object)
        for k in range(d):
            table[k, :, k, :] = self.law.keep * self._value.probabilities()
        return table.reshape(d * self.cells, d * size)

    def _probabilities_of_all(self) -> np.ndarray:
        """Where every key sends a digit: ((M + 1)^d, d K)."""
        d, size = self.domain.shape
        silent = np.full((1, size), 1 - self.law.keep, dtype=object)
        true_key = np.concatenate([silent, self.law.keep * self._value.probabilities()])
        dummies = [self.law.other / self.cells] * self.cells
        other_key = np.array([1 - self.law.other, *dummies], dtype=object)
        digits = self.outputs()["digits"]
        table = np.full((len(digits), d, size), Fraction(1), dtype=object)
        for k in range(d):
            for j in range(d):
                column = digits[:, k]
                table[:, j] *= true_key[column] if j == k else other_key[column, None]
        return table.reshape(len(digits), d * size)


def _lists_of_pairs(values: Any) -> list[list[Any] | tuple[Any, ...]]:
    """People's answers as lists of pairs; a person may give a single pair."""
    if not isinstance(values, list | tuple):
        rule = "must be a list with one list of pairs for each person"
        raise ArgumentTypeError("values", rule, kind(values))
    if not values:
        raise EmptyError("values", "must not be empty", None, "Pass at least one answer")
    people = [[person] if isinstance(person, Mapping) else person for person in values]
    for i, person in enumerate(people):
        if not isinstance(person, list | tuple):
            raise ValuesError(i, "must be a list of pairs", kind(person))
    return people


def _refuse_repeated_keys(owner: np.ndarray, key: np.ndarray) -> None:
    """Refuse two pairs with one key of one person, from people (m,) and their keys (m,)."""
    order = np.lexsort((key, owner))
    twice = (owner[order][1:] == owner[order][:-1]) & (key[order][1:] == key[order][:-1])
    if twice.any():
        rule = "must have at most one pair for each key"
        remedy = "Pass the mean of these pairs, or only one of them"
        raise ValuesError(int(owner[order][1:][np.argmax(twice)]), rule, "a key twice", remedy)
