"""An answer whose hash raises an error is not shown."""

from __future__ import annotations

import numpy as np
import pytest

import warner


def test_an_answer_whose_hash_raises_is_not_shown() -> None:
    class Odd(str):
        def __hash__(self) -> int:
            raise TypeError("CANARY-1234")

        def __eq__(self, other: object) -> bool:
            raise TypeError("CANARY-1234")

        def __str__(self) -> str:
            raise TypeError("CANARY-1234")

    domain = warner.Categorical(["a", "b"])
    assert domain.encode([Odd("a"), "b", np.str_("b")]).tolist() == [0, 1, 1]
    with pytest.raises(warner.errors.ValuesError, match="position 1") as error:
        domain.encode(["a", Odd("CANARY-1234")])
    assert "CANARY" not in str(error.value)
    assert warner.Categorical([1, 2]).encode([np.int64(2), 1]).tolist() == [1, 0]
