"""The written results: a CSV file, pictures and a paragraph for each experiment, a page a paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from papers.experiment import Claim, Picture, Verdict
from papers.pictures import draw, rows_of
from papers.registry import PAPERS
from papers.runner import Outcome, folder_of
from warner._core.atomic_files import write_whole
from warner._core.errors import MissingExtraError
from warner._core.text import duration
from warner.results.drawing import save


def write(outcome: Outcome, folder: Path, pictures: bool = True) -> list[Path]:
    """Write the results of an experiment: ``table.csv``, pictures, ``result.md``.

    Args:
        outcome: the results.
        folder: the folder of all results; the files go to ``full/PAPER/FIGURE`` or
            ``quick/PAPER/FIGURE`` in it.
        pictures: whether to draw pictures.

    Returns:
        The files. Without the extra ``plot`` there are no pictures among them.
    """
    place = folder_of(folder, outcome.experiment, outcome.quick)
    place.mkdir(parents=True, exist_ok=True)
    files = [place / "table.csv"]
    write_whole(files[0], outcome.table.to_csv().encode())
    drawn = []
    if pictures:
        for picture in outcome.experiment.pictures:
            path = place / _file_of(picture)
            if not rows_of(picture, outcome.table):
                path.unlink(missing_ok=True)  # the quick run has no cells of it
                continue
            try:
                save(draw(outcome.experiment, picture, outcome.table), str(path))
            except MissingExtraError:
                break
            drawn.append(path)
    text = paragraph(outcome, [path.name for path in drawn])
    write_whole(place / "result.md", text.encode())
    return [*files, *drawn, place / "result.md"]


def _file_of(picture: Picture) -> str:
    """The file name of a picture."""
    return "-".join(filter(None, ("picture", picture.name))) + ".png"


def paragraph(outcome: Outcome, pictures: Sequence[str], prefix: str = "") -> str:
    """What the paper says, what the run gives, and whether they agree: Markdown.

    Args:
        outcome: the results.
        pictures: the names of the picture files.
        prefix: the path of the pictures' folder, with a slash at its end.
    """
    experiment = outcome.experiment
    cells, runs = experiment.size(outcome.quick)
    lines = [
        f"## {', '.join(experiment.names)}: {experiment.title}",
        "",
        f"**The paper says.** {experiment.says}",
        "",
    ]
    if experiment.differs:
        lines += [f"**The setting differs.** {experiment.differs.strip()}", ""]
    about = (
        f"{len(cells)} cells, {runs} runs of each, {duration(outcome.seconds)} of processor time."
    )
    source = ""
    if experiment.data:
        names = ", ".join(f"`{name}`" for name in experiment.data)
        source = (
            f" Made data of the same shape stand in for {names}."
            if outcome.made
            else f" Data: {names}."
        )
    kind = "The quick run" if outcome.quick else "The full run"
    lines += [f"**{kind} gives.** {about}{source}", ""]
    for claim, verdict in outcome.verdicts:
        if verdict is None:
            lines.append(f"- not decided by the quick run: {claim.text}")
        else:
            answer = "holds" if verdict.holds else "does not hold"
            failure = claim.failure
            full = f"{failure.reason.value}: {failure.because}" if failure else ""
            why = outcome.why(claim, verdict, full)
            lines.append(f"- {answer}: {claim.text} ({verdict.figure}){why}")
    if outcome.verdicts:
        lines.append("")
    if experiment.conclusion and outcome.is_full:
        lines += [f"**Same or not.** {experiment.conclusion}", ""]
    lines += [f"![{experiment.title}]({prefix}{name})\n" for name in pictures]
    return "\n".join(lines).rstrip() + "\n"


def _row(cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _reason(outcome: Outcome, claim: Claim, verdict: Verdict | None) -> str:
    """The kind of reason why a claim fails, with a link to the script that shows it."""
    if verdict is None or verdict.holds or claim.failure is None:
        return ""
    if not outcome.is_full:
        return outcome.why(claim, verdict, "").removeprefix("; ")
    reason, shown = claim.failure.reason.value, claim.failure.shown
    return f"[{reason}](errata.md#{anchor(shown)})" if shown else reason


def anchor(heading: str) -> str:
    """The anchor of a heading of a page.

    >>> anchor("P5, figure 8: as 1/sqrt(d)")
    'p5-figure-8-as-1sqrtd'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page(paper: str, outcomes: Sequence[Outcome], folder: Path) -> str:
    """The page of a paper: its claims, ours, then a paragraph for each experiment.

    Args:
        paper: such as ``"P2"``.
        outcomes: the results of its experiments.
        folder: the folder that :func:`write` wrote to, for the names of the pictures.
    """
    lines = [f"# {paper}: {PAPERS[paper]}", ""]
    for ours in (False, True):
        claims = [
            (outcome, claim, verdict)
            for outcome in outcomes
            for claim, verdict in outcome.verdicts
            if claim.ours == ours
        ]
        if not claims:
            continue
        held = sum(verdict is not None and verdict.holds for _, _, verdict in claims)
        what = "claims of this package, not of the paper," if ours else "claims of the paper"
        words = [] if ours else ["the paper's words"]
        head = [*words, "our bar", "experiment", "holds here", "if not, why"]
        lines += [f"{held} of {len(claims)} {what} hold.", "", _row(head), "|---" * len(head) + "|"]
        for outcome, claim, verdict in claims:
            answer = "not decided" if verdict is None else "yes" if verdict.holds else "**no**"
            said = [] if ours else [claim.words]
            name, reason = outcome.experiment.name, _reason(outcome, claim, verdict)
            lines.append(_row([*said, claim.text, name, answer, reason]))
        lines.append("")
    for outcome in outcomes:
        place = folder_of(folder, outcome.experiment, outcome.quick)
        names = [_file_of(picture) for picture in outcome.experiment.pictures]
        drawn = [name for name in names if (place / name).is_file()]
        lines.append(paragraph(outcome, drawn, f"{outcome.experiment.name}/"))
    return "\n".join(lines)
