"""The check of a study's data against the schema; every problem has its place and a remedy."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from warner._core.checks import show
from warner._core.errors import StudyError, message
from warner._core.text import meant, nearest, unreadable
from warner.studies.mechanisms import (
    MECHANISMS,
    built,
    domain_problems,
    table_problems,
)
from warner.studies.problems import (
    Found,
    Path,
    Problem,
    StudyProblems,
    broken,
    in_words,
    problems_of,
)
from warner.studies.public import public_columns
from warner.studies.schema import BY_KEY, TO_DECIDE, UNDECIDED, model
from warner.studies.texts import collect_problems, text_problems

if TYPE_CHECKING:
    from pydantic import BaseModel

# What a value must be, by pydantic's name of the error.
_RULES = {
    "missing": "is missing",
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have {min_length} or more entries",
    "too_long": "must have at most {max_length} entries",
}
_OF_DOMAINS = ("attributes", "public")  # tables whose parts state domains
_TYPES = ("str", "int", "bool", "float", "dict")
# The headers of the tables that the parts of the schema describe.
_HEADERS = {
    "Study": "the beginning of the file, above the first table",
    "AttributeSpec": "a table [attributes.NAME]",
    "JointSpec": "a table [[joint]]",
    "GroupSpec": "a table [[groups]]",
    "PublicSpec": "a table [public.NAME]",
    "CollectSpec": "the table [collect]",
}


def schema() -> type[BaseModel]:
    """The pydantic model of a study file."""
    return model(tuple(MECHANISMS))


def validated(data: Mapping[str, Any]) -> Any:
    """The fields of a study, checked against the schema."""
    from pydantic import ValidationError

    try:
        return schema().model_validate(dict(data))
    except ValidationError as error:
        problems = _told(error.errors(), data)
    found = Found()
    found.keep(problems)
    _check_the_rest(data, problems, found)
    check_texts(data, found)
    raise StudyProblems(dict.fromkeys(found.problems))


def _told(errors: Iterable[Mapping[str, Any]], data: Mapping[str, Any]) -> list[Problem]:
    """The errors of pydantic in words, one for each place."""
    # A value that may be of several types has one error for each of them.
    by_place: dict[Path, list[Mapping[str, Any]]] = {}
    for each in errors:
        by_place.setdefault(_place_of(each["loc"], data), []).append(each)
    kinds = {place: own[0]["type"] for place, own in by_place.items()}
    lacking = {place for place, kind in kinds.items() if kind == "missing"}
    told = []
    for place, kind in kinds.items():
        if kind == "extra_forbidden":
            # A misspelt key and the lack of the right one are one mistake.
            beside = {str(other[-1]): other for other in lacking if other[:-1] == place[:-1]}
            near = nearest(str(place[-1]), beside)
            lacking.discard(beside[near] if near else ())
            told.append(_unknown_key(place, near))
    for place, own in by_place.items():
        if place in lacking or kinds[place] not in ("extra_forbidden", "missing"):
            told.append(_problem(place, own))
    return told


def _place_of(location: tuple[str | int, ...], data: Any) -> Path:
    """The path of an error in the data; pydantic also names the types that it tried."""
    path: list[str | int] = []
    for part in location:
        inside = isinstance(data, Mapping) and part in data
        if part in _TYPES and not inside:
            continue
        path.append(part)
        listed = isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        data = data[part] if inside or listed else None
    return tuple(path)


def _problem(place: Path, errors: list[Mapping[str, Any]]) -> Problem:
    """One place that breaks a rule, in words."""
    kinds = {error["type"]: error for error in errors}
    # Of a number, that it is no float says more than that it is no integer.
    first = kinds.get("float_type", errors[0])
    if first["type"] == "value_error":
        return _no_single_form(place, first)
    if first["input"] == TO_DECIDE:
        return Problem(place, message(in_words(place), UNDECIDED, None, _written(place)))
    rule = _rule(first)
    if "float_type" not in kinds:
        rules = dict.fromkeys(_rule(error) for error in errors)
        rule = " or ".join([rule, *(r.removeprefix("must be ") for r in list(rules)[1:])])
    got = None if first["type"] == "missing" else show(first["input"])
    return Problem(place, message(in_words(place), rule, got, _written(place)))


def _rule(error: Mapping[str, Any]) -> str:
    """The rule that one error of pydantic states, in words."""
    return str(_RULES.get(error["type"], error["msg"])).format(**error.get("ctx", {}))


def _written(place: Path) -> str | None:
    """The remedy that shows how a domain is written; None for places outside domains."""
    for key in place[2:3]:
        entry = BY_KEY[str(key)].study if place[0] in _OF_DOMAINS and key in BY_KEY else None
        if entry is not None and entry.example:
            return f"It is written {entry.example}"
    return None


def _no_single_form(place: Path, error: Mapping[str, Any]) -> Problem:
    """A table that has none of the keys of which it needs one, or several."""
    rule = error["msg"].removeprefix("Value error, ")
    table = error["input"] if isinstance(error["input"], Mapping) else {}
    known = BY_KEY if place[:1] == ("attributes",) else ("values", "integers", "dates")
    stated = [key for key in known if key in table]
    if stated:
        return Problem(
            (*place, stated[1] if len(stated) > 1 else stated[0]),
            message(in_words(place), rule, " and ".join(stated), "Keep one of them"),
        )
    near = next((key for key in table if meant(key, known)), None)
    if near is not None:
        question = f"Is a key misspelt as {near!r}?"
        return Problem((*place, near), message(in_words(place), rule, None, question))
    entries = [cls.study for key, cls in BY_KEY.items() if key in known]
    examples = [entry.example for entry in entries if entry is not None and entry.example]
    remedy = f"For example {' or '.join(examples[:3])}" if examples else None
    return Problem(place, message(in_words(place), rule, None, remedy))


def _unknown_key(place: Path, near: str | None) -> Problem:
    """A key that does not belong to its table, with the one that is meant, or its own table."""
    key, rule = str(place[-1]), "is not a key of a study file"
    owners = _owners()
    if near is not None or key not in owners:
        remedy = meant(key, [near] if near else sorted(owners)) or "Remove it"
    else:
        headers = [_HEADERS[owner] for owner in owners[key] if owner in _HEADERS]
        rule = "is not a key of this table"
        remedy = f"It goes to {' or '.join(headers)}" if headers else "Remove it"
    return Problem(place, message(in_words(place), rule, None, remedy))


@lru_cache(maxsize=1)
def _owners() -> dict[str, list[str]]:
    """{key: the tables that have it}, from the JSON schema."""
    found = schema().model_json_schema()
    tables = {"Study": found, **found.get("$defs", {})}
    owners: dict[str, list[str]] = {}
    for name, table in tables.items():
        for key in table.get("properties", {}):
            owners.setdefault(key, []).append(name)
    return owners


def check_names(names: list[str], found: Found) -> None:
    """Refuse names of attributes that commands or screens could not show, or take for one."""
    taken: set[str] = set()
    for name in names:
        with found.within("attributes", name):
            if name.casefold() in taken:
                rule = "names must differ by more than upper and lower case"
                raise broken((), rule, ", ".join(names), None, "attributes")
            taken.add(name.casefold())
            if not name or "." in name:
                rule, place = "names must not be empty or contain '.'", f"attributes.{name}"
                remedy = f"Rename it, for example to {name.replace('.', '_')!r}" if name else None
                raise broken((), rule, None, remedy, place)
            if (strange := unreadable(name)) is not None:
                rule, remedy = f"names must not hold {strange}", "Use printable characters"
                raise broken((), rule, show(name), remedy, "attributes")


def check_texts(data: Mapping[str, Any], found: Found) -> None:
    """Add the problems of what people read, and of how their answers are collected."""
    found.keep(text_problems(data))
    known = {problem.path for problem in found.problems}
    found.keep(p for p in collect_problems(data.get("collect")) if p.path not in known)


def _check_the_rest(data: Mapping[str, Any], problems: list[Problem], found: Found) -> None:
    """Add the problems of mechanisms and columns in a study that breaks the schema elsewhere."""
    wrong: dict[Path, set[str]] = {}
    for problem in problems:
        wrong.setdefault(problem.path[:2], set()).update(map(str, problem.path[2:3] or ("",)))
    attributes, public = data.get("attributes"), data.get("public")
    if isinstance(attributes, Mapping):
        check_names([str(name) for name in attributes], found)
        for name, table in attributes.items():
            if isinstance(table, Mapping):
                bad = wrong.get(("attributes", name), set())
                found.keep(_of_table(name, table, bad, data), ("attributes", name))
    if isinstance(public, Mapping):
        spec = _part("public")
        sound = {
            name: spec.model_validate(table)
            for name, table in public.items()
            if ("public", name) not in wrong and ("public",) not in wrong
        }
        with found.within():
            public_columns(sound, attributes if isinstance(attributes, Mapping) else {})


def _part(key: str) -> Any:
    """The model of the tables in the table ``key`` of a study."""
    form = schema().model_fields[key].annotation
    for part in typing.get_args(form):  # of dict[str, Spec] | None
        form = part if typing.get_origin(part) is dict else form
    return typing.get_args(form)[1]


def _of_table(
    name: str, table: Mapping[str, Any], bad: set[str], data: Mapping[str, Any]
) -> tuple[Problem, ...] | list[Problem]:
    """The problems of one attribute beside those that the schema found."""
    place = f"attributes.{name}"
    rest = {k: value for k, value in table.items() if k not in bad and value is not None}
    has_domain = sum(key in rest for key in BY_KEY) == 1
    if not has_domain:
        rest = {key: value for key, value in rest.items() if key not in BY_KEY}
        rest["values"] = ["some", "other"]  # stands in for the domain, which is not checked
    spec = _part("attributes").model_validate(rest)
    if _is_together(name, data.get("joint")):
        return domain_problems(place, spec) if has_domain else []
    # A group may state what the common table leaves out.
    ignored = bad | ({"mechanism", "epsilon"} - set(table) if "groups" in data else set())
    told = table_problems(place, spec, ignored, has_domain)
    if told or ignored:
        return told
    try:
        built(place, spec)
    except StudyError as error:
        return problems_of(error)
    return []


def _is_together(name: str, joint: Any) -> bool:
    """Whether an attribute is named in a table of attributes that are randomised together."""
    tables = joint if isinstance(joint, list) else []
    return any(
        isinstance(t, Mapping) and isinstance(t.get("attributes"), list) and name in t["attributes"]
        for t in tables
    )
