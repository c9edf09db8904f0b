"""Designs as short texts: ``crosswise:1/4``, ``forced:yes=1/6,no=1/12``, ``cheating:1/4,3/4``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from warner._core.checks import kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.text import meant
from warner.designs.one_group import (
    Crosswise,
    ForcedResponse,
    Kuk,
    Mangat,
    Triangular,
    Unrelated,
    Warner,
)
from warner.designs.paper import PaperDesign
from warner.domains import Domain

BY_NAME: Mapping[str, type[PaperDesign]] = {
    cls.short_name: cls
    for cls in (Warner, ForcedResponse, Crosswise, Triangular, Unrelated, Kuk, Mangat)
}
# Designs of several groups. groups_from_text makes them, in a module that imports estimators, which
# counting does not need.
EXAMPLES_OF_GROUPS = {
    "cheating": "cheating:1/4,3/4",
    "symmetric-cheating": "symmetric-cheating:2/5,1/10,3/20,7/20",
    "lie-detector": "lie-detector:1/6,5/6",
    "unrelated-unknown": "unrelated-unknown:7/10,1/5",
    "extended-crosswise": "extended-crosswise:1/4",
    "list": "list:3",
}
NAMES_OF_GROUPS = tuple(EXAMPLES_OF_GROUPS)
BOTH_CARDS = "extended-crosswise"  # whose two cards together say what one says
EXAMPLES = {
    "warner": "warner:5/6",
    "forced": "forced:1/6,1/6",
    "crosswise": "crosswise:1/4",
    "triangular": "triangular:1/4",
    "unrelated": "unrelated:2/3,1/4",
    "kuk": "kuk:4/5,1/5",
    "mangat": "mangat:2/3",
}


# Designs that people draw with each of these without effort, the usual one first.
BY_DEVICE = {
    "coin": ("crosswise:1/4", "forced:1/4,1/4"),
    "die": ("forced:1/6,1/6", "crosswise:1/6", "crosswise:1/3", "warner:5/6"),
    "dice": ("crosswise:1/12", "forced:1/12,1/12"),
    "birthday": ("crosswise:59/365", "crosswise:90/365"),
    "cards": ("crosswise:1/5", "crosswise:1/10"),
}
# Examples of designs, by the names that RRreg has for them, in lower case.
_IN_RRREG = {
    "uqtknown": EXAMPLES["unrelated"],
    "uqtunknown": EXAMPLES_OF_GROUPS["unrelated-unknown"],
    "fr": "forced:yes=1/6,no=1/12",
    "cdm": EXAMPLES_OF_GROUPS["cheating"],
    "cdmsym": EXAMPLES_OF_GROUPS["symmetric-cheating"],
    "sld": EXAMPLES_OF_GROUPS["lie-detector"],
}


def from_text(text: str, domain: Domain | None = None) -> PaperDesign:
    """A design from its name and its chances.

    Args:
        text: ``"crosswise:1/4"``, ``"forced:yes=1/6,no=1/12"``, ``"unrelated:0.7,0.2"``,
            ``"kuk:p=4/5,b=1/4,draws=5"``, ``"forced:never=1/10,sometimes=3/20,often=1/20"``.
        domain: the answers; None for those of the text, or "no" and "yes".

    Raises:
        ArgumentError: another name, another number of chances, or chances that the design refuses.

    >>> from_text("crosswise:1/4")
    Crosswise(p='1/4')
    >>> from_text("forced:1/6,1/6").text
    'forced:yes=1/6,no=1/6'
    """
    name = name_of(text)
    if name in NAMES_OF_GROUPS:
        rule = "must be a design for one group of people, but this design has several groups"
        remedy = "Use it with warner estimate --design, or in Python with groups_from_text"
        if name == BOTH_CARDS and ":" in text:
            first = from_text(on_one_card(text))
            second = Crosswise(1 - first.p).text  # type: ignore[attr-defined]
            remedy = (
                "For the sheets, make two study files that differ in the design alone, "
                f"{first.text} and {second}, and run warner study sheet with each. Type what all "
                "people ticked into one table, with a column that says which sheet somebody had. "
                f"Then run: warner estimate TABLE --design {text.strip()} --group COLUMN=FIRST,"
                "SECOND"
            )
        raise ArgumentError("design", rule, show(text), remedy)
    cls = BY_NAME.get(name)
    if cls is None:
        names = [*BY_NAME, *NAMES_OF_GROUPS]
        rule = f"must be one of {', '.join(names)}"
        near = meant(name.split()[0], names) if name else None
        remedy = near or "For example crosswise:1/4"
        if (in_rrreg := _IN_RRREG.get(name)) is not None:
            remedy = f"RRreg's {text.partition(':')[0].strip()} is for example {in_rrreg} here"
        if name in BY_DEVICE:
            remedy = (
                f"For example {BY_DEVICE[name][0]}. To see others, run: warner plan --design {name}"
            )
        raise ArgumentError("design", rule, show(text), remedy)
    if cls is ForcedResponse:
        return _forced(text, *_values(text, EXAMPLES[name]), domain)
    arguments: dict[str, Any] = stated_in(cls, text, EXAMPLES[name])
    if "draws" in arguments:
        draws = arguments["draws"]
        arguments["draws"] = int(draws) if draws.isdecimal() else draws
    return cls(**arguments, domain=domain)  # type: ignore[arg-type]


def name_of(text: str) -> str:
    """The name of the design in a text."""
    if not isinstance(text, str):
        raise ArgumentTypeError(
            "design", "must be a text", kind(text), "For example 'crosswise:1/4'"
        )
    return text.partition(":")[0].strip().lower()


def on_one_card(text: str) -> str:
    """The design of one card that tells as much of the answer as both cards of a design.

    The second card of the extended crosswise design says "same" as often as the first says
    "different", whatever the answer is.

    >>> on_one_card("extended-crosswise:1/4"), on_one_card("warner:5/6")
    ('crosswise:1/4', 'warner:5/6')
    """
    return text.strip()[len("extended-") :] if name_of(text) == BOTH_CARDS else text


def with_name(text: str) -> tuple[str | None, str]:
    """A design that may stand behind the name of its question.

    >>> with_name("smokes=crosswise:1/4"), with_name("forced:yes=1/6,no=1/12")
    (('smokes', 'crosswise:1/4'), (None, 'forced:yes=1/6,no=1/12'))
    """
    before, sign, after = text.partition("=")
    return (before.strip(), after.strip()) if sign and ":" not in before else (None, text.strip())


def _values(text: str, example: str) -> tuple[list[str], dict[str, str]]:
    """The values of a text without names, and those with names."""
    rest = text.partition(":")[2]
    words = [word.strip() for word in rest.split(",")] if rest.strip() else []
    pairs = [word.partition("=") for word in words]
    named = {key.strip(): value.strip() for key, sign, value in pairs if sign}
    plain = [word for word in words if "=" not in word]
    if (plain and named) or len(named) + len(plain) < len(words):
        rule = "must name all chances or none" if plain and named else "names a chance twice"
        raise ArgumentError("design", rule, show(text), f"For example {show(example)}")
    return plain, named


def stated_in(cls: Callable[..., Any], text: str, example: str) -> dict[str, str]:
    """The values of a text, by the names of the parameters of a class."""
    plain, named = _values(text, example)
    signature = inspect.signature(cls).parameters
    parameters = [key for key in signature if key != "domain"]
    stated = named or dict(zip(parameters, plain, strict=False))
    needed = {key for key, p in signature.items() if p.default is inspect.Parameter.empty}
    if needed - set(stated) or len(plain) > len(parameters) or not set(stated) <= set(parameters):
        several = "s" * (len(parameters) > 1)
        rule = f"{name_of(text)} takes the value{several} {' and '.join(parameters)}"
        remedy = f"For example {show(example)}"
        if len(plain) == 2 * len(parameters) and set(plain[::2]) == {"0"}:
            points = ",".join(f"0.{digits}" for digits in plain[1::2])
            remedy = f"Write a decimal point: {name_of(text)}:{points}"
        raise ArgumentError("design", rule, show(text), remedy)
    return stated


def _forced(
    text: str, plain: list[str], named: dict[str, str], domain: Domain | None
) -> ForcedResponse:
    """Forced response from its text: which answer a chance belongs to must be clear."""
    if named and set(named) != {"yes", "no"}:
        labels = named if domain is None else {str(v): v for v in domain.labels}
        if set(named) != set(labels):
            rule = f"must have a chance for each of {', '.join(labels)}"
            remedy = f"For example 'forced:{','.join(f'{label}=1/10' for label in labels)}'"
            raise ArgumentError("design", rule, show(text), remedy)
        order = {label: named[str(label)] for label in labels}
        return ForcedResponse(answers=order, domain=domain)
    if named:
        return ForcedResponse(named["yes"], named["no"], domain=domain)
    if domain is not None and domain.size > 2:
        if len(plain) not in (1, domain.size):
            rule = f"must have one chance for all {domain.size} answers, or one for each answer"
            raise ArgumentError("design", rule, show(text), "For example 'forced:1/10'")
        if len(set(plain)) > 1:
            pairs = zip(domain.labels, plain, strict=True)
            remedy = f"Write 'forced:{','.join(f'{word}={each}' for word, each in pairs)}'"
            rule = "must say which chance belongs to which answer"
            raise ArgumentError("design", rule, show(text), remedy)
        return ForcedResponse(answers=dict.fromkeys(domain.labels, plain[0]), domain=domain)
    if len(plain) != 2:
        rule = "must have two chances: of being told to say yes, and of being told to say no"
        raise ArgumentError("design", rule, show(text), f"For example {show(EXAMPLES['forced'])}")
    design = ForcedResponse(plain[0], plain[1], domain=domain)
    if design.chances[0] != design.chances[1]:
        rule = "must say which chance belongs to yes, and which to no"
        remedy = f"Write 'forced:yes={plain[0]},no={plain[1]}', or the other way round"
        raise ArgumentError("design", rule, show(text), remedy)
    return design
