"""A file cut or changed anywhere is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Integers
from warner.errors import WarnerError
from warner.io import tally_file, write_reports
from warner.reports.tally import Tally


@pytest.mark.parametrize("suffix", ["warner", "json", "parquet", "csv"])
def test_every_truncation_and_alteration_is_noticed(suffix: str, tmp_path: Path) -> None:
    """Cut at, and flip one bit at, places all over the file: each byte of its two ends, and a
    sample of the bytes between.
    """
    mechanism = warner.UnaryEncoding(Integers(0, 11), 1.0)
    reports = mechanism.randomize(np.arange(60) % 12, np.random.default_rng(3))
    whole = mechanism.tally(reports)
    path = tmp_path / f"file.{suffix}"

    def load() -> Tally:
        if suffix == "warner":
            return mechanism.tally(warner.Reports.load(path))
        return Tally.load(path) if suffix == "json" else tally_file(str(path))["value"]

    if suffix == "warner":
        reports.save(path)
    elif suffix == "json":
        whole.save(path)
    else:
        write_reports(reports, str(path))
    data = path.read_bytes()
    assert load() == whole
    last = len(data) - 1
    for place in sorted(
        {*range(6), *range(6, last, max(1, len(data) // 30)), *range(last - 5, last + 1)}
    ):
        for changed in (
            data[:place],
            data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :],
        ):
            path.write_bytes(changed)
            with pytest.raises(WarnerError):
                load()
