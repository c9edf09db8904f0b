"""One block of questions for each person: drawn by public odds, answered with the whole epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from warner._core.checks import budget, integer, kind, real, same_length
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
)
from warner._core.exact import ONE
from warner._core.sampling import Edges, Source
from warner._core.special import bdtr, bdtrc
from warner._core.text import canonical, magnitude
from warner.channels import Channel, LiftedChannel, LikelihoodOperator, StackChannel, stacked
from warner.domains import LARGEST_SIZE, Domain, Product
from warner.domains.base import encoded_of
from warner.domains.product import require_product
from warner.mechanisms.base import ENUMERABLE, Mechanism, ReportsAbout
from warner.mechanisms.bit_vectors import SubsetSelection
from warner.mechanisms.composite import Combined, MadeOfParts, PerAttribute, made, with_schema_types
from warner.mechanisms.device_program import numbers, program
from warner.mechanisms.direct import RandomizedResponse
from warner.mechanisms.headers import MECHANISMS
from warner.privacy.guarantees import Guarantee, add_up, one_of, side_by_side
from warner.privacy.report_laws import OneOfReports
from warner.reports.block_schema import BlockSchema, block_name, rows_of_blocks
from warner.reports.product_schema import attribute_names
from warner.reports.reports import Reports
from warner.reports.tally import Tally
from warner.reports.tally_kinds import BlockTables, Counted

if TYPE_CHECKING:  # an estimate needs no more of it than its tallies
    from warner.mechanisms.permanent import Permanent

MOST_BLOCKS = 10_000
_BY_CHANCE = 1e-6  # the p-value below which somebody chooses questions
_FINE = 2**20  # parts into which the odds are rounded, so that every machine has the same odds

Block = tuple[str, ...]
Maker = Callable[[Domain, float], Mechanism]


class OneOf(MadeOfParts):
    """Each person answers one block of questions, drawn by public odds, with the whole epsilon.

        Pr(block b, report y | answers x) = pi_b A_b[y, x_b]

    A device draws the block b with probability pi_b, which depends on no answer, and reports b and
    the report y of the block's mechanism on the answers x_b in it. The odds of b cancel in
    likelihood ratios, so the guarantee is that of one block: epsilon is not divided by the number
    of questions. With ten questions at epsilon 2, the squared error of their shares is about a
    tenth of what :class:`PerAttribute` has at epsilon 2 / 10 each (docs/estimators.md).

    Args:
        product: the questions and their domains.
        epsilon: the budget of one person, in nats; None where ``mechanisms`` are given by block.
        blocks: "attributes" for blocks of one question; "pairs" for all pairs of questions; or a
            list of names and tuples of names, such as ``[("smokes", "drinks"), "age"]``;
            :func:`warner.mechanisms.cover_of_pairs` makes one that holds all pairs.
        mechanisms: {block: mechanism}, or {block: a function from the block's domain to a
            mechanism}, where a block is a name or a tuple of names; or one function (domain,
            epsilon) -> mechanism for all blocks. None takes randomised response or subset
            selection, whichever errs less.
        odds: {block: weight}. None takes weights proportional to the square root of each block's
            variance, which makes the sum of squared errors of all tables least; or equal weights
            where a block's reports do not support single values.
        ask: how many questions a person answers, each at epsilon / ask. Its blocks are all sets of
            so many questions, whose answers are randomised separately.

    A tally counts each block for itself. ``estimate(tally, attributes=["smokes"])`` takes the
    reports on all blocks that hold the question, and two questions can be estimated together where
    some block holds both. The guarantee is the largest of the blocks'.

    Where each block is one question, randomised by :class:`Permanent`, a device draws its question
    once and for good, and keeps the draw beside its permanent reports: then all its rounds spend
    what those on one question do. A question that is drawn anew in each round spends anew.

    Attributes:
        blocks: the names of the questions in each block.
        parts: {name of a block: its mechanism}; the name is that of its questions, joined by " x ".
        odds: the odds of each block as integers that add up to 2^64.
        permanent: {question: its :class:`Permanent`}, where one is drawn for good; {} otherwise.

    Raises:
        ArgumentError: a question in no block, a block twice, or more than 10,000 blocks.
        ArgumentTypeError: no Product, or no mechanism.
        MismatchError: a mechanism on another domain than its block's.

    Source: Wang et al. (2019) for single questions, Zhang et al. (2018) for larger blocks;
    METHODS 3.

    >>> from warner import Categorical, estimate
    >>> yes_no = Categorical(["no", "yes"])
    >>> survey = OneOf(Product(smokes=yes_no, drinks=yes_no), 2.0)
    >>> reports = survey.randomize([{"smokes": "no", "drinks": "yes"}] * 2000)
    >>> list(reports.columns), round(survey.epsilon, 9)
    (['block', 'report'], 2.0)
    >>> drinks = estimate(survey.tally(reports), attributes=["drinks"])
    >>> bool(drinks.n < 2000), bool(drinks.probabilities[1] > 0.8)
    (True, True)
    """

    is_of_studies = False  # a study states how many questions a person answers
    has_report_channel = False
    references = ("wang2019", "zhang2018")

    domain: Product
    schema: BlockSchema
    law: OneOfReports

    def __init__(
        self,
        product: Product,
        epsilon: float | None = None,
        blocks: str | Sequence[str | Sequence[str]] = "attributes",
        mechanisms: Mapping[Any, Any] | Maker | None = None,
        odds: Mapping[Any, float] | None = None,
        ask: int = 1,
    ) -> None:
        require_product(product, 2)
        questions = integer("ask", ask, 1, len(product.attributes))
        self.domain = product
        self.blocks = _blocks(product, blocks, questions)
        parts = mechanisms_of(product, self.blocks, mechanisms, epsilon, questions)
        weights = _default_weights(parts)
        if odds is not None:
            given = by_block(odds) if isinstance(odds, Mapping) else odds
            weights = positive_weights("odds", self.blocks, given)
        self._complete(parts, widths_of(weights))

    def _complete(self, parts: Sequence[Mechanism], odds: Sequence[int]) -> None:
        """Take over the mechanisms of the blocks, and their odds."""
        names = [block_name(block) for block in self.blocks]
        self.parts = dict(zip(names, parts, strict=True))
        self.permanent: dict[str, Permanent] = {
            name: cast("Permanent", inner)
            for name, inner in self.parts.items()
            if inner.is_permanent
        }
        if self.permanent and (len(self.permanent) < len(parts) or max(map(len, self.blocks)) > 1):
            rule = "can be Permanent only if all of them are, and each question is asked alone"
            raise ArgumentError("mechanisms", rule, f"Permanent for {', '.join(self.permanent)}")
        self.odds = tuple(odds)
        self._edges = Edges.of(self.odds)
        schemas = {
            name: replace(inner.schema, ways=len(inner.parts))
            if isinstance(inner, PerAttribute)
            else inner.schema
            for name, inner in self.parts.items()
        }
        self.schema = BlockSchema(schemas, max(map(len, self.blocks)))
        self.law = OneOfReports(tuple(inner.law for inner in parts))
        self.represents_interval = any(inner.represents_interval for inner in parts)
        self._guarantee = one_of({name: inner.guarantee for name, inner in self.parts.items()})
        self.requested = one_of(
            {name: inner.guarantee_at(inner.requested) for name, inner in self.parts.items()}
        ).epsilon
        # A question that stands in several blocks is taken as an index, which all of them know.
        alone = {block[0]: inner for block, inner in self._items() if len(block) == 1}
        several = {name for block in self.blocks if len(block) > 1 for name in block}
        attributes = self.domain.attributes
        self.takers = {n: d if n in several else alone[n] for n, d in attributes.items()}
        # Where an attribute stands among all attributes.
        self._axis = {name: axis for axis, name in enumerate(self.domain.attributes)}
        masks = [inner.sensitive_mask for inner in parts]
        if any(mask is not None for mask in masks) and self.domain.size <= ENUMERABLE:
            # The people who hold a sensitive value in every block that has any. Only the
            # enumeration asks for it.
            self.sensitive_mask = np.logical_and.reduce(
                [
                    mask[self._index_in(block)]
                    for block, mask in zip(self.blocks, masks, strict=True)
                    if mask is not None
                ]
            )

    def _index_in(self, block: Block) -> np.ndarray:
        """The index in the block's domain of each tuple of all answers, (K,)."""
        places = np.unravel_index(np.arange(self.domain.size), self.domain.shape)
        shape = [self.domain.attributes[name].size for name in block]
        return np.ravel_multi_index([places[self._axis[name]] for name in block], shape)

    @property
    def epsilon(self) -> float:
        return self._guarantee.epsilon

    def of_reports(self, reports: int) -> Guarantee:
        if self.permanent:  # all of them are about the question that was drawn for good
            return one_of({n: inner.of_reports(reports) for n, inner in self.permanent.items()})
        return super().of_reports(reports)

    def about(self, attributes: Sequence[str]) -> Mechanism:
        chosen = []
        for block, inner in self._items():
            if names := [name for name in block if name in attributes]:
                chosen.append(inner.about(names))
        # A question that several blocks hold can have the same mechanism in all of them.
        is_one = len(chosen) == 1 or len(set(attributes)) == 1
        return chosen[0] if is_one and all(each == chosen[0] for each in chosen) else self

    def check_combinable(self, argument: str) -> None:
        rule = (
            "cannot be combined with other mechanisms, because a person is asked only some "
            "questions"
        )
        raise ArgumentError(argument, rule, "OneOf", "Put all questions into one OneOf")

    # The header.

    def parameters(self) -> dict[str, Any]:
        return {
            "parts": [
                [list(block), {key: inner.header[key] for key in _STATED}]
                for block, inner in self._items()
            ],
            "odds": [hex(width) for width in self.odds],
        }

    def thresholds(self) -> dict[str, str]:
        # Those of all blocks, in the order of the blocks.
        return {
            f"{name}: {event}": value
            for name, inner in self.parts.items()
            for event, value in inner.thresholds().items()
        }

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        if not isinstance(domain, Product):
            raise ValueError
        self = cls.__new__(cls)
        self.domain = domain
        named = [tuple(names) for names, _ in parameters["parts"]]
        self.blocks = _blocks(domain, named)
        parts = []
        for block, (_, header) in zip(self.blocks, parameters["parts"], strict=True):
            inner = MECHANISMS[header["mechanism"]]
            if header["version"] != inner.version:
                raise ValueError
            requested = math.inf if header["requested"] == "inf" else header["requested"]
            of_block = inner._rebuild(domain.select(block), requested, header["parameters"])
            _check_part(block_name(block), of_block)
            parts.append(of_block)
        odds = [int(width, 16) for width in parameters["odds"]]
        if len(odds) != len(parts) or sum(odds) != ONE or min(odds) <= 0:
            raise ValueError
        self._complete(parts, odds)
        return self

    def __repr__(self) -> str:
        shown = [block_name(block) for block in self.blocks[:4]]
        more = f", ... {len(self.blocks) - 4} more" if len(self.blocks) > 4 else ""
        return f"OneOf({', '.join(shown)}{more}; epsilon={self.requested!r})"

    # The device.

    def encode(self, values: Any) -> np.ndarray:
        """Check answers and convert them to the forms that the blocks' samplers take.

        Args:
            values: n answers to all questions: a list of dicts, a dict of columns, or a frame.

        Returns:
            A structured array (n,) with a field for each question: as the mechanism encodes it
            that asks it alone, and indices of questions in larger blocks.
        """
        columns = self.domain.columns(values)
        takers = self.takers.items()
        return as_rows({n: encoded_of(n, taker.encode, columns[n]) for n, taker in takers})

    def draw_blocks(self, n: int, source: Source) -> np.ndarray:
        """Draw the blocks of n people, (n,) numbers in 0..B-1, before any answer is looked at."""
        return source.among(self._edges, n)

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        if self.permanent and rng is None:
            self.encode(values)  # whose errors come first
            rule = (
                "must be randomised on each person's device, which keeps the question that was "
                "drawn for the person"
            )
            remedy = "Use warner.Device. To simulate one round, pass rng="
            raise ArgumentError("values", rule, None, remedy)
        return super().randomize(values, rng)

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        drawn = self.draw_blocks(len(encoded), source)
        return self.randomize_drawn(drawn, encoded, source)

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        self.check_index(index)
        columns = np.unravel_index(index, self.domain.shape)
        of_all = dict(zip(self.domain.attributes, columns, strict=True))
        return self.randomize_drawn(self.draw_blocks(len(index), source), of_all, source, True)

    def randomize_drawn(
        self, drawn: np.ndarray, answers: Any, source: Source, by_index: bool = False
    ) -> dict[str, np.ndarray]:
        """The reports of people with these blocks, from encoded answers or from indices."""
        items, reports = self._items(), {}
        for number, people in rows_of_blocks(drawn):
            block, inner = items[number]
            inside = [answers[name][people] for name in block]
            if by_index or isinstance(self.takers[block[0]], Domain):
                shape = [self.domain.attributes[name].size for name in block]
                columns = inner.randomize_index(np.ravel_multi_index(inside, shape), source)
            else:
                columns = inner.randomize_encoded(inside[0], source)
            reports[number] = with_schema_types(inner, columns)
        return self.schema.join(drawn, reports)

    def _items(self) -> list[tuple[Block, Mechanism]]:
        """The blocks and their mechanisms."""
        return list(zip(self.blocks, self.parts.values(), strict=True))

    def _program(self) -> dict[str, Any]:
        programs = [inner.device_program() for inner in self.parts.values()]
        texts = [canonical(one) for one in programs]
        different = list(dict.fromkeys(texts))
        blocks = [
            {"attributes": list(block), "program": different.index(text)}
            for block, text in zip(self.blocks, texts, strict=True)
        ]
        fields = {
            "draw": numbers(self.odds),
            "blocks": blocks,
            "programs": [programs[texts.index(text)] for text in different],
        }
        return program("one_of", fields, "parts")

    # The collector.

    def allowed_ways(self, ways: int | None, keep_reports: bool | None = None) -> int | None:
        most = self.schema.ways
        if ways is not None and ways > most:
            rule = f"must be at most {most}, because no person is asked more questions"
            raise ArgumentError("ways", rule, str(ways), "Leave out the argument ways")
        return most

    def block_tallies(
        self, tally: Tally, attributes: Sequence[str] | None = None
    ) -> dict[str, Tally]:
        """The tally of each block, as its own mechanism counts reports.

        Args:
            tally: of all people together.
            attributes: blocks that hold no question of these are left out; None keeps all.

        Returns:
            {name of the block: Tally}, also of blocks that nobody drew.

        Raises:
            MismatchError: a tally that no reports of this mechanism have.

        >>> from warner import Categorical
        >>> coin = Categorical(["no", "yes"])
        >>> survey = OneOf(Product(smokes=coin, drinks=coin), 2.0, odds={"smokes": 3, "drinks": 1})
        >>> tally = survey.tally(survey.randomize([{"smokes": "no", "drinks": "no"}] * 100))
        >>> sum(one.n for one in survey.block_tallies(tally).values())
        100
        """
        if not isinstance(tally.kind, BlockTables) or not self.schema.may_have(
            tally.counts, tally.n
        ):
            raise tally.impossible()
        tallies = {}
        for block, (name, inner), (n, counts) in zip(
            self.blocks, self.parts.items(), self.schema.of_tally(tally.counts), strict=True
        ):
            if attributes is not None and set(attributes).isdisjoint(block):
                continue
            table = self.schema.parts[name].tally_kind
            counted = Counted.together(table, counts, n)
            tallies[name] = Tally(inner.header, counted, None, tally.simulated)
        return tallies

    def channel_for(
        self, tally: Tally, attributes: Sequence[str] | None = None
    ) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
        """The estimation problem of some questions, from the reports on all blocks that hold any.

        Args:
            tally: a tally of this mechanism's reports.
            attributes: the names of the questions, in the order of the result; None for all.

        Returns:
            The channel (m, K), which stacks the blocks' channels; the counts of its rows (m,); and
            the domain of the K tuples of values. The people of the blocks are fewer than those of
            the tally where blocks hold none of the questions.

        Raises:
            MismatchError: a tally of another kind.
            EmptyError: nobody was asked any of these questions.
            ArgumentError: questions that stand in no block together, or more than 2^26 tuples.
        """
        names = list(self.domain.attributes)
        chosen = names if attributes is None else attribute_names(attributes, names)
        tallies = self.block_tallies(tally, chosen)
        self._require_together(chosen, tallies, attributes is None)
        domain = self.domain.select(chosen)
        if domain.size > LARGEST_SIZE:
            rule = f"must have at most {LARGEST_SIZE} combinations of values"
            remedy = "Name fewer questions"
            raise ArgumentError("attributes", rule, magnitude(domain.size), remedy)
        shape = [self.domain.attributes[name].size for name in chosen]
        # Blocks whose reports have one law are one group of people.
        groups: dict[str, tuple[Channel, int, np.ndarray]] = {}
        for block, (name, inner) in zip(self.blocks, self.parts.items(), strict=True):
            of_block = tallies.get(name)
            if of_block is None or not of_block.n:
                continue
            inside = [one for one in chosen if one in block]
            several = inside if len(block) > 1 else None
            channel, counts, _ = inner.channel_for(of_block, several)
            assert isinstance(channel, Channel)
            axes = [chosen.index(one) for one in inside]
            if inside != chosen:
                channel = LiftedChannel(channel, shape, axes)
            key = _law_of(channel, axes)
            if key in groups:
                first, n, total = groups[key]
                groups[key] = first, n + of_block.n, total + counts
            else:
                groups[key] = channel, of_block.n, counts
        if not groups:
            rule = f"nobody in this tally was asked {', '.join(chosen)}"
            remedy = "Name a question that somebody was asked"
            raise EmptyError("attributes", rule, None, remedy)
        counts = np.concatenate([counts for _, _, counts in groups.values()])
        if len(groups) == 1:
            return next(iter(groups.values()))[0], counts, domain
        stack = StackChannel(
            [channel for channel, _, _ in groups.values()], [n for _, n, _ in groups.values()]
        )
        return stack, counts, domain

    def asks_together(self, attributes: Sequence[str]) -> bool:
        return any(set(attributes) <= set(block) for block in self.blocks)

    def were_asked(self, tally: Tally, attributes: Sequence[str]) -> bool:
        """Whether somebody was asked these questions, of several each two together."""
        tallies = self.block_tallies(tally, attributes)
        return all(
            any(tallies[name].n for name in self._that_hold(pair))
            for pair in combinations(attributes, min(len(attributes), 2))
        )

    def uneven_draw(self, tally: Tally) -> str:
        # The number of reports about a block is binomial, whatever people answer. One person's
        # reports may all be about one block, so that they count as one. The tails are those of the
        # block farthest from its odds, times the number of tails that could have been so far.
        people = np.array([n for n, _ in self.schema.of_tally(tally.counts)])
        chances = np.array(self.odds, dtype=float) / ONE
        expected, most = tally.n * chances, tally.reports_per_person
        worst = int(np.argmax(np.abs(people - expected) / np.sqrt(expected + most)))
        seen, n, chance = round(people[worst] / most), tally.n // most, chances[worst]
        tail = min(bdtr(seen, n, chance), bdtrc(seen - 1, n, chance))
        if 2 * len(people) * float(tail) >= _BY_CHANCE:
            return ""
        return (
            f"Questions were not drawn as the study says: {people[worst]:,} of {tally.n:,} reports "
            f"are about {list(self.parts)[worst]!r}, but about {expected[worst]:,.0f} are "
            "expected. This happens by chance in fewer than one of a million surveys. Perhaps a "
            "program draws in another way, people leave when they see their question, or reports "
            "are forged. Estimates are right only if the draw does not depend on answers."
        )

    def _that_hold(self, questions: Sequence[str]) -> list[str]:
        """The names of the blocks that hold all of these questions."""
        named = zip(self.blocks, self.parts, strict=True)
        return [name for block, name in named if set(questions) <= set(block)]

    def _require_together(
        self, chosen: Sequence[str], tallies: Mapping[str, Tally], are_all: bool
    ) -> None:
        """Refuse questions of which no person was asked two together."""
        for pair in combinations(chosen, 2):
            both = self._that_hold(pair)
            if not both:
                if are_all:
                    rule = "must be given, because no person was asked all questions"
                    remedy = f"For example attributes=[{chosen[0]!r}]"
                    raise ArgumentError("attributes", rule, None, remedy)
                rule = "must be asked of the same people, but nobody is asked both questions"
                remedy = (
                    'Estimate one question at a time, or ask pairs: blocks="pairs" (in a study: '
                    'each = "pair")'
                )
                raise ArgumentError("attributes", rule, " and ".join(pair), remedy)
            if not any(tallies[name].n for name in both):
                rule = (
                    "must be asked of the same people, but nobody in this tally was asked both "
                    "questions"
                )
                remedy = "Estimate one question at a time"
                raise EmptyError("attributes", rule, " and ".join(pair), remedy)

    def channel(self) -> Channel:
        """The channel of all questions: the blocks' channels, as many of each as its odds say."""
        shape = self.domain.shape
        channels = [
            LiftedChannel(inner.channel(), shape, [self._axis[name] for name in block])
            for block, inner in self._items()
        ]
        return StackChannel(channels, [max(1, width >> 20) for width in self.odds])

    def reports_about(self, columns: Mapping[str, np.ndarray], attribute: str) -> ReportsAbout:
        """The reports of people who were asked a question, of blocks that tell of it by itself."""
        channels: list[LikelihoodOperator] = []
        rows: list[np.ndarray] = []
        people: list[np.ndarray] = []
        if attribute not in self._axis:
            rule = f"must be one of {', '.join(self._axis)}"
            raise ArgumentError("attribute", rule, repr(attribute))
        for number, in_block, reports in self.schema.each_block(columns):
            block, inner = self._items()[number]
            about = _about(inner, reports, block, attribute) if attribute in block else None
            if about is None:
                continue
            channels.append(about.channel)
            rows.append(about.row + sum(channel.shape[0] for channel in channels[:-1]))
            people.append(in_block[about.people])
        if not channels:
            rule = (
                "must be a question that somebody was asked alone, or together with others by "
                "RandomizedResponse"
            )
            remedy = 'Ask this question alone: blocks="attributes" (in a study: each = "one")'
            raise EmptyError("attribute", rule, repr(attribute), remedy)
        together = stacked(channels, [len(one) for one in people])
        channel = channels[0] if len(channels) == 1 else together
        return ReportsAbout(channel, np.concatenate(rows), np.concatenate(people))

    # The audit.

    @property
    def n_reports(self) -> int:
        return sum(inner.n_reports for inner in self.parts.values())

    def outputs(self) -> Mapping[str, np.ndarray]:
        reports = {i: inner.outputs() for i, inner in enumerate(self.parts.values())}
        sizes = [inner.n_reports for inner in self.parts.values()]
        return self.schema.join(np.repeat(np.arange(len(sizes)), sizes), reports)

    def protected(self) -> np.ndarray:
        return np.concatenate([inner.protected() for inner in self.parts.values()])

    def probabilities(self) -> np.ndarray:
        blocks = zip(self._items(), self.odds, strict=True)
        return np.concatenate(
            [
                inner.probabilities()[:, self._index_in(block)] * Fraction(width, ONE)
                for (block, inner), width in blocks
            ]
        )


