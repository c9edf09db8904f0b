"""Mechanisms made of others: several attributes of one person, and several reports of one value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from warner._core.checks import integer, kind, same_length
from warner._core.errors import ArgumentError, ArgumentTypeError, MismatchError
from warner._core.sampling import Source
from warner._core.text import magnitude
from warner.channels import (
    Channel,
    KhatriRaoChannel,
    KroneckerChannel,
    LikelihoodOperator,
    RepeatedRows,
)
from warner.channels.tuples import products_of_columns
from warner.domains import LARGEST_SIZE, Domain, Product
from warner.domains.base import encoded_of
from warner.domains.product import require_product
from warner.mechanisms.base import ENUMERABLE, Mechanism, ReportsAbout, marginal_problem
from warner.mechanisms.device_program import program, repeated_odds
from warner.mechanisms.headers import LARGEST_PARTS, from_header
from warner.privacy.guarantees import Guarantee, compose, side_by_side
from warner.privacy.report_laws import IndependentReports, common_denominator, fractions
from warner.reports.counting import unique_rows
from warner.reports.product_schema import ProductSchema, affordable_ways, attribute_names, table_of
from warner.reports.reports import Reports, columns_of
from warner.reports.schema import Rows, distinct
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted

# -----------------------------------------------------------------------------------------------
# Mechanisms that are made of others, and those that send several reports of one person.


class MadeOfParts(Mechanism):
    """What is known of a mechanism from its parts, {name: mechanism}. Abstract."""

    parts: dict[str, Mechanism]
    _guarantee: Guarantee

    @property
    def sources(self) -> tuple[str, ...]:
        inner = (source for mechanism in self.parts.values() for source in mechanism.sources)
        return tuple(dict.fromkeys([*self.references, *inner]))

    @property
    def shows_nonresponse(self) -> bool:
        return any(mechanism.shows_nonresponse for mechanism in self.parts.values())

    @property
    def guarantee(self) -> Guarantee:
        return self._guarantee

    @property
    def sensitive(self) -> list[Any]:
        """The protected values as (part, value) pairs; [] where all are protected."""
        return [(name, value) for name, inner in self.parts.items() for value in inner.sensitive]

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.randomize_index(index, source)

    def _program_odds(self) -> dict[str, Any]:
        return {"odds": None, "odds_at_most": None}  # the programs of the parts hold theirs

    @property
    def is_enumerable(self) -> bool:
        return (
            all(mechanism.is_enumerable for mechanism in self.parts.values())
            and self.n_reports * self.domain.size <= ENUMERABLE
        )


class Combined(MadeOfParts):
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

    schema: ProductSchema
    law: IndependentReports

    def __init__(self, domain: Domain, parts: Mapping[str, Mechanism]) -> None:
        for name, inner in parts.items():
            inner.check_combinable(f"mechanisms[{name!r}]")
        several = sum(
            len(inner.parts) if isinstance(inner, Combined) else 1 for inner in parts.values()
        )
        integer(
            "number of reports", several, 1, LARGEST_PARTS, "Let each person send fewer reports"
        )
        self.domain, self.parts = domain, dict(parts)
        self.schema = ProductSchema({name: inner.schema for name, inner in parts.items()})
        self.law = IndependentReports(tuple(inner.law for inner in parts.values()))
        self.represents_interval = any(inner.represents_interval for inner in parts.values())
        self._guarantee = self.compose_guarantees(
            {name: inner.guarantee for name, inner in parts.items()}
        )
        self.requested = self.compose_guarantees(
            {name: inner.guarantee_at(inner.requested) for name, inner in parts.items()}
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
        return tuple(one for mechanism in self.parts.values() for one in mechanism.single_reports)

    def of_reports(self, reports: int) -> Guarantee:
        of_each = {name: inner.of_reports(reports) for name, inner in self.parts.items()}
        return self.compose_guarantees(of_each)

    @property
    def epsilon(self) -> float:
        if self._guarantee.delta is not None:
            raise AttributeError(
                f"{type(self).__name__} has an epsilon and a delta here. Use .guarantee, which "
                "states both"
            )
        return self._guarantee.epsilon

    def thresholds(self) -> dict[str, str]:
        return {}  # the headers of the parts hold theirs

    @property
    def n_reports(self) -> int:
        return prod(mechanism.n_reports for mechanism in self.parts.values())

    def _places(self) -> tuple[np.ndarray, ...]:
        """For each part, which of its reports every tuple holds, (n_reports,)."""
        sizes = [mechanism.n_reports for mechanism in self.parts.values()]
        return np.unravel_index(np.arange(self.n_reports), sizes)

    def outputs(self) -> Mapping[str, np.ndarray]:
        parts = zip(self.parts.items(), self._places(), strict=True)
        return self.schema.join(
            {
                name: {c: array[index] for c, array in mechanism.outputs().items()}
                for (name, mechanism), index in parts
            }
        )

    def protected(self) -> np.ndarray:
        parts = zip(self.parts.values(), self._places(), strict=True)
        return np.asarray(
            np.all([mechanism.protected()[index] for mechanism, index in parts], axis=0)
        )

    def probabilities(self) -> np.ndarray:
        return self._joint_probabilities(
            [mechanism.probabilities() for mechanism in self.parts.values()]
        )


def with_schema_types(
    mechanism: Mechanism, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Convert the columns that a sampler drew to the dtypes of its schema."""
    return {
        name: np.asarray(columns[name]).astype(empty.dtype, copy=False)
        for name, empty in mechanism.schema.empty(0).items()
    }


