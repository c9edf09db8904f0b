"""What every mechanism is: a law declared once, and everything that follows from it.

A new mechanism states its layout (what a report looks like), its law (exact odds), how it samples, its channel, and, for
the audit, all its reports with their exact probabilities. Checks, serialisation, tallying, headers come from here.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import budget, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    ReportError,
    ValuesError,
    message,
)
from warner._core.exact import check_epsilon, realise
from warner._core.sampling import Source
from warner.channels import Channel, SupportChannel, SupportRows
from warner.domains import LARGEST_SIZE, Domain
from warner.privacy.guarantees import LDP, ApproximateLDP, Guarantee, MetricLDP
from warner.privacy.report_laws import INFINITE, Law, OneHotBits, TwoLevel, apart, epsilon_of
from warner.reports.reports import Reports
from warner.reports.schema import ReportSchema, columns_from
from warner.reports.tally import Tally, require_same

ENUMERABLE = 2**16  # probabilities that an audit compares one by one
_CHUNK = 2**16  # people randomised at a time: what bounds memory, and fits the cache


class Mechanism(ABC):
    """A local randomiser on a domain: ``randomize`` on the device, ``tally`` and ``channel`` at the collector.

    Attributes:
        domain: what a person can answer.
        requested: the epsilon asked for, in nats.
        epsilon: the epsilon of what is really sampled: at most ``requested``, computed from the integer thresholds.
        guarantee: the same as a fact that composes.
        layout: the columns of a report.
        law: the exact odds of whole reports.
        guarded: which values are protected (K,), None where all are.
        unit: the distance of two values that epsilon is for, where privacy is metric; None where it is for any two.
        binned: whether a value of the domain stands for many answers, which reports tell apart better than bins.
    """

    represents_interval = False
    distance_unit: float | None = None

    sensitive_mask: np.ndarray | None = None

    version = 1  # of the mechanism's law and report format; raised when either changes
    # Set by every subclass's constructor:
    domain: Domain
    requested: float
    schema: ReportSchema
    law: Law

    def _start(self, domain: Any, epsilon: Any, infinite: bool = False) -> None:
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
                    str(domain.size),
                    "Use PerAttribute",
                )
            )
        self.domain = domain
        self.requested = budget(epsilon, infinite=infinite)
        if self.requested != float("inf"):
            check_epsilon(self.requested)

    @property
    def epsilon(self) -> float:
        return self._realised

    @cached_property
    def _realised(self) -> float:
        ratio = self.law.ratio()
        if ratio == INFINITE or self.requested == float("inf"):
            return epsilon_of(ratio)
        return realise(self.requested, ratio, 1)

    @property
    def guarantee(self) -> Guarantee:
        return LDP(self.epsilon)

    def promised_at(self, epsilon: float) -> Guarantee:
        """The guarantee that this mechanism would give at ``epsilon``, which is for values ``unit`` apart, as ``requested`` is.

        A metric guarantee is per unit of distance: this is the one place that converts.
        """
        promised = self.guarantee
        if isinstance(promised, MetricLDP):
            assert self.distance_unit is not None
            return MetricLDP.at(epsilon, self.distance_unit, promised.diameter)
        return replace(promised, epsilon=epsilon)

    @property
    def sensitive(self) -> list[Any]:
        """The values that are protected where not all are, in the domain's order; none where all are."""
        return (
            []
            if self.sensitive_mask is None
            else self.domain.decode(np.flatnonzero(self.sensitive_mask))
        )

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Constructor arguments other than domain and epsilon, as JSON data."""

    @abstractmethod
    def thresholds(self) -> dict[str, str]:
        """The integers that are really compared with, in hexadecimal: the law, to the last bit."""

    @abstractmethod
    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Reports of the people whose answers :meth:`encode` made ``index`` (n,), as the layout's columns."""

    @abstractmethod
    def channel(self) -> Channel:
        """The channel of this mechanism's tallies: values to rows of counts."""

    def outputs(self) -> Mapping[str, np.ndarray]:
        """Every report that can be sent, once, as columns. For audits of small instances; reports of bits say which they are."""
        return self.schema.all_reports()

    @abstractmethod
    def probabilities(self) -> np.ndarray:
        """Exact probability (Fraction) of each of ``outputs`` under each value: object array (m, K)."""

    def protected(self) -> np.ndarray:
        """Which of ``outputs`` the guarantee bounds, (m,): all, except where some values are not protected [P2 def 2]."""
        return np.ones(self.n_reports, dtype=bool)

    def distances(self, index: Any = None) -> np.ndarray | None:
        """How far apart values are, in ``unit``, (K, K) or those at ``index``; None where epsilon is for any two."""
        if self.distance_unit is None:
            return None
        points = np.zeros((0, 1)) if self.domain.points is None else self.domain.points
        points = points if index is None else points[index]
        return apart(points) / self.distance_unit

    @property
    def is_enumerable(self) -> bool:
        """Whether there are few enough reports and values for ``probabilities`` to be listed and compared."""
        return self.n_reports * self.domain.size <= ENUMERABLE

    @property
    def n_reports(self) -> int:
        """How many different reports there are."""
        return self.schema.n_reports

    @cached_property
    def header(self) -> dict[str, Any]:
        """What reports and tallies carry: all that is needed to rebuild this mechanism, and to refuse any other."""
        promised = self.guarantee
        header = {
            "mechanism": type(self).__name__,
            "version": self.version,
            "domain": self.domain.spec(),
            "domain_sha256": self.domain.digest,
            "requested": _finite(self.requested),
            "epsilon": _finite(promised.epsilon),
            **({"delta": promised.delta} if isinstance(promised, ApproximateLDP) else {}),
            "parameters": self.parameters(),
            "thresholds": self.thresholds(),
        }
        return json.loads(canonical(header))  # as it will come back from a file, tuples as lists

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        return cls(domain, epsilon, **parameters)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        more = "".join(f", {k}={show(v)}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({self.domain!r}, {self.requested!r}{more})"

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Randomise one value per person, each on its own.

        Args:
            values: n answers in the domain (list, array or column).
            rng: None for the operating system's randomness, which real answers need; a ``numpy.random.Generator`` makes
                a repeatable simulation, and the reports are marked as simulated.

        Returns:
            Reports: n reports in the order of ``values``.

        Raises:
            ValuesError: an answer outside the domain, by position; nothing is sent then.
            EmptyError: no answers.
        """
        source = Source(rng)
        return Reports(
            self.header, self.randomize_encoded(self.encode(values), source), source.simulated
        )

    def encode(self, values: Any) -> np.ndarray:
        """Answers, checked, in the form that the sampler takes: their indices, except for mechanisms of numbers."""
        return self.domain.encode(values)

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Report columns of people with the domain's values at ``index`` (n,)."""
        if not (int(index.min()) >= 0 and int(index.max()) < self.domain.size):
            raise ArgumentError(message("index", f"must lie in 0..{self.domain.size - 1}"))
        return self.randomize_encoded(index, source)

    def randomize_encoded(self, encoded: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Report columns of what :meth:`encode` made, (n,), in chunks of bounded size."""
        columns = self.schema.empty(len(encoded))
        for start in range(0, len(encoded), _CHUNK):
            rows = slice(start, start + _CHUNK)
            for name, part in self._sample(encoded[rows], source).items():
                columns[name][rows] = part
        return columns

    def reports(self, outputs: Any) -> Reports:
        """Foreign outputs, made elsewhere, as reports of this mechanism; each is checked against the layout.

        Args:
            outputs: one integer column, a dict of columns, or for bit reports an (n, K) array of zeros and ones.

        Raises:
            ReportError: outputs that this mechanism cannot have sent.
        """
        return Reports(self.header, columns_from(self.schema, outputs))

    def tally(self, reports: Reports, keep_reports: bool = False) -> Tally:
        """Count reports. Tallies of parts add up to the tally of the whole, bit for bit.

        Args:
            reports: made by this mechanism.
            keep_reports: for reports of K bits, keep the distinct reports instead of their bit sums, for the likelihood of
                whole reports; the tally then grows with n. Other tallies stay as they are.

        Raises:
            MismatchError: reports of another mechanism, budget, domain or version.
            ReportError: reports that this mechanism cannot have sent.
        """
        self.check(reports)
        if keep_reports and self.schema.can_keep_reports:
            counted = self.schema.count_distinct(reports.columns)
            return Tally(self.header, *counted).marked(reports.simulated)
        return self.tally_columns(reports.columns).marked(reports.simulated)

    def tally_columns(
        self,
        columns: Mapping[str, np.ndarray],
        repeats: np.ndarray | None = None,
        ways: int | None = None,
    ) -> Tally:
        """The tally of checked columns.

        Args:
            columns: the columns of n reports.
            repeats: how often each report counts, int64 (n,); None for once each.
            ways: of PerAttribute, how many attributes a marginal table has.

        Raises:
            ArgumentError: ``ways`` for a mechanism of one attribute.
        """
        if ways is not None:
            raise ArgumentError(
                message(
                    "ways",
                    "goes with reports of several attributes",
                    type(self).__name__,
                    "Leave it out",
                )
            )
        return Tally(self.header, *self.schema.count(columns, repeats))

    def channel_for(
        self, tally: Tally, attributes: Any = None
    ) -> tuple[Channel, np.ndarray, Domain]:
        """What a tally of this mechanism says: a channel, how often each of its rows was seen, and the values.

        ``attributes``: of which of several, in which order; see PerAttribute.
        """
        if attributes is not None:
            raise ArgumentError(
                message(
                    "attributes",
                    "go with reports of several",
                    type(self).__name__,
                    "Leave them out, or tally tuples: PerAttribute, --ways 2",
                )
            )
        if tally.rows is not None:
            return self.report_channel(tally.rows), tally.counts, self.domain
        if tally.ways is not None:
            raise MismatchError(
                message(
                    "tally",
                    f"of tuples does not go with {type(self).__name__}",
                    str(tally.kind),
                    "Was the file altered?",
                )
            )
        return self.channel(), tally.row_counts, self.domain

    def report_channel(self, rows: np.ndarray) -> Channel:
        """The channel of single reports of K bits, given as packed bits: rows 1 + (e - 1) b, by the law's exact ratio e."""
        support = self.channel()
        if not isinstance(support, SupportChannel):
            raise MismatchError(
                message("tally", f"of single reports does not go with {type(self).__name__}")
            )
        self.schema.check({"bits": rows})
        assert isinstance(self.law, TwoLevel | OneHotBits)
        factors = self.law.log_least(
            np.bitwise_count(rows).sum(axis=1, dtype=np.int64), self.domain.size
        )
        gain = float(self.law.ratio() - 1)
        return SupportRows(
            rows,
            self.domain.size,
            1.0,
            gain,
            support.q,
            support.gap,
            log_factors=factors,
            ones=support.ones,
        )

    def check(self, reports: Reports) -> None:
        """Refuse what is not reports of this mechanism, to the last bit of its law, with the columns and values it can send."""
        if not isinstance(reports, Reports):
            raise ArgumentTypeError(
                message(
                    "reports",
                    "must be Reports",
                    kind(reports),
                    "Check foreign outputs in with mechanism.reports(outputs)",
                )
            )
        require_same(self.header, reports.header, "mechanism and reports")
        if len(reports) == 0:
            raise EmptyError(message("reports", "must not be empty"))
        expected = self.schema.empty(0)
        if reports.columns.keys() != expected.keys():
            raise ReportError(
                message("reports", f"must have the columns {', '.join(expected)} and no others")
            )
        for name, column in expected.items():
            found = reports.columns[name]
            if found.dtype != column.dtype or found.shape[1:] != column.shape[1:]:
                raise ReportError(
                    message(
                        "reports",
                        f"column {name!r} must be {column.dtype} of shape (n, *{column.shape[1:]})",
                    )
                )
        self.schema.check(reports.columns)


def _finite(value: float) -> float | str:
    """JSON has no infinity."""
    return "inf" if value == float("inf") else value


def sensitive_mask(domain: Domain, sensitive: Any) -> np.ndarray:
    """Which values are sensitive, (K,) booleans, from a checked list. They are parameters, known to all: messages may name them."""
    if (
        isinstance(sensitive, str | bytes)
        or not hasattr(sensitive, "__iter__")
        or (isinstance(sensitive, np.ndarray) and not sensitive.ndim)
    ):
        raise ArgumentTypeError(message("sensitive", "must be a list of values", kind(sensitive)))
    values = sensitive if isinstance(sensitive, np.ndarray) else list(sensitive)
    if not len(values):
        raise ArgumentError(
            message(
                "sensitive",
                "must name at least one value: without any, values would be sent as they are",
                None,
                "Name what deserves protection",
            )
        )
    try:
        index = domain.encode(values)
    except ValuesError as error:
        problem = message(
            "sensitive",
            f"value {error.position} is not in the domain of {domain.size} values",
            repr(values[error.position]),
        )
    else:
        if len(np.unique(index)) < len(index):
            raise ArgumentError(
                message(
                    "sensitive",
                    "values must be distinct, and in different bins",
                    f"{len(index)} with repetitions",
                )
            )
        mask = np.zeros(domain.size, dtype=bool)
        mask[index] = True
        return mask
    raise ArgumentError(problem)
