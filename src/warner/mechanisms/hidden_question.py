"""Reports that hide which question a person answered: one true answer among fake ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.checks import budget, integer, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.exact import ONE, log_ratio
from warner._core.sampling import Edges, Source
from warner.channels import Channel, DirectChannel, LikelihoodOperator, SupportChannel
from warner.domains import Domain, Product
from warner.domains.product import require_product
from warner.mechanisms.base import Mechanism
from warner.mechanisms.bit_vectors import SubsetSelection, reports_of_bits
from warner.mechanisms.composite import PerAttribute
from warner.mechanisms.direct import RandomizedResponse
from warner.mechanisms.headers import from_header
from warner.mechanisms.one_of import (
    as_rows,
    best_mechanism,
    mechanisms_of,
    positive_weights,
    variance_of_tables,
    widths_of,
)
from warner.privacy.guarantees import LDP, Guarantee
from warner.privacy.report_laws import ReportDistribution, TwoProbabilities
from warner.reports.counting import unique_rows


class WithFakes(Mechanism):
    """One attribute's report of :class:`HiddenQuestion`, by itself: of the answer or of a fake one.

        Pr(report y | value x) = pi A[y, x] + (1 - pi) F[y],   F[y] = sum_v g_v A[y, v]

    Here A is the law of a mechanism, pi the odds that its question is the one that is answered, and
    g the public shares of fake values. ``epsilon`` is what this report alone tells. The reports of
    one person together tell more: see :class:`HiddenQuestion`, which makes these mechanisms.

    Args:
        mechanism: randomised response or subset selection.
        share: pi as an integer over 2^64.
        fakes: g as integers that add up to 2^64; None for uniform values.

    >>> from warner import Categorical
    >>> half = WithFakes(RandomizedResponse(Categorical(["no", "yes"]), 2.0), 2**63)
    >>> half.channel().dense().round(3).tolist()  # gap tanh(1) / 2
    [[0.69, 0.31], [0.31, 0.69]]
    """

    is_of_studies = False  # a study hides the question of all its attributes together
    references = ("arcolezi2021", "arcolezi2023")
    for_papers = True

    law: TwoProbabilities

    def __init__(
        self, mechanism: Mechanism, share: int, fakes: Sequence[int] | None = None
    ) -> None:
        if not isinstance(mechanism, RandomizedResponse | SubsetSelection):
            rule = "must all be RandomizedResponse or SubsetSelection"
            raise ArgumentTypeError("mechanisms", rule, kind(mechanism))
        if fakes is not None and isinstance(mechanism, SubsetSelection):
            rule = (
                "cannot be chosen for SubsetSelection, which always draws fake answers with equal "
                "probabilities"
            )
            remedy = "Leave out the argument fakes, or use RandomizedResponse"
            raise ArgumentError("fakes", rule, None, remedy)
        if fakes is not None and (len(fakes) != mechanism.domain.size or sum(fakes) != ONE):
            rule = "must be one whole number for each value, and add up to 2^64"
            raise ArgumentError("fakes", rule)
        self.mechanism = mechanism
        self.share = integer("share", share, 1, ONE, "Pass the odds times 2^64, such as 2**63")
        self.fakes = None if fakes is None else tuple(fakes)
        self.domain, self.schema = mechanism.domain, mechanism.schema
        self.represents_interval = mechanism.represents_interval
        self._edges = None if fakes is None else Edges.of(fakes)
        self._drawn = Fraction(share, ONE)
        # A report that few fakes make tells most.
        law, other = mechanism.law, (1 - self._drawn) * self.fake_law[0]
        self.law = TwoProbabilities(
            self._drawn * law.high + other, self._drawn * law.low + other, law.log_scale
        )
        self.requested = self.epsilon

    @cached_property
    def fake_law(self) -> tuple[Fraction, Fraction]:
        """The least and the largest F[y], in the unit of the mechanism's law."""
        law, size = self.mechanism.law, self.domain.size
        if self.fakes is None:
            members = self.mechanism.subset if isinstance(self.mechanism, SubsetSelection) else 1
            mean = law.low + (law.high - law.low) * Fraction(members, size)
            return mean, mean
        least, most = (Fraction(width, ONE) for width in (min(self.fakes), max(self.fakes)))
        return law.low + (law.high - law.low) * least, law.low + (law.high - law.low) * most

    @cached_property
    def _realised_epsilon(self) -> float:
        ratio = self.law.ratio()
        return log_ratio(ratio.numerator, ratio.denominator)

    def parameters(self) -> dict[str, Any]:
        fakes = None if self.fakes is None else [hex(width) for width in self.fakes]
        return {"mechanism": self.mechanism.header, "share": hex(self.share), "fakes": fakes}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        fakes = parameters["fakes"]
        widths = None if fakes is None else [int(width, 16) for width in fakes]
        return cls(from_header(parameters["mechanism"]), int(parameters["share"], 16), widths)

    def thresholds(self) -> dict[str, str]:
        return self.mechanism.thresholds()

    def draw_fakes(self, n: int, source: Source) -> np.ndarray:
        """The fake values of n people, (n,) indices."""
        if self._edges is None:
            return source.uniform(self.domain.size, n)
        return source.among(self._edges, n)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        drawn = source.below(self.share, len(index))
        values = np.where(drawn, index, self.draw_fakes(len(index), source))
        return self.mechanism.randomize_encoded(values, source)

    def channel(self) -> Channel:
        inner, share = self.mechanism.channel(), self.share / ONE
        fakes = 1 / self.domain.size if self.fakes is None else np.array(self.fakes) / ONE
        q, gap = inner.q + (1 - share) * inner.gap * fakes, share * inner.gap
        if isinstance(inner, SupportChannel):
            return SupportChannel(self.domain.size, q, gap, ones=inner.ones)
        return DirectChannel(self.domain.size, q.astype(np.float64), float(gap[0]))

    def report_channel(self, rows: np.ndarray) -> LikelihoodOperator:
        if isinstance(self.mechanism, RandomizedResponse):
            return super().report_channel(rows)
        return reports_of_bits(self, rows)

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        if isinstance(self.mechanism, RandomizedResponse):
            return super().channel_of_reports(columns)
        different, row = unique_rows(columns["bits"])
        return self.report_channel(different), row

    @property
    def is_enumerable(self) -> bool:
        return self.mechanism.is_enumerable

    @property
    def n_reports(self) -> int:
        return self.mechanism.n_reports

    def outputs(self) -> Mapping[str, np.ndarray]:
        return self.mechanism.outputs()

    def fake_probabilities(self) -> np.ndarray:
        """F (m,), as Fractions in the order of :meth:`outputs`."""
        size = self.domain.size
        if self.fakes is None:
            shares = [Fraction(1, size)] * size
        else:
            shares = [Fraction(width, ONE) for width in self.fakes]
        return np.asarray(self.mechanism.probabilities() @ np.array(shares, dtype=object))

    def probabilities(self) -> np.ndarray:
        others = (1 - self._drawn) * self.fake_probabilities()
        return np.asarray(self._drawn * self.mechanism.probabilities() + others[:, None])


