"""Attack: random surveys with questions that hide little, and devices that are told less than is so.

What a survey may say is judged by the laws that :mod:`tests.attack.enumeration` enumerates.
"""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import warner
from tests.attack import enumeration as own
from tests.attack._frame import require
from tests.attack.laws import small
from warner.collector.pages.survey import survey_page
from warner.collector.pages.wording import words_of
from warner.collector.survey_document import survey_document
from warner.mechanisms import Mechanism
from warner.studies.study import Study

_CHECK = Path(__file__).parents[1] / "js" / "check.mjs"
_SURE = math.log(19)  # 95 %, from even odds
_MOST = math.log(22027)
_LABELS = 'values = ["a", "b", "c"]'
_LINE = "integers = [0, {last}]"
_PLACES = "grid = {{rows = {rows}, columns = {columns}, without = [[0, 0]]}}"
# Domains with the mechanisms that take them.
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_LABELS, ("RandomizedResponse", "UnaryEncoding", "SubsetSelection", "HadamardResponse")),
    (_LABELS + '\nsensitive = ["a"]', ("UtilityOptimizedRR", "UtilityOptimizedRappor")),
    (_LABELS + '\nsensitive = ["a", "b"]', ("UtilityOptimizedSubset",)),
    (_LINE, ("Geometric", "TruncatedGeometric", "Laplace", "SquareWave", "Exponential")),
    (_PLACES, ("PlanarGeometric", "PlanarLaplace", "Exponential")),
)


def _question(rng: np.random.Generator, name: str) -> str:
    """A question whose epsilon, between the most distant answers, is about 0.3 to 60."""
    domain, mechanisms = _KINDS[rng.integers(len(_KINDS))]
    limits = {"last": rng.integers(1, 7), "rows": rng.integers(2, 4), "columns": rng.integers(2, 5)}
    epsilon = math.exp(rng.uniform(math.log(0.3), math.log(13)))
    repeated = "reports = 2\n" if rng.random() < 0.3 else ""
    return (
        f"[attributes.{name}]\n{domain.format(**limits)}\n{repeated}"
        f'mechanism = "{rng.choice(mechanisms)}"\nepsilon = {epsilon!r}\n'
    )


def enumerated(mechanism: Mechanism) -> float | None:
    """The epsilon of the two answers that reports tell apart best; None where others are shown or
    where there are too many reports.
    """
    if mechanism.guarantee.sensitive is not None or not small(mechanism):
        return None
    asked = own.answers(mechanism)
    laws = [own.law(mechanism, answer) for answer in asked]
    pairs = [(a, b) for a in range(len(laws)) for b in range(len(laws)) if a != b]
    return float(max(own.nats(own.worst(laws, a, b)) for a, b in pairs))


def case(rng: np.random.Generator) -> str | None:
    text = "".join(_question(rng, f"q{i}") for i in range(rng.integers(1, 4)))
    is_weak = bool(rng.random() < 0.6)
    try:
        study = Study.parse(text + ("[collect]\nweak_protection = true\n" if is_weak else ""))
    except warner.errors.StudyError:
        return None  # a budget that its mechanism cannot honour
    found = {name: enumerated(mechanism) for name, mechanism in study.mechanisms.items()}
    told = max((nats for nats in found.values() if nats is not None), default=0.0)
    try:
        document = survey_document(study)
    except warner.errors.StudyError as error:
        totals = [m.guarantee.total for m in study.mechanisms.values()]
        require(max(totals) > _MOST and not is_weak, f"{text}refused: {error}")
        require("weak_protection = true" in str(error), f"{text}refused without a remedy: {error}")
        return "refused"
    require(is_weak or told <= _MOST, f"{text}served at {told} nats without an explicit yes")
    promises = _promises(study, found)
    if shutil.which("node"):
        _device(rng, document, found, promises)
    return " ".join(promises)


def _promises(study: Study, found: dict[str, float | None]) -> list[str]:
    """What the page promises, which the enumerated laws must keep to in each language."""
    told = max((nats for nats in found.values() if nats is not None), default=0.0)
    page = html.unescape(survey_page(study))
    words = words_of("en")
    stated = re.search('data-promises="([a-z_ ]+)"', page)
    promises = stated[1].split() if stated else []
    said = {key for key in ("strong", "weak", "none") if words[f"promise_{key}"] in page}
    require(said == {"strong", "weak", "none"} & set(promises), f"{said} said of {promises}")
    require(told <= _SURE or "strong" not in said, f"nobody can be sure, at {told} nats")
    require(told <= _MOST or "none" in said, f"no warning at {told} nats")
    together = sum(nats or 0.0 for nats in found.values())
    kept = together <= _SURE or bool(
        {"together", "together_hardly", "weak", "none"} & set(promises)
    )
    kept &= together <= _MOST or bool({"together_hardly", "none"} & set(promises))
    require(kept, f"{promises} of {together} nats together")
    return promises


def _device(
    rng: np.random.Generator,
    document: dict[str, Any],
    found: dict[str, float | None],
    promises: list[str],
) -> None:
    """The device takes the survey, makes the same promises of it, and takes no smaller epsilon."""
    documents = [document, {**document, "epsilon": document["epsilon"] * (1 - 1e-6)}]
    for i, question in enumerate(document["questions"]):
        nats = found[question["name"]]
        if nats is not None:
            less = {**question, "epsilon": nats * (1 - 1e-6 - 0.5 * rng.random() ** 9)}
            questions = [*document["questions"][:i], less, *document["questions"][i + 1 :]]
            documents.append({**document, "questions": questions})
    done = subprocess.run(
        ["node", str(_CHECK)], input=json.dumps(documents), capture_output=True, text=True
    )
    require(done.returncode == 0, f"the device failed: {done.stderr[-300:]}")
    honest, *forged = json.loads(done.stdout)
    require(honest == promises, f"a page with {promises}, of which the device says {honest}")
    require(forged == ["odds_exceed"] * len(forged), f"understated, and {forged}: {document}")
