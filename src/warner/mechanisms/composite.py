"""Mechanisms that send several reports of one person: their common base."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.sampling import Source
from warner.domains import Domain
from warner.mechanisms.base import ENUMERABLE, Mechanism
from warner.mechanisms.headers import LARGEST_PARTS
from warner.privacy.guarantees import Guarantee
from warner.privacy.report_laws import Independent
from warner.reports.product_schema import ProductSchema


class Combined(Mechanism):
    """Several reports of one person, each with independent randomness. Abstract.

    Args:
        domain: the values that a person answers with.
        parts: {name: mechanism}. All parts together send at most 10,000 reports.

    Attributes:
        parts: {name: mechanism}; the columns of the reports are called ``name.column``.

    Raises:
        ArgumentError: a part that cannot be combined, or too many reports.
    """

    is_of_studies = False  # a study combines attributes and reports itself

    parts: dict[str, Mechanism]
    schema: ProductSchema
    law: Independent

    def __init__(self, domain: Domain, parts: Mapping[str, Mechanism]) -> None:
        for name, part in parts.items():
            part.check_combinable(f"mechanisms[{name!r}]")
        several = sum(
            len(part.parts) if isinstance(part, Combined) else 1 for part in parts.values()
        )
        integer("number of reports", several, 1, LARGEST_PARTS, "Use fewer reports of one person")
        self.domain, self.parts = domain, dict(parts)
        self.schema = ProductSchema({name: part.schema for name, part in parts.items()})
        self.law = Independent(tuple(part.law for part in parts.values()))
        self.represents_interval = any(part.represents_interval for part in parts.values())
        self._guarantee = self.compose_guarantees(
            {name: part.guarantee for name, part in parts.items()}
        )
        self.requested = self.compose_guarantees(
            {name: part.guarantee_at(part.requested) for name, part in parts.items()}
        ).epsilon
        # guarantee_at converts epsilons to nats per unit of distance before they are added.
        self.distance_unit = 1.0 if self._guarantee.is_metric else None

    @abstractmethod
    def compose_guarantees(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        """The guarantee of all parts together.

        Args:
            guarantees: {name of a part: the guarantee of that part}.
        """

    @abstractmethod
    def _joint_probabilities(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Exact probabilities of tuples of reports from those of each part, (m_k, K_k)."""

    @property
    def single_reports(self) -> tuple[Mechanism, ...]:
        return tuple(one for part in self.parts.values() for one in part.single_reports)

    @property
    def sources(self) -> tuple[str, ...]:
        inner = (source for part in self.parts.values() for source in part.sources)
        return tuple(dict.fromkeys([*self.references, *inner]))

    @property
    def shows_silence(self) -> bool:
        return any(part.shows_silence for part in self.parts.values())

    @property
    def guarantee(self) -> Guarantee:
        return self._guarantee

    @property
    def epsilon(self) -> float:
        if self._guarantee.delta is not None:
            raise AttributeError(
                f"{type(self).__name__} with a delta has no epsilon of its own: "
                "see .guarantee for (epsilon, delta)"
            )
        return self._guarantee.epsilon

    def thresholds(self) -> dict[str, str]:
        return {}  # the headers of the parts hold theirs

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.randomize_index(index, source)

    def _program_odds(self) -> dict[str, Any]:
        return {"odds": None, "odds_at_most": None}  # the programs of the parts hold theirs

    @property
    def is_enumerable(self) -> bool:
        return (
            all(part.is_enumerable for part in self.parts.values())
            and self.n_reports * self.domain.size <= ENUMERABLE
        )

    @property
    def n_reports(self) -> int:
        return prod(part.n_reports for part in self.parts.values())

    def _places(self) -> tuple[np.ndarray, ...]:
        """For each part, which of its reports every tuple holds, (n_reports,)."""
        sizes = [part.n_reports for part in self.parts.values()]
        return np.unravel_index(np.arange(self.n_reports), sizes)

    def outputs(self) -> Mapping[str, np.ndarray]:
        parts = zip(self.parts.items(), self._places(), strict=True)
        return self.schema.join(
            {
                name: {c: array[index] for c, array in part.outputs().items()}
                for (name, part), index in parts
            }
        )

    def protected(self) -> np.ndarray:
        parts = zip(self.parts.values(), self._places(), strict=True)
        return np.asarray(np.all([part.protected()[index] for part, index in parts], axis=0))

    def probabilities(self) -> np.ndarray:
        return self._joint_probabilities([part.probabilities() for part in self.parts.values()])


def with_schema_types(part: Mechanism, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Convert the columns that a sampler drew to the dtypes of its schema."""
    return {
        name: np.asarray(columns[name]).astype(empty.dtype, copy=False)
        for name, empty in part.schema.empty(0).items()
    }
