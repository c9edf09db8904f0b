"""What a release needs beyond the tests: one version everywhere, changes in a page, no secrets."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_files_have_one_version(release: ModuleType) -> None:
    stated = release.versions()
    assert set(stated.values()) == {stated["pyproject.toml"]} and stated["pyproject.toml"]


def test_changes_become_the_section_of_the_next_version(
    release: ModuleType, tmp_path: Path
) -> None:
    """Rejects a section after older ones, a change that is lost or stays, and a version twice."""
    for path in release.PLACES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text((ROOT / path).read_text())
    before = (tmp_path / "CHANGELOG.md").read_text()
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("no change")
    with pytest.raises(SystemExit, match="holds no change"):
        release.collect_changes(tmp_path)
    for name in ("b", "a"):
        (tmp_path / "changes" / f"{name}.md").write_text(f"- **{name}.** New.")
    with pytest.raises(SystemExit, match=r"has .* already"):
        release.collect_changes(tmp_path)
    project = (tmp_path / "pyproject.toml").read_text()
    later = re.sub(r'^version = ".*"', 'version = "99.1.0"', project, flags=re.M)
    (tmp_path / "pyproject.toml").write_text(later)
    release.collect_changes(tmp_path)
    after = (tmp_path / "CHANGELOG.md").read_text()
    section = "\n## 99.1.0\n\n- **a.** New.\n- **b.** New.\n\n## "
    assert after == before.replace("\n## ", section, 1)
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["README.md"]
    assert release.versions(tmp_path)["CHANGELOG.md"] == "99.1.0"


def test_no_workflow_has_a_secret() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert not re.search(r"secrets\.|(?<!id-)token:|password", path.read_text()), path.name