def permanent_of(name: str, mechanism: Mechanism) -> Mapping[str, Permanent]:
    """{question: its Permanent} of a mechanism whose devices keep reports over rounds; else {}."""
    if isinstance(mechanism, OneOf):
        return mechanism.permanent
    return {name: cast("Permanent", mechanism)} if mechanism.is_permanent else {}


def permanent_of_people(mechanisms: Mapping[str, Mechanism]) -> list[dict[str, Permanent]]:
    """{question: its Permanent} of people of each kind: of drawn questions, one has one for good.

    [] where some reports are not kept over rounds.
    """
    kept_of = {name: permanent_of(name, mechanism) for name, mechanism in mechanisms.items()}
    if not all(kept_of.values()):
        return []
    if any(isinstance(mechanism, OneOf) for mechanism in mechanisms.values()):
        return [{name: inner} for of in kept_of.values() for name, inner in of.items()]
    return [{name: inner for of in kept_of.values() for name, inner in of.items()}]


def of_changed_answers(people: Sequence[Mapping[str, Permanent]]) -> tuple[int, Guarantee]:
    """The most different answers to a question that a device reports, and what all of it tells.

    Answers may change, and rounds may be as many as there are.
    """
    most = max(inner.values for of in people for inner in of.values())
    spent = [side_by_side({name: m.of_values() for name, m in of.items()}) for of in people]
    return most, max(spent, key=lambda guarantee: guarantee.total)