class PerAttribute(Combined):
    """Several attributes of one person, randomised independently (RR-Independent, RR-Ind-Joint).

        Pr(reports y_1, .., y_d | values x_1, .., x_d) = A_1[y_1, x_1] .. A_d[y_d, x_d]

    Here A_i[y, x] is the probability that the mechanism of attribute i reports y for the value x.

    Args:
        product: the attributes and their domains. {attribute: mechanism} alone is enough where
            the mechanisms are made already.
        mechanisms: {attribute: mechanism}. Instead of a mechanism on the attribute's domain, a
            function from the domain to a mechanism is allowed.

    Answers are a list of dicts, a dict of columns, or a frame. Numeric mechanisms receive the
    numbers themselves and not their bins. A tally keeps one table for every subset of ``ways``
    attributes. From it, ``estimate(tally, attributes=[...])`` gives the joint distribution of up to
    ``ways`` attributes. Epsilons add: the guarantee holds for two people who differ in every
    attribute.

    An attribute may itself be a Product, whose attributes are randomised together (RR-Clusters).
    Its answers are dicts. Estimates use the names of the attributes inside it.

    Raises:
        ArgumentError: an attribute without a mechanism, or a mechanism without an attribute.
        MismatchError: a mechanism on another domain than its attribute's.

    Source: [P5 sec 3]; METHODS 3.

    >>> from warner import Categorical, Integers, RandomizedResponse, UnaryEncoding
    >>> people = Product(smokes=Categorical(["no", "yes"]), age=Integers(18, 99))
    >>> smokes, age = (lambda d: RandomizedResponse(d, 1.0)), (lambda d: UnaryEncoding(d, 0.5))
    >>> survey = PerAttribute(people, {"smokes": smokes, "age": age})
    >>> reports = survey.randomize([{"smokes": "no", "age": 31}, {"smokes": "yes", "age": 64}])
    >>> list(reports.columns), round(survey.epsilon, 9), survey.tally(reports).ways
    (['smokes.report', 'age.bits'], 1.5, 2)
    """

    references: ClassVar[tuple[str, ...]] = ("P5",)

    domain: Product

    def __init__(
        self,
        product: Product | Mapping[str, Mechanism],
        mechanisms: Mapping[str, Mechanism | Callable[[Domain], Mechanism]] | None = None,
    ) -> None:
        product, mechanisms = _checked_parts(product, mechanisms)
        super().__init__(
            product,
            {name: made(name, mechanisms[name], d) for name, d in product.attributes.items()},
        )
        self.has_report_channel = self.schema.rows_are_reports
        masks = [inner.sensitive_mask for inner in self.parts.values()]
        if any(mask is not None for mask in masks) and product.size <= ENUMERABLE:
            # The people who hold a sensitive value in every attribute that has any. Only the
            # enumeration asks for it.
            full = [
                np.ones(d.size, dtype=bool) if mask is None else mask
                for d, mask in zip(product.attributes.values(), masks, strict=True)
            ]
            self.sensitive_mask = np.logical_and.reduce(np.meshgrid(*full, indexing="ij")).ravel()

        names = [name for inner in self.parts for name in part_domains(inner, self.parts[inner])]
        # Where two groups have an attribute of one name, each group keeps its own name.
        self._is_flat = len(set(names)) == len(names)
        self._part_of = {name: inner for inner in self.parts for name in self._own_domains(inner)}

    def _own_domains(self, name: str) -> Mapping[str, Domain]:
        """The attributes of one part by their own names, with their domains."""
        mechanism = self.parts[name]
        return part_domains(name, mechanism) if self._is_flat else {name: mechanism.domain}

    @property
    def attribute_domains(self) -> Mapping[str, Domain]:
        return {
            name: d
            for name_of_part in self.parts
            for name, d in self._own_domains(name_of_part).items()
        }

    def compose_guarantees(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        return side_by_side(guarantees)

    def about(self, attributes: Sequence[str]) -> Mechanism:
        names = {self._part_of[name] for name in self._asked(attributes)}
        chosen = {name: inner for name, inner in self.parts.items() if name in names}
        return next(iter(chosen.values())) if len(chosen) == 1 else PerAttribute(chosen)

    def distances(self, index: np.ndarray | None = None) -> np.ndarray | None:
        if self.distance_unit is None:
            return None
        # Only a single attribute keeps a metric guarantee; of several, any two values are bounded.
        (mechanism,) = self.parts.values()
        assert mechanism.distance_unit is not None
        distances = mechanism.distances(index)
        return None if distances is None else distances * mechanism.distance_unit

    def parameters(self) -> dict[str, Any]:
        return {"parts": [[name, mechanism.header] for name, mechanism in self.parts.items()]}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        if not isinstance(domain, Product):
            raise ValueError
        return cls(domain, {name: from_header(header) for name, header in parameters["parts"]})

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={mechanism!r}" for name, mechanism in self.parts.items())
        return f"PerAttribute({parts})"

    def encode(self, values: Any) -> Any:
        """Check answers and convert them to the form that the samplers take.

        Args:
            values: n answers: a list of dicts, a dict of columns, or a frame.

        Returns:
            {attribute: encoded answers}, as the method ``encode`` of each mechanism returns them.
        """
        columns = self.domain.columns(values)
        return {n: encoded_of(n, inner.encode, columns[n]) for n, inner in self.parts.items()}

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        self.check_index(index)
        places = zip(self.parts.items(), np.unravel_index(index, self.domain.shape), strict=True)
        return self.schema.join(
            {
                name: with_schema_types(mechanism, mechanism.randomize_index(positions, source))
                for (name, mechanism), positions in places
            }
        )

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        columns = self.schema.join(
            {
                name: mechanism.randomize_encoded(encoded[name], source)
                for name, mechanism in self.parts.items()
            }
        )
        same_length("values", columns)
        return columns

    def _joint_probabilities(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        joint, total = np.ones((1, 1), dtype=object), 1
        for table in tables:
            masses, whole = common_denominator(table)
            joint = (
                np.multiply.outer(joint, masses)
                .transpose(0, 2, 1, 3)
                .reshape(len(joint) * len(masses), -1)
            )
            total *= whole
        return fractions(joint, total)

    def _program(self) -> dict[str, Any]:
        parts = self.parts.items()
        programs = [
            {"name": name, "program": mechanism.device_program()} for name, mechanism in parts
        ]
        return program("each", {"parts": programs}, "parts")

    def channel(self) -> Channel:
        return self._channel_of(list(self.parts))

    def _channel_of(self, names: Sequence[str]) -> Channel:
        """The channel of tuples of some attributes' reports."""
        channels = [self.parts[name].channel() for name in names]
        return channels[0] if len(channels) == 1 else KroneckerChannel(channels)

    def allowed_ways(self, ways: int | None, keep_reports: bool | None = None) -> int | None:
        if keep_reports:
            rule = "cannot be used with several questions, because their tally keeps only counts"
            remedy = "Leave out the argument keep_reports"
            raise ArgumentError("keep_reports", rule, None, remedy)
        return affordable_ways(self.schema.parts, ways)

    def _counted(self, rows: Rows, ways: int | None, keep_reports: bool | None) -> Counted:
        return replace(self.schema, ways=self.allowed_ways(ways, keep_reports)).count(rows)

    def reports_about(self, columns: Mapping[str, np.ndarray], attribute: str) -> ReportsAbout:
        if attribute not in self.parts:
            rule = f"must be one of {', '.join(self.parts)}"
            raise ArgumentError("attribute", rule, repr(attribute))
        mechanism = self.parts[attribute]
        mechanism.require_whole_reports()
        channel, row = mechanism.channel_of_reports(self.schema.split(columns)[attribute])
        return ReportsAbout(channel, row, np.arange(len(row)))

    def channel_for(
        self, tally: Tally, attributes: Sequence[str] | None = None
    ) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
        """The estimation problem of some attributes.

        Args:
            tally: a tally of this mechanism's reports.
            attributes: the names of the attributes, in the order of the result. None for all, if
                the tables of the tally combine all attributes.

        Returns:
            The channel (m, K), the counts of its rows (m,), and the domain of the K tuples of
            values.

        Raises:
            MismatchError: a tally of another kind.
            ArgumentError: more attributes than the tally's tables combine, or more than 2^26 tuples
                of values.
        """
        ways = tally.ways
        if ways is None:
            rule = f"is of the kind {tally.kind.name!r}, which PerAttribute cannot use"
            remedy = "Count the reports again: mechanism.tally(reports)"
            raise MismatchError("tally", rule, None, remedy)
        chosen = self._asked(attributes)
        parts_of_chosen = list(dict.fromkeys(self._part_of[name] for name in chosen))
        if len(parts_of_chosen) > ways:
            rule = f"must be at most {ways} questions, because the tally counts {ways} together"
            if ways == 1:
                rule = "must be one question, because the tally counts each question by itself"
            needed = len(parts_of_chosen)
            remedy = f"Name fewer questions, or count again with ways={needed} (--ways {needed})"
            raise ArgumentError("attributes", rule, ", ".join(parts_of_chosen), remedy)
        table = table_of(self.schema.parts, tally.counts, ways, parts_of_chosen)
        if table is None:
            raise tally.impossible()
        domains = {
            name: d
            for mechanism in parts_of_chosen
            for name, d in self._own_domains(mechanism).items()
        }
        if prod(domain.size for domain in domains.values()) > LARGEST_SIZE:
            rule = f"must have at most {LARGEST_SIZE} combinations of values"
            got = magnitude(prod(domain.size for domain in domains.values()))
            raise ArgumentError("attributes", rule, got, "Name fewer questions")
        domain = Product(**domains).select(list(domains))
        problem = self._channel_of(parts_of_chosen), table.ravel(), domain
        return problem if chosen == list(domains) else marginal_problem(problem, domains, chosen)

    def _asked(self, attributes: Sequence[str] | None) -> list[str]:
        """The attributes asked for, by their own names."""
        if attributes is None:
            return list(self._part_of)
        groups = [name for name in self.parts if name not in self._part_of]
        names = attribute_names(attributes, [*self._part_of, *groups])
        # The name of attributes that are randomised together stands for all of them.
        chosen = [
            attribute
            for name in names
            for attribute in ([name] if name in self._part_of else self._own_domains(name))
        ]
        return attribute_names(chosen, list(self._part_of))


def part_domains(name: str, mechanism: Mechanism) -> Mapping[str, Domain]:
    """The attributes that one part randomises."""
    return mechanism.attribute_domains or {name: mechanism.domain}


def _checked_parts(product: Any, mechanisms: Any) -> tuple[Product, Mapping[str, Any]]:
    """The attributes and their mechanisms, refused where they are not one for each attribute."""
    if mechanisms is None and isinstance(product, Mapping):
        mechanisms = product
        for name, mechanism in mechanisms.items():
            if not isinstance(mechanism, Mechanism):
                rule = "must be a mechanism, because no Product is given"
                remedy = "For example RandomizedResponse(domain, 1.0)"
                raise ArgumentTypeError(f"mechanisms[{name!r}]", rule, kind(mechanism), remedy)
        product = Product({name: m.domain for name, m in mechanisms.items()})
    product = require_product(product)
    if not isinstance(mechanisms, Mapping):
        rule, first = "must be a dict {attribute: mechanism}", next(iter(product.attributes))
        remedy = f"For example {{{first!r}: lambda domain: RandomizedResponse(domain, 1.0)}}"
        raise ArgumentTypeError("mechanisms", rule, kind(mechanisms), remedy)
    for name in product.attributes:
        if name not in mechanisms:
            rule = f"has no mechanism for {name!r}"
            raise ArgumentError("mechanisms", rule, ", ".join(map(str, mechanisms)) or "none")
    for name in mechanisms:
        if name not in product.attributes:
            rule = f"names {name!r}, which is not a question"
            remedy = f"The questions are {', '.join(product.attributes)}"
            raise ArgumentError("mechanisms", rule, None, remedy)
    return product, mechanisms


def made(name: str, mechanism: Any, domain: Domain) -> Mechanism:
    """The mechanism of one attribute: as given, or made by a function of the domain."""
    ready = mechanism
    # A class is no such function: its constructor needs a budget too.
    if callable(mechanism) and not isinstance(mechanism, Mechanism | type):
        ready = mechanism(domain)
    if not isinstance(ready, Mechanism):
        rule = "must be a mechanism, or a function that makes one from the domain"
        got = kind(ready) if ready is mechanism else f"a function that returns {kind(ready)}"
        remedy = "For example lambda domain: RandomizedResponse(domain, 1.0)"
        raise ArgumentTypeError(f"mechanisms[{name!r}]", rule, got, remedy)
    if ready.domain != domain:
        rule = f"must have the domain of its question, {domain!r}"
        raise MismatchError(f"mechanisms[{name!r}]", rule, repr(ready.domain))
    if isinstance(ready, Combined) and not ready.schema.rows_are_reports:
        rule = (
            "sends several reports of bits for each answer, which cannot be counted together with "
            "other questions"
        )
        remedy = "Let each person send one report"
        raise ArgumentError(f"mechanisms[{name!r}]", rule, None, remedy)
    return ready


# -----------------------------------------------------------------------------------------------
# Several reports of one value.


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
    sensitive = Mechanism.sensitive  # all parts have one domain

    def __init__(
        self, mechanism: Mechanism | Sequence[Mechanism], times: int | None = None
    ) -> None:
        if isinstance(mechanism, Sequence):
            if times is not None:
                rule = "can be used only with one mechanism"
                raise ArgumentTypeError("times", rule, "a list", "Leave out the argument times")
            parts = list(mechanism)
        else:
            parts = [mechanism] * integer("times", times, 1, LARGEST_PARTS)
        _check_repeatable(parts)
        # Equal mechanisms stand together, because the order of their reports tells nothing.
        texts = {
            id(inner): repr(inner.header)
            for inner in {id(inner): inner for inner in parts}.values()
        }
        order = {
            text: i for i, text in enumerate(dict.fromkeys(texts[id(inner)] for inner in parts))
        }
        parts.sort(key=lambda inner: order[texts[id(inner)]])
        super().__init__(parts[0].domain, {str(i + 1): inner for i, inner in enumerate(parts)})
        self._runs = [
            len(list(run)) for _, run in groupby(parts, key=lambda inner: texts[id(inner)])
        ]
        masks = [inner.sensitive_mask for inner in parts if inner.sensitive_mask is not None]
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
                [mechanism.header, times]
                for mechanism, times in zip(self._distinct_parts(), self._runs, strict=True)
            ]
        }

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        parts: list[Mechanism] = []
        for header, times in parameters["parts"]:
            parts += [from_header(header)] * times
        return cls(parts)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{mechanism!r}" + (f" x {times}" if times > 1 else "")
            for mechanism, times in zip(self._distinct_parts(), self._runs, strict=True)
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
        made = [mechanism.encode(values) for mechanism in self._distinct_parts()]
        return made[0] if len(made) == 1 else made

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.schema.join(
            {
                name: with_schema_types(mechanism, mechanism.randomize_index(index, source))
                for name, mechanism in self.parts.items()
            }
        )

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        forms = [encoded] if len(self._runs) == 1 else encoded
        each = [form for form, times in zip(forms, self._runs, strict=True) for _ in range(times)]
        encoded_parts = zip(self.parts.items(), each, strict=True)
        return self.schema.join(
            {
                name: mechanism.randomize_encoded(answers, source)
                for (name, mechanism), answers in encoded_parts
            }
        )

    def _program(self) -> dict[str, Any]:
        return program("repeated", {"parts": self._programs}, "parts")

    def _program_odds(self) -> dict[str, Any]:
        return repeated_odds([(entry["program"], entry["times"]) for entry in self._programs])

    @property
    def _programs(self) -> list[dict[str, Any]]:
        """The device programs of the different mechanisms, and how often each is used."""
        return [
            {"program": mechanism.device_program(), "times": times}
            for mechanism, times in zip(self._distinct_parts(), self._runs, strict=True)
        ]

    def _joint_probabilities(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        return products_of_columns(tables)

    def channel(self) -> Channel:
        """The channel of all tuples of reports, in C order.

        The channel of a tally, from :meth:`channel_for`, has only the tuples that occur.

        Raises:
            ArgumentError: more than 2^22 pairs of a tuple and a value, or reports of bits.
        """
        if not self.schema.rows_are_reports or self.schema.rows * self.domain.size > _LARGEST_ROWS:
            rule = "has too many combinations of reports to list them"
            remedy = "Use only the reports of a tally: mechanism.channel_for(tally)"
            raise ArgumentError("mechanism", rule, magnitude(self.schema.rows), remedy)
        channels = [mechanism.channel() for mechanism in self.parts.values()]
        return KhatriRaoChannel([c.dense() for c in channels], [c.log_factors for c in channels])

    def _counted(self, rows: Rows, ways: int | None, keep_reports: bool | None) -> Counted:
        self.allowed_ways(ways)
        split = self.schema.split(rows.columns)
        records = [Reports(self.header, split[name]).record_array() for name in self.parts]
        ordered, start = [], 0
        for times in self._runs:
            ordered.append(_sorted(np.stack(records[start : start + times], axis=1)))
            start += times
        return distinct(np.concatenate(ordered, axis=1), rows, self.schema.kept_kind)

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        different, row = unique_rows(Reports(self.header, columns).record_array())
        return self.report_channel(different), row

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
        split, parts = self.schema.split(columns), list(self.parts.items())
        channels: list[LikelihoodOperator] = []
        index: list[np.ndarray] = []
        for times in self._runs:
            # Reports of equal mechanisms are in the order of their bytes: they share one channel.
            run, mechanism = parts[len(channels) : len(channels) + times], parts[len(channels)][1]
            together = {
                column: np.concatenate([split[name][column] for name, _ in run])
                for column in split[run[0][0]]
            }
            channel, row = mechanism.channel_of_reports(together)
            channels += [channel] * times
            index += np.split(row, times)
        return RepeatedRows(channels, np.stack(index, axis=1))


def _check_repeatable(parts: Sequence[Mechanism]) -> None:
    """Refuse mechanisms that cannot be repeated together."""
    if not parts:
        raise ArgumentError("mechanism", "must have at least one mechanism", "none")
    for mechanism in parts:
        if not isinstance(mechanism, Mechanism) or isinstance(mechanism, Combined):
            rule = "must be a mechanism that sends one report, or a list of such mechanisms"
            raise ArgumentTypeError("mechanism", rule, kind(mechanism))
        if not mechanism.has_report_channel:
            rule = "cannot be repeated, because it sends a digit for each key and not one report"
            remedy = "Use key='direct'"
            raise ArgumentError("mechanism", rule, type(mechanism).__name__, remedy)
        if mechanism.domain != parts[0].domain:
            rule = "must be a list of mechanisms with the same domain"
            raise MismatchError("mechanism", rule, f"{mechanism.domain!r} and {parts[0].domain!r}")


def _sorted(records: np.ndarray) -> np.ndarray:
    """Sort the reports (n, t, bytes) of equal mechanisms by their bytes; returns (n, t * bytes)."""
    n, times, width = records.shape
    if times > 1:
        whole = np.ascontiguousarray(records).view(np.dtype((np.void, width))).reshape(n, times)
        records = np.sort(whole, axis=1).view(np.uint8)
    return np.ascontiguousarray(records).reshape(n, times * width)
