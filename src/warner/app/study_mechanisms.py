"""From the tables of a study file to mechanisms; every error names the table."""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from warner._core.checks import show
from warner._core.errors import StudyError, WarnerError, message
from warner.app.study_schema import BY_KEY
from warner.domains import Categorical, Domain, Missing, Product, with_missing
from warner.mechanisms import MECHANISMS as _ALL
from warner.mechanisms import Mechanism, Repeated

# What can be done where silence is a value and the mechanism is of numbers.
_OF_LABELS = (
    "SubsetSelection, UnaryEncoding and all other mechanisms of labels take it, on bins too; or "
    "KeyValue with a key for silence, whose value can be any number"
)
MECHANISMS = {name: cls for name, cls in _ALL.items() if cls.is_of_studies}


def built(place: str, spec: Any, domain: Domain | None = None, rows: int = 1) -> Mechanism:
    """The mechanism of one table, for one row of answers.

    Args:
        place: the name of the table, for errors.
        spec: the validated table of an attribute or of attributes together.
        domain: of attributes together; None for the domain that the table states.
        rows: the most rows of answers of one person, who spends the stated budget on all of them.

    Raises:
        StudyError: the table does not define a mechanism.
    """
    for key in ("mechanism", "epsilon"):
        if getattr(spec, key) is None:
            raise StudyError(_missing(place, key, spec))
    cls = MECHANISMS.get(spec.mechanism)
    if cls is None:
        rule, remedy = f"must be one of {', '.join(MECHANISMS)}", meant(spec.mechanism, MECHANISMS)
        raise StudyError(message(f"{place}.mechanism", rule, show(spec.mechanism), remedy))
    options = dict(spec.model_extra or {})
    keys, tags = getattr(spec, "keys", None), getattr(spec, "tags", None)
    _check_options(place, spec.mechanism, cls, options, keys, tags)
    times = rows * (spec.reports or 1)

    def made(domain: Domain) -> Mechanism:
        budget, others = share(spec.epsilon, times), _shared(options, times)
        labels = None if keys is None else _labels(keys, domain.missing)
        return _several(cls.from_study(domain, budget, others, labels, tags), spec.reports)

    asked = domain
    try:
        asked = stated_domain(spec) if domain is None else domain
        return made(asked)
    except (WarnerError, TypeError) as error:
        problem = StudyError(f"{place}: {error}")
    if asked is not None and asked.silence is not None and _works(made, asked.answered):
        rule = f'"answer" does not go with {spec.mechanism}, which takes numbers, places or pairs'
        raise StudyError(message(f"{place}.missing", rule, None, _OF_LABELS))
    raise problem


def _works(made: Callable[[Domain], Mechanism], domain: Domain) -> bool:
    """Whether a mechanism can be made for a domain."""
    with contextlib.suppress(WarnerError, TypeError):
        made(domain)
        return True
    return False


def meant(written: str, known: Iterable[str]) -> str | None:
    """The remedy that names the nearest known word; None where none is near.

    Args:
        written: the word of a study file that is not known.
        known: the words that are.

    >>> meant("mechnism", ["mechanism", "epsilon"])
    "Is 'mechanism' meant?"
    """
    as_known = {word.casefold(): word for word in known}
    near = get_close_matches(written.casefold(), as_known, n=1)
    return f"Is {as_known[near[0]]!r} meant?" if near else None


def _missing(place: str, key: str, spec: Any) -> str:
    """The message on a key that a table needs, and on a key that may be a misspelt one."""
    near = [word for word in spec.model_extra or {} if meant(word, [key])]
    remedy = f"Is it misspelt as {near[0]!r}?" if near else None
    return message(f"{place}.{key}", "is missing", None, remedy)


def _several(mechanism: Mechanism, times: int | None) -> Mechanism:
    """The mechanism itself, or several reports of it."""
    return Repeated(mechanism, times) if times is not None and times > 1 else mechanism


def share(budget: float, times: int) -> float:
    """The largest float that, multiplied exactly by ``times``, is at most ``budget``.

    Args:
        budget: in nats.
        times: the number of equal shares.

    >>> share(1.0, 1), share(0.3, 3) * 3 <= 0.3
    (1.0, True)
    """
    # What is no budget is left to the mechanism, which names it as it was stated.
    if times == 1 or not 0 < budget <= sys.float_info.max:
        return budget
    part = budget / times
    while part > 0 and Fraction(part) * times > Fraction(budget):
        part = math.nextafter(part, 0.0)
    return part


