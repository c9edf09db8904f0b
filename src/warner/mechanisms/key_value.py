"""Keys with values: which key a person has, and the number that goes with it, in one report (PCKV-UE, PCKV-GRR)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np

from warner._core.checks import (
    budget,
    choice,
    kind,
    show,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    ValuesError,
    message,
)
from warner._core.exact import ONE, check_representable, divide, down, exp, rational, up
from warner._core.sampling import Source
from warner.channels import TiedChannel
from warner.domains import Domain, Integers, Padded, Product
from warner.mechanisms.base import Mechanism
from warner.mechanisms.direct import direct_sample
from warner.mechanisms.numeric import Piecewise, StochasticRounding, Window
from warner.privacy.report_laws import Keyed
from warner.reports.reports import Reports
from warner.reports.schema import DigitVector, IntegerColumns

_DIGITS = 2**22  # drawn at a time
_FILLED = 2**20  # pairs up to which every person's list is filled up to one length
_CELLS = 255  # with "nothing" 256 digits, a byte
_KEY, _VALUE = "key", "value"


class KeyValue(Mechanism):
    """One (key, value) pair per person: the key is kept or not, and only with the person's own key travels her value (PCKV).

    Values are randomised by a numeric mechanism at epsilon_2, ``value_epsilon``, to one of M cells, whose likeliest has probability h. Whatever
    is sent of a key that is not the person's carries a dummy, each cell alike, which makes keeping a key worth at most M h times more:

        epsilon = max(epsilon_2, epsilon_1 + ln M h),   so epsilon_1 = epsilon - ln M h,   e_1 = exp(epsilon_1)

    with stochastic rounding M h = 2 e_2 / (e_2 + 1), with the piecewise mechanism exp(epsilon_2 / 2).

    Args:
        keys: d labels.
        values: Interval (its bins belong to estimation) or Integers.
        epsilon: budget in nats of the whole report.
        key: ``"unary"``: every key sends something by itself, the person's own w.p. a = 1/2, every other w.p. b = 1 / (e_1 + 1); a report is d
            digits, 0 for nothing, 1..M. ``"direct"``: one key is sent, the person's own w.p. a = e_1 / (e_1 + d - 1), every other w.p.
            b = (1 - a) / (d - 1).
        value: ``"rounding"``, M = 2, which tells means and nothing else, or ``"piecewise"``, which tells distributions too.
        value_epsilon: epsilon_2, at most epsilon, which is the default.
        cells: M of the piecewise mechanism, 255 if not given.
        pairs: l, for people who hold any number of pairs, at most one of a key: one of hers is drawn, and where she holds fewer than l,
            padding stands in for those that lack, with a value drawn evenly from all. Then an answer is a list of pairs, and a frequency
            is l times the share of draws. Of people who hold more than l, each pair is drawn w.p. 1 / (how many), and not 1 / l:
            frequencies come out too low by that.

    Answers are pairs like those of a Product: a list of dicts with "key" and "value", or columns of these names.

    Raises:
        BudgetError: epsilon or value_epsilon that cannot be honoured.

    Source: Gu, Li, Cheng, Xiong, Cao (2020); with the piecewise mechanism [P3 sec V-C, app. D], which spends epsilon_1 + epsilon_2 / 2; METHODS 2.

    >>> from warner import Categorical, Interval, estimate
    >>> pay = KeyValue(Categorical(["police", "fire", "water"]), Interval(0, 200_000, bins=32), 2.0)
    >>> reports = pay.randomize([{"key": "police", "value": 90_000.0}, {"key": "water", "value": 61_500.0}])
    >>> reports.columns["digits"].shape, round(pay.epsilon, 9)
    ((2, 3), 2.0)
    """

    law: Keyed
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
        for name, part in (("keys", keys), ("values", values)):
            if not isinstance(part, Domain):
                raise ArgumentTypeError(
                    message(
                        name, "must be a Domain", kind(part), "For labels use Categorical([...])"
                    )
                )
        held = keys if pairs is None else Padded(keys, pairs)
        self._start(Product(key=held, value=values), epsilon)
        self.key, self.value = (
            choice("key", key, ("unary", "direct")),
            choice("value", value, ("rounding", "piecewise")),
        )
        self.keys, self.values, self.pairs = keys, values, pairs
        self.value_epsilon = (
            self.requested if value_epsilon is None else budget(value_epsilon, "value_epsilon")
        )
        if self.value_epsilon > self.requested:
            raise BudgetError(
                message(
                    "value_epsilon",
                    f"must be at most epsilon, {self.requested!r}",
                    repr(self.value_epsilon),
                    "Leave it out for all of epsilon",
                )
            )
        if cells is not None and value == "rounding":
            raise ArgumentError(
                message(
                    "cells",
                    "go with value='piecewise'",
                    show(cells),
                    "Leave them out: rounding has two",
                )
            )
        self._value: Window = (
            StochasticRounding(values, self.value_epsilon)
            if value == "rounding"
            else Piecewise(values, self.value_epsilon, _CELLS if cells is None else cells)
        )
        # What takes either part of an answer.
        self.parts: dict[str, Domain | Mechanism] = {_KEY: held, _VALUE: self._value}
        self.cells, self.represents_interval = self._value.cells, self._value.represents_interval
        # e^epsilon_1 = e / M h, with the h that is really sampled: so only the roundings below cost epsilon, downwards.
        odds = divide(exp(self.requested), rational(self.cells * self._value.law.high))
        d = held.size
        if self.key == "unary":
            self._keep, rare = ONE // 2, divide(1, odds + 1)
            check_representable(self.requested, rare, "a dummy")
            self._other = up(rare)
            keep, other = Fraction(1, 2), Fraction(self._other, ONE)
            self.schema = DigitVector(d, self.cells + 1)
        else:
            share = divide(1, odds + d - 1)
            check_representable(self.requested, share, "each other key")
            self._other = down(share)
            self._keep = down(divide(self._other, ONE) * odds)
            total = self._keep + (d - 1) * self._other
            keep, other = Fraction(self._keep, total), Fraction(self._other, total)
            self.schema = IntegerColumns((_KEY, _VALUE), (d, self.cells))
        self.law = Keyed(keep, other, self._value.law, self.cells, self.key == "unary")
        self.epsilon  # noqa: B018 - refuses here what the grid cannot represent

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
        if not isinstance(domain, Product) or list(domain.domains) != [_KEY, _VALUE]:
            raise ArgumentError(
                message("domain", "must be a Product of key and value", type(domain).__name__)
            )
        held = domain.domains[_KEY]
        return cls(
            held.domain if isinstance(held, Padded) else held,
            domain.domains[_VALUE],
            epsilon,
            **parameters,
        )

    def __repr__(self) -> str:
        more = "".join(f", {k}={show(v)}" for k, v in self.parameters().items())
        return f"KeyValue({self.keys!r}, {self.values!r}, {self.requested!r}{more})"

    def thresholds(self) -> dict[str, str]:
        return {
            "keep": hex(self._keep),
            "other": hex(self._other),
            **{f"value_{k}": v for k, v in self._value.thresholds().items()},
        }

    # On the device.

    def encode(self, values: Any) -> np.ndarray:
        """Pairs as (index of the key, position of the value in [0, 1]), (n, 2)."""
        if self.pairs is None and isinstance(values, list | tuple):
            for i, row in enumerate(values):
                if isinstance(row, list | tuple):
                    raise ValuesError(
                        i,
                        "must be one pair",
                        kind(row),
                        "For people who hold several say KeyValue(..., pairs=how many at most)",
                    )
        columns = self.domain.columns(values)
        index = self.domain.domains[_KEY].encode(columns[_KEY])
        position = self._value.encode(columns[_VALUE])
        if len(index) != len(position):
            raise ArgumentError(
                message(
                    "values",
                    "columns must have one length",
                    f"{len(index)} keys and {len(position)} values",
                )
            )
        return np.stack([index, position], axis=1)

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Reports of n people, one pair each; with ``pairs``, of people with a list of pairs each, which may be empty. See Mechanism.randomize."""
        source = Source(rng)
        encoded = self.encode(values) if self.pairs is None else self._one_each(values, source)
        return Reports(self.header, self.randomize_encoded(encoded, source), source.simulated)

    def _one_each(self, values: Any, source: Source) -> np.ndarray:
        """One pair of every person, drawn among max(l, how many she holds), encoded (n, 2): padding where the draw is beyond hers."""
        assert self.pairs is not None
        if not isinstance(values, list | tuple):
            raise ArgumentTypeError(
                message("values", "must be a list of people, each a list of pairs", kind(values))
            )
        if not values:
            raise EmptyError(
                message("values", "must not be empty", None, "Pass at least one answer")
            )
        people = [[person] if isinstance(person, Mapping) else person for person in values]
        for i, person in enumerate(people):
            if not isinstance(person, list | tuple):
                raise ValuesError(i, "must be a list of pairs", kind(person))
        held = np.array([len(person) for person in people])
        # A short list is filled up with a pair that stands for none, so that time does not tell how many pairs a person holds.
        bounds = np.maximum(held, self.pairs)
        lengths = bounds if int(bounds.sum()) <= _FILLED else held
        ends = np.cumsum(lengths)
        filler = ({_KEY: self.keys.decode([0])[0], _VALUE: self.values.decode([0])[0]},)
        flat = [
            pair
            for person, length in zip(people, lengths.tolist(), strict=True)
            for pair in (*person, *filler * (length - len(person)))
        ]
        problem = None
        try:
            whole = self.encode(flat) if flat else np.zeros((0, 2))
        except ValuesError as error:
            person = int(np.searchsorted(ends, error.position, side="right"))
            problem = error.moved("values: a pair of person", person - error.position)
        if problem is not None:
            raise problem
        owner = np.repeat(np.arange(len(people)), lengths)
        place = np.arange(len(flat)) - (ends - lengths)[owner]
        # Each filler counts as a key of its own.
        key = np.where(place < held[owner], whole[:, 0].astype(np.int64), self.keys.size + place)
        order = np.lexsort((key, owner))
        twice = (owner[order][1:] == owner[order][:-1]) & (key[order][1:] == key[order][:-1])
        if twice.any():
            person = int(owner[order][1:][np.argmax(twice)])
            raise ValuesError(
                person,
                "must have at most one pair of a key",
                "a key twice",
                "Take their mean, or one of them",
            )
        drawn = source.uniform_each(bounds)
        # Padding goes with a value too, drawn evenly from the domain: then every draw is a pair that the channel knows, and
        # a report of padding is a mixture of those that its column of values describes. It is drawn for everyone, so that
        # the random words used do not depend on how many pairs a person has.
        padding = np.stack(
            [np.full(len(people), float(self.keys.size)), self._anywhere(len(people), source)],
            axis=1,
        )
        if not flat:
            return padding
        chosen = whole[ends - lengths + np.minimum(drawn, lengths - 1)]
        return np.where((drawn < held)[:, None], chosen, padding)

    def _anywhere(self, n: int, source: Source) -> np.ndarray:
        """Positions (n,) of values drawn evenly: of Interval between the ends, of Integers among them."""
        if isinstance(self.values, Integers):
            return source.uniform(self.values.size, n) / (self.values.size - 1)
        return source.words(n, np.uint64) / 2.0**64

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        if not (int(index.min()) >= 0 and int(index.max()) < self.domain.size):
            raise ArgumentError(message("index", f"must lie in 0..{self.domain.size - 1}"))
        key, value = np.unravel_index(index, self.domain.shape)
        position = self._value.encode(self.values.decode(value))
        return self.randomize_encoded(np.stack([key, position], axis=1), source)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        own = index[:, 0].astype(np.int64)
        value = self._value._sample(index[:, 1], source)["report"].astype(np.int64)
        if self.key == "direct":
            sent = direct_sample(own, self.domain.shape[0], self._keep, self._other, source)
            swapped = np.flatnonzero(sent != own)
            value[swapped] = source.uniform(self.cells, swapped.size)
            return {_KEY: sent, _VALUE: value}
        out = self.schema.empty(len(own))["digits"]
        step = max(1, _DIGITS // out.shape[1])
        for start in range(0, len(own), step):
            part = out[start : start + step]
            sent = (
                np.unpackbits(source.bits(self._other, -(-part.size // 8)), count=part.size)
                .reshape(part.shape)
                .astype(bool)
            )
            part[:] = 0
            part[sent] = 1 + source.uniform(self.cells, int(np.count_nonzero(sent)))
        out[np.arange(len(own)), own] = np.where(source.below(self._keep, len(own)), 1 + value, 0)
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

    @property
    def n_reports(self) -> int:
        return (
            self.schema.base**self.schema.width
            if isinstance(self.schema, DigitVector)
            else math.prod(self.schema.sizes)
        )

    def outputs(self) -> Mapping[str, np.ndarray]:
        if not isinstance(self.schema, DigitVector):
            return super().outputs()
        digits = np.unravel_index(
            np.arange(self.n_reports), (self.schema.base,) * self.schema.width
        )
        return {"digits": np.stack(digits, axis=1).astype(self.schema.empty(0)["digits"].dtype)}

    def probabilities(self) -> np.ndarray:
        (d, size), own = self.domain.shape, self.law.keep * self._value.probabilities()
        dummy = self.law.other / self.cells
        if not isinstance(self.schema, DigitVector):
            table = np.full((d, self.cells, d, size), dummy, dtype=object)
            for k in range(d):
                table[k, :, k, :] = own
            return table.reshape(d * self.cells, d * size)
        own = np.concatenate([np.full((1, size), 1 - self.law.keep, dtype=object), own])
        other = np.array([1 - self.law.other, *[dummy] * self.cells], dtype=object)
        digits = self.outputs()["digits"]
        table = np.full((len(digits), d, size), Fraction(1), dtype=object)
        for k in range(d):
            for j in range(d):
                table[:, j] *= own[digits[:, k]] if j == k else other[digits[:, k], None]
        return table.reshape(len(digits), d * size)
