"""Study files: the attributes that are asked, their domains, mechanisms and budgets.

title = "Education in Adult"
budget = 2.0                      # optional: the most that one person may spend on all attributes

# An attribute has one of
#   values = ["a", "b"], integers = [0, 120], interval = { low = 0, high = 1, bins = 64 },
#   grid = { rows = 24, columns = 16, side = 0.5 }
[attributes.education]
values = ["HS-grad", "Bachelors", "other"]
mechanism = "UnaryEncoding"
keep = "optimized"                # options of the mechanism, by the names of its constructor
epsilon = 1.0

[attributes.pay]
keys = ["police", "fire", "water"]        # answers in two columns, pay_key and pay_value
interval = { low = 0, high = 200000, bins = 32 }
mechanism = "KeyValue"
value = "piecewise"
epsilon = 1.0

[attributes.place]
values = ["clinic", "park", "school"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]            # the values that are protected
tags = ["home", "work"]           # placeholders "@home" and "@work" hide what is secret to a person
epsilon = 1.0
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
import re
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from warner._core.atomic_files import read_whole
from warner._core.canonical_json import canonical
from warner._core.checks import show
from warner._core.errors import StudyError, WarnerError, message
from warner._core.sampling import Source
from warner._core.text import unreadable
from warner.app.study_schema import BY_KEY, model
from warner.domains import Categorical, Domain, Product
from warner.io.read_answers import answer_columns
from warner.mechanisms import MECHANISMS as _ALL
from warner.mechanisms import Mechanism, Personalized
from warner.mechanisms.composite import Combined
from warner.mechanisms.key_value import KeyValue
from warner.mechanisms.per_attribute import PerAttribute
from warner.mechanisms.utility_optimized import UtilityOptimized
from warner.privacy.composition import add_up, side_by_side
from warner.privacy.guarantees import Guarantee
from warner.reports.reports import Reports

if TYPE_CHECKING:
    from pydantic import BaseModel

# A study combines attributes itself, so mechanisms of several reports are left out.
MECHANISMS = {name: cls for name, cls in _ALL.items() if not issubclass(cls, Combined)}


def _model() -> type[BaseModel]:
    """The pydantic model of a study file."""
    return model(tuple(MECHANISMS))


class Study:
    """Attributes and their mechanisms, as a study file states them.

    Attributes:
        title: free text.
        budget: the most one person may spend in all, or None.
        mechanisms: {attribute: Mechanism}.

    >>> study = Study.parse('''
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> list(study.mechanisms), study.guarantee.epsilon <= 1.0
    (['smokes'], True)
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        stated = _validated(data)
        self.title: str = stated.title
        self.budget: float | None = stated.budget
        self.mechanisms: dict[str, Mechanism] = {}
        if len({name.casefold() for name in stated.attributes}) < len(stated.attributes):
            rule = "names must differ by more than upper and lower case"
            raise StudyError(message("attributes", rule, ", ".join(stated.attributes)))
        for name, spec in stated.attributes.items():
            _check_name(name)
            self.mechanisms[name] = _build(name, spec)
        self._refuse_shared_columns()
        if self.budget is not None and self.epsilon > self.budget:
            self._fit_budget(stated.attributes, self.budget)
        if self.budget is not None and self.delta > (stated.delta or 0.0):
            rule = f"is exceeded: the attributes' deltas add up to {self.delta:.6g}"
            remedy = "State it beside the budget"
            raise StudyError(message("delta", rule, repr(stated.delta), remedy))
        self._data: dict[str, Any] = stated.model_dump(exclude_none=True)

    def _refuse_shared_columns(self) -> None:
        """Refuse two attributes whose answers would stand in one column of a file."""
        columns: set[str] = set()
        for name, mechanism in self.mechanisms.items():
            for column in answer_columns(name, mechanism):
                if column in columns:
                    rule = f"must not take two answers from one column, {column!r}"
                    raise StudyError(message("attributes", rule, None, "Rename an attribute"))
                columns.add(column)

    def _fit_budget(self, specs: Mapping[str, Any], budget: float) -> None:
        """Lower one epsilon a little, where the sum exceeds the budget by rounding alone.

        The decimals 0.1 and 0.2 add up to 0.3, but their floats add up to more. A mechanism may
        spend all of an epsilon, so one epsilon is lowered by its last digits. Afterwards the sum is
        at most the budget, both as the decimals written and as floats.

        Raises:
            StudyError: the decimals add up to more than the budget.
        """
        parts = self._parts()
        written = {
            name: min(_decimal(part.epsilon), self._written(name)) for name, part in parts.items()
        }
        total = sum(written.values(), Fraction(0))
        if any(math.isinf(part.epsilon) for part in parts.values()) or total > _decimal(budget):
            spent = str(float(total)) if float(total) > budget else f"{self.epsilon!r}"
            rule = f"is exceeded: the attributes spend {spent} together"
            raise StudyError(message("budget", rule, repr(budget), "Lower an epsilon"))
        spent_exactly = sum(Fraction(part.epsilon) for part in parts.values())
        excess = spent_exactly - min(Fraction(budget), _decimal(budget))
        for name in sorted(parts, key=lambda name: -parts[name].epsilon):
            before, promised = self.mechanisms[name], self.mechanisms[name].guarantee
            scale = (
                Fraction(promised.diameter) / Fraction(before.distance_unit or 1.0)
                if promised.diameter is not None
                else Fraction(1)
            )
            least = Fraction(before.requested) - excess / scale
            # Sums and products of floats are rounded up once more, so a few steps may be needed.
            for steps in range(4):
                lower = float(least)
                for _ in range(steps + (Fraction(lower) > least)):
                    lower = math.nextafter(lower, 0.0)
                try:
                    self.mechanisms[name] = _build(
                        name, specs[name].model_copy(update={"epsilon": lower})
                    )
                except StudyError:
                    break
                if self.epsilon <= budget:
                    return
            self.mechanisms[name] = before
        rule = "equals the sum of the decimals, but no floats of the epsilons add up to it"
        raise StudyError(message("budget", rule, repr(budget), "Lower an epsilon a little"))

    def _written(self, name: str) -> Fraction:
        """The epsilon of an attribute between its two most distant values, from the decimal."""
        mechanism = self.mechanisms[name]
        promised, epsilon = mechanism.guarantee, _decimal(mechanism.requested)
        return (
            epsilon * Fraction(promised.diameter) / _decimal(mechanism.distance_unit or 1.0)
            if promised.diameter is not None
            else epsilon
        )

    @property
    def epsilon(self) -> float:
        """The nats that a person spends who answers every question.

        It is the sum over the attributes, for the two most distant values of each.
        """
        return add_up(part.epsilon for part in self._parts().values())

    @property
    def delta(self) -> float:
        """The sum of the deltas of the attributes whose privacy is approximate."""
        return add_up(part.delta for part in self._parts().values() if part.delta is not None)

    def _parts(self) -> dict[str, Guarantee]:
        """The guarantee of each attribute, for any two values."""
        return {name: m.guarantee.between_any_values() for name, m in self.mechanisms.items()}

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the reports of all attributes together.

        It is one-sided where some attributes protect only some values. A person with a sensitive
        value in each of those attributes is protected at the sum of the epsilons. ``sensitive``
        then holds (attribute, value) pairs.
        """
        found: Guarantee = side_by_side({name: m.guarantee for name, m in self.mechanisms.items()})
        return found

    @property
    def together(self) -> PerAttribute:
        """The mechanism whose report is the tuple of one person's reports, for joint shares."""
        return PerAttribute(Product(**self.domains), self.mechanisms)

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of each attribute."""
        return {name: m.domain for name, m in self.mechanisms.items()}

    def randomize_encoded(self, batch: Mapping[str, Any], source: Source) -> dict[str, Reports]:
        """Return the reports of each attribute.

        Args:
            batch: {attribute: answers as its mechanism's ``encode`` returns them}.
            source: the source of random words.
        """
        return {
            name: Reports(m.header, m.randomize_encoded(batch[name], source), source.simulated)
            for name, m in self.mechanisms.items()
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of the headers of all attributes, in hexadecimal digits.

        Two study files that are written differently and do the same have one digest.
        """
        return hashlib.sha256(
            canonical({a: m.header for a, m in self.mechanisms.items()}).encode()
        ).hexdigest()

    def to_json(self) -> str:
        """Return the study and its digest as JSON, which ``parse`` reads."""
        return (
            json.dumps({"study": self._data, "sha256": self.digest}, indent=1, default=str) + "\n"
        )

    @staticmethod
    def schema() -> dict[str, Any]:
        """Return the JSON Schema of study files."""
        found: dict[str, Any] = _model().model_json_schema()
        return found

    @classmethod
    def parse(cls, text: str, name: str = "study") -> Self:
        """Return the study in TOML or JSON text.

        Args:
            text: the contents of a study file, or the text that ``to_json`` returned.
            name: the name of the text in messages.

        Raises:
            StudyError: not TOML or JSON, or a rule is broken; the message names the place.
        """
        data, problem = None, None
        try:
            data = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            # A file of answers may be given by mistake. So neither the message nor the context of
            # the error may hold the text.
            problem = message(name, f"is not valid TOML or JSON{_place(error)}", None, _SWAPPED)
        if problem is not None:
            raise StudyError(problem)
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("study", data), dict)
            or "attributes" not in data.get("study", data)
        ):
            rule = "has no table 'attributes', so it is not a study file"
            raise StudyError(message(name, rule, None, _SWAPPED))
        data, stated = (
            (data["study"], data.get("sha256"))
            if data.keys() >= {"study", "sha256"} and isinstance(data["study"], dict)
            else (data, None)
        )
        study = cls(data)
        if stated is not None and stated != study.digest:
            rule = "does not have the digest that it states: it was altered"
            raise StudyError(message(name, rule))
        return study

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the study in a file, TOML or JSON.

        Raises:
            FileError: the file cannot be opened.
            StudyError: not UTF-8, TOML or JSON, or a rule is broken.
        """
        text = None
        # The decoding error holds the bytes of the file, so it must not be the context of ours.
        with contextlib.suppress(UnicodeDecodeError):
            text = read_whole(path).decode()
        if text is None:
            raise StudyError(message(str(path), "must be UTF-8 text", None, _SWAPPED))
        return cls.parse(text, str(path))


# On the command line the study file and the file of answers are easily swapped.
_SWAPPED = "Is it the study file, and not the answers?"


def _place(error: Exception) -> str:
    """Where a parser stopped, for a message that quotes nothing from the text."""
    if isinstance(error, json.JSONDecodeError):
        return f", at line {error.lineno}, column {error.colno}"
    found = re.search(r"\(at (line \d+, column \d+|end of document)\)\Z", str(error))
    return f", at {found[1]}" if found else ""


def _decimal(number: float) -> Fraction:
    """The decimal that a float is written as; for infinity a number above every budget."""
    return Fraction(repr(float(number))) if math.isfinite(number) else Fraction(10**400)


def _validated(data: Mapping[str, Any]) -> Any:
    """The fields of a study, checked against the schema; StudyError names the first problem."""
    from pydantic import ValidationError

    try:
        return _model().model_validate(dict(data))
    except ValidationError as error:
        first, count = error.errors()[0], error.error_count()
        types = ("str", "int", "bool", "float")
        place = ".".join(str(part) for part in first["loc"] if part not in types) or "study"
        rule = first["msg"].removeprefix("Value error, ")
        rule += f" ({count - 1} more problems)" if count > 1 else ""
        got = None if first["type"] in ("missing", "value_error") else show(first["input"])
        raise StudyError(message(place, rule, got)) from None


def _check_name(name: str) -> None:
    """Refuse a name of an attribute that commands or screens could not show."""
    if not name or "." in name:
        raise StudyError(message(f"attributes.{name}", "names must not be empty or contain '.'"))
    if (found := unreadable(name)) is not None:
        remedy = "Use printable characters"
        raise StudyError(message("attributes", f"names must not hold {found}", show(name), remedy))


def _build(name: str, spec: Any) -> Mechanism:
    """The mechanism of one attribute; every error names the attribute.

    Args:
        name: the name of the attribute.
        spec: its validated table.
    """
    cls = MECHANISMS.get(spec.mechanism)
    if cls is None:
        rule = f"must be one of {', '.join(MECHANISMS)}"
        raise StudyError(message(f"attributes.{name}.mechanism", rule, show(spec.mechanism)))
    options = dict(spec.model_extra or {})
    if spec.tags is not None and issubclass(cls, UtilityOptimized):
        # With tags, no value need be sensitive for everyone.
        options.setdefault("sensitive", [])
    _check_options(name, spec, cls, options)
    try:
        domain = _domain(spec)
        if issubclass(cls, KeyValue):
            return KeyValue(_labels(spec.keys), domain, spec.epsilon, **options)
        if spec.tags is not None and issubclass(cls, UtilityOptimized):
            return Personalized.of(cls, domain, spec.epsilon, spec.tags, **options).mechanism
        return cls(domain, epsilon=spec.epsilon, **options)
    except (WarnerError, TypeError) as error:
        raise StudyError(f"attributes.{name}: {error}") from None


def _check_options(name: str, spec: Any, cls: type[Mechanism], options: Mapping[str, Any]) -> None:
    """Refuse options that the mechanism does not have, and the lack of those that it needs."""
    keyed, takes_tags = issubclass(cls, KeyValue), issubclass(cls, UtilityOptimized)
    # Columns of a file hold one pair for each person, so ``pairs`` is no option.
    given = {"domain", "epsilon", *(("keys", "values", "pairs") if keyed else ())}
    parameters = inspect.signature(cls).parameters
    allowed = {key: p for key, p in parameters.items() if key not in given}
    for key, parameter in allowed.items():
        if parameter.default is inspect.Parameter.empty and key not in options:
            raise StudyError(message(f"attributes.{name}.{key}", f"is needed by {spec.mechanism}"))
    if spec.tags is not None and not takes_tags:
        rule = f"go with UtilityOptimizedRR and UtilityOptimizedRappor, not with {spec.mechanism}"
        raise StudyError(message(f"attributes.{name}.tags", rule))
    if (spec.keys is not None) != keyed:
        rule = "are needed by KeyValue" if keyed else f"go with KeyValue, not with {spec.mechanism}"
        raise StudyError(message(f"attributes.{name}.keys", rule))
    for option in options:
        if option not in allowed:
            known = [*allowed, "tags"] if takes_tags else [*allowed]
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            rule = f"is not an option of {spec.mechanism}: {has}"
            raise StudyError(message(f"attributes.{name}.{option}", rule))


def _domain(spec: Any) -> Domain:
    """The one domain that the table of an attribute states; its answers must differ as text."""
    stated = spec.model_dump(include=set(BY_KEY), exclude_none=True)
    ((key, entry),) = stated.items()
    domain = BY_KEY[key].from_study(entry)
    _ = domain.text
    return domain


def _labels(values: list[Any]) -> Categorical:
    """The keys of pairs, whose labels must differ as text."""
    keys = Categorical(values)
    _ = keys.text
    return keys