@dataclass(frozen=True)
class HiddenReports(ReportDistribution):
    """Reports of which one is true, by public odds; nobody sees which.

    Pr(y_1 .. y_d | x_1 .. x_d) = (sum_b pi_b A_b[y_b, x_b] / F_b[y_b]) F_1[y_1] .. F_d[y_d]
    """

    parts: tuple[WithFakes, ...]

    @property
    def audit_method(self) -> str:
        return "computed exactly, as a sum over the questions that can be the true one"

    def _terms(self) -> list[tuple[Fraction, tuple[Fraction, Fraction], Fraction, Fraction]]:
        """Of each part pi, the least and largest F, and the two probabilities of its mechanism."""
        laws = [(p, p.mechanism.law) for p in self.parts]
        return [(Fraction(p.share, ONE), p.fake_law, law.high, law.low) for p, law in laws]

    def ratio(self) -> Fraction:
        """The largest ratio between two people who may differ in all answers."""
        # max sum_b pi_b high_b / F_b over sum_b pi_b low_b / F_b, where each F_b may be its least
        # or its largest: Dinkelbach's iteration, which ends at the exact maximum after a few steps.
        best = Fraction(0)
        while True:
            chosen = [
                (share / (fakes[0] if high > best * low else fakes[1]), high, low)
                for share, fakes, high, low in self._terms()
            ]
            ratio = sum((w * high for w, high, _ in chosen), Fraction(0)) / sum(
                (w * low for w, _, low in chosen), Fraction(0)
            )
            if ratio == best:
                return ratio
            best = ratio

    def ratio_of_one_answer(self) -> Fraction:
        """The largest ratio between two people who differ in one answer."""
        terms = self._terms()
        least = [share * low / fakes[1] for share, fakes, _, low in terms]
        ratios = []
        for (share, fakes, high, low), alone in zip(terms, least, strict=True):
            others = sum(least, Fraction(0)) - alone
            ratios.append((share * high / fakes[0] + others) / (share * low / fakes[0] + others))
        return max(ratios)


