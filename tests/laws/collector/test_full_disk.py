"""A disk that takes no more: nothing is counted that is not written, and the service goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_files_that_cannot_grow_refuse_and_lose_nothing(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.laws.collector._full_disk", str(tmp_path / "s.db"), "limit"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    errors = json.loads(run.stdout)
    assert len(errors) >= 3
    assert set(errors) <= {"store_full", "store_failed"}
