"""Public columns of a study, which travel beside the reports and are not protected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.domains import Categorical, Domain, Integers
from warner.domains.dates import Dates
from warner.reports.public_columns import check_name
from warner.studies.problems import Found, Problem, StudyProblems, broken

TABLE = "public"
SMALLEST_GROUP = 10  # people: a smaller group can point at one of them


def public_columns(stated: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Domain]:
    """The public columns that a study declares."""
    columns: dict[str, Domain] = {}
    found = Found()
    protected = {name.casefold() for name in taken}
    if stated and TABLE in protected:
        rule = f"must not have one that is called {TABLE!r} beside public columns"
        found.keep(broken(("attributes", TABLE), rule, None, _RENAME, "attributes").problems)
    for name, spec in stated.items():
        with found.within(TABLE, name):
            place = f"{TABLE}.{name}"
            if name.casefold() in protected:
                rule = "repeats a protected attribute, whose answers would travel in the clear"
                raise broken((), rule, None, "Leave the public column out, or rename it", place)
            if name.casefold() in {known.casefold() for known in columns}:
                rule = "names must differ by more than upper and lower case"
                raise broken((), rule, None, None, place)
            columns[name] = _column(name, spec, place)
            columns[name].remedy = f"declare the value in [{place}], or correct it in the answers"
    found.refuse()
    return columns


_RENAME = "Rename the attribute"


def _column(name: str, spec: Any, place: str) -> Domain:
    """One public column from its validated table; ``place`` is for errors."""
    try:
        check_name(name)
        domain = _domain(spec)
        _ = domain.text  # refuses labels that are equal as text
        return domain
    except (ArgumentError, ArgumentTypeError) as error:
        key = str(error).partition(":")[0]
        path = (key,) if getattr(spec, key, None) is not None else ()
        problem = Problem(path, f"{place}: {error}")
    raise StudyProblems([problem])


def _domain(spec: Any) -> Domain:
    """The domain of a public column from its validated table."""
    if spec.values is not None:
        return Categorical(spec.values)
    return Integers(*spec.integers) if spec.integers is not None else Dates(spec.dates)


def described(domain: Domain | None) -> str:
    """The values of a public column in words.

    >>> described(Integers(18, 99)), described(Dates("week")), described(None)
    ('82 values', 'dates by week', 'any values')
    """
    if domain is None:
        return "any values"
    unit = domain.spec().get("unit")
    return f"{domain.size:,} values" if unit is None else f"dates by {unit}"


def audit_of(
    columns: Mapping[str, Domain | None], smallest: int, sizes: np.ndarray | None = None
) -> dict[str, Any]:
    """What an audit says of public columns, as JSON data.

    Shapes: sizes (G,).
    """
    data: dict[str, Any] = {
        "protected": False,
        "columns": {name: None if d is None else d.spec() for name, d in columns.items()},
        "smallest_group": smallest,
    }
    if sizes is not None:
        small = int((sizes < smallest).sum())
        return data | {"groups": len(sizes), "small": small, "fewest": int(sizes.min())}
    groups = number_of_groups(columns)
    return data | {"groups_without_dates": groups, "people_to_fill_them": groups * smallest}


def number_of_groups(columns: Mapping[str, Domain | None]) -> int:
    """The number of groups that public columns make, without those of dates."""
    return prod(d.size for d in columns.values() if d is not None and not _is_dated(d))


def audit_text(
    columns: Mapping[str, Domain | None], smallest: int, sizes: np.ndarray | None = None
) -> str:
    """What an audit says of public columns, in words. Arguments as in :func:`audit_of`."""
    data = audit_of(columns, smallest, sizes)
    listed = ", ".join(f"{name} ({described(domain)})" for name, domain in columns.items())
    text = (
        f"Public columns: {listed}. They are NOT protected: they travel in the clear beside each "
        "report, and no epsilon is of them.\n"
    )
    risk = f"A group of fewer than {smallest:,} people can point at one of them."
    if sizes is not None:
        return (
            f"{text}WARNING: {data['small']:,} of {data['groups']:,} groups have fewer than "
            f"{smallest:,} reports, the smallest {data['fewest']:,}. {risk}"
            if data["small"]
            else f"{text}All {data['groups']:,} groups have at least {smallest:,} reports."
        )
    many = data["groups_without_dates"]
    dated = any(d is not None and _is_dated(d) for d in columns.values())
    made = f"{many:,} groups" if many > 1 else "a group"
    made += " for each date" if dated else ""
    fill = "the groups of one date" if dated else "all groups"
    return (
        f"{text}Together they make {made}. WARNING: {risk[0].lower()}{risk[1:]} At least "
        f"{data['people_to_fill_them']:,} people are needed to fill {fill}. "
        "warner tally --by counts the small groups."
    )


def _is_dated(domain: Domain) -> bool:
    """Whether a column holds dates, of which as many occur as a survey lasts."""
    return "unit" in domain.spec()


def declared(public: Mapping[str, Domain], name: Any, place: str) -> Domain:
    """The values of a public column that a study declares."""
    if isinstance(name, str) and name in public:
        return public[name]
    rule = f"must be public columns of the study: {', '.join(public) or 'none'}"
    remedy = "Declare the column in the study: [public.NAME] and its values"
    raise ArgumentError(place, rule, show(name), remedy)
