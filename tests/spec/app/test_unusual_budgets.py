"""The audit says where an epsilon is uselessly small, or so large that it protects little."""

from pathlib import Path

import pytest

from tests.spec.app._command import run

STUDY = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = {0}
[attributes.age]
integers = [0, 100]
mechanism = "Geometric"
epsilon = {1}
"""


@pytest.mark.parametrize(
    ("smokes", "age", "told"),
    [
        (1.0, 0.01, []),
        (0.04, 0.01, ["smokes: an epsilon below 0.05 tells almost nothing"]),
        (5.5, 0.01, ["smokes: an epsilon above 5 protects little", "148 times and more"]),
        (1.0, 0.1, ["age: an epsilon above 5 protects little"]),
        (0.04, 0.0004, ["smokes, age: an epsilon below 0.05"]),
    ],
)
def test_epsilons_that_are_useless_or_protect_little_are_named(
    tmp_path: Path, smokes: float, age: float, told: list[str]
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(smokes, age))
    said = run("audit", str(path)).stdout
    assert all(part in said for part in told), said
    assert said.count("an epsilon") == min(len(told), 1)
