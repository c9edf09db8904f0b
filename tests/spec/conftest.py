"""A folder with a study and answers, for tests of the command line and of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.spec.app._command import STUDY


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, as the current one, with study.toml and the answers of 3,000 people."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    rng = np.random.default_rng(0)
    smokes = np.where(rng.random(3000) < 0.3, "yes", "no")
    Path("answers.csv").write_text(
        "age,smokes,other\n"
        + "".join(f"{a},{s},x\n" for a, s in zip(rng.integers(0, 10, 3000), smokes, strict=True))
    )
    return tmp_path
