"""The demonstration: all steps, on real answers that come with the package."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path

import numpy as np

from warner import io as files
from warner._core.atomic_files import write_whole
from warner._core.errors import ArgumentError
from warner._core.sampling import Source
from warner._core.table import Column, Table
from warner._core.text import of_hundred
from warner.app.terminal import show
from warner.mechanisms.base import Mechanism
from warner.reports.tally import save_tallies
from warner.results.charts import chart
from warner.results.drawing import save
from warner.results.estimate import Estimate, estimate
from warner.results.intervals import share_columns
from warner.results.result_files import table_of_estimates
from warner.studies.study import Study

LEVEL, TARGET = 0.95, "respondents"
_FILES = (
    "study.toml",
    "reports.parquet",
    "tally.json",
    "estimate.json",
    "estimate.csv",
    "shares.png",
)


def run(folder: Path, rng: np.random.Generator | None, simulation: bool) -> None:
    """Randomise, count and estimate education and marital status of UCI Adult."""
    folder.mkdir(parents=True, exist_ok=True)
    data = resources("warner.app") / "data"
    example = (data / "adult.toml").read_bytes()
    standing = [folder / name for name in _FILES if (folder / name).exists()]
    if standing and not (standing[0].name == _FILES[0] and standing[0].read_bytes() == example):
        rule = "must be a new folder, or the folder of an earlier demonstration"
        raise ArgumentError("--output", rule, repr(str(folder)), "Choose another name")
    (folder / "reports.parquet").unlink(missing_ok=True)
    write_whole(folder / "study.toml", example)
    study = Study.load(folder / "study.toml")
    # The answers stay in memory: the collector never has them.
    answers = io.BytesIO(gzip.decompress((data / "adult.csv.gz").read_bytes()))

    start = time.perf_counter()
    counts = _randomize(study, answers, folder / "reports.parquet", rng, simulation)
    randomised = time.perf_counter()
    tallies = files.tally_file(str(folder / "reports.parquet"))
    save_tallies(tallies, folder / "tally.json")
    counted = time.perf_counter()
    estimates = [replace(estimate(tally), attribute=name) for name, tally in tallies.items()]
    estimated = time.perf_counter()

    truths = [counts[str(result.attribute)] / result.n for result in estimates]
    _save(estimates, truths, study.labels, folder)
    show(
        f"{estimates[0].n:,} people of the US census answer two questions. Each answer is "
        "randomised (epsilon = 1) before anybody counts it. The true answers are known here, so "
        "the estimates can be compared with them.",
        "",
    )
    education, status = zip(estimates, truths, strict=True)
    show(_table(*status), "")
    show(
        f"For education, {held(*education)} of {len(education[1])} intervals contain the true "
        "share. All shares are in estimate.csv.",
        "",
        _about_one_report(study.mechanisms["marital_status"]),
        "",
    )
    made = ", ".join(name for name in _FILES if (folder / name).exists())
    show(
        f"This took {estimated - start:.1f} s: {randomised - start:.1f} s to randomise and write, "
        f"{counted - randomised:.1f} s to read and count, {estimated - counted:.1f} s to estimate. "
        f"Written to {folder}{'/' if not str(folder).endswith('/') else ''}: {made}.",
        "To begin with your own answers, run: warner new YOUR_ANSWERS.csv. For the list of "
        "commands, run: warner help",
        "Data: Adult, UCI Machine Learning Repository (B. Becker, R. Kohavi), CC BY 4.0.",
    )


def _table(result: Estimate, truth: np.ndarray) -> Table:
    """The shares from the largest to the smallest, beside the true shares (K,)."""
    rows = [
        {**row, "truth": true}
        for row, true in zip(result.rows(LEVEL, TARGET), truth.tolist(), strict=True)
    ]
    value, share, interval, picture = share_columns(LEVEL, None)
    return Table(
        [value, Column("truth", unit="share"), share, interval, picture],
        sorted(rows, key=lambda row: -row["estimate"]),
        [f"{held(result, truth)} of {len(truth)} intervals contain the true share."],
        f"{result.attribute}: {result.n:,} people",
    )


def _about_one_report(mechanism: Mechanism) -> str:
    """What one report of randomised response gives away, in people of 100."""
    law = mechanism.channel().dense()
    of_them, of_others = of_hundred(float(law[1, 1])), of_hundred(float(law[1, 0]))
    label = mechanism.domain.labels[1]
    return (
        f'What one report gives away: of 100 people whose answer is "{label}", {of_them} report '
        f'"{label}". Of 100 people with any other answer, {of_others} report "{label}" too. So the '
        "report alone does not tell the answer."
    )


def _randomize(
    study: Study, answers: io.BytesIO, path: Path, rng: np.random.Generator | None, simulation: bool
) -> dict[str, np.ndarray]:
    """Write the reports of all people, and count the true answers of each attribute (K,)."""
    counts = {name: np.zeros(domain.size) for name, domain in study.domains.items()}
    source = Source(rng)
    writer = files.ReportWriter(str(path), study.mechanisms, simulation=simulation, rng=rng)
    with writer:
        for batch in files.read_values(answers, study.domains):
            writer.write(study.randomize_encoded(batch, source))
            for name, index in batch.items():
                counts[name] += np.bincount(index, minlength=counts[name].size)
    return counts


def _save(
    estimates: list[Estimate], truths: list[np.ndarray], labels: Mapping[str, str], folder: Path
) -> None:
    """Write the estimates as JSON, CSV and a picture."""
    data = json.dumps([result.to_json(LEVEL, TARGET) for result in estimates], indent=1)
    write_whole(folder / "estimate.json", f"{data}\n".encode())
    write_whole(
        folder / "estimate.csv", table_of_estimates(estimates, LEVEL, TARGET).csv().encode()
    )
    with contextlib.suppress(ImportError):  # the picture needs the extra 'plot'
        questions = [replace(each, attribute=labels[str(each.attribute)]) for each in estimates]
        save(chart(questions, truth=truths, target=TARGET), str(folder / "shares.png"))


def held(result: Estimate, truth: np.ndarray) -> int:
    """How many of the true shares (K,) lie in the intervals that the demonstration prints."""
    rows = result.rows(LEVEL, TARGET)
    return sum(row["low"] <= share <= row["high"] for row, share in zip(rows, truth, strict=True))
