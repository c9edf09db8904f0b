"""Limits of what one sender, and all senders together, may send. All of it is in memory only.

Reports of one address are counted in a token bucket: it holds up to ``burst`` tokens, is refilled
by ``rate`` tokens a second, and each report takes one. No address is kept. A bucket is filed under
a hash of the address with a random salt. Ten minutes after the first bucket, a timer throws away
the salt and all buckets, also if nothing more is sent. What stands in memory until then: for at
most 100,000 hashes of 8 bytes, one number of tokens and the time of its last change. Nothing of it
reaches the store, a log or a file.

Connections of one sender are numbered while they are open, and no longer.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Protocol

from warner.collector.access import Owner, may
from warner.collector.collector import Collector
from warner.collector.web.responses import HttpRefused

_SALT_SECONDS = 600.0
_MOST_BUCKETS = 100_000


@dataclass(frozen=True)
class Limits:
    """What the collector takes."""

    body: int = 4 << 20  # the largest body, in bytes
    body_seconds: float = 30.0  # the time within which a body must arrive
    # The most bytes of bodies that wait for their ends at one moment, of all senders.
    held: int = 256 << 20
    rate: float = 20.0  # reports a second of one address; 0 for no limit
    burst: int = 1_000  # reports of one address at once
    rate_of_all: float = 20_000.0  # reports a second of all addresses together; 0 for no limit
    burst_of_all: int = 100_000  # reports of all addresses at once


class _Bucket:
    """A number of tokens that grows with time."""

    __slots__ = ("changed", "tokens")

    def __init__(self, tokens: float, now: float) -> None:
        self.tokens, self.changed = tokens, now

    def refill(self, rate: float, burst: float, now: float) -> float:
        self.tokens = min(burst, self.tokens + rate * max(0.0, now - self.changed))
        self.changed = now
        return self.tokens


class Buckets:
    """The token buckets of all addresses, and one for all of them together.

    >>> buckets = Buckets(Limits(rate=1, burst=2), clock=lambda: 0.0)
    >>> buckets.take("192.0.2.1", 2)
    >>> buckets.take("192.0.2.1", 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    warner.collector.web.responses.HttpRefused: request: comes after too many others. ...
    >>> buckets.take("192.0.2.2", 1)
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._all = _Bucket(limits.burst_of_all, clock())
        self._timer: threading.Timer | None = None
        self._forget()

    def _forget(self) -> None:
        """Throw the salt and all buckets away."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._buckets = None, dict[bytes, _Bucket]()
        self._salt = secrets.token_bytes(16)

    def _bucket(self, address: str, now: float) -> _Bucket:
        """The bucket of an address. The first one of all starts the timer that throws them away."""
        # The timer has a thread of its own, which may exchange both at any moment.
        buckets, salt = self._buckets, self._salt
        if not buckets:
            self._timer = threading.Timer(_SALT_SECONDS, self._forget)
            self._timer.daemon = True
            self._timer.start()
        key = hashlib.blake2b(_network(address), key=salt, digest_size=8).digest()
        return buckets.setdefault(key, _Bucket(self._limits.burst, now))

    def take(self, address: str | None, reports: int) -> None:
        """Take a token for each report."""
        limits, now = self._limits, self._clock()
        if len(self._buckets) >= _MOST_BUCKETS:
            self._forget()
        buckets: list[tuple[_Bucket, float, float]] = []
        if limits.rate_of_all:
            buckets.append((self._all, limits.rate_of_all, limits.burst_of_all))
        if limits.rate and address is not None:
            buckets.append((self._bucket(address, now), limits.rate, limits.burst))
        for bucket, rate, burst in buckets:
            missing = max(reports, 1) - bucket.refill(rate, burst, now)
            if missing > 0:
                if reports > burst:
                    rule = f"can have at most {int(burst):,} reports without the owner's token"
                    raise HttpRefused("too_large", None, rule)
                raise HttpRefused("too_many", headers={"retry-after": str(int(missing / rate) + 1)})
        for bucket, _, _ in buckets:
            bucket.tokens -= reports


def _network(address: str) -> bytes:
    """What counts as one sender: an address, or of IPv6 the network of 64 bits."""
    if ":" not in address:
        return address.encode()
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address.encode()
    # A person has a whole such network, and takes another address of it when wanted.
    mapped = parsed.ipv4_mapped
    return parsed.packed[:8] if mapped is None else str(mapped).encode()


class Held:
    """The bytes of bodies that are in memory until their ends arrive."""

    def __init__(self, most: int) -> None:
        self._most, self._now = most, 0

    def add(self, size: int) -> None:
        """Count further bytes."""
        if self._now + size > self._most:
            raise HttpRefused("too_many", headers={"retry-after": "5"})
        self._now += size

    def drop(self, size: int) -> None:
        """Count bytes that are in memory no more."""
        self._now -= size


class Tokens:
    """Tells the owner's token from wrong ones, which are counted and limited."""

    # The owner's token is always taken: it cannot be guessed, and nobody who shares an address with
    # the owner, or a proxy, shall be able to shut the owner out.

    def __init__(self, owner: Owner, collector: Collector) -> None:
        self._owner, self._collector = owner, collector
        self._wrong = Buckets(Limits(rate=0.1, burst=10, rate_of_all=0))

    def check(self, token: str, address: str, deed: str = "act") -> str:
        """Take a token of the owner, or of somebody who has one for this deed; whose it is."""
        name = self._owner.name_of(token)
        if name is not None and may(name, deed):
            return name
        self._collector.reject("no_owner")
        try:
            self._wrong.take(address, 1)
        except HttpRefused as refused:
            raise HttpRefused("wrong_tokens", refused.headers) from None
        raise HttpRefused("no_owner", {"www-authenticate": "Bearer"})


class Connection(Protocol):
    """A connection that can be ended at once, without an answer."""

    def abort(self) -> None: ...


class Connections:
    """The open connections; one too many ends the one that has waited longest for a request."""

    # One sender has a quarter of them at most, so that others are served whatever it does.

    def __init__(self, most: int, proxies: Container[str] = ()) -> None:
        self._most, self._most_of_one, self._proxies = most, max(1, most // 4), proxies
        self._senders: dict[Connection, bytes | None] = {}
        self._of_one: Counter[bytes | None] = Counter()
        self._waiting: dict[Connection, None] = {}  # the one that has waited longest first

    def add(self, connection: Connection, address: str | None) -> None:
        """A connection is opened, and waits for a request."""
        of_many = address is None or address in self._proxies
        sender = None if of_many or address is None else _network(address)
        self._senders[connection] = sender
        self._of_one[sender] += 1
        self._waiting[connection] = None
        if sender is not None and self._of_one[sender] > self._most_of_one:
            ended = next(c for c in self._waiting if self._senders[c] == sender)
        elif len(self._senders) > self._most:
            ended = next(iter(self._waiting))
        else:
            return
        self.remove(ended)
        ended.abort()

    def remove(self, connection: Connection) -> None:
        """A connection is closed."""
        self._waiting.pop(connection, None)
        if connection in self._senders:
            sender = self._senders.pop(connection)
            self._of_one[sender] -= 1
            if not self._of_one[sender]:
                del self._of_one[sender]

    def waits(self, connection: Connection) -> None:
        """A connection waits for its next request."""
        if connection in self._senders:
            self._waiting[connection] = None

    def is_asked(self, connection: Connection) -> None:
        """The head of a request has arrived by a connection."""
        self._waiting.pop(connection, None)
