"""Drafts of study files: attributes without a mechanism or an epsilon, and what is proposed.

A draft is completed as text. What its author wrote stays as it is, with comments and order.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

from warner._core.errors import ArgumentError, IdentifiabilityError, StudyError
from warner._core.progress import steps
from warner.app.new_study.text import toml, toml_key
from warner.design.default_errors import measured
from warner.design.planning import BudgetRow, WantedDifference
from warner.design.privacy_words import about_draw
from warner.design.proposal import DEFAULT_WIDTH, EPSILON_STEPS, Proposal, propose
from warner.designs import PaperDesign
from warner.domains import Domain, Items
from warner.mechanisms import Mechanism, OneOf, Permanent, RandomizedResponse
from warner.mechanisms.permanent import DEGRADED
from warner.studies.mechanisms import is_drawn
from warner.studies.problems import located, parsed, study_text
from warner.studies.public import described
from warner.studies.study import Study, is_together
from warner.theory import people_for_difference, power_for_difference

_OPEN = ("mechanism", "epsilon")
_PROTECTS_SOME = ("UtilityOptimizedRR", "UtilityOptimizedSubset", "UtilityOptimizedRappor")
LEAST_TO_ASK_ONE = 3  # questions, from which on asking one of them is proposed
_NO_PLACE = "cannot be completed, because there is no clear place for the missing lines"
_DIGITS = 1000  # parts of a nat to which a part of a budget is rounded down


@dataclass(frozen=True)
class Planned:
    """What is proposed for one attribute of a draft."""

    proposal: Proposal  # the proposal
    added: Mapping[str, Any]  # {key: value}, the lines that complete the table of the attribute
    # the number of reports of one person that share the epsilon of the study. The proposal is of
    # one of them
    times: int = 1
    among: int = 1  # the number of questions of which each person is asked one, with all of it
    budget: float | None = None  # of the study, where it left only this epsilon to try

    def assumed(self, share: float | None) -> float | None:
        """The share near which a difference is planned; None for equal shares of all values."""
        return share if self.proposal.domain.size == 2 else None

    def people_for(self, aim: WantedDifference, share: float | None) -> list[BudgetRow]:
        """The people that a difference of a share needs at each epsilon; [] where not known."""
        if measured(self.proposal.domain).dimension:
            return []  # of numbers, means are compared
        with suppress(IdentifiabilityError):
            return [
                BudgetRow(
                    offer.epsilon * self.times,
                    offer.name,
                    self._people_for(offer.mechanism, aim, share),
                )
                for offer in self.proposal.offers
            ]
        return []

    def unprotected_people(self, aim: WantedDifference, share: float | None) -> int:
        """The people that a difference of a share needs where answers are sent as they are."""
        return self._people_for(self.proposal.domain, aim, share)

    def _people_for(
        self, subject: Mechanism | Domain, aim: WantedDifference, share: float | None
    ) -> int:
        shares = self._shares(share)
        return self.among * people_for_difference(
            subject, aim.difference, shares, aim.groups, aim.power
        )

    def power(self, aim: WantedDifference, share: float | None) -> float:
        """The probability with which the people of the plan find a difference of a share."""
        proposal, shares = self.proposal, self._shares(share)
        return power_for_difference(
            proposal.mechanism, aim.difference, proposal.n, shares, aim.groups
        )

    def _shares(self, share: float | None) -> list[float] | None:
        near = self.assumed(share)
        return None if near is None else [1 - near, near]

    def to_json(self) -> dict[str, Any]:
        """The proposal and the added lines as JSON data."""
        said = {**self.proposal.to_json(), "added": dict(self.added), "reports": self.times}
        return said | ({"asked_one_of": self.among} if self.among > 1 else {})


@dataclass(frozen=True, eq=False)
class Draft:
    """A study file in which attributes may lack a mechanism or an epsilon."""

    text: str  # the file
    data: Mapping[str, Any]  # the file as data
    study: Study  # the study with a stand-in for what is missing, for its domains
    # {attribute: the keys that it lacks}, of those that lack any
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a draft, or a complete study."""
        return cls.parse(study_text(path), path)

    @classmethod
    def parse(cls, text: str, name: str = "study") -> Self:
        """Read a draft, or a complete study, from its text."""
        data = _data(text)
        missing = _missing(data)
        if not missing:
            return cls(text, data, Study.parse(text, name))
        tables = {
            attribute: {**table, **_stand_in(table, missing.get(attribute, ()), _forever(data))}
            for attribute, table in data["attributes"].items()
        }
        limits = ("budget", "delta")
        complete = {key: v for key, v in data.items() if key not in limits}
        try:
            study = Study({**complete, "attributes": tables})
        except StudyError as error:
            raise located(error, name, text) from None
        return cls(text, data, study, missing)

    def proposals(
        self, people: int, share: float, width: float = DEFAULT_WIDTH
    ) -> dict[str, Planned]:
        """What is proposed for each attribute that lacks a mechanism or an epsilon."""
        if self.draws:
            return self._proposals_of_one(people, share, width)
        # The budget that is left is split so that all intervals have the same ratio to the wanted
        # width.
        parts = self._parts(people, share, width)
        return {
            attribute: self._planned(attribute, people, share, width, parts.get(attribute))
            for attribute in steps(list(self.missing), "planning")
        }

    @property
    def draws(self) -> bool:
        """Whether each person is asked some questions only."""
        return is_drawn(self.data.get("ask"))

    def asking_one(self) -> Draft | None:
        """The draft in which each person is asked one of its questions; None where none can be."""
        tables = self.data.get("attributes", {})
        few = len(tables) < LEAST_TO_ASK_ONE or len(self.missing) < len(tables)
        if few or "ask" in self.data or any("epsilon" in table for table in tables.values()):
            return None
        try:
            return Draft.parse(_with_ask(self.text))
        except StudyError:  # of what does not go with [ask], such as groups
            return None

    def _proposals_of_one(self, people: int, share: float, width: float) -> dict[str, Planned]:
        """The proposals where each person is asked one question, with all of the budget."""
        among = len(self.data["attributes"])
        few = max(1, people // among)
        # Of several rounds, the budget limits all of them and not one.
        whole = None if "repeat" in self.data else self.data.get("budget")
        planned = {
            attribute: self._planned(attribute, few, share, width, whole)
            for attribute in steps(list(self.missing), "planning")
        }
        most = self.total(planned)
        return {
            name: replace(
                each,
                # [ask] has the epsilon of the questions that have none of their own.
                added={k: v for k, v in each.added.items() if k != "epsilon" or v != most},
                among=among,
            )
            for name, each in planned.items()
        }

    def _planned(
        self, attribute: str, people: int, share: float, width: float, epsilon: float | None
    ) -> Planned:
        """The proposal of one attribute; ``epsilon`` is its part of a budget, or None."""
        table = self.data["attributes"][attribute]
        is_left = epsilon is not None and "epsilon" not in table
        budget = self.data["budget"] if is_left else None
        epsilon = table.get("epsilon", epsilon)
        proposal = self._proposed(attribute, people, share, width, epsilon)
        best, times = proposal.best, self._times(table)
        added: dict[str, Any] = {}
        if "mechanism" in self.missing[attribute]:
            added["mechanism"] = best.name.split()[0]
            added |= {key: v for key, v in best.options.items() if key not in table}
        if "epsilon" not in table:
            per_unit = best.mechanism.guarantee.is_metric
            stated = best.mechanism.requested if per_unit else best.epsilon
            added["epsilon"] = stated * times
        return Planned(proposal, added, times, self._among(attribute), budget)

    def _among(self, attribute: str) -> int:
        """Among how many items one is drawn for each person; 1 of other questions."""
        domain = asked_mechanisms(self.study)[attribute].domain
        return len(domain.items) if isinstance(domain, Items) else 1

    def _proposed(
        self, attribute: str, people: int, share: float, width: float, epsilon: float | None
    ) -> Proposal:
        """The proposal at an epsilon of all reports of a person, or over the ladder."""
        table, domain = self.data["attributes"][attribute], self._domain(attribute)
        times, forever = self._times(table), _forever(self.data)
        # One of many rounds spends less than all of them.
        ladder = [step for step in EPSILON_STEPS if step < forever] or [forever / 4, forever / 2]
        # An epsilon between the steps is a number of tenths, which several reports would not add up
        # to, and which a study of several rounds may not have.
        is_free = times == 1 and forever > EPSILON_STEPS[-1]
        return propose(
            domain,
            max(1, people // self._among(attribute)),
            None if epsilon is None else epsilon / times,
            share=share,
            width=width,
            among=self._makers(attribute, table),
            epsilons=None if is_free else [step / times for step in ladder],
        )

    def _parts(self, people: int, share: float, width: float) -> dict[str, float]:
        """{attribute: epsilon}, the parts of the budget of those that lack an epsilon."""
        budget = self.data.get("budget")
        free = [name for name, keys in self.missing.items() if "epsilon" in keys]
        if budget is None or not free or "repeat" in self.data:
            return {}  # of several rounds, the budget limits all of them and not one
        left = budget - sum(
            mechanism.guarantee.between_any_values().epsilon * self.study.rows_per_person
            for name, mechanism in next(iter(self.study.by_group.values())).mechanisms.items()
            if name not in free
        )
        if not left > 0:
            rule = (
                "is used up by the questions that state an epsilon, so nothing is left for the "
                "other questions"
            )
            remedy = "Raise the budget, or lower an epsilon"
            raise ArgumentError("budget", rule, repr(budget), remedy)
        if len(free) == 1:
            return {free[0]: _rounded_down(left)}
        curves = {}
        for name in free:
            offers = self._proposed(name, people, share, width, None).offers
            times = self._times(self.data["attributes"][name])
            curves[name] = [
                (offer.epsilon * times, offer.expected.share or 1.0) for offer in offers
            ]
        return {name: _rounded_down(piece) for name, piece in split(left, curves).items()}

    def meaning(self) -> dict[str, Any]:
        """What the study means, as JSON data: questions, public columns and limits."""
        study = self.study
        lacking = {name: " and ".join(keys) for name, keys in self.missing.items()}
        questions = [
            {
                "group": group,
                "attribute": name,
                "question": group_study.labels.get(name, ""),
                "values": len(domain.items) if isinstance(domain, Items) else domain.size,
                "missing": domain.missing.policy or "refused",
                "mechanism": None if name in lacking else type(mechanism).__name__,
                "epsilon": None if name in lacking else _or_none(mechanism.requested),
                "lacks": lacking.get(name),
                "yes": mechanism.means_yes if isinstance(mechanism, PaperDesign) else None,
            }
            for group, group_study in study.by_group.items()
            for name, domain, mechanism in _questions(group_study)
        ]
        return {
            "title": study.title,
            "questions": questions,
            "public": {name: described(domain) for name, domain in study.public.items()},
            **{name: None if self.missing else _or_none(n) for name, n in study.spent.items()},
            "rounds": study.rounds,
            "spending": None if self.missing else study.spending,
            "budget": self.data.get("budget"),
            "draw": None if study.draw is None else about_draw(study.draw),
            "rows_per_person": study.rows_per_person,
            "people": study.collect.people,
            "access": study.collect.access,
        }

    def total(self, planned: Mapping[str, Planned]) -> float:
        """The epsilon of a person who answers all questions, as the completed study spends it."""
        epsilons = self.epsilons(planned)
        return max(epsilons) if self.draws else sum(epsilons)

    def epsilons(self, planned: Mapping[str, Planned]) -> list[float]:
        """The epsilon of each question, as the completed study spends it."""
        return [
            planned[name].proposal.epsilon * planned[name].times
            if name in planned
            else mechanism.guarantee.between_any_values().epsilon * self.study.rows_per_person
            for name, mechanism in asked_mechanisms(self.study).items()
        ]

    @property
    def domains(self) -> list[Domain]:
        """The values of each question."""
        return [mechanism.domain for mechanism in asked_mechanisms(self.study).values()]

    def _domain(self, attribute: str) -> Domain:
        """The values of an attribute, with the placeholders of tags."""
        mechanism = asked_mechanisms(self.study)[attribute]
        if "keys" in self.data["attributes"][attribute]:
            rule = "has keys with values, and warner plan cannot propose a mechanism for these"
            remedy = (
                'Write mechanism = "KeyValue" and an epsilon under the line '
                f"[attributes.{attribute}]"
            )
            raise ArgumentError(f"attributes.{attribute}", rule, None, remedy)
        if not isinstance(mechanism, OneOf):
            return mechanism.domain
        if any(len(block) > 1 for block in mechanism.blocks):
            rule = (
                "asks each person about a pair of items, and warner plan cannot propose an epsilon "
                "for pairs"
            )
            remedy = (
                f"Write an epsilon under the line [attributes.{attribute}]. To get a proposal "
                'instead, write each = "one" there'
            )
            raise ArgumentError(f"attributes.{attribute}", rule, None, remedy)
        return next(iter(mechanism.parts.values())).domain  # no or yes, of each item

    def _times(self, table: Mapping[str, Any]) -> int:
        """The number of reports of one person that share the epsilon of an attribute."""
        return int(self.study.rows_per_person * table.get("reports", 1))

    def _makers(
        self, attribute: str, table: Mapping[str, Any]
    ) -> dict[str, Callable[[Domain, float], Mechanism]] | None:
        """The mechanisms to choose from; None for all that fit the values."""
        if "items" in table:
            return {"RandomizedResponse": RandomizedResponse}
        if "mechanism" in table:
            names: tuple[str, ...] = (table["mechanism"],)
        elif "sensitive" in table or "tags" in table:
            names = _PROTECTS_SOME
        elif "repeat" in self.data:
            names = DEGRADED
        else:
            return None
        options = {key: v for key, v in table.items() if key not in (*_OPEN, "reports")}
        return {
            name: partial(mechanism_of, attribute, {**options, "mechanism": name}) for name in names
        }

    def completed(self, planned: Mapping[str, Planned], comments: Mapping[str, list[str]]) -> str:
        """The text of the study with the proposed lines, all else as it was."""
        if self.text.lstrip().startswith("{"):
            rule = "is written as JSON, but warner plan can complete only a study in TOML"
            raise StudyError("study", rule, None, "Write the study as TOML")
        text, data = self.text, json.loads(json.dumps(dict(self.data), default=str))
        for attribute, proposed in planned.items():
            data["attributes"][attribute] |= proposed.added
            path = ("attributes", attribute)
            text = _with_lines(text, path, proposed.added, comments.get(attribute, []))
        if self.draws:
            data["ask"]["epsilon"] = self.total(planned)
            text = _with_lines(text, ("ask",), {"epsilon": data["ask"]["epsilon"]}, [])
        if json.loads(json.dumps(tomllib.loads(text), default=str)) != data:
            raise StudyError("study", _NO_PLACE, None, _TABLES)
        return text


_TABLES = "Write each attribute as a table of its own, [attributes.name]"


def split(left: float, curves: Mapping[str, list[tuple[float, float]]]) -> dict[str, float]:
    """Split a budget so that all intervals are equally wide, as far as their curves tell.

    >>> split(3.0, {"a": [(1.0, 0.1)], "b": [(1.0, 0.2)]})
    {'a': 1.0, 'b': 2.0}
    """

    def epsilon(curve: list[tuple[float, float]], width: float) -> float:
        # log width is linear in log epsilon; beyond the ends a width falls as 1 / epsilon.
        points = [(math.log(e), math.log(w)) for e, w in curve]
        at = math.log(width)
        before = points[0]
        if at >= before[1]:
            return math.exp(before[0] - (at - before[1]))
        for after in points[1:]:
            if after[1] <= at < before[1]:
                budget = (before[1] - at) / (before[1] - after[1])
                return math.exp(before[0] + budget * (after[0] - before[0]))
            before = after if after[1] < before[1] else before
        return math.exp(before[0] + before[1] - at)

    low, high = -30.0, 30.0
    for _ in range(200):
        middle = (low + high) / 2
        if sum(epsilon(curve, math.exp(middle)) for curve in curves.values()) > left:
            low = middle
        else:
            high = middle
    widths = {name: epsilon(curve, math.exp(high)) for name, curve in curves.items()}
    scale = left / sum(widths.values())
    return {name: float(f"{budget * scale:.12g}") for name, budget in widths.items()}


def _questions(study: Study) -> Iterator[tuple[str, Domain, Mechanism]]:
    """Each question of a study, its values, and the mechanism of the first reports about it."""
    if study.draw is None:
        yield from ((name, m.domain, m) for name, m in study.mechanisms.items())
        return
    blocks = list(zip(study.draw.blocks, study.draw.parts.values(), strict=True))
    for name, domain in study.draw.domain.attributes.items():
        yield name, domain, next(inner for block, inner in blocks if name in block)


def asked_mechanisms(study: Study) -> Mapping[str, Mechanism]:
    """The mechanism of each question, or of what is drawn and randomised as one value."""
    first = next(iter(study.by_group.values()))
    return first.mechanisms if first.draw is None else first.draw.parts


def of_one_round(mechanism: Mechanism) -> Mechanism:
    """What devices report by in one round, where they keep permanent reports; else the same."""
    if not isinstance(mechanism, Permanent):
        return mechanism
    memo = mechanism.memo
    return type(memo)(memo.domain, mechanism.requested, **memo.parameters())


def _or_none(epsilon: float) -> float | None:
    """A number for JSON, which knows no infinity."""
    return epsilon if math.isfinite(epsilon) else None


def _rounded_down(epsilon: float) -> float:
    """An epsilon with at most three decimals, never larger."""
    rounded = math.floor(epsilon * _DIGITS * (1 + 1e-12)) / _DIGITS
    return rounded if rounded > 0 else epsilon


def _data(text: str) -> Mapping[str, Any]:
    """The file as data; {} where it cannot be read, which :class:`Study` then says."""
    try:
        data = parsed(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _missing(data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The attributes that lack a mechanism or an epsilon, without those of joint tables."""
    tables, ask = data.get("attributes"), data.get("ask")
    if not isinstance(tables, Mapping):
        return {}
    draws = isinstance(ask, Mapping) and is_drawn(ask)
    if isinstance(ask, Mapping) and draws and (ask.get("each") != "one" or "epsilon" in ask):
        return {}  # what is drawn has a mechanism by default
    lacking = {}
    for name, table in tables.items():
        if (
            isinstance(table, Mapping)
            and "design" not in table  # a design for paper has both
            and not is_together(name, data.get("joint"))
        ):
            # Items that people tick have a mechanism by default, and need an epsilon.
            needed = ("epsilon",) if "items" in table else _OPEN
            lacks = tuple(key for key in needed if key not in table)
            if lacks and not (draws and "epsilon" in table):
                lacking[name] = lacks
    return lacking


def _forever(data: Mapping[str, Any]) -> float:
    """What all rounds on one value may spend, without a limit where there is one round."""
    repeat = data.get("repeat")
    forever = repeat.get("forever") if isinstance(repeat, Mapping) else None
    return float(forever) if isinstance(forever, int | float) and forever > 0 else math.inf


def _stand_in(table: Mapping[str, Any], lacks: tuple[str, ...], forever: float) -> dict[str, Any]:
    """A mechanism and an epsilon, below that of all rounds, that a table like this one may have."""
    stand_in: dict[str, Any] = {}
    if "mechanism" in lacks:
        stand_in["mechanism"] = "RandomizedResponse"
        if "keys" in table:
            stand_in["mechanism"] = "KeyValue"
        elif "sensitive" in table or "tags" in table:
            stand_in["mechanism"] = _PROTECTS_SOME[0]
    if "epsilon" in lacks:
        stand_in["epsilon"] = min(1.0, forever / 2)
    return stand_in


def mechanism_of(
    attribute: str, table: Mapping[str, Any], domain: Domain, epsilon: float
) -> Mechanism:
    """The mechanism of one table, with an epsilon that is of any two values."""

    def made(stated: float) -> Mechanism:
        data = {"attributes": {attribute: {**table, "epsilon": stated}}}
        try:
            return Study(data).mechanisms[attribute]
        except StudyError as error:
            raise ArgumentError(str(error)) from None

    mechanism = made(epsilon)
    if mechanism.guarantee.is_metric:
        mechanism = made(epsilon * epsilon / mechanism.guarantee.between_any_values().epsilon)
    return mechanism


def _with_ask(text: str) -> str:
    """The text with a table [ask] before its first table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = re.split("\r?\n", text)
    first = next((i for i, line in enumerate(lines) if _head(line) is not None), len(lines))
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1  # a comment above the first table stays with it
    return newline.join([*lines[:first], "[ask]", 'each = "one"', "", *lines[first:]])


def _with_lines(
    text: str, table_path: tuple[str, ...], added: Mapping[str, Any], comment: list[str]
) -> str:
    """The text with lines at the end of a table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"# {line}" for line in comment]
    lines += [f"{key} = {toml(value)}" for key, value in added.items()]
    # Not splitlines: a text or a comment may hold other characters that end lines on a screen.
    old = re.split("\r?\n", text.removesuffix("\n").removesuffix("\r"))
    heads = [(i, path) for i, line in enumerate(old) if (path := _head(line)) is not None]
    start = next((i for i, path in heads if path == table_path), None)
    where = ".".join(table_path)
    if start is None:
        inner = next((i for i, path in heads if path[:2] == table_path), None)
        if inner is None:
            remedy = f"Write it as a table of its own, with the line [{where}]"
            raise StudyError(where, "is not a table", None, remedy)
        before = [f"[{'.'.join(map(toml_key, table_path))}]", *lines, ""]
        return newline.join([*old[:inner], *before, *old[inner:]]) + newline
    stop = next((i for i, _ in heads if i > start), len(old))
    end = stop
    while end > start + 1 and (not old[end - 1].strip() or old[end - 1].lstrip().startswith("#")):
        end -= 1
    for line_number in (end, start + 1):
        new = newline.join([*old[:line_number], *lines, *old[line_number:]]) + newline
        if _adds(text, new, table_path, added):
            return new
    raise StudyError(where, _NO_PLACE, None, _TABLES)


def _adds(text: str, new: str, table_path: tuple[str, ...], added: Mapping[str, Any]) -> bool:
    """Whether a text says the same as before, with the added keys of one table."""
    try:
        completed = tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        return False
    table = completed
    for name in table_path:
        table = table.get(name, {})
    if any(table.pop(key, None) != value for key, value in added.items()):
        return False
    return bool(completed == tomllib.loads(text))


def _head(line: str) -> tuple[str, ...] | None:
    """The path of the table that a line opens; None where it opens none."""
    if not line.lstrip().startswith("["):
        return None
    try:
        nested: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while nested:
        if isinstance(nested, list):
            nested = nested[0]
            continue
        ((key, nested),) = nested.items()
        path.append(key)
    return tuple(path)