def as_rows(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """A structured array (n,) of the encoded answers (n, ...) to each question."""
    same_length("values", columns)
    fields = [(name, column.dtype, column.shape[1:]) for name, column in columns.items()]
    rows = np.empty(len(next(iter(columns.values()))), dtype=fields)
    for name, column in columns.items():
        rows[name] = column
    return rows


_STATED = ("mechanism", "version", "requested", "parameters")  # of a block's mechanism, in headers


def _blocks(
    product: Product, blocks: str | Sequence[str | Sequence[str]], ask: int = 1
) -> tuple[Block, ...]:
    """The names of the questions in each block, checked."""
    names = list(product.attributes)
    if ask > 1 and blocks != "attributes":
        rule = 'can be used only with blocks="attributes"'
        raise ArgumentError("ask", rule, str(ask), "Leave out the argument blocks")
    if isinstance(blocks, str):
        sizes = {"attributes": ask, "pairs": 2}
        if blocks not in sizes:
            rule = "must be 'attributes', 'pairs' or a list of names and tuples of names"
            remedy = f"For example blocks={[*names[:1], tuple(names[1:3])]!r}"
            raise ArgumentError("blocks", rule, repr(blocks), remedy)
        listed = list(combinations(names, sizes[blocks]))
    else:
        if not isinstance(blocks, Sequence):
            rule = "must be a list of names and tuples of names"
            raise ArgumentTypeError("blocks", rule, kind(blocks))
        listed = [
            tuple(attribute_names([block] if isinstance(block, str) else list(block), names))
            for block in blocks
        ]
    if not 2 <= len(listed) <= MOST_BLOCKS:
        rule = f"must be 2 to {MOST_BLOCKS:,} blocks"
        remedy = f"Take {'smaller' if len(listed) < 2 else 'larger'} blocks"
        raise ArgumentError("blocks", rule, f"{len(listed):,}", remedy)
    if len({frozenset(block) for block in listed}) < len(listed):
        rule = "must not have the same questions twice"
        raise ArgumentError("blocks", rule, None, "Name each set of questions once")
    missing = [name for name in names if not any(name in block for block in listed)]
    if missing:
        rule = f"must contain every question, but {missing[0]!r} is in no block"
        remedy = "Add this question to a block, or remove the question from the Product"
        raise ArgumentError("blocks", rule, None, remedy)
    return tuple(listed)


def mechanisms_of(
    product: Product,
    blocks: Sequence[Block],
    mechanisms: Mapping[Any, Any] | Maker | None,
    epsilon: float | None,
    ask: int = 1,
) -> list[Mechanism]:
    """The mechanism of each block."""
    if isinstance(mechanisms, Mapping):
        given = by_block(mechanisms)
        if given.keys() != set(blocks):
            rule = "must name each block once: " + ", ".join(map(block_name, blocks[:4]))
            raise ArgumentError("mechanisms", rule, ", ".join(map(block_name, given)) or "none")
        parts = [made(block_name(b), given[b], product.select(b)) for b in blocks]
    else:
        if epsilon is None:
            rule = "must be a number, because the mechanisms of the blocks are made with it"
            raise ArgumentError("epsilon", rule, "None", "For example epsilon=1.0")
        make, whole = mechanisms or best_mechanism, budget(epsilon)
        each = whole / ask
        while add_up([each] * ask) > whole:
            each = math.nextafter(each, 0.0)
        parts = []
        for block in blocks:
            domain = product.select(block)
            if ask == 1:
                parts.append(made(block_name(block), make(domain, whole), domain))
            else:
                alone = {name: make(product.attributes[name], each) for name in block}
                assert isinstance(domain, Product)
                parts.append(PerAttribute(domain, alone))
    for block, inner in zip(blocks, parts, strict=True):
        _check_part(block_name(block), inner)
    return parts


def _check_part(name: str, mechanism: Mechanism) -> None:
    """Refuse a mechanism whose reports cannot be those of a block."""
    mechanism.check_combinable(f"mechanisms[{name!r}]")
    if isinstance(mechanism, Combined) and not isinstance(mechanism, PerAttribute):
        rule = "must be a mechanism that sends one report for each question"
        raise ArgumentTypeError(f"mechanisms[{name!r}]", rule, type(mechanism).__name__)


def best_mechanism(domain: Domain, epsilon: float) -> Mechanism:
    """Randomised response or subset selection, whichever has the smaller variance.

    >>> from warner import Integers
    >>> [type(best_mechanism(Integers(1, k), 1.0)).__name__ for k in (2, 20)]
    ['RandomizedResponse', 'SubsetSelection']
    """
    subsets, names = SubsetSelection(domain, epsilon), RandomizedResponse(domain, epsilon)
    even = np.full(domain.size, 1 / domain.size)
    # A subset of one value is randomised response. Both have the margins of a block of questions.
    if (
        subsets.subset > 1
        and subsets.channel().variance(even)[0] < names.channel().variance(even)[0]
    ):
        return subsets
    return names


def _about(
    inner: Mechanism, reports: Mapping[str, np.ndarray], block: Block, attribute: str
) -> ReportsAbout | None:
    """The reports on one question of a block; None where they tell of others too."""
    if isinstance(inner, PerAttribute) and len(block) > 1:
        return inner.reports_about(reports, attribute)
    inner.require_whole_reports()
    channel, row = inner.channel_of_reports(reports)
    people = np.arange(len(row))
    if len(block) == 1:
        return ReportsAbout(channel, row, people)
    if not channel.reports_are_values:
        return None
    # Of randomised response on combinations of values, the question's own value is a report.
    keep = [block.index(attribute)]
    marginal = channel.marginal(np.eye(channel.shape[0]), inner.domain.shape, keep)
    assert marginal is not None
    return ReportsAbout(marginal[0], marginal[1].argmax(axis=0)[row], people)


def _default_weights(parts: Sequence[Mechanism]) -> list[float]:
    """Weights proportional to the square root of each block's variance, where all are known."""
    # Of three questions or more the tables of two count, for which such blocks are asked.
    variances: dict[str, float] = {}
    weights = []
    for inner in parts:
        if isinstance(inner, PerAttribute):
            return [1.0] * len(parts)
        domain = inner.domain
        shape = domain.shape if domain.attributes else (domain.size,)
        key = f"{type(inner).__name__} {shape} {inner.requested} {inner.thresholds()}"
        if key not in variances:
            channel, size = inner.channel(), domain.size
            if channel.binomial_law(np.full(size, 1 / size)) is None:
                return [1.0] * len(parts)
            variances[key] = variance_of_tables(channel, shape)
        weights.append(math.sqrt(variances[key]))
    return weights


def variance_of_tables(channel: Channel, shape: Sequence[int]) -> float:
    """The variances of the table of a block, or of all tables of two in it, at equal shares."""
    if len(shape) <= 2:
        return float(channel.variance(np.full(prod(shape), 1 / prod(shape))).sum())
    w = channel.matvec(np.full(prod(shape), 1 / prod(shape)))
    total = 0.0
    for axes in combinations(range(len(shape)), 2):
        marginal = channel.marginal(w, shape, axes)
        if marginal is None:
            return variance_of_tables(channel, [prod(shape)])
        size = marginal[0].shape[1]
        total += float(marginal[0].variance(np.full(size, 1 / size)).sum())
    return total


def by_block(given: Mapping[Any, Any]) -> dict[Block, Any]:
    """What is given by block, where a block of one question is its name."""
    return {(key,) if isinstance(key, str) else tuple(key): value for key, value in given.items()}


def positive_weights(argument: str, names: Sequence[Any], weights: Any) -> list[float]:
    """The weights that are given by name or by block, in the order of the names."""
    if not isinstance(weights, Mapping):
        raise ArgumentTypeError(argument, "must be a dict {name: weight}", kind(weights))
    if weights.keys() != set(names):
        shown = ", ".join(map(_named, names[:8]))
        got = ", ".join(map(_named, weights)) or "none"
        raise ArgumentError(argument, f"must have one weight for each of {shown}", got)
    out = [real(f"{argument}, {_named(name)}", weights[name]) for name in names]
    if not all(0 < weight < math.inf for weight in out):
        raise ArgumentError(argument, "must all be numbers above 0")
    return out


def _named(name: Any) -> str:
    """A name, or that of a block, as a text."""
    return block_name(name) if isinstance(name, tuple) else str(name)


def widths_of(weights: Sequence[float]) -> list[int]:
    """Weights as integers that add up to 2^64."""
    total = math.fsum(weights)
    rounded = [max(1, round(weight / total * _FINE)) for weight in weights]
    edges = [0]
    for width in rounded:
        edges.append(edges[-1] + width)
    return [
        (stop << 64) // edges[-1] - (start << 64) // edges[-1] for start, stop in pairwise(edges)
    ]


def _law_of(channel: Channel, axes: Sequence[int]) -> str:
    """A text that two channels share only if they have one law of reports about ``axes``."""
    inner = channel.channel if isinstance(channel, LiftedChannel) else channel
    if not (inner.reports_are_values or inner.rows_are_bit_sums):
        return str(id(channel))
    law = inner.support_law()
    # Of margins of bit sums all values are alike, so that one column says it.
    levels = inner.columns(np.zeros(1, dtype=np.int64)).T if law is None else [law.q, law.gap]
    counted = f"{inner.rows_per_report} {inner.ones_are_fixed}"
    return (
        f"{type(inner).__name__} {inner.shape} {list(axes)} {counted} {np.array(levels).tolist()}"
    )
