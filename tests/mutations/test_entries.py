"""The mutations are still of texts that are there; `make mutations` runs tests against them."""

from __future__ import annotations

from pathlib import Path

import pytest

import warner
from tests.mutations.__main__ import mutated
from tests.mutations.entries import MUTATIONS

PACKAGE = Path(warner.__file__).parent
TESTS = Path(__file__).parents[1]


def test_every_mutation_is_of_a_text_that_occurs_once_and_of_tests_that_are_there() -> None:
    """Rejects a mutation that is left behind by a change of its file, and so tests nothing."""
    for mutation in MUTATIONS:
        whole = (PACKAGE / mutation.file).read_text()
        changed = mutated(whole, mutation)
        assert changed != whole
        compile(changed, mutation.file, "exec")
        assert mutation.tests and all((TESTS / test).exists() for test in mutation.tests)
    assert len(MUTATIONS) >= 40 and len({m.file for m in MUTATIONS}) >= 8
    assert len({(m.file, m.old) for m in MUTATIONS}) == len(MUTATIONS)


def test_a_text_that_is_not_there_once_is_refused() -> None:
    one = MUTATIONS[0]
    for text in ("", 2 * one.old):
        with pytest.raises(SystemExit, match="not once"):
            mutated(text, one)
