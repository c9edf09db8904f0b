"""What the collector answers to requests that it refuses: a name, a status and a sentence.

A refusal never repeats what a request held. Refused reports are counted by these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warner.collector.refusals import Refused


@dataclass(frozen=True)
class Reason:
    """Why a request is refused.

    Attributes:
        status: the status of HTTP.
        rule: what is wrong, for the sender.
        remedy: what the sender can do.
        of_reports: whether reports were refused, which is counted.
    """

    status: int
    rule: str
    remedy: str | None = None
    of_reports: bool = False


_LATER = "Send it again later"
REASONS: Mapping[str, Reason] = {
    "bad_request": Reason(400, "cannot be read"),
    "malformed": Reason(400, "holds no reports of this study", None, True),
    "duplicate_header": Reason(400, "has a header twice that must stand once"),
    "no_owner": Reason(401, "needs the owner's token"),
    "wrong_tokens": Reason(429, "comes after too many wrong tokens", _LATER),
    "forbidden": Reason(403, "did not come from the owner's page", "Open that page again"),
    "not_invited": Reason(403, "has an invitation code that is not of this study", None, True),
    "not_found": Reason(404, "names an address where there is nothing"),
    "no_estimate_yet": Reason(404, "asks for a result before the first is published"),
    "small_groups": Reason(404, "asks for groups that are too small to be shown"),
    "groups_after_closing": Reason(404, "asks for groups, which are shown after the closing"),
    "no_picture": Reason(404, "asks for a picture, and there are only means"),
    "no_extra": Reason(404, "asks for what needs an extra of warner that is not installed"),
    "wrong_method": Reason(405, "has a method that this address does not take"),
    "slow": Reason(408, "took too long to arrive", "Send it again", True),
    "other_study": Reason(409, "holds reports of another study", "Load the page anew", True),
    "ids_dropped": Reason(409, "opens a survey that was closed for good"),
    "not_by_invitation": Reason(409, "invites people to a survey that is open to everyone"),
    "closed": Reason(410, "comes after the survey closed", None, True),
    "too_large": Reason(413, "is larger than this collector takes", "Send less at once", True),
    "long_address": Reason(414, "has too long an address"),
    "type": Reason(415, "must be application/octet-stream, not compressed", None, True),
    "other_host": Reason(421, "names a host that this collector does not serve"),
    "not_open": Reason(425, "comes before the survey opens", _LATER, True),
    "too_many": Reason(429, "comes after too many others", _LATER, True),
    "long_headers": Reason(431, "has too long headers"),
    "error": Reason(500, "could not be answered", _LATER),
    "estimate_failed": Reason(503, "asks for estimates that failed; the live page says why"),
    "estimating": Reason(503, "comes while others wait for the same estimates", _LATER),
    "unavailable": Reason(503, "comes while the store cannot be written", _LATER),
    "store_full": Reason(507, "comes while the store is full", _LATER, True),
}
"""Every reason of a refusal over HTTP, by its name."""

# Refusals of the collector that say more than a sender needs to know.
_SENT_AS: Mapping[str, str] = {
    "busy": "too_many",
    "too_many_groups": "store_full",
    "store_failed": "unavailable",
    "stopped": "unavailable",
}
# What is wrong with the reports, or with the owner's wish, is said in the collector's words.
_OF_CONTENTS = ("malformed", "other_study", "ids_dropped")


class HttpRefused(Refused):
    """A request that is refused, with the headers of the answer.

    Attributes:
        headers: headers beyond the usual ones.

    >>> refused = HttpRefused("closed")
    >>> refused.reason.status, refused.content
    (410, {'error': 'closed', 'message': 'request: comes after the survey closed.'})
    """

    def __init__(
        self, name: str, headers: Mapping[str, str] | None = None, rule: str | None = None
    ) -> None:
        reason = REASONS[name]
        super().__init__(name, "request", rule or reason.rule, None, reason.remedy)
        self.headers = dict(headers or {})
        self._text, self._rule = str(self), rule

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.headers, self._rule)

    @classmethod
    def of(cls, refused: Refused) -> HttpRefused:
        """A refusal of the collector as it is sent.

        Other refusals than those of contents can name files, which are no business of senders. So
        they have the sentence of their name.
        """
        if isinstance(refused, cls):
            return refused
        name = _SENT_AS.get(refused.name, refused.name)
        found = cls(name if name in REASONS else "error")
        if name in _OF_CONTENTS:
            found._text, found.position = str(refused), refused.position
        return found

    @property
    def reason(self) -> Reason:
        """The status and what is wrong."""
        return REASONS[self.name]

    @property
    def content(self) -> dict[str, str | int]:
        """The body of the answer: {"error": name, "message": text, "position": i}."""
        found: dict[str, str | int] = {"error": self.name, "message": self._text}
        return found if self.position is None else {**found, "position": self.position}
