"""The schema of study files, from what domains declare about themselves."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from warner.domains import DOMAINS, Domain, StudyEntry
from warner.mechanisms.headers import LARGEST_PARTS

if TYPE_CHECKING:
    from pydantic import BaseModel

# The domains that a study file can state, by the key that states them.
BY_KEY: dict[str, type[Domain]] = {cls.study.key: cls for cls in DOMAINS if cls.study is not None}

# What stands in a first study in place of labels or limits that nobody has stated yet.
TO_DECIDE = "TO DECIDE"
UNDECIDED = "is still to be decided"


@lru_cache(maxsize=1)
def model(mechanisms: tuple[str, ...]) -> type[BaseModel]:
    """Return the pydantic model of a study file.

    It is built on first use, because importing pydantic takes longer than importing warner.
    """
    from pydantic import (
        BaseModel,
        ConfigDict,
        Discriminator,
        Field,
        StrictBool,
        StrictFloat,
        StrictInt,
        StrictStr,
        Tag,
        create_model,
        model_validator,
    )

    class OneDomain(BaseModel):
        # Further keys are options of the mechanism, which its constructor checks.
        model_config = ConfigDict(extra="allow")

        @model_validator(mode="after")
        def one_domain(self) -> Any:
            if sum(getattr(self, key) is not None for key in BY_KEY) != 1:
                raise ValueError(f"must have exactly one of {', '.join(BY_KEY)}")
            return self

    class Open(BaseModel):
        # Keys that are not listed are options of the mechanism, which its constructor checks.
        model_config = ConfigDict(extra="allow")

    class OnePublic(BaseModel):
        model_config = ConfigDict(extra="forbid")

        @model_validator(mode="after")
        def one_form(self) -> Any:
            known = ("values", "integers", "dates")
            if sum(getattr(self, key) is not None for key in known) != 1:
                raise ValueError(f"must have exactly one of {', '.join(known)}")
            return self

    number: Any = StrictInt | StrictFloat
    by_language = dict[StrictStr, StrictStr]
    # A discriminator, so that an error is told of the form that was written.
    text: Any = Annotated[
        Annotated[StrictStr, Tag("str")] | Annotated[by_language, Tag("dict")],
        Discriminator(lambda value: "dict" if isinstance(value, Mapping) else "str"),
    ]

    def said(description: str) -> Any:
        return (text | None, Field(None, description=f"{description}; one text, or by language"))

    shown: Any = {
        "label": said("the text of the question, for reports and pages"),
        "help": said("a hint below the question"),
        "answers": (
            dict[StrictStr, list[StrictStr]] | None,
            Field(None, description="by language, the displayed texts of values, in their order"),
        ),
    }
    named: Any = (StrictStr | None, Field(None, description=f"one of {', '.join(mechanisms)}"))
    nats: Any = (number | None, Field(None, description="budget in nats"))
    several: Any = (
        StrictInt | None,
        Field(
            None,
            ge=1,
            le=LARGEST_PARTS,
            description="how many reports of one value a person sends; the epsilon is of all of "
            "them together",
        ),
    )
    silent: Any = (
        Literal["refuse", "answer", "drop"] | None,
        Field(
            None,
            description="people who gave no answer: refuse the file (the default); answer: "
            "nonresponse is a value of its own, randomised like any other; drop: leave the person "
            "out, which the collector sees",
        ),
    )
    domains: dict[str, Any] = {
        entry.key: (_form(entry) | None, Field(None, description=entry.description))
        for entry in (cls.study for cls in BY_KEY.values())
        if entry is not None
    }
    attribute = create_model(
        "AttributeSpec",
        __base__=OneDomain,
        **shown,
        unit=(
            StrictStr | None,
            Field(None, description="the unit of a number, which pages show beside it"),
        ),
        **domains,
        mechanism=named,
        epsilon=nats,
        reports=several,
        keys=(
            list[StrictStr | StrictInt | StrictBool] | None,
            Field(None, description="for KeyValue: labels of the keys that values go with"),
        ),
        tags=(
            list[StrictStr] | None,
            Field(
                None,
                description="for utility-optimised mechanisms: each tag has a placeholder, sent in "
                "place of answers that are secret for one person",
            ),
        ),
        missing=silent,
        empty=(
            list[StrictStr] | None,
            Field(None, description='spellings of a missing answer; default [""], an empty cell'),
        ),
    )
    joint = create_model(
        "JointSpec",
        __base__=Open,
        attributes=(
            list[StrictStr],
            Field(min_length=2, description="attributes that are randomised as one value"),
        ),
        mechanism=(StrictStr, Field(description=f"one of {', '.join(mechanisms)}")),
        epsilon=(number, Field(description="budget in nats")),
        reports=several,
    )
    change = create_model(
        "ChangeSpec", __base__=Open, mechanism=named, epsilon=nats, reports=several
    )
    limits: dict[str, Any] = {
        "delta": (
            number | None,
            Field(
                None,
                ge=0,
                lt=1,
                description="the largest sum of the deltas of all attributes",
            ),
        ),
        "budget": (
            number | None,
            Field(
                None, gt=0, description="the largest sum of the epsilons that one person may spend"
            ),
        ),
    }
    group = create_model(
        "GroupSpec",
        __config__=ConfigDict(extra="forbid"),
        name=(StrictStr, Field(description="as in the column of the answers; also in file names")),
        **limits,
        attributes=(
            dict[str, change],  # type: ignore[valid-type]
            Field(
                default_factory=dict,
                description="what differs from the study, by attribute (or 'a x b' of joint ones)",
            ),
        ),
    )
    unit: Any = Literal["day", "week", "month"] | None
    public: Any = create_model(
        "PublicSpec",
        __base__=OnePublic,
        **shown,
        values=(
            _strict(list[str | int | bool]) | None,
            Field(None, description="labels of the column"),
        ),
        integers=(
            _strict(tuple[int, int]) | None,
            Field(None, description="[low, high], both included"),
        ),
        dates=(unit, Field(None, description="dates, kept by day, week or month")),
    )
    collect = create_model("CollectSpec", __config__=ConfigDict(extra="forbid"), **_collect())
    beside: Any = (
        dict[str, public] | None,
        Field(
            None,
            description="columns of the answers that travel in the clear beside the reports: they "
            "are not protected",
        ),
    )
    together: Any = (
        list[joint] | None,  # type: ignore[valid-type]
        Field(None, min_length=1, description="attributes that are randomised together"),
    )
    apart: Any = (
        list[group] | None,  # type: ignore[valid-type]
        Field(None, min_length=2, description="groups of people with budgets of their own"),
    )
    return create_model(
        "Study",
        __config__=ConfigDict(extra="forbid"),
        title=(
            text,
            Field(
                "",
                description="the name of the study, for reports and pages; one text, or by "
                "language",
            ),
        ),
        languages=(
            list[StrictStr] | None,
            Field(
                None,
                min_length=1,
                description='the languages of the texts, default ["en"]; plain texts are in the '
                "first one",
            ),
        ),
        introduction=said("what people read above the questions"),
        **limits,
        rows_per_person=(
            StrictInt | None,
            Field(
                None,
                ge=1,
                le=LARGEST_PARTS,
                description="the most rows of answers of one person, such as one a day; the "
                "epsilons are of all of them together",
            ),
        ),
        attributes=(dict[str, attribute], Field(min_length=1)),  # type: ignore[valid-type]
        joint=together,
        public=beside,
        collect=(
            collect | None,
            Field(None, description="how answers are collected from people"),
        ),
        group_column=(
            StrictStr | None,
            Field(None, description="the public column of the answers that names the group"),
        ),
        groups=apart,
    )


def _collect() -> dict[str, Any]:
    """The fields of the table ``[collect]``, whose defaults ``studies/public.py`` fills in."""
    from pydantic import Field, StrictBool, StrictInt, StrictStr, WithJsonSchema

    def stated(form: Any, description: str, **limits: Any) -> Any:
        return (form | None, Field(None, description=description, **limits))

    # TOML has dates and times alone too, and JSON has texts, so collect.py checks moments.
    moment: Any = Annotated[Any, WithJsonSchema({"type": "string", "format": "date-time"})]
    return {
        "people": stated(StrictInt, "the planned number of people", ge=1),
        "opens": stated(moment, "when the survey opens: a date and a time with an offset"),
        "closes": stated(moment, "when the survey closes: a date and a time with an offset"),
        "step": stated(
            StrictInt,
            "reports after which a new result is published; default 1 % of people, at least 50",
            ge=1,
        ),
        "access": stated(
            Literal["open", "invited"], "open to everyone, or to people with an invitation"
        ),
        "contact": stated(StrictStr, "whom people can ask"),
        "keep_ids": stated(
            Literal["closed", "always"],
            "the ids that tell repeats: dropped when the survey is closed, or always kept",
        ),
        "weak_protection": stated(
            StrictBool,
            "serve questions whose most distant answers differ by more than epsilon 10, and say so",
        ),
    }


def _form(entry: StudyEntry) -> Any:
    """The strict pydantic type of a domain's key; a table is a model of its own."""
    from pydantic import ConfigDict, create_model

    if not isinstance(entry.form, Mapping):
        return _strict(entry.form)
    fields: dict[str, Any] = {
        name: (_strict(of), default) for name, (of, default) in entry.form.items()
    }
    name = f"{entry.key.title()}Spec"
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _strict(form: Any) -> Any:
    """A type without conversions between types, except from an integer to a float."""
    from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr

    simple = {str: StrictStr, int: StrictInt, bool: StrictBool, float: StrictInt | StrictFloat}
    if form in simple:
        return simple[form]
    parts = tuple(_strict(part) for part in typing.get_args(form))
    if isinstance(form, types.UnionType):
        return typing.Union[parts]  # noqa: UP007 - of a tuple of types
    return typing.get_origin(form)[parts]
