"""The device of one person, in Python: it randomises answers, keeps what must be kept, and sends.

What ``warner.js`` and the clients in other languages do, with the mechanisms of Python. All files
lie in one folder, which only this user can read; none of them ever holds an answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from warner._core.atomic_files import read_whole, temporary_file, to_disk
from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError, FileError, ValuesError
from warner._core.sampling import Source
from warner._core.text import canonical
from warner.collector.access import ID_BYTES, invited_id, plain_code
from warner.collector.refusals import Refused
from warner.collector.remote import Remote
from warner.collector.submissions import SubmissionFormat
from warner.collector.survey_document import draw_of, survey_document
from warner.collector.tokens import block_of_code
from warner.domains import Domain
from warner.mechanisms import Mechanism, OneOf, Permanent
from warner.privacy.guarantees import add_up
from warner.reports.reports import Reports
from warner.studies.study import Study

_LOG = logging.getLogger(__name__)
_ALREADY = {
    "public": (
        "this device has already sent answers to this study, with other values in the public "
        "columns. A device sends to a study only once"
    ),
    "title": (
        "this device has already sent answers to a study with the same questions. A new title "
        "does not make a new study"
    ),
}
"""Why nothing is sent, by what is another one than in the report that was sent."""


class Device:
    """The device of one person: it sends the person's answers to a study, randomised, and once.

    Answers are randomised with the operating system's randomness, before anything is sent. The
    report is in the folder before it leaves, so that a lost reply or a crash leads to the same
    bytes again, and never to a second report on the same answers. Once it has arrived, only digests
    of the study's title and of the public values, which were sent as they are, and the study's
    epsilon stay. The folder also keeps which questions were drawn for this person, and the
    permanent reports of a study with ``[repeat]``, each with its key. Whoever deletes the folder
    lets the person spend the epsilon again; whoever copies it with these reports can tell on which
    answers the person has reported.

    Args:
        study: the study that is collected, such as ``warner.Study.load("study.toml")``.
        url: the address of the collector, of HTTPS or of this machine.
        folder: where the files of this person lie; it is made where it is missing.
        trust: a file of certificates that are trusted; None for those of the system.

    Raises:
        ArgumentError: an address that others could listen to, or a study whose people need tokens:
            only the survey page exchanges codes for tokens.
        StudyError: a study that no collector serves.

    >>> import tempfile
    >>> study = Study.parse('''
    ... [attributes.theme]
    ... values = ["light", "dark"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> device = Device(study, "https://settings.example.org", tempfile.mkdtemp())
    >>> device.questions(), device.spent
    (['theme'], 0.0)
    """

    # ``device.send({"theme": "dark"})`` then sends the answer.

    def __init__(
        self, study: Study, url: str, folder: str | os.PathLike[str], trust: str | None = None
    ) -> None:
        if not isinstance(study, Study):
            remedy = 'Use warner.Study.load("study.toml")'
            raise ArgumentTypeError("study", "must be a warner.Study", kind(study), remedy)
        survey_document(study)  # refuses what no collector serves
        if study.collect.access == "tokens":
            rule = 'has access = "tokens", which works only with the survey page, not with Device'
            remedy = 'In the study file, write access = "open" or access = "invited"'
            raise ArgumentError("study", rule, None, remedy)
        self._remote = Remote(url, trust=trust)
        if self._remote.is_open_to_listeners:
            rule = "must begin with https://, so that nobody in the network can tell who answers"
            remedy = "For a collector on this machine, http:// is accepted too"
            raise ArgumentError("url", rule, None, remedy)
        self._study, self._folder = study, Path(folder)
        self._form, self._draw = SubmissionFormat(study), draw_of(study)

    def __repr__(self) -> str:
        return f"Device({self._remote.url})"

    @property
    def spent(self) -> float:
        """The epsilon in nats of all reports in this folder together, of all studies.

        The example of the class shows it.

        The limit of a study holds for its own reports, and no study counts what other studies
        spend. So compare this number with what one person may spend before another study is sent.
        A report counts from when it is made, even before it has arrived, and the reports with all
        invitation codes count together. Permanent reports count with all rounds so far, of people
        whose answers change alike.

        Returns:
            the sum; 0 before the first report, and NaN where an older version of warner has kept
            a report without its epsilon.

        Raises:
            FileError: files that were altered.
        """
        notes = [_note_in(path)[0]["epsilon"] for path in self._folder.glob("outbox-*")]
        memos = [_memo_in(path)[2] for path in self._folder.glob("memo-*")]
        return add_up(notes + memos)

    def questions(self, code: str | None = None) -> list[str]:
        """The questions that this person is asked: all of them, or those that are drawn, once.

        Ask a person only these. A program that knows all answers need not call it.

        Args:
            code: the invitation code, where people are invited.

        Raises:
            ArgumentError: no invitation code where people are invited, or one where they are not.
            FileError: a folder that cannot be written.
        """
        self._require_code(code)
        with self._alone():
            return self._questions(self._block(code))

    def send(
        self,
        answers: Mapping[str, Any],
        public: Mapping[str, Any] | None = None,
        code: str | None = None,
    ) -> str:
        """Send the answers of this person to the study, once.

        They are randomised at the first call. A later call sends the same bytes, whatever answers
        it has, until they have arrived. So a program may call it at every start. With ``[repeat]``
        each round is sent once. A study with the same values, mechanisms and public columns is the
        same study, whatever its title and this person's values in the public columns: to ask fresh
        questions every week, name the week in a public column whose list is another one each week.
        A warning is logged where nothing is sent and the title or the public values are other ones
        than those that were sent.

        Args:
            answers: {question: answer}, of items {item: "yes" or "no"}; None for no answer, where
                the study has ``missing = "answer"``. All questions need an answer, or only those
                that :meth:`questions` names. Those that are not drawn are checked and not used.
            public: {public column: value}.
            code: the invitation code, where people are invited.

        Returns:
            "sent"; or "already" where an earlier call has sent answers to this study, so that
            these were not sent.

        Raises:
            ArgumentError: an answer that is missing or outside the domain, a name that the study
                does not have, or a code that asks another question than in an earlier round.
                Nothing is sent then. No message repeats an answer.
            MemoFullError: an answer that changed more often than the study allows. Nothing is sent.
            Refused: the collector says no, in its words; ``name`` is that of the refusal, or
                ``"spent"`` where the code was used. The collector is first asked again for about
                two minutes where it is busy or cannot be reached; call again later then.
            FileError: a folder that cannot be written, or files that were altered.
        """
        self._require_code(code)
        with self._alone():
            # Whatever was drawn or sent before: each device refuses a wrong value at once, and
            # before anything is drawn or kept.
            encoded, indices = self._checked(answers, public or {})
            path = self._folder / f"outbox-{self._study.digest}{self._mark(code)}"
            digests = {"title": _digest(self._study.titles), "public": _digest(indices)}
            if not path.exists():
                # With [repeat] the permanent reports say what was spent, over all rounds.
                epsilon = self._study.epsilon if self._study.round is None else 0.0
                body = self._sealed(answers, encoded, public or {}, code)
                self._keep_note(path, {**digests, "epsilon": epsilon}, body)
            head, body = _note_in(path)
            if not body:
                self._warn_of_changes(head, digests)
                return "already"
            self._remote.send(body)
            # The bytes are no longer kept: they could show which report is of this device.
            self._keep_note(path, head, b"")
            return "sent"

    def _warn_of_changes(self, sent: Mapping[str, Any], digests: Mapping[str, str]) -> None:
        """Say why nothing is sent where this call is about something else than the report sent."""
        # Folders of older programs lack some digests.
        changes = [
            why for name, why in _ALREADY.items() if sent.get(name) not in (None, digests[name])
        ]
        if not changes:
            return
        if self._study.round is not None:
            remedy = (
                f"For the next round, write round = {self._study.round + 1} in [repeat] of the "
                "study file"
            )
        else:
            remedy = (
                "To ask the same people again, such as every week, see docs/recipes/weekly.md. "
                "Asking again spends more epsilon"
            )
        _LOG.warning(f"Nothing was sent: {changes[0]}. {remedy}")

    def _require_code(self, code: str | None) -> None:
        invited = self._study.collect.access == "invited"
        if invited and not code:
            rule = "is missing: this study takes reports only with an invitation code"
            raise ArgumentError("code", rule)
        if code and not invited:
            raise ArgumentError("code", "must be left out: this study has no invitation codes")

    def _mark(self, code: str | None) -> str:
        """What tells the people with different codes apart in the names of files."""
        if code is None:
            return ""
        text = f"warner note\n{self._study.digest}\n{plain_code(code)}"
        return "-" + hashlib.sha256(text.encode()).hexdigest()[: 2 * ID_BYTES]

    def _checked(
        self, answers: Mapping[str, Any], public: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """All answers, as mechanisms take them, and the indices of public values.

        They are of all questions, so that a program that forgets one is refused on each device, or
        of the questions of one draw, where a person was asked these alone.
        """
        domains = self._study.public
        _refuse_others("public", public, domains)
        if lacking := next((name for name in domains if name not in public), None):
            raise ArgumentError("public", f"must have a value of the public column {lacking!r}")
        indices = {n: int(_encoded(n, domain, public)[0]) for n, domain in domains.items()}
        takers = self._study.mechanisms if self._draw is None else self._draw.takers
        _refuse_others("answers", answers, takers)
        drawn = () if self._draw is None else self._draw.blocks
        names = answers if any(answers.keys() == set(block) for block in drawn) else takers
        remedy = f". {_ONLY_DRAWN}" if drawn else ""
        for name in names:
            _require(name, answers, remedy)
        return {name: _encoded(name, takers[name], answers) for name in names}, indices

    def _sealed(
        self,
        answers: Mapping[str, Any],
        encoded: Mapping[str, Any],
        public: Mapping[str, Any],
        code: str | None,
    ) -> bytes:
        """The body of this person's report."""
        block, domains = self._block(code), self._study.public
        questions = self._questions(block)
        for name in questions:
            _require(name, encoded, f". {_ONLY_DRAWN}")
        encoded = {name: encoded[name] for name in questions}
        ids = None
        if code is not None:
            one_id = invited_id(self._study.digest, code)
            if self._remote.is_spent(self._form.head + one_id):
                raise Refused("spent", "code", "was used before, so nothing was sent")
            if self._study.round is not None:
                self._require_same_question(block)
            ids = np.frombuffer(one_id, np.uint8)[None]
        columns = {name: [public[name]] for name in domains}
        return self._form.seal(self._reports(answers, encoded, block), columns, ids)

    def _reports(
        self, answers: Mapping[str, Any], encoded: Mapping[str, Any], block: int
    ) -> dict[str, Reports]:
        """The report on each attribute, with the operating system's randomness alone."""
        source, drawn = Source(None), np.array([block])
        whole = next(iter(self._study.mechanisms))
        if self._study.round is None:
            if self._draw is None:
                return self._study.randomize_encoded(encoded, source)
            columns = self._draw.randomize_drawn(drawn, encoded, source)
            return {whole: Reports(self._draw.header, columns)}
        reports, states = {}, {}
        for name, mechanism in self._study.permanent[block].items():
            path = self._memo_file(name, mechanism)
            key, state, _ = _memo_in(path)
            memo = mechanism.device(key, state)
            reports[name] = memo.report(answers[name])
            content = {"key": memo.key.hex(), "state": memo.state, "spent": memo.spent.epsilon}
            states[path] = json.dumps(content)
        # All of them, or none where one has no room; and before the report leaves.
        for path, state in states.items():
            self._keep(path, state.encode())
        if self._draw is None:
            return reports
        (report,) = reports.values()
        columns = self._draw.schema.join(drawn, {block: report.columns})
        return {whole: Reports(self._draw.header, columns)}

    def _memo_file(self, name: str, mechanism: Permanent) -> Path:
        """The file of the permanent reports on a question, the same in all rounds."""
        series = hashlib.sha256(canonical([name, mechanism.memo.header]).encode()).hexdigest()
        return self._folder / f"memo-{series}.json"

    def _block(self, code: str | None) -> int:
        """Which questions this person is asked: who draws again lets the draw depend on answers."""
        if self._draw is None:
            return 0
        if code is not None:
            return block_of_code(self._study, code)
        return self._kept_block(self._draw, int(self._draw.draw_blocks(1, Source(None))[0]))

    def _require_same_question(self, block: int) -> None:
        """Keep what the first code asks, for all rounds: another question spends once more."""
        if self._draw is not None and self._kept_block(self._draw, block) != block:
            rule = "leads to another question than in the earlier rounds, so nothing was sent"
            remedy = "Use the code of the earlier rounds. For another person, use another folder"
            raise ArgumentError("code", rule, None, remedy)

    def _kept_block(self, draw: OneOf, block: int) -> int:
        """The block that was drawn for this person before; else this one, which is then kept."""
        path = self._folder / f"block-{self._study.draw_digest}"
        if not path.exists():
            self._keep(path, b"%d" % block)
        text = read_whole(path)
        if not text.isdigit() or int(text) >= len(draw.blocks):
            raise FileError(str(path), "was altered", None, _DELETE)
        return int(text)

    def _questions(self, block: int) -> list[str]:
        return list(self._study.mechanisms if self._draw is None else self._draw.blocks[block])

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder, for which other processes wait where the system can say so."""
        problem = None
        try:
            self._folder.mkdir(0o700, parents=True, exist_ok=True)
            handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            rule = f"cannot be written ({reason})"
            problem = FileError(str(self._folder), rule, None, "Name another folder")
        if problem is not None:
            raise problem
        with os.fdopen(handle, "rb") as file:
            with contextlib.suppress(ImportError):  # Windows
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _keep_note(self, path: Path, head: Mapping[str, Any], body: bytes) -> None:
        """Keep what may be known of a report, and its bytes until they have arrived."""
        self._keep(path, json.dumps(head).encode() + b"\n" + body)

    def _keep(self, path: Path, content: bytes) -> None:
        """Write a file that only this user can read; it is on the disk afterwards."""
        with temporary_file(self._folder) as temporary:
            Path(temporary).write_bytes(content)
            to_disk(temporary)
            os.replace(temporary, path)
        to_disk(self._folder)


_DELETE = (
    "Restore the original file. Without this file, the person would spend the epsilon a second time"
)


def _refuse_others(argument: str, given: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    """Refuse names that the study does not have, of which one may be a name misspelt."""
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(argument, "must be a dict {name: value}", kind(given))
    others = [str(name) for name in given if name not in names]
    if others:
        rule = f"can have only these names: {', '.join(names)}"
        if not names:
            rule = "must be empty, because the study has no public columns"
        raise ArgumentError(argument, rule, ", ".join(map(repr, others)))


_ONLY_DRAWN = "Or pass only the answers to the questions that questions() names"


def _require(name: str, given: Mapping[str, Any], also: str = "") -> None:
    """Refuse a question that is left out."""
    if name not in given:
        rule = f"has no answer. Pass the answer, or None if the person gave no answer{also}"
        raise ArgumentError(name, rule)


def _encoded(name: str, taker: Mechanism | Domain, given: Mapping[str, Any]) -> Any:
    """An answer as a mechanism takes it; an error names the question and never the answer."""
    try:
        return taker.encode([given[name]])
    except ValuesError as error:
        _, rule, got = error.rule
    raise ArgumentError(name, rule, got)


def _digest(content: Any) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def _note_in(path: Path) -> tuple[dict[str, Any], bytes]:
    """What may be known of a report, and its bytes; b"" for these once they have arrived."""
    content, head = read_whole(path), {"epsilon": math.nan}
    # Older programs kept the bytes alone, and then nothing, or a digest of the title.
    if content.startswith(b"sent "):
        return {**head, "title": content.removeprefix(b"sent ").decode()}, b""
    if not content.startswith(b"{"):
        return head, content
    line, _, body = content.partition(b"\n")
    try:
        stated = json.loads(line)
        return {**stated, "epsilon": float(stated["epsilon"])}, body
    except (ValueError, KeyError, TypeError):
        problem = FileError(str(path), "was altered", None, _DELETE)
    raise problem


def _memo_in(path: Path) -> tuple[bytes | None, str | None, float]:
    """The key, the state of permanent reports or None, and what they spent, NaN if unknown."""
    if not path.exists():
        return None, None, 0.0
    try:
        content = json.loads(read_whole(path))
        spent = float(content.get("spent", math.nan))
        return bytes.fromhex(content["key"]), str(content["state"]), spent
    except (ValueError, KeyError, TypeError, AttributeError):
        problem = FileError(str(path), "was altered", None, _DELETE)
    raise problem
