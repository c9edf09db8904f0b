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

from warner._core.errors import ArgumentError
from warner._core.text import canonical
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.survey_document import survey_document
from warner.studies.study import Study

FACT = "served"  # the name of all this among the facts of the store
_TABLES = (("questions", "attributes"), ("public", "public"))
_SHOWN = 5  # texts in a message


def texts_of(study: Study) -> dict[str, str]:
    """The texts of questions, public columns and choices that devices are told."""
    document = survey_document(study)
    texts: dict[str, str] = {}
    for questions, table in _TABLES:
        for question in document[questions]:
            prefix = f"{table}.{question['name']}"
            for key in ("label", "help", "answers"):
                for tag, text in question[key].items():
                    texts[f"{prefix}.{key}.{tag}"] = text if key != "answers" else canonical(text)
            texts[f"{prefix}.unit"] = question["unit"]
    return texts


def changed_texts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The places of texts that both have, and that differ.

    >>> changed_texts({"a.label.en": "Do you?", "a.label.de": "?"}, {"a.label.en": "Did you?"})
    ['a.label.en']
    """
    return [key for key, text in now.items() if before.get(key, text) != text]


class Start:
    """One start of a collector: whether it may go on with its store."""

    def __init__(self, collector: Collector, study: Study, name: str) -> None:
        self._collector, self._name = collector, name
        self._texts, self._step = texts_of(study), study.collect.step
        stored = collector.remembered(FACT) or b'{"texts":{},"step":0}'
        try:
            before = json.loads(stored)
            self._old_texts: dict[str, str] = dict(before["texts"])
            self._old_step = int(before["step"])
        except (ValueError, TypeError, LookupError):
            rule = "is damaged: the texts of its questions cannot be read"
            remedy = 'Put an earlier backup in its place, with "warner collect restore"'
            raise Refused("store_damaged", "store", rule, None, remedy) from None

    def check(self, new_texts: bool = False) -> None:
        """Refuse questions and conditions that differ from those of the people who are counted."""
        if not self._collector.n:
            return
        changed = [] if new_texts else changed_texts(self._old_texts, self._texts)
        if changed:
            listed = ", ".join(changed[:_SHOWN])
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            rule = (
                "must ask the same as before, because new answers are added to the earlier answers"
            )
            remedy = (
                "If the new words mean the same as the old words, add --new-texts. If they mean "
                "something else, choose another store with --store"
            )
            raise ArgumentError(self._name, rule, f"other words in {listed}{more}", remedy)
        if self._step < self._old_step:
            rule = (
                f"must be at least {self._old_step:,}, because this step was promised to the "
                "people who have already answered"
            )
            remedy = (
                f"Use --step {self._old_step}. For a smaller step, choose another store with "
                "--store"
            )
            raise ArgumentError("step", rule, f"{self._step:,}", remedy)

    def keep(self) -> None:
        """Keep the texts and the step, for the next start."""
        before = self._old_texts if self._collector.n else {}
        content = canonical({"texts": {**before, **self._texts}, "step": self._step}).encode()
        if content != self._collector.remembered(FACT):
            self._collector.remember(FACT, content)
