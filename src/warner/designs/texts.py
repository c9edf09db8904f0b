"""Designs as short texts: ``crosswise:1/4``, ``forced:yes=1/6,no=1/12``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
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
EXAMPLES = {
    "warner": "warner:5/6",
    "forced": "forced:1/6,1/6",
    "crosswise": "crosswise:1/4",
    "triangular": "triangular:1/4",
    "unrelated": "unrelated:2/3,1/4",
    "kuk": "kuk:4/5,1/5",
    "mangat": "mangat:2/3",
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
    if not isinstance(text, str):
        raise ArgumentTypeError("design", "must be a text", kind(text), "Such as 'crosswise:1/4'")
    name, _, rest = text.partition(":")
    name = name.strip().lower()
    cls = BY_NAME.get(name)
    if cls is None:
        rule = f"must be one of {', '.join(BY_NAME)}"
        raise ArgumentError("design", rule, show(text), meant(name, BY_NAME))
    example = f"Write {show(EXAMPLES[name])}"
    words = [word.strip() for word in rest.split(",")] if rest.strip() else []
    pairs = [word.partition("=") for word in words]
    named = {key.strip(): value.strip() for key, sign, value in pairs if sign}
    plain = [word for word in words if "=" not in word]
    if (plain and named) or len(named) + len(plain) < len(words):
        rule = "must have its chances with a name each, or all without, and none twice"
        raise ArgumentError("design", rule, show(text), example)
    parameters = [key for key in inspect.signature(cls).parameters if key != "domain"]
    if cls is ForcedResponse:
        return _forced(text, plain, named, domain)
    stated = named or dict(zip(parameters, plain, strict=False))
    missing = [
        key
        for key, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is inspect.Parameter.empty and key not in stated
    ]
    if missing or len(plain) > len(parameters) or not set(stated) <= set(parameters):
        rule = f"{name} has {' and '.join(parameters)}"
        raise ArgumentError("design", rule, show(text), example)
    arguments: dict[str, Any] = dict(stated)
    if "draws" in arguments:
        draws = arguments["draws"]
        arguments["draws"] = int(draws) if draws.isdecimal() else draws
    return cls(**arguments, domain=domain)  # type: ignore[arg-type]


def _forced(
    text: str, plain: list[str], named: dict[str, str], domain: Domain | None
) -> ForcedResponse:
    """Forced response from its text: which answer a chance belongs to must be clear."""
    if named and set(named) != {"yes", "no"}:
        labels = named if domain is None else {str(v): v for v in domain.labels}
        if set(named) != set(labels):
            rule = f"must have a chance for each of {', '.join(labels)}"
            raise ArgumentError("design", rule, show(text))
        order = {label: named[str(label)] for label in labels}
        return ForcedResponse(answers=order, domain=domain)
    if named:
        return ForcedResponse(named["yes"], named["no"], domain=domain)
    if domain is not None and domain.size > 2 and len(set(plain)) == 1:
        return ForcedResponse(answers=dict.fromkeys(domain.labels, plain[0]), domain=domain)
    if len(plain) != 2:
        rule = "forced has the chances of being told to say yes and no"
        raise ArgumentError("design", rule, show(text), f"Write {show(EXAMPLES['forced'])}")
    design = ForcedResponse(plain[0], plain[1], domain=domain)
    if design.chances[0] != design.chances[1]:
        rule = "must say which chance is of yes, and which of no"
        remedy = f"Write 'forced:yes={plain[0]},no={plain[1]}', or the other way round"
        raise ArgumentError("design", rule, show(text), remedy)
    return design
