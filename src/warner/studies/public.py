"""Public columns of a study, which travel beside the reports and are not protected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.survey_design import ROLES, SurveyDesign
from warner._core.text import FILE_NAME_RULE, can_name_a_file, file_name_key, meant, unreadable
from warner.domains import Categorical, Domain, Integers
from warner.domains.interval import Dates
from warner.reports.public_columns import check_name, secret_column
from warner.studies.problems import Path, Problem, ProblemLog, StudyProblems, broken
from warner.studies.schema import BY_KEY, SHOWN

TABLE = "public"


def public_columns(stated: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Domain]:
    """The public columns that a study declares."""
    columns: dict[str, Domain] = {}
    log = ProblemLog()
    protected = {name.casefold() for name in taken}
    if stated and TABLE in protected:
        rule = f"a question cannot have the name {TABLE!r} in a study with public columns"
        log.add(("attributes", TABLE), rule, None, _RENAME, "attributes")
    for name, spec in stated.items():
        with log.within(TABLE, name):
            where = f"{TABLE}.{name}"
            if name.casefold() in protected:
                rule = (
                    "has the name of a protected question, whose answers would then be stored "
                    "unprotected"
                )
                raise broken((), rule, None, "Leave out the public column, or rename it", where)
            if other := next((n for n in columns if n.casefold() == name.casefold()), None):
                rule = f"differs from {other!r} only in upper and lower case"
                raise broken((), rule, None, "Rename one of them", where)
            columns[name] = _column(name, spec, where)
            columns[name].is_public = True
            if not isinstance(columns[name], Dates):
                remedy = f"Declare the value in [{where}], or correct it in the answers"
                columns[name].remedy = remedy
    log.refuse()
    return columns


_RENAME = "Rename the question (attribute)"


def _column(name: str, spec: Mapping[str, Any], where: str) -> Domain:
    """One public column from its validated table; ``place`` is for errors."""
    try:
        check_name(name)
        domain = _domain(spec)
        _ = domain.text  # refuses labels that are equal as text
        return domain
    except (ArgumentError, ArgumentTypeError) as error:
        key = str(error).partition(":")[0]
        path = (key,) if key in spec else ()
        problem = Problem(path, f"{where}: {error}")
    raise StudyProblems([problem])


def _domain(spec: Mapping[str, Any]) -> Domain:
    """The domain of a public column from its validated table."""
    if "values" in spec:
        return Categorical(spec["values"])
    return Integers(*spec["integers"]) if "integers" in spec else Dates(spec["dates"])


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
    """What an audit says of public columns, as JSON data."""
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
        f"Public columns: {listed}. They are NOT protected: they are sent and stored beside each "
        "report as they are.\n"
        if len(columns) > 1
        else f"Public column: {listed}. It is NOT protected: it is sent and stored beside each "
        "report as it is.\n"
    )
    risk = f"In a group of fewer than {smallest:,} people somebody may be recognised."
    if sizes is not None:
        return (
            f"{text}WARNING: {data['small']:,} of {data['groups']:,} groups have fewer than "
            f"{smallest:,} reports, and the smallest has {data['fewest']:,}. {risk}"
            if data["small"]
            else f"{text}All {data['groups']:,} groups have at least {smallest:,} reports."
        )
    many = data["groups_without_dates"]
    dated = any(d is not None and _is_dated(d) for d in columns.values())
    made = f"{many:,} groups" if many > 1 else "a group"
    made += " for each date" if dated else ""
    makes = "Together they make" if len(columns) > 1 else "It makes"
    fill = "the groups of one date" if dated else "all groups"
    return (
        f"{text}{makes} {made}. WARNING: {risk[0].lower()}{risk[1:]} At least "
        f"{data['people_to_fill_them']:,} people are needed before {fill} can have {smallest:,} "
        f"people each. To count the small groups, run: warner tally --by {','.join(columns)}."
    )


def _is_dated(domain: Domain) -> bool:
    """Whether a column holds dates, of which as many occur as a survey lasts."""
    return "unit" in domain.spec()


def declared(
    public: Mapping[str, Domain], name: Any, where: str, secret: Collection[str] = ()
) -> Domain:
    """The values of a public column that a study declares; ``secret`` are its questions."""
    if isinstance(name, str) and name in public:
        return public[name]
    if isinstance(name, str) and name in secret:
        raise secret_column(where, name, public)
    remedy = f"Declare the column in the study: [public.{name}] and its values"
    for column, domain in public.items():
        if isinstance(domain, Dates) and domain.unit == name:
            remedy = f"The study counts the column {column} by {name}: write {column}"
    if name == "":
        remedy = "Write the names with commas and no blanks, such as ward,week"
    raise unknown(where, name, public, "the public columns of the study", remedy)


def survey_design(named: Mapping[str, str]) -> SurveyDesign | None:
    """How people were drawn, as the table [design] says it."""
    if len(set(named.values())) < len(named):
        rule = "must name a different public column for each of weights, cluster and strata"
        raise broken(("design",), rule, ", ".join(named.values()))
    return SurveyDesign.of(*(named.get(role) for role in ROLES))


def check_design(design: SurveyDesign | None, public: Mapping[str, Domain]) -> None:
    """Refuse a survey design whose columns the study does not declare."""
    log = ProblemLog()
    for role, name in ({} if design is None else design.roles).items():
        with log.within("design", role):
            if name not in public:
                rule = "must be a public column"
                rule += (
                    f" of the study: {', '.join(public)}" if public else ", and the study has none"
                )
                remedy = meant(name, public) or f"Declare it: [public.{name}]"
                raise broken((), rule, show(name), remedy, f"design.{role}")
            ends = public[name].ends if public[name].is_numeric else None
            if role == "weights" and (ends is None or float(ends[0][0]) < 1):
                rule = "must name a public column of whole numbers from 1 on"
                remedy = (
                    f"For weights from 1 to 100000, write [public.{name}] integers = [1, 100000]. "
                    "If weights have decimals, such as 1.3, multiply all weights by 100: the "
                    "results stay the same"
                )
                raise broken((), rule, show(name), remedy, f"design.{role}")
    log.refuse()


# -----------------------------------------------------------------------------------------------
# Groups of people in a study file, each with budgets or mechanisms of its own.


# What is the same for all groups: the questions, and what is randomised together.
_COMMON = (*BY_KEY, *SHOWN, "unit", "keys", "tags", "attributes")


def check_groups(groups: list[dict[str, Any]], names: list[str], column: str) -> None:
    """Refuse invalid names of groups, of their column, or of the attributes that they change."""
    log = ProblemLog()
    with log.within("group_column"):
        if not column:
            raise broken((), "must not be empty", name="group_column")
        if (strange := unreadable(column)) is not None:
            raise broken((), f"must not contain {strange}", show(column), None, "group_column")
    taken: set[str] = set()
    for i, group in enumerate(groups):
        with log.within("groups", i, "name"):
            if not can_name_a_file(group["name"]):
                raise broken((), FILE_NAME_RULE, show(group["name"]), None, "groups.name")
            if file_name_key(group["name"]) in taken:
                rule = "must not differ from another name only in upper and lower case"
                raise broken((), rule, show(group["name"]), None, "groups.name")
            taken.add(file_name_key(group["name"]))
        for name, change in group["attributes"].items():
            where = f"groups.{group['name']}.attributes.{name}"
            with log.within("groups", i, "attributes", name):
                if name not in names:
                    rule = f"is not one of the questions {', '.join(names)}"
                    raise broken((), rule, None, meant(name, names), where)
                for key in _COMMON:
                    if key in change:
                        rule = (
                            "must be the same for all groups, because they are estimated together"
                        )
                        remedy = "Delete this line of the group"
                        raise broken((key,), rule, None, remedy, f"{where}.{key}")
    log.refuse()


def of_groups(
    groups: list[dict[str, Any]],
    problems: Mapping[str, Sequence[Problem]],
    joint: Mapping[str, list[str]],
) -> list[Problem]:
    """The problems of the studies of groups, at their places in the common file."""
    located = []
    for i, group in enumerate(groups):
        for problem in problems.get(group["name"], ()):
            path = _in_common(problem.path, i, group, list(joint))
            # What is wrong in the common tables is wrong in every group, and is told once.
            is_common = all(problem in problems.get(other["name"], ()) for other in groups)
            prefix = f"groups.{group['name']}: "
            if is_common and path == problem.path:
                prefix = ""
            located.append(Problem(path, prefix + problem.text))
    return list(dict.fromkeys(located))


def _in_common(path: Path, i: int, group: Mapping[str, Any], joint: list[str]) -> Path:
    """The place in the common file of a place in the study of the group number ``i``."""
    if path[:1] in (("budget",), ("delta",)):
        return ("groups", i, *path) if path[0] in group else path
    if len(path) < 3 or path[0] not in ("attributes", "joint"):
        return path
    name = str(path[1]) if path[0] == "attributes" else joint[int(path[1])]
    is_changed = path[2] in group["attributes"].get(name, {})
    return ("groups", i, "attributes", name, *path[2:]) if is_changed else path


def group_data(
    data: Mapping[str, Any], group: Mapping[str, Any], joint: Mapping[str, list[str]]
) -> dict[str, Any]:
    """The study that the people of one group answer, as data."""
    study = {k: v for k, v in data.items() if k not in ("groups", "group_column")}
    study |= {k: group[k] for k in ("budget", "delta") if k in group}
    changes = group["attributes"]
    study["attributes"] = {
        name: _changed(table, changes.get(name, {})) for name, table in data["attributes"].items()
    }
    if "joint" in data:
        tables = zip(joint, data["joint"], strict=True)
        study["joint"] = [_changed(table, changes.get(name, {})) for name, table in tables]
    return study


def _changed(table: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A table with changes. Another mechanism does not keep the options of the first."""
    if "mechanism" in change:
        table = {k: v for k, v in table.items() if k in (*_COMMON, "reports", "epsilon")}
    return {**table, **change}
