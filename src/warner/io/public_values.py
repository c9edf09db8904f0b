"""Public columns of files: their types, and their values as Arrow arrays and as indices.

Integers are written as integers of 64 bits. All other values are written as text: labels as they
are declared, and dates in ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.errors import ArgumentTypeError, ReportError, ValuesError, message
from warner.domains import Domain
from warner.io.answer_column import AnswerColumn
from warner.reports.public_columns import Groups, Value, groups_of_codes

if TYPE_CHECKING:
    import pyarrow as pa


def holds_integers(domain: Domain) -> bool:
    """Whether a public column holds integers in a file, and not texts.

    >>> from warner import Categorical, Integers
    >>> holds_integers(Integers(0, 9)), holds_integers(Categorical([1, "other"]))
    (True, False)
    """
    if domain.is_numeric:
        return True
    spec = domain.spec()
    return all(type(label) is int for label in spec.get("values", [""]))


def arrow_type(domain: Domain) -> pa.DataType:
    """The Arrow type of a public column in a file."""
    import pyarrow as pa

    return pa.int64() if holds_integers(domain) else pa.string()


def to_arrow(domain: Domain, index: np.ndarray) -> pa.Array:
    """The values at ``index`` (n,) of a public column, as an Arrow array of its type."""
    import pyarrow as pa

    different, place = np.unique(index, return_inverse=True)
    labels = domain.decode(different)
    if not holds_integers(domain):
        # As they are read: booleans as true and false, numbers among texts as text.
        labels = [str(v).lower() if isinstance(v, bool) else str(v) for v in labels]
    return pa.array(labels, arrow_type(domain)).take(pa.array(place.ravel()))


def indices_of(
    path: str,
    name: str,
    domain: Domain,
    column: Any,
    row: int | None = None,
    rule: str = "holds values that its header does not declare",
) -> np.ndarray:
    """The indices (n,) of the values in a public column of a report file."""
    problem = message(f"{path}: column {name!r}", rule)
    try:
        return AnswerColumn(name, row or 0, domain).encoded(column, domain.encode)
    except (ValuesError, ArgumentTypeError) as error:
        if row is not None:
            problem = f"{path}: {error}"
    raise ReportError(problem)


def groups_in(columns: Mapping[str, Domain], indices: Mapping[str, np.ndarray]) -> Groups:
    """The groups of people in a file, by the indices (n,) of their values in public columns."""
    labels: list[list[Value]] = []
    codes = []
    for name, domain in columns.items():
        different, place = np.unique(indices[name], return_inverse=True)
        labels.append(domain.decode(different))
        codes.append(place.ravel())
    return groups_of_codes(columns, labels, codes)
