"""Groups of people in a study file, each with budgets or mechanisms of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warner._core.checks import show
from warner._core.errors import StudyError, message
from warner._core.text import FILE_NAME_RULE, can_name_a_file, file_name_key, unreadable
from warner.app.study_schema import BY_KEY

# What an attribute keeps when a group names another mechanism for it.
_KEPT = (*BY_KEY, "label", "keys", "tags", "attributes", "reports")
# What is the same for all groups: the questions, and what is randomised together.
_COMMON = (*BY_KEY, "label", "keys", "tags", "attributes")


def check_groups(groups: list[Any], known: list[str], column: str) -> None:
    """Refuse invalid names of groups, of their column, or of the attributes that they change.

    Args:
        groups: the validated tables of the groups.
        known: the names of the attributes that a group may change.
        column: the column of the answers that names the group.

    Raises:
        StudyError: a name that is not allowed; the message names it.
    """
    if not column:
        raise StudyError(message("group_column", "must not be empty"))
    if (found := unreadable(column)) is not None:
        raise StudyError(message("group_column", f"must not hold {found}", show(column)))
    seen: set[str] = set()
    for group in groups:
        if not can_name_a_file(group.name):
            raise StudyError(message("groups.name", FILE_NAME_RULE, show(group.name)))
        if file_name_key(group.name) in seen:
            rule = "must differ by more than upper and lower case"
            raise StudyError(message("groups.name", rule, show(group.name)))
        seen.add(file_name_key(group.name))
        for name, change in group.attributes.items():
            place = f"groups.{group.name}.attributes.{name}"
            if name not in known:
                raise StudyError(message(place, f"must be one of {', '.join(known)}"))
            fixed = [key for key in _COMMON if key in (change.model_extra or {})]
            if fixed:
                rule = "is the same for all groups, so that they are estimated together"
                raise StudyError(message(f"{place}.{fixed[0]}", rule))


def group_data(
    data: Mapping[str, Any], group: Any, joint: Mapping[str, list[str]]
) -> dict[str, Any]:
    """The study that the people of one group answer, as data.

    Args:
        data: the study with its groups.
        group: the validated table of the group.
        joint: {name: attributes that are randomised together}.
    """
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
