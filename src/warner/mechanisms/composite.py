"""What mechanisms that send several reports of one person share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from warner._core.checks import integer
from warner._core.errors import (
    ArgumentError,
    message,
)
from warner._core.sampling import Source
from warner.domains import Domain
from warner.mechanisms.base import ENUMERABLE, Mechanism
from warner.mechanisms.headers import LARGEST_PARTS
from warner.mechanisms.key_value import KeyValue
from warner.privacy.guarantees import ApproximateLDP, Guarantee, MetricLDP
from warner.privacy.report_laws import Independent
from warner.reports.product_schema import ProductSchema
from warner.reports.reports import Reports
from warner.reports.tally import Tally


class Combined(Mechanism):
    """What mechanisms that send several reports share: parts, each with randomness of its own. Abstract.

    Attributes:
        parts: {name: mechanism}; the reports' columns are ``name.column``.
    """

    parts: dict[str, Mechanism]
    schema: ProductSchema
    law: Independent

    def _assemble(self, domain: Domain, parts: Mapping[str, Mechanism]) -> None:
        for name, part in parts.items():
            if isinstance(part, KeyValue) and part.pairs is not None:
                # One pair of hers is drawn per report, and padding with it: neither several reports nor tuples of answers have that draw.
                rule, remedy = (
                    "draws one of several pairs of a person, which only goes alone",
                    "Leave pairs out, or collect these reports apart",
                )
                raise ArgumentError(
                    message(f"mechanisms[{name!r}]", rule, f"pairs={part.pairs}", remedy)
                )
        several = sum(
            len(part.parts) if isinstance(part, Combined) else 1 for part in parts.values()
        )
        integer("number of reports", several, 1, LARGEST_PARTS, "Use fewer reports of one person")
        self.domain, self.parts = domain, dict(parts)
        self.schema = ProductSchema({name: part.schema for name, part in parts.items()})
        self.law = Independent(tuple(part.law for part in parts.values()))
        self.represents_interval = any(part.represents_interval for part in parts.values())
        self._promised = self.spent({name: part.guarantee for name, part in parts.items()})
        self.requested = self.spent(
            {name: part.promised_at(part.requested) for name, part in parts.items()}
        ).epsilon
        # Epsilons were converted to nats per unit of distance before they were added.
        self.distance_unit = 1.0 if isinstance(self._promised, MetricLDP) else None

    @abstractmethod
    def spent(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        """The guarantee of all parts together, from one for each."""

    @abstractmethod
    def _tabled(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Exact probabilities of tuples from each part's, (m_k, K_k)."""

    @property
    def guarantee(self) -> Guarantee:
        return self._promised

    @property
    def epsilon(self) -> float:
        if isinstance(self._promised, ApproximateLDP):
            raise AttributeError(
                f"{type(self).__name__} with a delta has no epsilon of its own: see .guarantee for (epsilon, delta)"
            )
        return self._promised.epsilon

    def thresholds(self) -> dict[str, str]:
        return {}  # the parts' are in their headers

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.randomize_index(index, source)

    @property
    def is_enumerable(self) -> bool:
        return (
            all(part.is_enumerable for part in self.parts.values())
            and self.n_reports * self.domain.size <= ENUMERABLE
        )

    @property
    def n_reports(self) -> int:
        return prod(part.n_reports for part in self.parts.values())

    def _each(self) -> tuple[np.ndarray, ...]:
        """Which of every part's reports each tuple of them has, (alphabet,) each."""
        return np.unravel_index(
            np.arange(self.n_reports), [part.n_reports for part in self.parts.values()]
        )

    def outputs(self) -> Mapping[str, np.ndarray]:
        found = zip(self.parts.items(), self._each(), strict=True)
        return self.schema.join(
            {
                name: {c: array[index] for c, array in part.outputs().items()}
                for (name, part), index in found
            }
        )

    def protected(self) -> np.ndarray:
        parts = zip(self.parts.values(), self._each(), strict=True)
        return np.all([part.protected()[index] for part, index in parts], axis=0)

    def probabilities(self) -> np.ndarray:
        return self._tabled([part.probabilities() for part in self.parts.values()])

    def tally(self, reports: Reports, keep_reports: bool = False, ways: int | None = None) -> Tally:
        """Count tuples of reports. Tallies of parts add up to the tally of the whole, bit for bit.

        Args:
            reports: made by this mechanism.
            keep_reports: keep whole tuples; not for PerAttribute.
            ways: of PerAttribute, of how many attributes tables are kept.

        Raises:
            MismatchError, ReportError: as for any mechanism.
            ArgumentError: tables that would be too large; the message says which ``ways`` fit.
        """
        self.check(reports)
        return self.tally_columns(reports.columns, ways=self.kept(ways, keep_reports)).marked(
            reports.simulated
        )

    def kept(self, ways: int | None, keep_reports: bool = False) -> int | None:
        """Of how many attributes a tally keeps tables that is asked for ``ways``."""
        raise NotImplementedError

    @abstractmethod
    def tally_columns(
        self,
        columns: Mapping[str, np.ndarray],
        repeats: np.ndarray | None = None,
        ways: int | None = None,
    ) -> Tally: ...


def typed(part: Mechanism, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(columns[name]).astype(empty.dtype, copy=False)
        for name, empty in part.schema.empty(0).items()
    }
