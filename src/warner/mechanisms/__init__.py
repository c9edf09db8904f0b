"""Mechanisms: what runs on the device. Each file declares a family's law once; here they are listed by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warner._check import MismatchError, message, show
from warner.domain import from_spec
from warner.mechanisms._base import Mechanism
from warner.mechanisms.direct import ChannelMechanism, RandomizedResponse
from warner.mechanisms.hadamard import HadamardResponse
from warner.mechanisms.hashing import LocalHashing
from warner.mechanisms.subset import SubsetSelection
from warner.mechanisms.unary import UnaryEncoding
from warner.tally import require_same

# The registration of a mechanism: its name in headers and study files is its class's.
MECHANISMS: dict[str, type[Mechanism]] = {
    cls.__name__: cls
    for cls in (
        RandomizedResponse,
        UnaryEncoding,
        LocalHashing,
        SubsetSelection,
        HadamardResponse,
        ChannelMechanism,
    )
}


def from_header(header: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a report's or tally's header describes, with the same law to the last bit.

    Raises:
        MismatchError: a mechanism, version or law that this version of warner does not make.

    >>> from warner import Categorical
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> from_header(coin.header).header == coin.header
    True
    """
    name = header.get("mechanism")
    cls = MECHANISMS.get(name) if isinstance(name, str) else None
    if cls is None or header.get("version") != cls.version:
        raise MismatchError(
            message(
                "header", f"names a mechanism unknown here: {show(name)}, version {show(header.get('version'))}", None, "Use the version that made it"
            )
        )
    try:
        requested = float("inf") if header["requested"] == "inf" else header["requested"]
        mechanism = cls._rebuild(from_spec(header["domain"]), requested, header["parameters"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise MismatchError(message("header", f"does not describe a valid {name}", None, "Was the file altered?")) from None
    require_same(mechanism.header, header, "header and the law it names")
    return mechanism


__all__ = [*MECHANISMS, "MECHANISMS", "Mechanism", "from_header"]
