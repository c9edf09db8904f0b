"""The facts that device and collector share: domain, budget, guarantee, law, header."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from warner._core.canonical_json import canonical
from warner._core.checks import budget, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError, message
from warner._core.exact import check_epsilon, realise
from warner._core.figures import magnitude
from warner._core.pickles import without_cached
from warner._core.references import bibtex_of
from warner.domains import LARGEST_SIZE, Domain
from warner.privacy.guarantees import LDP, Guarantee
from warner.privacy.likelihood_ratios import INFINITE, epsilon_of
from warner.privacy.report_laws import Law
from warner.reports.schema import ReportSchema


class Description(ABC):
    """The facts that identify a mechanism. Abstract.

    Args:
        domain: K values.
        epsilon: budget in nats.
        infinite: whether an infinite budget is allowed.

    Attributes:
        domain: the values that a person can answer.
        requested: the argument ``epsilon``, in nats.
        epsilon: the epsilon of the law that is sampled, computed from integer thresholds.
        guarantee: the privacy guarantee of one report.
        schema: the columns of a report.
        law: the exact distribution of reports.
        sensitive_mask: which values are protected, (K,); None where all are.
        distance_unit: with metric privacy, ``epsilon`` bounds two values at this distance. None
            where ``epsilon`` bounds any two values.
        represents_interval: whether a value of the domain stands for an interval of answers.
            Reports can then distinguish answers within one bin of the domain.
        version: the version of the law and of the report format. It is raised when either changes.
        is_of_studies: whether a study file can name the mechanism.
        takes_keys: whether a study file must state the keys of a key-value mechanism.
        leaves_silence_out: whether the mechanism is made on the answers alone, where silence is a
            value, and goes with it by :func:`~warner.mechanisms.with_silence`.
        takes_tags: whether a study file may state tags, whose placeholders join the values.
        references: the sources, as keys of the package's list or as BibTeX entries.
        not_options: the constructor's arguments that a study file cannot set as options.
    """

    is_of_studies: ClassVar[bool] = True
    takes_keys: ClassVar[bool] = False
    takes_tags: ClassVar[bool] = False
    leaves_silence_out: ClassVar[bool] = False
    not_options: ClassVar[frozenset[str]] = frozenset({"domain", "epsilon"})
    references: ClassVar[tuple[str, ...]] = ()

    represents_interval = False
    distance_unit: float | None = None
    sensitive_mask: np.ndarray | None = None
    version = 1
    # Set by every subclass's constructor:
    domain: Domain
    requested: float
    schema: ReportSchema
    law: Law

    def __init__(self, domain: Domain, epsilon: float, infinite: bool = False) -> None:
        if not isinstance(domain, Domain):
            raise ArgumentTypeError(
                message(
                    "domain", "must be a Domain", kind(domain), "For labels use Categorical([...])"
                )
            )
        if domain.size > LARGEST_SIZE:
            raise ArgumentError(
                message(
                    "domain",
                    f"must have at most {LARGEST_SIZE} values",
                    magnitude(domain.size),
                    "Use PerAttribute",
                )
            )
        self.domain = domain
        self.requested = budget(epsilon, infinite=infinite)
        if not math.isinf(self.requested):
            check_epsilon(self.requested)

    @property
    def epsilon(self) -> float:
        return self._realised_epsilon

    @cached_property
    def _realised_epsilon(self) -> float:
        """The logarithm of the law's worst ratio, checked against the budget."""
        ratio = self.law.ratio()
        if ratio == INFINITE or math.isinf(self.requested):
            return epsilon_of(ratio)
        return realise(self.requested, ratio, 1)

    def check_realisable(self) -> None:
        """Refuse a budget that 64-bit thresholds cannot realise. Every constructor calls this last.

        Raises:
            BudgetError: the law of the integer thresholds misses the requested epsilon.
        """
        # A subclass that changes the law calls this again, after the constructor of its base.
        vars(self).pop("_realised_epsilon", None)
        _ = self.epsilon

    @property
    def values_per_person(self) -> int:
        """The number of values that each person holds. A report is about one of them."""
        return 1

    @property
    def single_reports(self) -> tuple[Description, ...]:
        """The mechanisms of the single reports that one person sends, in their order."""
        return (self,)

    @property
    def attribute_domains(self) -> Mapping[str, Domain]:
        """The attributes whose shares can be estimated: {name: domain}; {} for one question.

        Attributes that are randomised together are listed separately.
        """
        return self.domain.attributes

    @property
    def guarantee(self) -> Guarantee:
        return LDP(self.epsilon)

    def guarantee_at(self, epsilon: float) -> Guarantee:
        """The guarantee that this mechanism would give at another epsilon.

        Args:
            epsilon: in nats, with the meaning of ``requested``. With metric privacy it bounds two
                values that are ``distance_unit`` apart.

        Returns:
            Guarantee: at this epsilon. With metric privacy its epsilon is the argument divided by
                ``distance_unit``, in nats per unit of distance.
        """
        return self.guarantee.with_epsilon(epsilon, self.distance_unit)

    @property
    def sensitive(self) -> list[Any]:
        """The protected values in the domain's order; an empty list where all are protected."""
        if self.sensitive_mask is None:
            return []
        return self.domain.decode(np.flatnonzero(self.sensitive_mask))

    @property
    def shows_silence(self) -> bool:
        """Whether a report can show that its sender gave no answer, since that is not sensitive."""
        if self.sensitive_mask is None:
            return False
        domain, shown = self.domain.untagged, np.flatnonzero(~self.sensitive_mask)
        if not domain.attributes:
            return domain.silence is not None and domain.silence in shown
        index = np.unravel_index(shown, domain.shape)
        parts = zip(domain.attributes.values(), index, strict=True)
        return any(part.silence is not None and part.silence in own for part, own in parts)

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments other than domain and epsilon, as JSON data."""

    @abstractmethod
    def thresholds(self) -> dict[str, str]:
        """The integers that the sampler compares with, in hexadecimal."""

    @cached_property
    def header(self) -> dict[str, Any]:
        """JSON data that can rebuild this mechanism. Reports and tallies carry them."""
        promised = self.guarantee
        header = {
            "mechanism": type(self).__name__,
            "version": self.version,
            "domain": self.domain.spec(),
            "domain_sha256": self.domain.digest,
            "requested": _finite(self.requested),
            "epsilon": _finite(promised.epsilon),
            **({} if promised.delta is None else {"delta": promised.delta}),
            "parameters": self.parameters(),
            "thresholds": self.thresholds(),
        }
        # Read back as from a file, so that tuples are lists.
        as_read: dict[str, Any] = json.loads(canonical(header))
        return as_read

    def __eq__(self, other: object) -> bool:
        """Mechanisms of one class with the same law, domain and budget are equal."""
        return (
            isinstance(other, Description)
            and type(self) is type(other)
            and (self is other or self._identity == other._identity)
        )

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> str:
        """What makes two mechanisms of one class equal: the header, as a digest."""
        return hashlib.sha256(canonical(self.header).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without those that are computed from others on first use."""
        return without_cached(self)

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        """The mechanism of a header's domain, requested epsilon and parameters."""
        return cls(domain, epsilon, **parameters)

    @classmethod
    def from_study(
        cls,
        domain: Domain,
        epsilon: float,
        options: Mapping[str, Any],
        keys: Domain | None = None,
        tags: Sequence[str] | None = None,
    ) -> Self:
        """The mechanism that a study file states for an attribute.

        Args:
            domain: the domain of the attribute.
            epsilon: budget in nats.
            options: {name: value}, further arguments of the constructor.
            keys: the domain of the keys, needed where ``takes_keys``; else None.
            tags: the names of the tags, only where ``takes_tags``; else None.
        """
        return cls(domain, epsilon=epsilon, **options)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of this mechanism, and of those that it combines."""
        return self.references

    def bibtex(self) -> str:
        """The sources of the mechanism as BibTeX entries, to be cited with its results.

        >>> from warner import Categorical, SubsetSelection
        >>> print(SubsetSelection(Categorical(["a", "b", "c"]), 1.0).bibtex().splitlines()[0])
        @article{ye2018,
        """
        return bibtex_of(self.sources)

    def __repr__(self) -> str:
        more = "".join(f", {k}={show(v)}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({self.domain!r}, {self.requested!r}{more})"


def _finite(value: float) -> float | str:
    """The value, or "inf": JSON has no infinity."""
    return "inf" if math.isinf(value) else value
