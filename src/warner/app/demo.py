"""The demonstration: all steps, on real answers that come with the package."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import time
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path

import numpy as np

from warner import io as files
from warner._core.atomic_files import write_whole
from warner._core.errors import ArgumentError
from warner._core.sampling import Source
from warner.app.show_estimates import show_estimate
from warner.app.terminal import show
from warner.metrics import total_variation
from warner.reports.tally import save_tallies
from warner.results.charts import chart, save
from warner.results.estimate import Estimate, estimate
from warner.results.named_summaries import table_of_estimates
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
        rule = "must be a new folder, or one of an earlier demonstration"
        raise ArgumentError("--output", rule, str(folder), "Choose another name")
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
    _save(estimates, truths, folder)
    for result, truth in zip(estimates, truths, strict=True):
        show_estimate(result, LEVEL, TARGET, truth)
        distance = total_variation(result.probabilities, truth)
        show(
            f"Total variation from the truth {distance:.4f}; "
            f"{held(result, truth)} of {len(truth)} intervals hold the true share\n"
        )
    spent = ", ".join(f"{name} {m.epsilon:.10g}" for name, m in study.mechanisms.items())
    show(
        f"Each person spent epsilon {study.epsilon:.10g} ({spent}). "
        "No answer left a device unrandomised."
    )
    show(
        f"{estimates[0].n:,} people in {estimated - start:.2f} s: "
        f"randomise and write {randomised - start:.2f} s, "
        f"read and count {counted - randomised:.2f} s, estimate {estimated - counted:.3f} s."
    )
    made = ", ".join(name for name in _FILES if (folder / name).exists())
    show(f"In {folder}{'/' if not str(folder).endswith('/') else ''}: {made}.")
    show("Data: Adult, UCI Machine Learning Repository (B. Becker, R. Kohavi), CC BY 4.0.")


def _randomize(
    study: Study,
    answers: io.BytesIO,
    path: Path,
    rng: np.random.Generator | None,
    simulation: bool,
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


def _save(estimates: list[Estimate], truths: list[np.ndarray], folder: Path) -> None:
    """Write the estimates as JSON, CSV and a picture."""
    data = json.dumps([result.to_json(LEVEL, TARGET) for result in estimates], indent=1)
    write_whole(folder / "estimate.json", f"{data}\n".encode())
    write_whole(
        folder / "estimate.csv", table_of_estimates(estimates, LEVEL, TARGET).csv().encode()
    )
    with contextlib.suppress(ImportError):  # the picture needs the extra 'plot'
        save(chart(estimates, truth=truths, target=TARGET), str(folder / "shares.png"))


def held(result: Estimate, truth: np.ndarray) -> int:
    """How many of the true shares (K,) lie in the intervals that the demonstration prints."""
    rows = result.rows(LEVEL, TARGET)
    return sum(row["low"] <= share <= row["high"] for row, share in zip(rows, truth, strict=True))
