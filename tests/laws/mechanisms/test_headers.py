"""Headers of combined mechanisms rebuild their parts to the last bit."""

from __future__ import annotations

import pytest

from tests.registry import COMBINED
from warner.mechanisms import from_header

NAMES = list(COMBINED)


@pytest.mark.parametrize("name", NAMES)
def test_the_header_rebuilds_the_parts_to_the_last_bit(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    again = from_header(mechanism.header)
    assert (
        type(again) is type(mechanism)
        and again.header == mechanism.header
        and again.guarantee == mechanism.guarantee
    )
    assert [part.header for part in again.parts.values()] == [
        part.header for part in mechanism.parts.values()
    ]
