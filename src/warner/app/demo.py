"""The demonstration: everything, on real answers that ship with the package."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import time
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np

from warner import io as files
from warner._core.atomic_files import (
    write_whole,
)
from warner._core.sampling import Source
from warner.app.study import Study
from warner.app.terminal import console, csv_of, show_estimate
from warner.metrics import total_variation
from warner.reports.tally import save_tallies
from warner.results.estimate import Estimate, estimate


def run(folder: Path, rng: np.random.Generator | None, simulation: bool) -> None:
    """Randomise, count and estimate Adult's education and marital status, and leave all files in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    data = resources("warner.app") / "data"
    study_file, reports_file, tally_file = (
        folder / name for name in ("study.toml", "reports.parquet", "tally.json")
    )
    answers = io.BytesIO(
        gzip.decompress((data / "adult.csv.gz").read_bytes())
    )  # in memory only: the collector never has them
    write_whole(study_file, (data / "adult.toml").read_bytes())
    study = Study.load(study_file)

    start = time.perf_counter()
    truth: dict[str, Any] = {name: np.zeros(d.size) for name, d in study.domains.items()}
    source = Source(rng)
    with files.ReportWriter(
        str(reports_file), study.mechanisms, simulation=simulation, rng=rng
    ) as writer:
        for batch in files.read_values(answers, study.domains):
            writer.write(study.randomize_encoded(batch, source))
            for name, index in batch.items():
                truth[name] += np.bincount(index, minlength=truth[name].size)
    randomised = time.perf_counter()
    tallies = files.tally_file(str(reports_file))
    save_tallies(tallies, tally_file)
    tallied = time.perf_counter()
    estimates = [replace(estimate(part), attribute=name) for name, part in tallies.items()]
    estimated = time.perf_counter()

    shares = [truth[str(e.attribute)] / e.n for e in estimates]
    write_whole(
        folder / "estimate.json",
        (
            json.dumps([e.to_json(target="respondents") for e in estimates], indent=1) + "\n"
        ).encode(),
    )
    write_whole(folder / "estimate.csv", csv_of(estimates, 0.95, "respondents").encode())
    with contextlib.suppress(ImportError):  # the picture needs the extra 'plot'
        from warner.results.charts import chart, save

        save(chart(estimates, truth=shares, target="respondents"), str(folder / "shares.png"))

    out = console()
    for result, true in zip(estimates, shares, strict=True):
        show_estimate(result, 0.95, "respondents", true)
        inside = held(result, true)
        distance = total_variation(result.probabilities, true)
        out.print(
            f"Total variation from the truth {distance:.4f}; {inside} of {len(true)} intervals hold it\n"
        )
    spent = ", ".join(f"{name} {m.epsilon:.10g}" for name, m in study.mechanisms.items())
    out.print(
        f"Each person spent epsilon {study.epsilon:.10g} ({spent}); nobody's answer left the device unrandomised."
    )
    out.print(
        f"{estimates[0].n:,} people in {estimated - start:.2f} s: randomise and write {randomised - start:.2f} s, "
        f"read and count {tallied - randomised:.2f} s, estimate {estimated - tallied:.3f} s."
    )
    names = (
        "study.toml",
        "reports.parquet",
        "tally.json",
        "estimate.json",
        "estimate.csv",
        "shares.png",
    )
    made = ", ".join(name for name in names if (folder / name).exists())
    out.print(f"In {folder}{'/' if not str(folder).endswith('/') else ''}: {made}.")
    out.print("Data: Adult, UCI Machine Learning Repository (B. Becker, R. Kohavi), CC BY 4.0.")


def held(result: Estimate, true: Any) -> int:
    """How many of the true shares (K,) the intervals hold that :func:`show_estimate` prints."""
    rows = result.rows(0.95, "respondents")
    return sum(row["low"] <= share <= row["high"] for row, share in zip(rows, true, strict=True))
