"""Study files: which attributes are asked, what they may be, how they are randomised and at what budget.

title = "Education in Adult"
budget = 2.0                      # optional: what one person may spend in all

[attributes.education]
values = ["HS-grad", "Bachelors", "other"]      # or integers = [0, 120], or interval = { low = 0, high = 1, bins = 64 },
                                                # or grid = { rows = 24, columns = 16, side = 0.5 }
mechanism = "UnaryEncoding"
keep = "optimized"                # options of the mechanism, by the names of its constructor
epsilon = 1.0

[attributes.pay]
keys = ["police", "fire", "water"]              # answers in two columns, pay_key and pay_value
interval = { low = 0, high = 200000, bins = 32 }
mechanism = "KeyValue"
value = "piecewise"
epsilon = 1.0

[attributes.place]
values = ["clinic", "park", "school"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]            # the only values that are protected
tags = ["home", "work"]           # values "@home", "@work" that devices send instead of what is secret to one person
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
from functools import lru_cache
from typing import Any, Self

from warner._core.atomic_files import (
    read_whole,
)
from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import show
from warner._core.errors import (
    StudyError,
    WarnerError,
    message,
)
from warner._core.sampling import Source
from warner._core.text import (
    unreadable,
)
from warner.domains import (
    Categorical,
    Domain,
    Grid,
    Integers,
    Interval,
    Product,
)
from warner.io.read_answers import answer_columns, text_labels
from warner.mechanisms import MECHANISMS as _ALL
from warner.mechanisms import KeyValue, Mechanism, PerAttribute, Personalized
from warner.mechanisms.composite import Combined
from warner.mechanisms.utility_optimized import UtilityOptimized
from warner.privacy.composition import add_up, side_by_side
from warner.privacy.guarantees import Guarantee
from warner.reports.reports import Reports

# Those of one attribute and one report: a study has several attributes of its own.
MECHANISMS = {name: cls for name, cls in _ALL.items() if not issubclass(cls, Combined)}


@lru_cache(maxsize=1)
def _model() -> Any:
    """The pydantic model of a study file; built on first use, because importing pydantic takes longer than all of warner."""
    from pydantic import (
        BaseModel,
        ConfigDict,
        Field,
        StrictBool,
        StrictFloat,
        StrictInt,
        StrictStr,
        create_model,
        model_validator,
    )

    class IntervalSpec(BaseModel):
        model_config = ConfigDict(extra="forbid")
        low: StrictInt | StrictFloat
        high: StrictInt | StrictFloat
        bins: StrictInt
        clip: StrictBool = False

    class GridSpec(BaseModel):
        model_config = ConfigDict(extra="forbid")
        rows: StrictInt
        columns: StrictInt
        side: StrictInt | StrictFloat = 1.0

    class AttributeSpec(BaseModel):
        # Further keys are options of the mechanism; its constructor knows which there are.
        model_config = ConfigDict(extra="allow")
        values: list[StrictStr | StrictInt | StrictBool] | None = Field(
            None, description="labels of a categorical domain"
        )
        integers: tuple[StrictInt, StrictInt] | None = Field(
            None, description="[low, high], both included"
        )
        interval: IntervalSpec | None = Field(
            None, description="real numbers from low to high, in bins"
        )
        grid: GridSpec | None = Field(
            None,
            description="cells of rows x columns squares of a side; answers are 'row,column', from 0",
        )
        mechanism: StrictStr = Field(description=f"one of {', '.join(MECHANISMS)}")
        epsilon: StrictInt | StrictFloat = Field(description="budget in nats")
        keys: list[StrictStr | StrictInt | StrictBool] | None = Field(
            None, description="for KeyValue: labels of the keys that values go with"
        )
        tags: list[StrictStr] | None = Field(
            None,
            description="for utility-optimised mechanisms: stand-ins for what is secret to one person",
        )

        @model_validator(mode="after")
        def one_domain(self) -> Any:
            if (
                sum(d is not None for d in (self.values, self.integers, self.interval, self.grid))
                != 1
            ):
                raise ValueError("must have exactly one of values, integers, interval, grid")
            return self

    return create_model(
        "Study",
        __config__=ConfigDict(extra="forbid"),
        title=(StrictStr, ""),
        delta=(
            StrictInt | StrictFloat | None,
            Field(
                None,
                ge=0,
                lt=1,
                description="the most that the deltas of all attributes may add up to",
            ),
        ),
        budget=(
            StrictInt | StrictFloat | None,
            Field(None, gt=0, description="the most that one person may spend over all attributes"),
        ),
        attributes=(dict[str, AttributeSpec], Field(min_length=1)),
    )


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
        from pydantic import ValidationError

        try:
            model = _model().model_validate(dict(data))
        except ValidationError as error:
            first = error.errors()[0]
            place = (
                ".".join(
                    str(part)
                    for part in first["loc"]
                    if part not in ("str", "int", "bool", "float")
                )
                or "study"
            )
            rule = first["msg"].removeprefix("Value error, ")
            more = f" ({error.error_count() - 1} more problems)" if error.error_count() > 1 else ""
            raise StudyError(
                message(
                    place,
                    rule + more,
                    None if first["type"] in ("missing", "value_error") else show(first["input"]),
                )
            ) from None
        self.title: str = model.title
        self.budget: float | None = model.budget
        self.mechanisms: dict[str, Mechanism] = {}
        if len({name.casefold() for name in model.attributes}) < len(model.attributes):
            raise StudyError(
                message(
                    "attributes",
                    "names must differ by more than upper and lower case",
                    ", ".join(model.attributes),
                )
            )
        for name, spec in model.attributes.items():
            if not name or "." in name:
                raise StudyError(
                    message(f"attributes.{name}", "names must not be empty or contain '.'")
                )
            if (found := unreadable(name)) is not None:
                raise StudyError(
                    message(
                        "attributes",
                        f"names must not hold {found}",
                        show(name),
                        "Use printable characters",
                    )
                )
            self.mechanisms[name] = _build(name, spec)
        columns = [
            column
            for name, mechanism in self.mechanisms.items()
            for column in answer_columns(name, mechanism)
        ]
        if twice := [column for i, column in enumerate(columns) if column in columns[:i]]:
            raise StudyError(
                message(
                    "attributes",
                    f"must not take two answers from one column, {twice[0]!r}",
                    None,
                    "Rename an attribute",
                )
            )
        if self.budget is not None and self.epsilon > self.budget:
            self._fit(model.attributes)
        if self.budget is not None and self.delta > (model.delta or 0.0):
            raise StudyError(
                message(
                    "delta",
                    f"is exceeded: the attributes' deltas add up to {self.delta:.6g}",
                    repr(model.delta),
                    "State it beside the budget",
                )
            )
        self._data = model.model_dump(exclude_none=True)

    def _fit(self, specs: Mapping[str, Any]) -> None:
        """Lower one epsilon by the last digits of floats, where the decimals written add up to no more than the budget written.

        0.1 and 0.2 are 0.3 as decimals, and more as floats: the float of 0.1 is above 1/10, and a mechanism may spend all of it.
        What is spent is then at most the budget, both as written and as a float.

        Raises:
            StudyError: the decimals add up to more than the budget.
        """
        assert self.budget is not None
        parts = self._parts()
        written = {
            name: min(_decimal(part.epsilon), self._written(name)) for name, part in parts.items()
        }
        total = sum(written.values(), Fraction(0))
        if any(math.isinf(part.epsilon) for part in parts.values()) or total > _decimal(
            self.budget
        ):
            spent = str(float(total)) if float(total) > self.budget else f"{self.epsilon!r}"
            raise StudyError(
                message(
                    "budget",
                    f"is exceeded: the attributes spend {spent} together",
                    repr(self.budget),
                    "Lower an epsilon",
                )
            )
        over = sum(Fraction(part.epsilon) for part in parts.values()) - min(
            Fraction(self.budget), _decimal(self.budget)
        )
        for name in sorted(parts, key=lambda name: -parts[name].epsilon):
            before, promised = self.mechanisms[name], self.mechanisms[name].guarantee
            scale = (
                Fraction(promised.diameter) / Fraction(before.distance_unit or 1.0)
                if promised.diameter is not None
                else Fraction(1)
            )
            least = Fraction(before.requested) - over / scale
            for steps in range(4):  # sums and products of floats are rounded up once more
                lower = float(least)
                for _ in range(steps + (Fraction(lower) > least)):
                    lower = math.nextafter(lower, 0.0)
                try:
                    self.mechanisms[name] = _build(
                        name, specs[name].model_copy(update={"epsilon": lower})
                    )
                except StudyError:
                    break
                if self.epsilon <= self.budget:
                    return
            self.mechanisms[name] = before
        raise StudyError(
            message(
                "budget",
                "is met to the last digit, which no float of the epsilons meets",
                repr(self.budget),
                "Lower an epsilon a little",
            )
        )

    def _written(self, name: str) -> Fraction:
        """What the epsilon of an attribute, as a decimal, is between its two most distant values."""
        mechanism = self.mechanisms[name]
        promised, epsilon = mechanism.guarantee, _decimal(mechanism.requested)
        return (
            epsilon * Fraction(promised.diameter) / _decimal(mechanism.distance_unit or 1.0)
            if promised.diameter is not None
            else epsilon
        )

    @property
    def epsilon(self) -> float:
        """What one person who answers everything spends: the sum over attributes, between the two most distant values of each."""
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
        """The guarantee of all attributes' reports together.

        Where some protect only some values it is one-sided: whoever has a sensitive value in each of those is protected at the
        sum of the epsilons; ``sensitive`` then holds (attribute, value) pairs.
        """
        return side_by_side({name: m.guarantee for name, m in self.mechanisms.items()})

    @property
    def together(self) -> PerAttribute:
        """What one person reports of all attributes as one tuple, for joint shares."""
        return PerAttribute(Product(**self.domains), self.mechanisms)

    @property
    def domains(self) -> dict[str, Domain]:
        return {name: m.domain for name, m in self.mechanisms.items()}

    def randomize_encoded(self, batch: Mapping[str, Any], source: Source) -> dict[str, Reports]:
        """Reports of every attribute, of answers that each mechanism's ``encode`` made."""
        return {
            name: Reports(m.header, m.randomize_encoded(batch[name], source), source.simulated)
            for name, m in self.mechanisms.items()
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of all attributes' headers: of what is really done, not of how it was written."""
        return hashlib.sha256(
            canonical({a: m.header for a, m in self.mechanisms.items()}).encode()
        ).hexdigest()

    def to_json(self) -> str:
        """The study as canonical JSON with its own digest."""
        return (
            json.dumps({"study": self._data, "sha256": self.digest}, indent=1, default=str) + "\n"
        )

    @staticmethod
    def schema() -> dict[str, Any]:
        """JSON Schema of study files."""
        return _model().model_json_schema()

    @classmethod
    def parse(cls, text: str, name: str = "study") -> Self:
        """A study from TOML (or JSON) text; ``name`` is what messages call it.

        Raises:
            StudyError: not TOML, or a rule is broken; the message names the place.
        """
        data, problem = None, None
        try:
            data = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            # The file may be one of answers, given by mistake: neither the message nor the error's context may hold its text.
            problem = message(name, f"is not valid TOML or JSON{_place(error)}", None, _SWAPPED)
        if problem is not None:
            raise StudyError(problem)
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("study", data), dict)
            or "attributes" not in data.get("study", data)
        ):
            raise StudyError(
                message(
                    name, "has no table 'attributes', so it is not a study file", None, _SWAPPED
                )
            )
        data, stated = (
            (data["study"], data.get("sha256"))
            if data.keys() >= {"study", "sha256"} and isinstance(data["study"], dict)
            else (data, None)
        )
        study = cls(data)
        if stated is not None and stated != study.digest:
            raise StudyError(
                message(name, "does not have the digest that it states: it was altered")
            )
        return study

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a study file, TOML or JSON."""
        text = None
        with contextlib.suppress(
            UnicodeDecodeError
        ):  # it holds the file's bytes, so it must not hang on our error
            text = read_whole(path).decode()
        if text is None:
            raise StudyError(message(str(path), "must be UTF-8 text", None, _SWAPPED))
        return cls.parse(text, str(path))


# On the command line the study file comes before the answers.
_SWAPPED = "Is it the study file, and not the answers?"


def _place(error: Exception) -> str:
    """Where in the text a parser stopped, and nothing of the text itself, which its own message may quote."""
    if isinstance(error, json.JSONDecodeError):
        return f", at line {error.lineno}, column {error.colno}"
    found = re.search(r"\(at (line \d+, column \d+|end of document)\)\Z", str(error))
    return f", at {found[1]}" if found else ""


def _decimal(number: float) -> Fraction:
    """The decimal that a float is written as; of an infinite one, whatever is above every budget."""
    return Fraction(repr(float(number))) if math.isfinite(number) else Fraction(10**400)


def _build(name: str, spec: Any) -> Mechanism:
    """The mechanism that one attribute asks for; every complaint names the attribute."""
    cls = MECHANISMS.get(spec.mechanism)
    if cls is None:
        raise StudyError(
            message(
                f"attributes.{name}.mechanism",
                f"must be one of {', '.join(MECHANISMS)}",
                show(spec.mechanism),
            )
        )
    keyed = issubclass(cls, KeyValue)
    # Several pairs a person are lists in Python, which no column of a file holds.
    allowed = [
        p
        for p in inspect.signature(cls).parameters
        if p not in ("domain", "epsilon", *(("keys", "values", "pairs") if keyed else ()))
    ]
    options = dict(spec.model_extra or {})
    if spec.tags is not None and issubclass(cls, UtilityOptimized):
        options.setdefault("sensitive", [])  # with tags, nothing need be sensitive for everyone
    missing = [
        p
        for p in allowed
        if inspect.signature(cls).parameters[p].default is inspect.Parameter.empty
        and p not in options
    ]
    if missing:
        raise StudyError(
            message(f"attributes.{name}.{missing[0]}", f"is needed by {spec.mechanism}")
        )
    if spec.tags is not None and not issubclass(cls, UtilityOptimized):
        raise StudyError(
            message(
                f"attributes.{name}.tags",
                f"go with UtilityOptimizedRR and UtilityOptimizedRappor, not with {spec.mechanism}",
            )
        )
    if (spec.keys is not None) != keyed:
        raise StudyError(
            message(
                f"attributes.{name}.keys",
                "are needed by KeyValue"
                if keyed
                else f"go with KeyValue, not with {spec.mechanism}",
            )
        )
    for option in options:
        if option not in allowed:
            known = [*allowed, "tags"] if issubclass(cls, UtilityOptimized) else allowed
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            raise StudyError(
                message(
                    f"attributes.{name}.{option}", f"is not an option of {spec.mechanism}: {has}"
                )
            )
    try:
        if spec.values is not None:
            domain: Domain = (labels := Categorical(spec.values))
            text_labels(labels)
        elif spec.integers is not None:
            domain = Integers(*spec.integers)
        elif spec.grid is not None:
            domain = Grid(spec.grid.rows, spec.grid.columns, spec.grid.side)
        else:
            domain = Interval(
                spec.interval.low, spec.interval.high, spec.interval.bins, spec.interval.clip
            )
        if keyed:
            text_labels(held := Categorical(spec.keys))
            return KeyValue(held, domain, spec.epsilon, **options)
        if spec.tags is not None and issubclass(cls, UtilityOptimized):
            return Personalized.of(cls, domain, spec.epsilon, spec.tags, **options).mechanism
        return cls(domain, epsilon=spec.epsilon, **options)
    except (WarnerError, TypeError) as error:
        raise StudyError(f"attributes.{name}: {error}") from None
