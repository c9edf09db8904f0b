"""Which characters cannot be shown."""

from __future__ import annotations

import sys
import unicodedata

from warner._core.text import unreadable


def test_what_is_unreadable_is_every_control_separator_surrogate_direction_mark_and_noncharacter() -> (
    None
):
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for point in range(sys.maxunicode + 1):
        char = chr(point)
        marks = (
            unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(char) in directions
        )
        nothing = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point < 0xFDF0
        if marks or nothing or point in (0x61C, 0x200E, 0x200F):
            assert unreadable(char) is not None, hex(point)
        else:
            assert unreadable(char) is None, hex(point)
