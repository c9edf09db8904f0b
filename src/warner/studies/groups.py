"""Groups of people in a study file, each with budgets or mechanisms of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warner._core.checks import show
from warner._core.text import FILE_NAME_RULE, can_name_a_file, file_name_key, meant, unreadable
from warner.studies.problems import Found, Problem, broken
from warner.studies.schema import BY_KEY
from warner.studies.toml_lines import Path

# What an attribute keeps when a group names another mechanism for it.
_SHOWN = ("label", "help", "answers", "unit")
_KEPT = (*BY_KEY, *_SHOWN, "keys", "tags", "attributes", "reports")
# What is the same for all groups: the questions, and what is randomised together.
_COMMON = (*BY_KEY, *_SHOWN, "keys", "tags", "attributes")


def check_groups(groups: list[Any], known: list[str], column: str) -> None:
    """Refuse invalid names of groups, of their column, or of the attributes that they change."""
    found = Found()
    with found.within("group_column"):
        if not column:
            raise broken((), "must not be empty", name="group_column")
        if (strange := unreadable(column)) is not None:
            raise broken((), f"must not hold {strange}", show(column), None, "group_column")
    taken: set[str] = set()
    for i, group in enumerate(groups):
        with found.within("groups", i, "name"):
            key = file_name_key(group.name)
            if not can_name_a_file(group.name):
                raise broken((), FILE_NAME_RULE, show(group.name), None, "groups.name")
            if key in taken:
                rule = "must differ by more than upper and lower case"
                raise broken((), rule, show(group.name), None, "groups.name")
            taken.add(key)
        for name, change in group.attributes.items():
            place = f"groups.{group.name}.attributes.{name}"
            with found.within("groups", i, "attributes", name):
                if name not in known:
                    rule, near = f"must be one of {', '.join(known)}", meant(name, known)
                    raise broken((), rule, None, near, place)
                for key in _COMMON:
                    if key in (change.model_extra or {}):
                        rule = "is the same for all groups, so that they are estimated together"
                        raise broken((key,), rule, None, None, f"{place}.{key}")
    found.refuse()


def of_groups(
    groups: list[Any],
    problems: Mapping[str, Sequence[Problem]],
    joint: Mapping[str, list[str]],
) -> list[Problem]:
    """The problems of the studies of groups, at their places in the common file.

    What is wrong in the common tables is wrong in every group, and is told once.
    """
    told: list[Problem] = []
    names = list(joint)
    for i, group in enumerate(groups):
        for problem in problems.get(group.name, ()):
            common = all(problem in problems.get(other.name, ()) for other in groups)
            changes = {n: c.model_dump(exclude_none=True) for n, c in group.attributes.items()}
            path = _in_common(problem.path, i, group, changes, names)
            prefix = "" if common and path == problem.path else f"groups.{group.name}: "
            told.append(Problem(path, prefix + problem.text))
    return list(dict.fromkeys(told))


def _in_common(
    path: Path, i: int, group: Any, changes: Mapping[str, Mapping[str, Any]], joint: list[str]
) -> Path:
    """The place in the common file of a place in the study of the group number ``i``."""
    if path[:1] in (("budget",), ("delta",)):
        return ("groups", i, *path) if getattr(group, str(path[0])) is not None else path
    if len(path) < 3 or path[0] not in ("attributes", "joint"):
        return path
    name = str(path[1]) if path[0] == "attributes" else joint[int(path[1])]
    return (
        ("groups", i, "attributes", name, *path[2:]) if path[2] in changes.get(name, {}) else path
    )


def group_data(
    data: Mapping[str, Any], group: Any, joint: Mapping[str, list[str]]
) -> dict[str, Any]:
    """The study that the people of one group answer, as data."""
    found = {k: v for k, v in data.items() if k not in ("groups", "group_column")}
    found |= {k: v for k in ("budget", "delta") if (v := getattr(group, k)) is not None}
    changes = {
        name: change.model_dump(exclude_none=True) for name, change in group.attributes.items()
    }
    found["attributes"] = {
        name: _changed(table, changes.get(name, {})) for name, table in data["attributes"].items()
    }
    if "joint" in data:
        tables = zip(joint, data["joint"], strict=True)
        found["joint"] = [_changed(table, changes.get(name, {})) for name, table in tables]
    return found


def _changed(table: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A table with changes. Another mechanism does not keep the options of the first."""
    if "mechanism" in change:
        kept = {k: v for k, v in table.items() if k in (*_KEPT, "epsilon")}
    else:
        kept = dict(table)
    return kept | dict(change)
