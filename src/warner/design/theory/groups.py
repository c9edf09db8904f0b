"""The people of a survey, in groups that use one mechanism each, and the channels of reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from warner._core.checks import distribution, integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError, MismatchError
from warner.channels import Channel, DenseChannel, DirectChannel
from warner.domains import Domain
from warner.mechanisms import Mechanism

MAX_PEOPLE = 10**15

Asked: TypeAlias = Mechanism | Domain
Mechanisms: TypeAlias = Asked | Sequence[Asked]
People: TypeAlias = int | Sequence[int]


def groups_of(mechanisms: Mechanisms, n: People) -> tuple[Domain, list[tuple[Asked, int]]]:
    """The domain, and the mechanism and the number of people of each group."""
    several = mechanisms if isinstance(mechanisms, Sequence) else [mechanisms]
    people = n if isinstance(n, Sequence) else [n]
    if len(several) != len(people) or not several:
        rule = "must have one number of people for each mechanism, and at least one"
        raise ArgumentError("n", rule, f"{len(people)} for {len(several)} mechanisms")
    domains = [domain_of(each) for each in several]
    if any(domain != domains[0] for domain in domains):
        raise MismatchError("mechanisms", "must be on one domain")
    counts = [integer("n", each, 1, MAX_PEOPLE) for each in people]
    return domains[0], list(zip(several, counts, strict=True))


def domain_of(asked: Asked) -> Domain:
    """The domain of a mechanism, or a Domain itself."""
    if isinstance(asked, Mechanism):
        return asked.domain
    if isinstance(asked, Domain):
        return asked
    rule = "must be a Mechanism, or a Domain for no protection"
    raise ArgumentTypeError("mechanism", rule, kind(asked))


def tally_channel(asked: Asked) -> Channel:
    """The channel of a mechanism's tallies; for a Domain, the identity."""
    return DirectChannel(asked.size, 0.0, 1.0) if isinstance(asked, Domain) else asked.channel()


def report_channel(asked: Asked) -> Channel:
    """The channel of whole reports if they can be listed, else the channel of tallies."""
    channel = tally_channel(asked)
    if channel.rows_per_report != 1 and isinstance(asked, Mechanism) and asked.is_enumerable:
        return DenseChannel(asked.probabilities().astype(np.float64))
    return channel


def shares_of(theta: object, domain: Domain) -> np.ndarray:
    """``theta`` as a distribution (K,) on the domain."""
    return distribution("theta", theta, domain.size)
