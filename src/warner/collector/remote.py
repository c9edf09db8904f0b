"""A collector elsewhere, over HTTP or HTTPS: its tally, and reports that are sent to it.

Only the standard library is used. Redirections are not followed, because the owner's token would
be sent to wherever they lead.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np

from warner._core.checks import unknown
from warner._core.errors import ArgumentError, FileError, MismatchError
from warner._core.text import visible
from warner.collector.access import ID_BYTES, MOST_INVITED, invitations_body
from warner.collector.refusals import Refused
from warner.collector.submissions import HEAD_BYTES, SubmissionFormat
from warner.domains import Domain
from warner.io.file_format import from_file
from warner.io.report_file import ReportFile
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports
from warner.studies.study import digest_of

if TYPE_CHECKING:
    from warner.collector.status import Status

TRIES = 8
_TRIES_WITHOUT_PEOPLE = 4  # for the result of a closed survey: 7.5 seconds
_LONGEST_WAIT = 60.0
_AGAIN = frozenset([408, 429, 502, 503, 504, 507])
_LONGEST_REFUSAL = 65536
_REMEDIES = {
    "not_found": (
        "Give the web address of the survey page, without /reports or /live. The address of a "
        "server that issues tokens has no counts"
    ),
    "no_estimate_yet": (
        "The owner's live page says when the result comes. The result of all reports comes at the "
        "closing"
    ),
    "groups_after_closing": (
        "There are too many groups for the planned number of people. To see the groups, close the "
        "survey"
    ),
    "small_groups": "To count all people together, leave out --by",
    "closed": "The result has all reports that were counted before the closing",
    "not_by_invitation": (
        'In the study file, write access = "invited" in the table [collect], and '
        "start the server again"
    ),
    "no_token": (
        "In this study, only people with a token can send reports, and only from the survey page"
    ),
    "not_invited": "In this study, only people with an invitation code can send reports",
    "other_study": "Use the study file with which the collector was started",
    "too_many": (
        "With the owner's token, this limit does not apply: add --token-file or --token-env"
    ),
}
_MOST = 1 << 30  # bytes of an answer


class Later(Refused):
    """A refusal for now: to send the same again may help."""

    seconds = 0.0  # how long to wait, as the collector says; 0 where it does not


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        return None


def checked_url(url: str) -> str:
    """The address of a collector without a slash at its end.

    >>> checked_url("https://survey.example.org/smoking/")
    'https://survey.example.org/smoking'
    """
    try:
        parts = urlsplit(url)
        is_right = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_right = False
    remedy = "For example https://survey.example.org or http://127.0.0.1:8000"
    if not url.lower().startswith(("https://", "http://")):
        raise ArgumentError("URL", "must begin with https:// or http://", None, remedy)
    if not is_right:
        raise ArgumentError("URL", "must be a web address", None, remedy)
    if parts.query or parts.fragment or parts.username is not None:
        rule, remedy = "must not have ?, # or @", "Give the owner's token with --token-file"
        raise ArgumentError("URL", rule, None, remedy)
    return url.rstrip("/")


def trusting(path: str) -> ssl.SSLContext:
    """What is needed of HTTPS where the certificates that are trusted are in a file."""
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:  # of ssl too
        rule = "holds no certificate"
        if isinstance(error, FileNotFoundError):
            rule = "does not exist"
        remedy = (
            'Give the file that "warner collect serve --lan" wrote into the folder of the study: '
            "its name ends in .lan.pem"
        )
        raise FileError(path, rule, None, remedy) from None


class CollectedStudy(NamedTuple):
    """What programs elsewhere need to know of the study of a collector."""

    layout: str  # see :attr:`warner.Study.layout`
    titles: Mapping[str, str]  # by language, "" for none
    public: Sequence[str]  # the names of the public columns
    round: int | None = None  # of [repeat], the one that is asked


@dataclass(frozen=True)
class Remote:
    """A collector at an address."""

    url: str
    token: str | None = None  # the owner's token; None without one
    trust: str | None = None  # a file of certificates that are trusted; None for the system's
    # Waits for so many seconds; for tests.
    sleep: Callable[[float], object] = field(default=lambda seconds: time.sleep(seconds))

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked_url(self.url))

    @property
    def is_open_to_listeners(self) -> bool:
        """Whether others on the way can read what is sent, the token too."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")

    def study(self) -> CollectedStudy:
        """The study that is collected there."""
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            document = json.loads(self._ask("/study.json"))
            layout, titles = document["layout"], document["title"]
            public = [str(column["name"]) for column in document["public"]]
            if isinstance(layout, str):
                titles = {tag: str(text) for tag, text in titles.items()}
                of_repeat = document.get("repeat")
                asked_round = None if of_repeat is None else int(of_repeat["round"])
                return CollectedStudy(layout, titles, public, asked_round)
        rule = "is not the web address of a collector of warner"
        raise FileError(self.url, rule, None, "Give the web address of the survey page")

    def tally(self, by: str | None = None) -> bytes:
        """The owner's tally file; of a survey that was just closed once it is estimated."""
        path = "/live/tally.json" + ("" if by is None else f"?by={quote(by, safe='')}")
        for attempt in range(TRIES):
            try:
                return self._ask(path)
            except Refused as refused:
                if refused.name == "not_found" and by is not None:
                    self._require_public(by)
                if refused.name != "no_estimate_yet":
                    raise
                status = self.status()
                if status.survey != "closed":
                    raise
                # The number that it shows is refreshed every few seconds.
                if status.people == 0 and attempt == _TRIES_WITHOUT_PEOPLE:
                    remedy = "The survey was closed before any report came, so it has no result"
                    raise refused.with_remedy(remedy) from None
                unfinished = refused
            self.sleep(0.5 * 2**attempt)
        raise unfinished.with_remedy(
            "The survey is closed, and its result is being computed. Run the command again in a "
            "minute"
        )

    def _require_public(self, by: str) -> None:
        """Refuse a column that is no public column of the study that is collected there."""
        public = self.study().public
        if by not in public:
            # A stranger's server may have written the names.
            names = map(visible, public)
            raise unknown("--by", by, names, "the public columns of the study", "Leave out --by")

    def send(self, body: bytes, simulated: bool = False) -> int | None:
        """Send a batch of reports until it is accepted; how many are new, None if it is unknown.

        Only with the owner's token is it known, and are simulated reports taken.
        """
        # A reply that is lost does no harm: the same bytes are sent again, and ids are counted
        # once.
        path = "/reports/simulated" if simulated else "/reports"
        return self._sent(path, body, "accepted").get("new")

    def is_spent(self, head: bytes) -> bool:
        """Whether a report with an id is counted; ``head`` is a body as far as the id."""
        return bool(self._sent("/spent", head, "spent")["spent"])

    def invite(self, digest: str, ids: np.ndarray) -> int:
        """Invite people by ids (n, 16) that their codes make, until all are kept, each once."""
        invited = 0
        for start in range(0, len(ids), MOST_INVITED):
            body = invitations_body(digest, ids[start : start + MOST_INVITED])
            invited = self._sent("/live/invite", body, "invited")["invited"]
        return invited

    def close(self) -> None:
        """Close the survey; everything that was counted is then published."""
        self._ask("/live/close", b"", done=303)  # the server then leads browsers to the live page

    def backup(self) -> str:
        """Have the store copied on the collector's machine; the name of the file beside it."""
        try:
            return str(json.loads(self._ask("/live/backup", b""))["backup"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._is_no_collector() from None

    def status(self) -> Status:
        """How the collector is."""
        from warner.collector.status import Status

        try:
            return Status.from_json(self._ask("/live/status.json"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._is_no_collector() from None

    def status_with(self, people: int) -> Status:
        """How the collector is, as soon as it shows that so many people are counted."""
        # The number that it shows is refreshed every few seconds.
        for _ in range(TRIES):
            status = self.status()
            if status.people >= people:
                break
            self.sleep(1.0)
        return status

    def status_of_last_step(self) -> Status:
        """How the collector is; of a survey that was just closed once everybody is published."""
        for attempt in range(TRIES):
            status = self.status()
            if status.survey != "closed" or status.published >= status.people:
                break
            self.sleep(0.5 * 2**attempt)
        return status

    def _is_no_collector(self) -> FileError:
        rule = "does not answer like a collector of warner"
        return FileError(self.url, rule, None, "Give the web address of the survey page")

    def _sent(self, path: str, body: bytes, key: str) -> dict[str, int]:
        """Send a body until it is taken; the numbers of the answer, which must have ``key``."""
        for attempt in range(TRIES):
            try:
                stated = json.loads(self._ask(path, body))
                numbers = {name: int(number) for name, number in stated.items()}
                if attempt:
                    numbers.pop("new", None)  # a reply that was lost may have counted them as new
                if key in numbers:
                    return numbers
                break
            except Later as later:
                if attempt == TRIES - 1:
                    raise
                self.sleep(min(_LONGEST_WAIT, max(later.seconds, 0.5 * 2**attempt)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                break
        raise self._is_no_collector()

    def _ask(self, path: str, body: bytes | None = None, done: int = 200) -> bytes:
        """The body of the answer to a request; b"" where its status is ``done``."""
        headers = {} if body is None else {"Content-Type": "application/octet-stream"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, body, headers)
        https = [urllib.request.HTTPSHandler(context=trusting(self.trust))] if self.trust else []
        opener = urllib.request.build_opener(_NoRedirection, *https)
        try:
            with opener.open(request, timeout=60) as answer:
                content: bytes = answer.read(_MOST)
                return content
        except urllib.error.HTTPError as error:
            with error:
                if error.code == done:
                    return b""
                raise self._refused(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            text = getattr(reason, "strerror", None) or type(reason).__name__
        rule, remedy = f"cannot be reached ({text})", "Is the collector running?"
        if isinstance(reason, ssl.SSLCertVerificationError):
            rule = f"has a certificate that this computer does not trust ({reason.verify_message})"
            remedy = (
                "If the survey is for people in one room (serve --lan), add --trust FILE. "
                "FILE is in the folder of the study; its name ends in .lan.pem"
            )
            if self.trust is not None:
                remedy = f"Is {self.trust} the file that this collector wrote?"
        elif isinstance(reason, ssl.SSLError):
            rule = f"cannot be reached with https:// ({text})"
            remedy = "On the collector's own machine, write http:// instead of https://"
        raise Later("unreachable", self.url, rule, None, remedy)

    @property
    def _remedy_of_token(self) -> str:
        """What to do where the owner's token is missing, or is another one."""
        if self.token is None:
            return "Give the owner's token with --token-file or --token-env"
        return (
            "This is not the owner's token of this server. Each study, and each round of one, has "
            "a token of its own, which 'warner collect serve' printed at the first start. If you "
            "have lost that token, start the server again with --new-token"
        )

    def _refused(self, error: urllib.error.HTTPError) -> Refused:
        """The error of an answer that is no success. A stranger may have written its texts."""
        name, text, position = "no name", "", None
        try:
            stated: Any = json.loads(error.read(_LONGEST_REFUSAL))
            name, text = str(stated["error"])[:40], str(stated["message"])[:300].rstrip(".")
            position = stated.get("position")
        except (ValueError, KeyError, TypeError, RecursionError, OSError):
            pass
        if 300 <= error.code < 400:
            name = "a redirect"
            text = (
                "this address only leads to another address. Give the address that a browser "
                "shows after it has opened this address"
            )
        remedy = self._remedy_of_token if name == "no_owner" else _REMEDIES.get(name)
        if remedy is not None:  # what the collector tells devices to do does not fit commands
            text = text.partition(". ")[0]
        what, _, why = text.partition(": ")
        if what == "request":
            rule = f"refused the request, which {why}"
        else:
            said = f": {what} {why}".rstrip() if text else f" with status {error.code}"
            rule = f"refused the request{said}"
        if error.code not in _AGAIN:
            return Refused(name, self.url, rule, None, remedy, position)
        later = Later(name, self.url, rule, None, remedy, position)
        wait = error.headers.get("Retry-After", "")
        later.seconds = float(wait) if wait.isdigit() else 0.0
        return later


# -----------------------------------------------------------------------------------------------
# The reports of a file as bodies of requests, with ids that follow from the file.
#
# The id of row i is the first 16 bytes of the SHA-256 of three lines: "warner push", the checksum
# that the file states, and i. A file that is sent again makes the same bytes, so nothing is
# counted twice. The rows of a report file are in random order, so ids say nothing about people.


AT_ONCE = 1000
_LARGEST_BODY = 4 << 20  # that collectors take unless they are told otherwise


@dataclass(frozen=True)
class _Asked:
    """What a file says of the study that its reports answer."""

    mechanisms: Mapping[str, Mechanism]
    public: Mapping[str, Domain]
    digest: str
    groups: Mapping[str, Any] = field(default_factory=dict)
    rows_per_person: int = 1


class BulkUpload:
    """The reports of a file, to be sent."""

    def __init__(self, file: ReportFile, allow_simulated: bool = False) -> None:
        if file.simulation and not allow_simulated:
            rule = "holds simulated reports: a program made them, not people"
            remedy = "To send them anyway, add --allow-simulated"
            raise ArgumentError(file.path, rule, None, remedy)
        if file.group is not None or file.reports_per_person > 1:
            why = "has several reports of each person"
            if file.group is not None:
                why = "has the reports of one group"
            rule = f"{why}, which no collector takes"
            remedy = 'Count this file with "warner tally" instead'
            raise ArgumentError(file.path, rule, None, remedy)
        self._file = file
        headers = {name: mechanism.header for name, mechanism in file.mechanisms.items()}
        digest = digest_of(headers, file.public, of_round=file.round)
        self._asked = _Asked(file.mechanisms, file.public, digest)
        self._form = SubmissionFormat(self._asked)

    @property
    def n(self) -> int:
        """The number of reports."""
        return self._file.n

    @property
    def is_simulated(self) -> bool:
        """Whether the reports were made with a seed."""
        return bool(self._file.simulation)

    def require_study(self, study: CollectedStudy, url: str, allow_title: bool = False) -> None:
        """Refuse a collector of another study or round, or of one with another title."""
        if self._file.round is not None and study.round not in (None, self._file.round):
            rule = (
                f"holds reports of round {self._file.round}, but the survey at {url} is in round "
                f"{study.round}"
            )
            raise MismatchError(self._file.path, rule, None, "Send the file of that round")
        if study.layout != self._form.layout:
            rule = f"holds reports of another study, not of the study at {url}"
            remedy = "Randomise the answers with the study file of the survey at this address"
            raise MismatchError(self._file.path, rule, None, remedy)
        # What is counted stays counted, so a warning would come too late.
        if not allow_title and (other := self._file.other_title(study.titles)) is not None:
            remedy = (
                "Is this the right file, and the right address? If the same study has only a new "
                "title, add --allow-other-title"
            )
            rule = f"has {other}, which is collected at {url}"
            raise MismatchError(self._file.path, rule, None, remedy)

    def bodies(self, start: int = 0) -> Iterator[tuple[bytes, int]]:
        """The bodies of requests, each with the number of rows up to its end."""
        size = max(1, min(AT_ONCE, (_LARGEST_BODY - HEAD_BYTES) // self._form.length))
        row = 0
        for columns in self._file.batches():
            n = len(next(iter(columns.values())))
            for first in range(max(0, start - row), n, size):
                last = min(n, first + size)
                rows = {name: column[first:last] for name, column in columns.items()}
                yield self._body(rows, row + first, row + last), row + last
            row += n
        if row != self.n:
            raise self._file.wrong_number()

    def _body(self, columns: Mapping[str, np.ndarray], first: int, last: int) -> bytes:
        """The body with the rows from ``first`` to before ``last``."""
        reports = {
            name: Reports(m.header, from_file(name, m.schema, columns))
            for name, m in self._file.mechanisms.items()
        }
        public: dict[str, Any] = {
            name: domain.decode(columns[name]) for name, domain in self._file.public.items()
        }
        return self._form.seal(reports, public, self._ids(first, last))

    def _ids(self, first: int, last: int) -> np.ndarray:
        """The ids of rows, uint8 (n, 16)."""
        head = f"warner push\n{self._file.end['sha256']}\n".encode()
        digests = (hashlib.sha256(head + b"%d" % i).digest()[:ID_BYTES] for i in range(first, last))
        return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, ID_BYTES)
