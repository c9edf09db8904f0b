"""Several reports of one value by one person [P4 sec V]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    MismatchError,
    message,
)
from warner._core.sampling import Source
from warner.channels import Channel, KhatriRaoChannel, LikelihoodOperator, RepeatedRows
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.composite import Combined, typed
from warner.mechanisms.headers import LARGEST_PARTS, from_header
from warner.privacy.guarantees import Guarantee, compose
from warner.reports.reports import Reports, columns_of
from warner.reports.schema import BitVector, DigitVector
from warner.reports.tally import Tally, distinct, kinds

_LARGEST_ROWS = 2**22  # entries of the channel of all tuples of reports of one value


class Repeated(Combined):
    """Several reports of one value by one person, independent given the value; budgets add.

        Pr(y_1, .., y_t | x) = A_1[y_1, x] .. A_t[y_t, x]

    Args:
        mechanism: one mechanism, or a list of mechanisms on one domain.
        times: of one mechanism, how many reports; 10,000 at most in all.

    A tally keeps the distinct tuples of reports. Their order among equal mechanisms tells nothing and is not kept. The estimate is made of
    each person's reports together: they are no independent people.

    Raises:
        MismatchError: mechanisms on different domains, or guarantees that do not compose.

    Source: [P4 sec V-VII]; METHODS 3.

    >>> from warner import Integers, RandomizedResponse
    >>> daily = Repeated(RandomizedResponse(Integers(0, 9), 0.25), 4)
    >>> reports = daily.randomize([3, 3, 7])
    >>> len(reports), len(reports.columns), round(daily.epsilon, 9)
    (3, 4, 1.0)
    """

    def __init__(
        self, mechanism: Mechanism | Sequence[Mechanism], times: int | None = None
    ) -> None:
        if isinstance(mechanism, Sequence):
            if times is not None:
                raise ArgumentTypeError(
                    message("times", "goes with one mechanism", "a list of them", "Leave it out")
                )
            parts = list(mechanism)
        else:
            parts = [mechanism] * integer("times", times, 1, LARGEST_PARTS)
        if not parts:
            raise ArgumentError(message("mechanism", "must be at least one", "none"))
        for part in parts:
            if not isinstance(part, Mechanism) or isinstance(part, Combined):
                raise ArgumentTypeError(
                    message(
                        "mechanism",
                        "must be a mechanism of one report, or a list of such",
                        kind(part),
                    )
                )
            if isinstance(part.schema, DigitVector):
                raise ArgumentError(
                    message(
                        "mechanism",
                        "must send whole reports to be repeated, not a digit for each key",
                        repr(part),
                        "Use key='direct'",
                    )
                )
            if part.domain != parts[0].domain:
                raise MismatchError(
                    message(
                        "mechanism",
                        "must all be on one domain",
                        f"{part.domain!r} and {parts[0].domain!r}",
                    )
                )
        # Equal ones stand together: which report came first tells nothing.
        texts = {
            id(part): repr(part.header) for part in {id(part): part for part in parts}.values()
        }
        order = {text: i for i, text in enumerate(dict.fromkeys(texts[id(part)] for part in parts))}
        parts.sort(key=lambda part: order[texts[id(part)]])
        self._assemble(parts[0].domain, {str(i + 1): part for i, part in enumerate(parts)})
        self._runs = [len(list(run)) for _, run in groupby(parts, key=lambda part: texts[id(part)])]
        sensitive_mask = [part.sensitive_mask for part in parts if part.sensitive_mask is not None]
        self.sensitive_mask = sensitive_mask[0] if sensitive_mask else None

    def spent(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        found: Guarantee = compose(guarantees.values())
        return found

    def _firsts(self) -> list[Mechanism]:
        """The different mechanisms, in order."""
        parts = list(self.parts.values())
        return [parts[sum(self._runs[:i])] for i in range(len(self._runs))]

    def parameters(self) -> dict[str, Any]:
        return {
            "parts": [
                [part.header, times] for part, times in zip(self._firsts(), self._runs, strict=True)
            ]
        }

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        return cls(
            [
                part
                for header, times in parameters["parts"]
                for part in [from_header(header)] * times
            ]
        )

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{part!r}" + (f" x {times}" if times > 1 else "")
            for part, times in zip(self._firsts(), self._runs, strict=True)
        )
        return f"Repeated({shown})"

    def encode(self, values: Any) -> Any:
        """Answers, checked, in every form that some part's sampler takes."""
        values = list(values) if isinstance(values, Iterator) else values
        made = [part.encode(values) for part in self._firsts()]
        return [
            encoded for encoded, times in zip(made, self._runs, strict=True) for _ in range(times)
        ]

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.schema.join(
            {
                name: typed(part, part.randomize_index(index, source))
                for name, part in self.parts.items()
            }
        )

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        found = zip(self.parts.items(), encoded, strict=True)
        return self.schema.join(
            {name: part.randomize_encoded(own, source) for (name, part), own in found}
        )

    def _tabled(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        out = tables[0]
        for table in tables[1:]:
            out = (out[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
        return out

    def channel(self) -> Channel:
        """The channel of all tuples of reports, in C order, where there are few enough; a tally's own has the tuples seen."""
        if not self.schema.rows_are_reports or self.schema.rows * self.domain.size > _LARGEST_ROWS:
            raise ArgumentError(
                message(
                    "channel",
                    "has too many tuples of reports to list them",
                    f"{self.schema.rows:.3g}",
                    "Use that of a tally: evidence(tally).channel",
                )
            )
        return KhatriRaoChannel([part.channel().dense() for part in self.parts.values()])

    def kept(self, ways: int | None, keep_reports: bool = False) -> int | None:
        if ways is not None:
            raise ArgumentError(
                message(
                    "ways",
                    "are of several attributes; reports of one value are kept whole",
                    str(ways),
                    "Leave it out",
                )
            )
        return None

    def tally_columns(
        self, columns: Mapping[str, np.ndarray], seen: np.ndarray | None = None, **how: Any
    ) -> Tally:
        split = self.schema.split(columns)
        records = [Reports(self.header, split[name]).record_array() for name in self.parts]
        ordered, start = [], 0
        for times in self._runs:
            ordered.append(_sorted(np.stack(records[start : start + times], axis=1)))
            start += times
        rows = np.concatenate(ordered, axis=1)
        kept, total = distinct(rows, np.ones(len(rows), dtype=np.int64) if seen is None else seen)
        return Tally(self.header, "reports", total, int(total.sum()), kept)

    def report_channel(self, rows: np.ndarray) -> RepeatedRows:
        """Rows of the tuples of reports seen, given as their bytes."""
        columns = columns_of(self.schema, rows)
        self.schema.check(columns)
        split = self.schema.split(columns)
        channels: list[LikelihoodOperator] = []
        index = []
        for name, part in self.parts.items():
            if isinstance(part.schema, BitVector):
                different, place = kinds(split[name]["bits"])
                channels.append(part.report_channel(different))
                index.append(place)
            else:
                assert not isinstance(part.schema, DigitVector)
                channels.append(part.channel())
                index.append(part.schema.index(split[name]))
        return RepeatedRows(channels, np.stack(index, axis=1))


def _sorted(records: np.ndarray) -> np.ndarray:
    """Reports (n, t, bytes) of equal mechanisms in the order of their bytes, as (n, t * bytes)."""
    n, times, width = records.shape
    if times > 1:
        whole = np.ascontiguousarray(records).view(np.dtype((np.void, width))).reshape(n, times)
        records = np.sort(whole, axis=1).view(np.uint8)
    return np.ascontiguousarray(records).reshape(n, times * width)
