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
)
from warner._core.sampling import Source
from warner._core.text import magnitude
from warner.channels import Channel, KhatriRaoChannel, LikelihoodOperator, RepeatedRows
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import program, repeated_odds
from warner.mechanisms.headers import LARGEST_PARTS, from_header
from warner.mechanisms.per_attribute import Combined, with_schema_types
from warner.privacy.guarantees import Guarantee, compose
from warner.reports.counting import unique_rows
from warner.reports.public_columns import Groups
from warner.reports.reports import Reports, columns_of
from warner.reports.schema import distinct, sizes_of
from warner.reports.tally import Tally

_LARGEST_ROWS = 2**22  # entries of the channel of all tuples of reports of one value


class Repeated(Combined):
    """Several reports of one value by one person, independent given the value; budgets add.

        Pr(reports y_1, .., y_t | value x) = A_1[y_1, x] .. A_t[y_t, x]

    Here A_i[y, x] is the probability that the mechanism of report i sends y for the value x.

    Args:
        mechanism: one mechanism, or a list of mechanisms on one domain.
        times: t, for one mechanism; None for a list. A person sends at most 10,000 reports.

    A tally keeps the distinct tuples of reports. The order of reports of equal mechanisms carries
    no information and is not kept. An estimate uses the reports of one person together, because
    they depend on the same value.

    Raises:
        ArgumentError, ArgumentTypeError: no mechanism, or one that cannot be repeated.
        MismatchError: mechanisms on different domains, or guarantees that do not compose.

    Source: [P4 sec V-VII]; METHODS 3.

    >>> from warner import Integers, RandomizedResponse
    >>> daily = Repeated(RandomizedResponse(Integers(0, 9), 0.25), 4)
    >>> reports = daily.randomize([3, 3, 7])
    >>> len(reports), len(reports.columns), round(daily.epsilon, 9)
    (3, 4, 1.0)
    """

    references = ("P4",)

    def __init__(
        self, mechanism: Mechanism | Sequence[Mechanism], times: int | None = None
    ) -> None:
        if isinstance(mechanism, Sequence):
            if times is not None:
                raise ArgumentTypeError(
                    "times", "goes with one mechanism", "a list of them", "Leave it out"
                )
            parts = list(mechanism)
        else:
            parts = [mechanism] * integer("times", times, 1, LARGEST_PARTS)
        _check_repeatable(parts)
        # Equal mechanisms stand together, because the order of their reports tells nothing.
        texts = {
            id(part): repr(part.header) for part in {id(part): part for part in parts}.values()
        }
        order = {text: i for i, text in enumerate(dict.fromkeys(texts[id(part)] for part in parts))}
        parts.sort(key=lambda part: order[texts[id(part)]])
        super().__init__(parts[0].domain, {str(i + 1): part for i, part in enumerate(parts)})
        self._runs = [len(list(run)) for _, run in groupby(parts, key=lambda part: texts[id(part)])]
        masks = [part.sensitive_mask for part in parts if part.sensitive_mask is not None]
        self.sensitive_mask = masks[0] if masks else None
        if len(self._runs) == 1:
            self.answer_parts = parts[0].answer_parts

    def compose_guarantees(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        return compose(guarantees.values())

    @property
    def attribute_domains(self) -> Mapping[str, Domain]:
        return next(iter(self.parts.values())).attribute_domains

    def _distinct_parts(self) -> list[Mechanism]:
        """The different mechanisms, in order; ``_runs`` says how often each is repeated."""
        parts = list(self.parts.values())
        return [parts[sum(self._runs[:i])] for i in range(len(self._runs))]

    def parameters(self) -> dict[str, Any]:
        return {
            "parts": [
                [part.header, times]
                for part, times in zip(self._distinct_parts(), self._runs, strict=True)
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
            for part, times in zip(self._distinct_parts(), self._runs, strict=True)
        )
        return f"Repeated({shown})"

    def encode(self, values: Any) -> Any:
        """Check answers and convert them to the forms that the samplers take.

        Args:
            values: n answers in the domain.

        Returns:
            A list of encoded answers, one entry for each different mechanism. With a single
            mechanism, its encoded answers themselves.
        """
        values = list(values) if isinstance(values, Iterator) else values
        made = [part.encode(values) for part in self._distinct_parts()]
        return made[0] if len(made) == 1 else made

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.schema.join(
            {
                name: with_schema_types(part, part.randomize_index(index, source))
                for name, part in self.parts.items()
            }
        )

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        forms = [encoded] if len(self._runs) == 1 else encoded
        each = [form for form, times in zip(forms, self._runs, strict=True) for _ in range(times)]
        found = zip(self.parts.items(), each, strict=True)
        return self.schema.join(
            {name: part.randomize_encoded(answers, source) for (name, part), answers in found}
        )

    def _program(self) -> dict[str, Any]:
        return program("repeated", {"parts": self._programs}, "parts")

    def _program_odds(self) -> dict[str, Any]:
        return repeated_odds([(part["program"], part["times"]) for part in self._programs])

    @property
    def _programs(self) -> list[dict[str, Any]]:
        """The device programs of the different mechanisms, and how often each is used."""
        return [
            {"program": part.device_program(), "times": times}
            for part, times in zip(self._distinct_parts(), self._runs, strict=True)
        ]

    def _joint_probabilities(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        out = tables[0]
        for table in tables[1:]:
            out = (out[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
        return out

    def channel(self) -> Channel:
        """The channel of all tuples of reports, in C order.

        The channel of a tally, from :meth:`channel_for`, has only the tuples that occur.

        Raises:
            ArgumentError: more than 2^22 pairs of a tuple and a value, or reports of bits.
        """
        if not self.schema.rows_are_reports or self.schema.rows * self.domain.size > _LARGEST_ROWS:
            raise ArgumentError(
                "channel",
                "has too many tuples of reports to list them",
                magnitude(self.schema.rows),
                "Use that of a tally: mechanism.channel_for(tally)",
            )
        channels = [part.channel() for part in self.parts.values()]
        return KhatriRaoChannel([c.dense() for c in channels], [c.log_factors for c in channels])

    def allowed_ways(self, ways: int | None, keep_reports: bool = False) -> int | None:
        if ways is not None:
            raise ArgumentError(
                "ways",
                "are of several attributes; reports of one value are kept whole",
                str(ways),
                "Leave it out",
            )
        return None

    def count(
        self,
        columns: Mapping[str, np.ndarray],
        groups: Groups | None = None,
        *,
        repeats: np.ndarray | None = None,
        ways: int | None = None,
        keep_reports: bool = False,
    ) -> Tally:
        self.allowed_ways(ways)
        split = self.schema.split(columns)
        records = [Reports(self.header, split[name]).record_array() for name in self.parts]
        ordered, start = [], 0
        for times in self._runs:
            ordered.append(_sorted(np.stack(records[start : start + times], axis=1)))
            start += times
        sizes = sizes_of(columns, groups, repeats)
        counted = distinct(np.concatenate(ordered, axis=1), sizes, groups, repeats)
        return Tally(self.header, counted, groups)

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        different, place = unique_rows(Reports(self.header, columns).record_array())
        return self.report_channel(different), place

    def report_channel(self, rows: np.ndarray) -> RepeatedRows:
        """The channel whose rows are the given tuples of reports.

        Args:
            rows: uint8 (m, bytes), the distinct tuples that occur, as in ``tally.rows``. Each row
                of the array holds the bytes of all reports of one person.

        Returns:
            The channel (m, K). Its row i is proportional to Pr(tuple i | value).
        """
        columns = columns_of(self.schema, rows)
        self.schema.check(columns)
        split = self.schema.split(columns)
        found = [part.channel_of_reports(split[name]) for name, part in self.parts.items()]
        return RepeatedRows(
            [channel for channel, _ in found], np.stack([index for _, index in found], axis=1)
        )


def _check_repeatable(parts: Sequence[Mechanism]) -> None:
    """Refuse mechanisms that cannot be repeated together."""
    if not parts:
        raise ArgumentError("mechanism", "must be at least one", "none")
    for part in parts:
        if not isinstance(part, Mechanism) or isinstance(part, Combined):
            raise ArgumentTypeError(
                "mechanism",
                "must be a mechanism of one report, or a list of such",
                kind(part),
            )
        if not part.has_report_channel:
            raise ArgumentError(
                "mechanism",
                "must send whole reports to be repeated, not a digit for each key",
                repr(part),
                "Use key='direct'",
            )
        if part.domain != parts[0].domain:
            raise MismatchError(
                "mechanism",
                "must all be on one domain",
                f"{part.domain!r} and {parts[0].domain!r}",
            )


def _sorted(records: np.ndarray) -> np.ndarray:
    """Sort the reports (n, t, bytes) of equal mechanisms by their bytes; returns (n, t * bytes)."""
    n, times, width = records.shape
    if times > 1:
        whole = np.ascontiguousarray(records).view(np.dtype((np.void, width))).reshape(n, times)
        records = np.sort(whole, axis=1).view(np.uint8)
    return np.ascontiguousarray(records).reshape(n, times * width)
