"""Values and keys as TOML writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from warner._core.checks import kind
from warner._core.errors import StudyError


def toml(value: object) -> str:
    """A value as TOML: text in quotes with escapes, a list, a table, a number or a truth value.

    >>> toml(["a", 1, True]), toml('"'), toml(0.5)
    ('["a", 1, true]', '"\\\\""', '0.5')
    >>> toml({"en": "no", "pt-BR": 1})
    '{ en = "no", pt-BR = 1 }'
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{toml_key(key)} = {toml(own)}' for key, own in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        # JSON leaves one control character as it is, which TOML does not allow.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool | int | float):
        return str(value).lower()
    raise StudyError("study", "cannot state an option as TOML", kind(value))


def toml_key(name: str) -> str:
    """A name as a key of TOML.

    >>> toml_key("q-1"), toml_key("a b")
    ('q-1', '"a b"')
    """
    plain = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if plain else toml(name)
