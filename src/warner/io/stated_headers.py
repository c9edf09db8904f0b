"""What a frame, or a file of another program, says about its reports.

A header in it is compared with the mechanisms that are to count the reports. Where there is none,
nothing says which value a code stands for: then people are told the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warner._core.checks import show
from warner._core.errors import FrameWarning, warn
from warner._core.table import as_text
from warner.io.file_format import records_column
from warner.mechanisms import Mechanism, PerAttribute
from warner.reports.tally import Tally, require_same

_ATTRIBUTES, _CODES = 3, 6  # how many are listed


@dataclass(frozen=True)
class StatedHeader:
    """What was found out from a header, after it was compared."""

    simulated: bool  # whether it marks the reports as a simulation
    reports_per_person: int
    silent_on: tuple[str, ...]  # the attributes of which it does not name the mechanism

    @classmethod
    def compared(
        cls,
        header: Mapping[str, Any] | None,
        mechanisms: Mapping[str, Mechanism],
        columns: Mapping[str, Sequence[str]],
        names: Sequence[str],
        where: str,
    ) -> StatedHeader:
        """Compare a header with mechanisms, whose reports are in ``columns`` among ``names``."""
        stated = {} if header is None else header["attributes"]
        silent = []
        for name, mechanism in mechanisms.items():
            of_name = _attribute(stated, name, mechanism, columns[name], names)
            if of_name is None:
                silent.append(name)
                continue
            about = f"{where}: reports{f' of {name!r}' if len(mechanisms) > 1 else ''}"
            who = ("the mechanism has", "its header has")
            require_same(mechanism.header, stated[of_name], about, who)
        said = header or {}
        most = said.get("reports_per_person", 1)
        return cls(bool(said.get("simulation")), most, tuple(silent))

    def of(self, tally: Tally) -> Tally:
        """A tally with what the header says of people."""
        most = max(self.reports_per_person, tally.reports_per_person)
        return tally.marked(self.simulated).per_person(most)

    def warn(self, mechanisms: Mapping[str, Mechanism], by: Sequence[str] = ()) -> None:
        """Warn where nothing says which mechanism made the reports."""
        if self.silent_on:
            of = {name: mechanisms[name] for name in self.silent_on}
            columns = ", ".join(f"{show(name)}: frame[{show(name)}]" for name in by)
            groups = f", {{{columns}}}" if by else ""
            # A mechanism counts its reports as "value", a study under the names of questions.
            counter, reports = "mechanism", "mechanism.reports(frame)"
            if list(mechanisms) != ["value"]:
                name = show(self.silent_on[0])
                counter = "study"
                reports = f"{{{name}: study.mechanisms[{name}].reports(frame, column=COLUMN), ...}}"
            text = (
                "The frame does not say which mechanism made its reports. They are counted as "
                f"{codes_in_words(of)}. If that is right, stop this warning with "
                f"{counter}.tally({reports}{groups}). If the reports are simulated, add "
                "simulated=True after frame."
            )
            warn(text, FrameWarning)


def codes_in_words(mechanisms: Mapping[str, Mechanism]) -> str:
    """Which mechanisms reports are counted with, and which value each code stands for.

    >>> from warner import Categorical, RandomizedResponse
    >>> codes_in_words({"value": RandomizedResponse(Categorical(["no", "yes"]), 1.0)})
    'RandomizedResponse with epsilon 1.0, where 0 = no, 1 = yes'
    """
    listed = []
    # A sum of epsilons does not tell with which of them each question was asked.
    mechanisms = {
        name if one is mechanism else inner if len(mechanisms) == 1 else f"{name}.{inner}": one
        for name, mechanism in mechanisms.items()
        for inner, one in _questions(mechanism).items()
    }
    for name, mechanism in list(mechanisms.items())[:_ATTRIBUTES]:
        domains = mechanism.attribute_domains or {"": mechanism.domain}
        words = mechanism.report_words
        sends_values = mechanism.is_enumerable and mechanism.n_reports == mechanism.domain.size
        orders = [
            f"{of}{' ' * bool(of)}{listed_codes(words or domain.labels)}"
            for of, domain in list(domains.items())[:_ATTRIBUTES]
            # Codes of other mechanisms for numbers are not the numbers, as the cells of SquareWave.
            if not domain.is_numeric or sends_values
        ]
        further = len(domains) - _ATTRIBUTES
        orders += [f"and {further} more"] if further > 0 else []
        text = f"{type(mechanism).__name__} with epsilon {mechanism.requested}"
        of_name = f"{show(name)} by " if len(mechanisms) > 1 else ""
        listed.append(of_name + text + (f", where {'; '.join(orders)}" if orders else ""))
    more = len(mechanisms) - _ATTRIBUTES
    return "; ".join([*listed, *([f"and {more} more"] if more > 0 else [])])


def _questions(mechanism: Mechanism) -> Mapping[str, Mechanism]:
    """The mechanisms of several questions that are asked together, or of one."""
    return mechanism.parts if isinstance(mechanism, PerAttribute) else {"": mechanism}


def listed_codes(words: Sequence[Any]) -> str:
    """The first words and the last, with their codes."""
    last = len(words) - 1
    some = [*range(last)] if last < _CODES else [0, 1, 2]
    gap = ["..."] if last >= _CODES else []
    texts = [f"{i} = {as_text(words[i])}" for i in some]
    return ", ".join([*texts, *gap, f"{last} = {as_text(words[last])}"])


def codes_said(entries: Iterable[str], words: Sequence[str]) -> str:
    """The order of the words of a card where some entries are codes of them; "" else.

    >>> codes_said(["1", "", "0"], ["different", "same"]), codes_said(["no"], ["no", "yes"])
    ('0 = different, 1 = same', '')
    """
    has_codes = any(entry.strip().isdecimal() for entry in entries) and not words[0].isdecimal()
    return listed_codes(words) if has_codes else ""


def _attribute(
    stated: Mapping[str, Any],
    name: str,
    mechanism: Mechanism,
    columns: Sequence[str],
    names: Sequence[str],
) -> str | None:
    """The attribute of a header that some columns of reports are of; None where it has none."""
    ends = list(mechanism.schema.file_columns())
    usual = {of: [f"{of}_{end}" if of else end for end in ends] for of in stated}
    for of in stated:
        if list(columns) in (usual[of], [records_column(of)]):
            return of
    if name in stated:
        return name
    # A header of one attribute is about columns that were renamed, unless its own are still there.
    others = [of for of in stated if not set(usual[of]) & set(names)]
    return others[0] if len(stated) == len(others) == 1 else None