class HiddenQuestion(PerAttribute):
    """One question answered, chosen by chance, and fake answers to all others (RS+FD, RS+RFD).

        Pr(y_1 .. y_d | x_1 .. x_d) = sum_b pi_b A_b[y_b, x_b] prod_{a != b} F_a[y_a]

    A device draws one attribute b by public odds pi, and sends the report of its mechanism A_b on
    the true value, and for every other attribute a report on a fake value, whose law is F_a. So a
    report has one part for each attribute, and nobody is told which of them is true.

    What it protects, and what it costs:

    - ``epsilon`` holds for any two people. For two people who differ in *all* answers the fakes
      are no protection: whichever answer was true, it was randomised once. So ``epsilon`` is that
      of one report, as for :class:`OneOf`.
    - ``epsilon_of_one_answer`` holds for two people who differ in one answer. It is smaller:
      ln((exp(epsilon) + d - 1) / d) for d attributes with equal odds and equally many values. It is
      the guarantee in the papers, where epsilon is ln(d (exp(e) - 1) + 1) for a wanted e.
    - Fakes are noise. At one epsilon, the variance of a share is d times that of :class:`OneOf`
      (:attr:`cost`), and nothing is told of how two answers go together.

    Args:
        product: at least two attributes and their domains.
        epsilon: the budget of one person in nats; None where each mechanism has its own.
        mechanisms: {attribute: mechanism}, or a function (domain, epsilon) -> mechanism. They are
            RandomizedResponse or SubsetSelection; None takes whichever errs less.
        odds: {attribute: weight}; None for the weights with the least sum of variances.
        fakes: {attribute: {value: share}}, public shares of the fake values of some attributes,
            such as an old census. They are better hidden the closer these are to the true shares.
            Other fakes are uniform. Never take them from the answers that are to be protected.

    Attributes:
        parts: {attribute: the mechanism of its report by itself}, see :class:`WithFakes`.
        blocks: the attribute that is answered, as :class:`OneOf` has blocks.
        odds: pi of each attribute as integers that add up to 2^64.

    Raises:
        ArgumentError, ArgumentTypeError: fewer than two attributes, mechanisms of other classes,
            weights that are not positive, or fakes that are no shares.

    Source: Arcolezi et al. (2021), and (2023) for public fake values; METHODS 3.

    >>> from warner import Categorical, estimate
    >>> yes_no = Categorical(["no", "yes"])
    >>> survey = HiddenQuestion(Product(smokes=yes_no, drinks=yes_no), 2.0)
    >>> reports = survey.randomize([{"smokes": "no", "drinks": "yes"}] * 5000)
    >>> list(reports.columns), round(survey.epsilon, 9), round(survey.epsilon_of_one_answer, 3)
    (['smokes.report', 'drinks.report'], 2.0, 1.434)
    >>> drinks = estimate(survey.tally(reports), attributes=["drinks"])
    >>> bool(drinks.probabilities[1] > 0.8)
    True
    """

    references = ("arcolezi2021", "arcolezi2023")
    for_papers = True

    parts: dict[str, WithFakes]  # type: ignore[assignment]

    def __init__(
        self,
        product: Product,
        epsilon: float | None = None,
        mechanisms: Mapping[str, Any] | Callable[[Domain, float], Mechanism] | None = None,
        odds: Mapping[str, float] | None = None,
        fakes: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> None:
        require_product(product, 2)
        shares = _fakes(product, {} if fakes is None else fakes)
        inner = _mechanisms(product, epsilon, mechanisms, shares)
        if odds is None:
            # sum_a V_a / pi_a^2 is least where pi_a is proportional to the cube root of V_a.
            variances = [variance_of_tables(m.channel(), [m.domain.size]) for m in inner.values()]
            weights = [variance ** (1 / 3) for variance in variances]
        else:
            weights = positive_weights("odds", list(product.attributes), odds)
        self._complete(
            product,
            {
                name: WithFakes(inner[name], width, shares.get(name))
                for name, width in zip(product.attributes, widths_of(weights), strict=True)
            },
        )

    def _complete(self, product: Product, parts: Mapping[str, WithFakes]) -> None:
        """Take over the mechanisms of the attributes, and their odds."""
        self._law = HiddenReports(tuple(parts.values()))
        super().__init__(product, parts)
        self.takers, self.blocks = dict(parts), tuple((name,) for name in parts)
        self.law = self._law  # type: ignore[assignment]
        self.odds = tuple(mechanism.share for mechanism in parts.values())
        self._odds_edges = Edges.of(self.odds)
        self.requested = max(mechanism.mechanism.requested for mechanism in parts.values())

    def compose_guarantees(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        return LDP(self._law.worst_epsilon())

    def check_combinable(self, argument: str) -> None:
        rule = (
            "cannot be combined with other mechanisms, because HiddenQuestion hides which question "
            "was answered"
        )
        remedy = "Put all questions into one HiddenQuestion"
        raise ArgumentError(argument, rule, "HiddenQuestion", remedy)

    @property
    def epsilon_of_one_answer(self) -> float:
        """The epsilon for two people who differ in one answer and agree in all others, in nats."""
        ratio = self._law.ratio_of_one_answer()
        return log_ratio(ratio.numerator, ratio.denominator)

    @property
    def cost(self) -> float:
        """What hiding costs: the sum of the shares' variances over that of OneOf at this epsilon.

            (sum_a V_a / pi_a^2) / (sum_a sqrt(V_a))^2

        V_a is the variance of an answered question, for uniform answers and fakes. With default
        odds and alike attributes it is d, their number. Where no variance is finite it is infinity.

        >>> from warner import Integers
        >>> ten = Product(**{f"q{i}": Integers(1, 4) for i in range(10)})
        >>> round(HiddenQuestion(ten, 2.0).cost, 2)
        10.0
        """
        variances = [
            variance_of_tables(mechanism.mechanism.channel(), [mechanism.domain.size])
            for mechanism in self.parts.values()
        ]
        hidden = sum(v * (ONE / w) ** 2 for v, w in zip(variances, self.odds, strict=True))
        return float(hidden / sum(v**0.5 for v in variances) ** 2)

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        if not isinstance(domain, Product) or len(domain.attributes) < 2:
            raise ValueError
        parts = {name: from_header(header) for name, header in parameters["parts"]}
        if not all(isinstance(mechanism, WithFakes) for mechanism in parts.values()):
            raise ValueError
        checked: dict[str, WithFakes] = parts  # type: ignore[assignment]
        if sum(mechanism.share for mechanism in checked.values()) != ONE:
            raise ValueError
        self = cls.__new__(cls)
        self._complete(domain, checked)
        return self

    def __repr__(self) -> str:
        return f"HiddenQuestion({', '.join(self.parts)}; epsilon={self.requested!r})"

    # The device.

    def encode(self, values: Any) -> np.ndarray:
        """Check answers and convert them to indices.

        Args:
            values: n answers to all questions: a list of dicts, a dict of columns, or a frame.

        Returns:
            A structured array (n,) with a field for each question.
        """
        return as_rows(super().encode(values))

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        self.check_index(index)
        places = np.unravel_index(index, self.domain.shape)
        return self.randomize_encoded(as_rows(dict(zip(self.parts, places, strict=True))), source)

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        n = len(encoded)
        drawn = source.among(self._odds_edges, n)
        # Every question is randomised in one way, whether its answer is true or fake.
        answers = {
            name: np.where(drawn == number, encoded[name], mechanism.draw_fakes(n, source))
            for number, (name, mechanism) in enumerate(self.parts.items())
        }
        return self.schema.join(
            {
                name: mechanism.mechanism.randomize_encoded(answers[name], source)
                for name, mechanism in self.parts.items()
            }
        )

    def _program(self) -> dict[str, Any]:
        raise self._no_program()

    # The collector: each question by itself.

    def _channel_of(self, names: Sequence[str]) -> Channel:
        if len(names) > 1:
            raise _one_by_one(f"{len(names)}")
        return super()._channel_of(names)

    def _asked(self, attributes: Sequence[str] | None) -> list[str]:
        chosen = super()._asked(attributes)
        if len({self._part_of[name] for name in chosen}) > 1:
            raise _one_by_one("all" if attributes is None else ", ".join(chosen))
        return chosen

    def allowed_ways(self, ways: int | None, keep_reports: bool | None = None) -> int | None:
        if ways is not None and ways != 1:
            rule = (
                "must be 1, because only one answer of a person is true and pairs of answers tell "
                "nothing"
            )
            raise ArgumentError("ways", rule, str(ways), "Leave out the argument ways")
        return super().allowed_ways(1, keep_reports)

    # The audit.

    def probabilities(self) -> np.ndarray:
        true = [mechanism.mechanism.probabilities() for mechanism in self.parts.values()]
        fake = [
            np.repeat(mechanism.fake_probabilities()[:, None], mechanism.domain.size, axis=1)
            for mechanism in self.parts.values()
        ]
        total: np.ndarray = np.array(Fraction(0))
        for number, width in enumerate(self.odds):
            tables = [true[i] if i == number else fake[i] for i in range(len(true))]
            total = total + Fraction(width, ONE) * self._joint_probabilities(tables)
        return total


def _one_by_one(got: str) -> ArgumentError:
    """The error of several attributes together."""
    rule = "must name one question, because only one answer of a person is true"
    return ArgumentError("attributes", rule, got, "Pass attributes=[name]")


def _fakes(product: Product, fakes: Any) -> dict[str, list[int]]:
    """The public shares of fake values as integers that add up to 2^64."""
    if not isinstance(fakes, Mapping):
        rule = "must be a dict {attribute: shares of the random answers to it}"
        raise ArgumentTypeError("fakes", rule, kind(fakes))
    widths = {}
    for name, shares in fakes.items():
        if name not in product.attributes:
            rule = f"must name only the questions {', '.join(product.attributes)}"
            raise ArgumentError("fakes", rule, show(name))
        domain = product.attributes[name]
        # A value that is never a fake would say that its answer is true.
        weights = positive_weights(f"fakes[{name!r}]", domain.labels, shares)
        if abs(sum(weights) - 1) > 1e-6:
            rule = "must be shares that add up to 1"
            raise ArgumentError(f"fakes[{name!r}]", rule, f"{sum(weights):.6g}")
        widths[name] = widths_of(weights)
    return widths


def _mechanisms(
    product: Product, epsilon: float | None, mechanisms: Any, fakes: Mapping[str, Any]
) -> dict[str, Mechanism]:
    """The mechanism of each attribute, on true and fake values alike."""
    if mechanisms is None and epsilon is not None:
        # Subsets with public fakes have no closed law.
        mechanisms = {
            name: (RandomizedResponse if name in fakes else best_mechanism)(d, budget(epsilon))
            for name, d in product.attributes.items()
        }
    blocks = [(name,) for name in product.attributes]
    parts = mechanisms_of(product, blocks, mechanisms, epsilon)
    return dict(zip(product.attributes, parts, strict=True))
