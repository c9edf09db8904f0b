"""The values that a mechanism or a claim protects, as a mask over the domain."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError, ValuesError, message
from warner.domains import Domain


def sensitive_mask(domain: Domain, sensitive: Any) -> np.ndarray:
    """Which values of a domain are sensitive, from a checked list of them.

    Sensitive values are public parameters, so error messages may name them.

    Returns (K,).

    >>> from warner import Categorical
    >>> sensitive_mask(Categorical(["no", "yes"]), ["yes"]).tolist()
    [False, True]
    """
    if (
        isinstance(sensitive, str | bytes)
        or not hasattr(sensitive, "__iter__")
        or (isinstance(sensitive, np.ndarray) and not sensitive.ndim)
    ):
        raise ArgumentTypeError("sensitive", "must be a list of values", kind(sensitive))
    values = sensitive if isinstance(sensitive, np.ndarray) else list(sensitive)
    if not len(values):
        raise ArgumentError(
            "sensitive",
            "must name at least one value: without any, values would be sent as they are",
            None,
            "Name what deserves protection",
        )
    try:
        index = domain.encode(values)
    except ValuesError as error:
        problem = message(
            "sensitive",
            f"value {error.position} is not in the domain of {domain.size} values",
            repr(values[error.position]),
        )
    else:
        if len(np.unique(index)) < len(index):
            raise ArgumentError(
                "sensitive",
                "values must be distinct, and in different bins",
                f"{len(index)} with repetitions",
            )
        mask = np.zeros(domain.size, dtype=bool)
        mask[index] = True
        return mask
    raise ArgumentError(problem)
