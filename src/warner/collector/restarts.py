"""What may change between two starts of a collector with the same store, and what may not.

The digest of a study covers what reports mean: mechanisms, values and public columns. It does not
cover words. Yet the answers to two different questions must not be added. So the texts of questions
and of their choices are kept beside the counts, and a change is refused unless the owner says that
it changes no meaning, as a corrected typing error. Languages may be added and left out.

The step of the live page may grow. A smaller one is refused: those who are counted answered under
the larger one, which the deployment card states.

Before anybody is counted, everything may change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from warner._core.errors import ArgumentError
from warner._core.text import canonical
from warner.collector.refusals import Refused
from warner.collector.survey_document import survey_bytes
from warner.studies.study import Study

FACT = "served"  # the name of all this among the facts of the store
_PLACES = (("questions", "attributes"), ("public", "public"))
_SHOWN = 5  # texts in a message


class Remembering(Protocol):
    """What is asked of a collector, see :class:`warner.collector.collector.Collector`."""

    @property
    def n(self) -> int: ...

    @property
    def document(self) -> bytes: ...

    def remembered(self, name: str) -> bytes | None: ...

    def remember(self, name: str, content: bytes) -> None: ...


def texts_of(document: bytes) -> dict[str, str]:
    """The texts of questions, public columns and choices in a served survey document."""
    data = json.loads(document or b"{}")
    found: dict[str, str] = {}
    for part, table in _PLACES:
        for asked in data.get(part, ()):
            place = f"{table}.{asked['name']}"
            for key in ("label", "help", "answers"):
                for tag, text in asked[key].items():
                    found[f"{place}.{key}.{tag}"] = text if key != "answers" else canonical(text)
            found[f"{place}.unit"] = asked["unit"]
    return found


def changed_texts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The places of texts that both have, and that differ.

    >>> changed_texts({"a.label.en": "Do you?", "a.label.de": "?"}, {"a.label.en": "Did you?"})
    ['a.label.en']
    """
    return [place for place, text in now.items() if before.get(place, text) != text]


class Start:
    """One start of a collector: whether it may go on with its store."""

    def __init__(self, collector: Remembering, study: Study, name: str) -> None:
        self._collector, self._name = collector, name
        self._texts, self._step = texts_of(survey_bytes(study)), study.collect.step
        stored = collector.remembered(FACT)
        try:
            # A store of an earlier version has the survey document of its first start alone.
            known: dict[str, Any] = {"texts": texts_of(collector.document), "step": 0}
            known = known if stored is None else json.loads(stored)
            self._known: dict[str, Any] = {
                "texts": dict(known["texts"]),
                "step": int(known["step"]),
            }
        except (ValueError, TypeError, LookupError, AttributeError):
            rule = "holds texts of questions that cannot be read"
            raise Refused("store_damaged", "store", rule) from None

    def check(self, new_texts: bool = False) -> None:
        """Refuse questions and conditions that differ from those of the people who are counted."""
        if not self._collector.n:
            return
        changed = [] if new_texts else changed_texts(self._known["texts"], self._texts)
        if changed:
            listed = ", ".join(changed[:_SHOWN])
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            rule = "must ask what it asked before, since its answers are added to those counted"
            remedy = (
                "If the words still mean the same, as after a corrected typing error, add "
                "--new-texts. Else restore them, or name another store with --store"
            )
            raise ArgumentError(self._name, rule, f"other words in {listed}{more}", remedy)
        if self._step < self._known["step"]:
            before = self._known["step"]
            rule = f"must be at least {before:,}, under which those who are counted answered"
            remedy = f"Use --step {before}, or another store with --store"
            raise ArgumentError("step", rule, f"{self._step:,}", remedy)

    def keep(self) -> None:
        """Keep the texts and the step, for the next start."""
        before = self._known["texts"] if self._collector.n else {}
        content = canonical({"texts": {**before, **self._texts}, "step": self._step}).encode()
        if content != self._collector.remembered(FACT):
            self._collector.remember(FACT, content)
