"""The errors of the collector, each with a name that devices and owners can act on."""

from __future__ import annotations

from typing import Any

from warner._core.errors import WarnerError


class Refused(WarnerError):
    """Submissions that are not counted, or a store that cannot be used; no message holds contents.

    >>> Refused("closed", "survey", "is closed").name
    'closed'
    """

    # ``name``: the broken rule, of :data:`NAMES`. ``position``: the first submission that breaks
    # it, or None.

    def __init__(
        self,
        name: str,
        where: str,
        rule: str,
        got: str | None = None,
        remedy: str | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(where, rule, got, remedy)
        self.name, self.position = name, position
        self._parts = (where, rule, got, remedy)

    def with_remedy(self, remedy: str) -> Refused:
        """The same refusal with another remedy."""
        where, rule, got, _ = self._parts
        return Refused(self.name, where, rule, got, remedy, self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, *self._parts, self.position)


READ_AGAIN = "Read study.json from this collector again, and make the report for that study"
"""What a device of another study does, be it a page or a program."""

NAMES = {
    "malformed": "bytes that are no submissions of this study",
    "other_study": "submissions of another study",
    "not_open": "the survey has not opened yet",
    "closed": "the survey is closed",
    "not_invited": "an id that no invitation code makes",
    "too_many_groups": "more groups by public columns than there is memory for",
    "busy": "more submissions wait than the store can take",
    "store_full": "no space is left for the store",
    "store_failed": "the store cannot be written",
    "store_in_use": "another process has the store open",
    "store_of_another_study": "the store holds the counts of another study",
    "store_damaged": "what the store holds contradicts itself",
    "store_restored": "the store is an old copy, which lacks the reports that were counted later",
    "no_backup": "the store is a database, and only the database's own tools can copy it",
    "store_too_old": "an older version of warner wrote the store",
    "store_too_new": "a newer version of warner wrote the store",
    "simulated": "real and simulated reports that would be counted together",
    "ids_dropped": "the ids of counted submissions were dropped",
    "stopped": "the collector is stopping",
}
"""What each name of a refusal means."""
