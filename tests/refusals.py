"""What is refused, in one line for each mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Errors = type[Exception] | tuple[type[Exception], ...]


def refused(
    error: Errors, words: str, call: Callable[..., Any], /, *args: Any, **options: Any
) -> str:
    """The message of a call that raises this error, whose message matches the words."""
    with pytest.raises(error, match=words or None) as problem:
        call(*args, **options)
    return str(problem.value)
