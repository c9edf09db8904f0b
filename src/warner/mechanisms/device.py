"""The device half of a mechanism: it encodes answers and randomises them.

This module imports no channel and no tally, so a device needs neither of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError, ArgumentTypeError, message
from warner._core.progress import steps
from warner._core.sampling import Source
from warner.domains import Domain
from warner.mechanisms.description import Description
from warner.mechanisms.device_program import columns_of, odds
from warner.mechanisms.dummies import Dummies
from warner.reports.reports import Reports

_CHUNK = 2**16  # people randomised at a time, which bounds memory and fits the cache

_BITS = 5e8  # bits of reports that are drawn in a second; subsets and unary reports alike
_LONG = 10.0  # seconds that are announced


class Randomizer(Description):
    """Turns answers into reports, one per person. Abstract: a subclass draws in ``_sample``.

    Attributes:
        answer_parts: {column: domain or randomiser that encodes it}, for an answer in several
            columns of a file. Empty for an answer in one column.
    """

    answer_parts: Mapping[str, Domain | Randomizer] = MappingProxyType({})

    @abstractmethod
    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Draw one report per person, as the schema's columns.

        Args:
            index: (n,) or (n, d), the answers as :meth:`encode` returned them.
            source: the randomness.
        """

    def check_combinable(self, argument: str) -> None:
        """Refuse a mechanism that cannot be combined with other reports of the same person.

        Args:
            argument: the name of the mechanism in the message.

        Raises:
            ArgumentError: a mechanism whose report is drawn among several answers of a person.
        """

    def dummies(self) -> Dummies | None:
        """The reports of a dummy, for people without an answer; None where there are none."""
        return None

    def encode(self, values: Any) -> np.ndarray:
        """Check answers and convert them to the form that the sampler takes.

        Args:
            values: n answers in the domain (a list, an array or a column).

        Returns:
            (n,) the indices of the answers; mechanisms of numbers return positions in [0, 1].

        Raises:
            ValuesError: an answer outside the domain, named by its position.
            EmptyError: no answers.
        """
        return self.domain.encode(values)

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Randomise one answer per person, independently.

        Args:
            values: n answers in the domain (a list, an array or a column).
            rng: None for the operating system's randomness, which real answers need. A
                ``numpy.random.Generator`` makes a repeatable simulation, whose reports are marked
                as simulated.

        Returns:
            Reports: n reports in the order of ``values``.

        Raises:
            ValuesError: an answer outside the domain, named by its position; nothing is sent then.
            EmptyError: no answers.
        """
        source = Source(rng)
        columns = self.randomize_encoded(self.encode(values), source)
        return Reports(self.header, columns, source.simulated)

    def device_program(self) -> dict[str, Any]:
        """All that a device in another language needs to randomise one answer, as JSON data.

        ``docs/device_programs.md`` defines the entries. The integers are those that are sampled.
        With the same random words, one 64-bit word for each decision, a device sends the same
        report as Python's reference sampler.

        Returns:
            {"sampler": the name of the algorithm, its integers, "columns": the layout of a report,
            "odds": the largest likelihood ratio of the integers, "odds_at_most": its bound}.

        Raises:
            ArgumentTypeError: a mechanism that devices in other languages do not know.
            ArgumentError: a mechanism whose reports can rule values out.

        >>> from warner import Categorical, RandomizedResponse
        >>> program = RandomizedResponse(Categorical(["no", "yes"]), 1.0).device_program()
        >>> program["sampler"], program["size"], program["columns"]
        ('direct', 2, [{'name': 'report', 'dtype': '|u1', 'length': 1}])
        """
        # A subclass with another sampler inherits the program of its base, which is not its own.
        if not issubclass(self._home("_program"), self._home("_sample")):
            raise self._no_program()
        return {**self._program(), "columns": columns_of(self.schema), **self._program_odds()}

    def _home(self, method: str) -> type:
        """The class that defines a method of this mechanism."""
        return next(one for one in type(self).__mro__ if method in vars(one))

    def _program(self) -> dict[str, Any]:
        """The program without its columns and odds."""
        raise self._no_program()

    def _no_program(self) -> ArgumentTypeError:
        rule = "has no program for a device in another language"
        remedy = "Use a mechanism of one question, or randomise with this package"
        return ArgumentTypeError(message("mechanism", rule, type(self).__name__, remedy))

    def _program_odds(self) -> dict[str, Any]:
        """The odds of a program, and their bound."""
        return odds(self.law.ratio(), self.requested)

    def check_index(self, index: np.ndarray) -> None:
        """Refuse indices that are not positions in the domain.

        Args:
            index: (n,) integers.

        Raises:
            ArgumentError: an index outside 0..K-1.
        """
        if not (int(index.min()) >= 0 and int(index.max()) < self.domain.size):
            raise ArgumentError(message("index", f"must lie in 0..{self.domain.size - 1}"))

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Randomise the answers of people who hold the domain's values at ``index``.

        Args:
            index: (n,) integers in 0..K-1.
            source: the randomness.

        Returns:
            {name: column}, the columns of n reports.

        Raises:
            ArgumentError: an index outside 0..K-1.
        """
        self.check_index(index)
        return self.randomize_encoded(index, source)

    def randomize_encoded(self, encoded: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Randomise answers that :meth:`encode` returned, one chunk of people at a time.

        Args:
            encoded: (n, ...) the encoded answers.
            source: the randomness.

        Returns:
            {name: column}, the columns of n reports.
        """
        columns = self.schema.empty(len(encoded))
        starts: Iterable[int] = range(0, len(encoded), _CHUNK)
        bits = 8 * len(encoded) * self.schema.bytes_per_report
        if bits > _LONG * _BITS:
            # Reports of one bit for each value are long by nature.
            starts = steps(starts, f"drawing {bits:,} bits of reports", seconds=bits / _BITS)
        for start in starts:
            rows = slice(start, start + _CHUNK)
            for name, part in self._sample(encoded[rows], source).items():
                columns[name][rows] = part
        return columns