def _shared(options: Mapping[str, Any], times: int) -> dict[str, Any]:
    """The options of one of several reports: a delta is of all of them together."""
    delta = options.get("delta")
    if isinstance(delta, int | float) and not isinstance(delta, bool):
        return {**options, "delta": share(delta, times)}
    return dict(options)


def _check_options(
    place: str,
    name: str,
    cls: type[Mechanism],
    options: Mapping[str, Any],
    keys: Any,
    tags: Any,
) -> None:
    """Refuse options that the mechanism does not have, and the lack of those that it needs."""
    parameters = inspect.signature(cls).parameters
    allowed = {key: p for key, p in parameters.items() if key not in cls.not_options}
    for key, parameter in allowed.items():
        # With tags, no value need be sensitive for everyone.
        is_needed = parameter.default is inspect.Parameter.empty and not (
            key == "sensitive" and tags is not None
        )
        if is_needed and key not in options:
            raise StudyError(message(f"{place}.{key}", f"is needed by {name}"))
    if tags is not None and not cls.takes_tags:
        rule = f"go with {_named('takes_tags')}, not with {name}"
        raise StudyError(message(f"{place}.tags", rule))
    if (keys is not None) != cls.takes_keys:
        rule = "are needed by" if cls.takes_keys else f"go with {_named('takes_keys')}, not with"
        raise StudyError(message(f"{place}.keys", f"{rule} {name}"))
    for option in options:
        if option not in allowed:
            known = [*allowed, "tags"] if cls.takes_tags else [*allowed]
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            rule = f"is not an option of {name}: {has}"
            common = ("reports", "mechanism", "epsilon", *BY_KEY)
            raise StudyError(message(f"{place}.{option}", rule, None, meant(option, common)))


def _named(capability: str) -> str:
    """The names of the mechanisms that have a capability."""
    return " and ".join(name for name, cls in MECHANISMS.items() if getattr(cls, capability))


def stated_domain(spec: Any) -> Domain:
    """The one domain that the table of an attribute states; its answers must differ as text."""
    stated = spec.model_dump(include=set(BY_KEY), exclude_none=True)
    ((key, entry),) = stated.items()
    domain = BY_KEY[key].from_study(entry)
    _ = domain.text
    policy, empty = getattr(spec, "missing", None), getattr(spec, "empty", None)
    if policy is None and empty is None:
        return domain
    return with_missing(domain, policy or "refuse", [""] if empty is None else empty)


def _labels(values: list[Any], missing: Missing) -> Domain:
    """The keys of pairs, whose labels must differ as text, with the policy of the attribute."""
    keys = Categorical(values)
    _ = keys.text
    return (
        keys
        if missing == Missing("refuse", ())
        else with_missing(keys, missing.policy, missing.empty)
    )


def together(specs: Mapping[str, Any], names: list[str], place: str) -> Product:
    """The domain of attributes that are randomised as one value.

    Args:
        specs: {attribute: its validated table}.
        names: the names of the attributes.
        place: the name of the table that lists them, for errors.

    Raises:
        StudyError: an attribute that is unknown, named twice, or states more than a domain.
    """
    domains = {}
    for name in names:
        if name not in specs:
            rule = f"must be among the attributes {', '.join(specs)}"
            raise StudyError(message(f"{place}.attributes", rule, show(name)))
        if name in domains:
            raise StudyError(message(f"{place}.attributes", f"names {name!r} twice"))
        spec = specs[name]
        stated = [
            key
            for key in (
                "mechanism",
                "epsilon",
                "reports",
                "keys",
                "tags",
                *(spec.model_extra or {}),
            )
            if getattr(spec, key, None) is not None
        ]
        if stated:
            rule = f"goes to {place}, where {name!r} is randomised together with others"
            raise StudyError(message(f"attributes.{name}.{stated[0]}", rule))
        try:
            domains[name] = stated_domain(spec)
        except WarnerError as error:
            raise StudyError(f"attributes.{name}: {error}") from None
    return Product(**domains)
