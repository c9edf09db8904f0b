"""The store that an address names: a file, or a database of PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path

from warner._core.errors import ArgumentError
from warner.collector.stores.base import Store
from warner.collector.stores.postgres import PostgresStore
from warner.collector.stores.sqlite import SQLiteStore

ENDING = ".counts.sqlite"
_POSTGRES = ("postgresql://", "postgres://")
# Folders that web servers publish by custom.
_PUBLISHED = frozenset(["htdocs", "public_html", "www", "wwwroot"])


def usual_store(study: str | os.PathLike[str]) -> str:
    """The file beside a study file in which its counts are kept.

    >>> usual_store("surveys/smoking.toml")
    'surveys/smoking.counts.sqlite'
    """
    path = Path(study)
    return str(path.with_name(path.stem + ENDING))


def shown_store(address: str | None, study: str | os.PathLike[str]) -> str:
    """A store as messages name it: the address of a database may hold a password.

    >>> shown_store(None, "smoking.toml"), shown_store("postgresql://me:secret@host/db", "x.toml")
    ('smoking.counts.sqlite', 'postgresql://...')
    """
    if address is not None and address.startswith(_POSTGRES):
        return f"{_POSTGRES[0]}..."
    return address or usual_store(study)


def store_at(address: str) -> Store:
    """The store at an address, which is not opened yet."""
    if address.startswith(_POSTGRES):
        return PostgresStore(address)
    folders = {part.lower() for part in Path(address).resolve().parent.parts}
    if found := sorted(folders & _PUBLISHED):
        rule = f"must not lie in a folder that web servers publish ({found[0]})"
        remedy = "Name a file elsewhere with --store"
        raise ArgumentError(address, rule, None, remedy)
    return SQLiteStore(address)
