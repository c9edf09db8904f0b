"""Token buckets: rates of one sender and of all, without an address in memory."""

from __future__ import annotations

import pickle
import time
from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from tests.refusals import refused
from warner.collector.web import limits as module
from warner.collector.web.limits import Buckets, Connections, Held, Limits
from warner.collector.web.responses import HttpRefused


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def taken(buckets: Buckets, address: str | None, reports: int) -> bool:
    try:
        buckets.take(address, reports)
    except HttpRefused as refused:
        assert refused.name == "too_many"
        return False
    return True


def test_a_sender_has_a_burst_and_then_a_rate() -> None:
    clock = Clock()
    buckets = Buckets(Limits(rate=2.0, burst=10, rate_of_all=0), clock)
    assert taken(buckets, "a", 10) and not taken(buckets, "a", 1) and not taken(buckets, "a", 0)
    assert taken(buckets, "b", 10)
    clock.now = 1.0
    assert not taken(buckets, "a", 3) and taken(buckets, "a", 2) and not taken(buckets, "a", 1)
    clock.now = 500.0
    refused(HttpRefused, "at most 10 reports", buckets.take, "a", 11)
    assert taken(buckets, "a", 10)


def test_all_senders_together_have_a_rate_too() -> None:
    clock = Clock()
    buckets = Buckets(Limits(rate=0, rate_of_all=5.0, burst_of_all=8), clock)
    assert taken(buckets, "a", 4) and taken(buckets, None, 4) and not taken(buckets, "c", 1)
    clock.now = 1.0
    assert taken(buckets, "c", 5) and not taken(buckets, "d", 1)
    # What one bucket refuses is taken from none.
    buckets = Buckets(Limits(rate=1, burst=2, rate_of_all=1, burst_of_all=10), clock)
    assert taken(buckets, "a", 2) and not taken(buckets, "a", 2) and taken(buckets, "b", 2)


def test_a_refusal_says_when_to_try_again_or_that_it_never_helps() -> None:
    buckets = Buckets(Limits(rate=2.0, burst=10), Clock())
    buckets.take("a", 10)
    with pytest.raises(HttpRefused) as waits:
        buckets.take("a", 10)
    assert waits.value.headers == {"retry-after": "6"}
    with pytest.raises(HttpRefused, match="at most 10 reports") as never:
        buckets.take("a", 11)
    assert never.value.headers == {} and never.value.name == "too_large"


def test_an_address_of_version_6_stands_for_its_network() -> None:
    buckets = Buckets(Limits(rate=1, burst=1), Clock())
    assert taken(buckets, "2001:db8::1", 1) and not taken(buckets, "2001:db8::2", 1)
    assert taken(buckets, "2001:db8:0:1::1", 1)
    assert taken(buckets, "192.0.2.1", 1) and not taken(buckets, "::ffff:192.0.2.1", 1)
    assert taken(buckets, "fe80::1%eth0", 1) and taken(buckets, "no address:", 1)


def test_no_address_stays_and_the_salt_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects hashes of addresses that stay until the next report, however long that takes."""
    monkeypatch.setattr(module, "_SALT_SECONDS", 0.2)
    buckets = Buckets(Limits(rate=1, burst=1), Clock())
    address = "198.51.100.77"
    assert taken(buckets, address, 1)
    held = pickle.dumps([list(vars(buckets)), buckets._salt, list(buckets._buckets)])
    assert b"198.51" not in held and all(len(key) == 8 for key in buckets._buckets)
    before = set(buckets._buckets)
    assert before
    until = time.monotonic() + 30
    while buckets._buckets and time.monotonic() < until:
        time.sleep(0.02)
    assert not buckets._buckets
    monkeypatch.setattr(module, "_SALT_SECONDS", 600.0)
    assert taken(buckets, address, 1) and not before & set(buckets._buckets)
    monkeypatch.setattr(module, "_MOST_BUCKETS", 3)
    for i in range(20):
        assert taken(buckets, f"a{i}", 1) and len(buckets._buckets) <= 3


def test_bodies_that_wait_have_a_bound() -> None:
    held = Held(10)
    held.add(8)
    refused(HttpRefused, "", held.add, 3)
    held.add(2)
    held.drop(10)
    held.add(10)


@dataclass
class Opened:
    """Connections that were opened, by their names, and those that were ended."""

    all_of_them: Connections
    ended: list[str] = field(default_factory=list)
    by_name: dict[str, _One] = field(default_factory=dict)

    def add(self, address: str | None, *names: str) -> list[str]:
        """Open connections; which were ended for them."""
        before = len(self.ended)
        for name in names:
            self.by_name[name] = _One(name, self.ended)
            self.all_of_them.add(self.by_name[name], address)
        return self.ended[before:]


@dataclass(eq=False)
class _One:
    name: str
    ended: list[str]

    def abort(self) -> None:
        self.ended.append(self.name)


def opened(most: int, proxies: Collection[str] = ()) -> Opened:
    return Opened(Connections(most, proxies))


def test_a_sender_has_a_quarter_of_the_connections_and_ends_its_own() -> None:
    made = opened(12)
    assert made.add("192.0.2.1", *"abc") == []
    made.all_of_them.is_asked(made.by_name["a"])
    assert made.add("192.0.2.1", "d") == ["b"]  # a is being answered
    assert made.add("192.0.2.2", *"efg") == [] and made.add("2001:db8::1", *"hij") == []
    assert made.add("2001:db8::2", "k") == ["h"] and made.add("2001:db8:0:1::1", "l") == []
    made.all_of_them.remove(made.by_name["d"])
    made.all_of_them.remove(made.by_name["d"])  # once is enough
    assert made.add("192.0.2.1", "m") == [] and made.add("192.0.2.1", "n") == ["c"]


def test_a_full_server_ends_the_connection_that_has_waited_longest() -> None:
    made = opened(4, ["10.0.0.1"])
    assert made.add("10.0.0.1", *"abcd") == []  # a proxy, behind which are many
    for name in "ab":
        made.all_of_them.is_asked(made.by_name[name])
    made.all_of_them.waits(made.by_name["a"])  # it was answered, and is the last who waits
    assert made.add("192.0.2.1", "e") == ["c"] and made.add("192.0.2.2", "f") == ["d"]
    assert made.add(None, "g") == ["a"]
    for name in "befg":
        made.all_of_them.is_asked(made.by_name[name])
    assert made.add("192.0.2.3", "h") == ["h"]  # all others are being answered


def test_nothing_stays_of_a_connection_that_is_closed() -> None:
    made = opened(8)
    made.add("192.0.2.1", *"abc")
    made.all_of_them.is_asked(made.by_name["c"])
    for one in made.by_name.values():
        made.all_of_them.remove(one)
        made.all_of_them.waits(one)  # its last answer was sent
    assert not any(v for v in vars(made.all_of_them).values() if isinstance(v, dict)), vars(
        made.all_of_them
    )
