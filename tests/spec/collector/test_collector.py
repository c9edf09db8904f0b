"""What the collector promises: when it takes submissions, what it refuses, and what it keeps."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from tests.services import postgres_address
from warner import errors
from warner.collector import collector as module, counts as counts_module
from warner.collector.collector import Accepted, Collector
from warner.collector.refusals import NAMES, Refused
from warner.collector.stores import PostgresStore, SQLiteStore
from warner.collector.submissions import Batch, new_ids
from warner.studies.study import Study

NOW = datetime(2026, 1, 3, tzinfo=UTC)
TEXT = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
"""

Make = Callable[..., Collector]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes collectors on one file, and stops them."""
    made: list[Collector] = []

    def making(more: str = "", text: str = TEXT, **options: object) -> Collector:
        store = SQLiteStore(tmp_path / "survey.db")
        made.append(Collector(Study.parse(text + more), store, **options))  # type: ignore[arg-type]
        return made[-1]

    yield making
    for collector in made:
        collector.stop()


def body(collector: Collector, n: int = 1, ids: np.ndarray | None = None) -> bytes:
    study = collector.format.study
    return collector.format.seal(
        {"smokes": study.mechanisms["smokes"].randomize(["yes"] * n)}, {}, ids
    )


def submit(collector: Collector, text: bytes | None = None) -> Future[Accepted]:
    """Send a body; without one, that of somebody who has not answered yet."""
    return collector.submit(collector.format.parse(text or body(collector)))


def send(collector: Collector, text: bytes | None = None) -> Accepted:
    return submit(collector, text).result(10)


@contextmanager
def commits_held(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Lets a first commit wait for the end of the block; the number of new ids of each commit."""
    held, began, sizes = threading.Event(), threading.Event(), []
    finish, counted = SQLiteStore._finish, module.Counts.added

    def slow(store: SQLiteStore) -> None:
        began.set()
        held.wait(10)
        finish(store)

    def noted(counts: module.Counts, batch: Batch) -> counts_module.Added:
        added = counted(counts, batch)
        sizes.append(len(batch))
        return added

    monkeypatch.setattr(SQLiteStore, "_finish", slow)
    monkeypatch.setattr(module.Counts, "added", noted)
    yield sizes
    assert began.wait(10)
    held.set()


def wait_until(happens: Callable[[], bool]) -> None:
    while not happens():
        time.sleep(0.001)


def refusal(future: Future[Accepted]) -> Refused:
    error = future.exception(10)
    assert isinstance(error, Refused)
    assert error.name in NAMES
    return error


def test_a_repeat_has_the_same_reply_and_is_counted_once(make: Make) -> None:
    collector = make()
    text = body(collector, 3)
    assert send(collector, text) == Accepted(3, 3)
    assert send(collector, text) == Accepted(3, 0)
    assert collector.n == collector.state().tallies["smokes"].n == 3


def test_a_store_holds_real_or_simulated_reports(make: Make) -> None:
    """Rejects a mark that a restart loses, and one that is not of the commit of the reports."""
    first = make()
    batches = [first.format.parse(body(first, 2)) for _ in range(3)]
    assert first.submit(batches[0], simulated=True).result(10) == Accepted(2, 2)
    first.stop()
    second = make()
    assert second.is_simulated and second.state().tallies["smokes"].simulated
    # Both wait at one moment, and each origin has an answer of its own.
    waiting = second.submit(batches[1]), second.submit(batches[2], simulated=True)
    assert refusal(waiting[0]).name == "simulated" and waiting[1].result(10) == Accepted(2, 2)
    assert second.n == 4


def test_the_state_outlives_the_process(make: Make) -> None:
    first = make()
    text = body(first, 3)
    send(first, text)
    first.reject("malformed")
    first.keep_owner("", b"hash")
    state = first.state()
    first.stop()
    again = make()
    assert again.state().tallies == state.tallies
    assert again.state().rejects == {"malformed": 1}
    assert again.owners == {"": b"hash"}
    assert send(again, text).new == 0


def test_an_empty_survey_has_empty_tallies(make: Make) -> None:
    state = make(ways=1).state()
    assert state.n == state.tallies["smokes"].n == 0
    assert state.joint is not None
    assert state.joint.n == 0


def test_the_clock_opens_and_closes(make: Make) -> None:
    now = [NOW - timedelta(days=2)]
    collector = make(
        "opens = 2026-01-02T00:00:00Z\ncloses = 2026-01-04T00:00:00Z\n", clock=lambda: now[0]
    )
    batch = collector.format.parse(body(collector))
    assert refusal(collector.submit(batch)).name == "not_open" == collector.status()
    now[0] = NOW
    assert collector.submit(batch).result(10).new == 1
    now[0] = NOW + timedelta(days=1)
    assert refusal(collector.submit(batch)).name == "closed" == collector.status()
    now[0] = NOW  # a clock that was wrong
    assert collector.submit(batch).result(10).new == 0


def test_ids_are_dropped_after_closing_where_the_study_says_so(make: Make, tmp_path: Path) -> None:
    collector = make()
    ids = new_ids(300)
    send(collector, body(collector, 300, ids))
    collector.close_survey()
    assert refusal(submit(collector)).name == "closed"
    with pytest.raises(Refused, match="cannot be opened again") as refused:
        collector.open_survey()
    assert refused.value.name == "ids_dropped"
    file = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(row.tobytes()[:8] in file for row in ids)
    collector.stop()
    again = make()
    assert (again.status(), again.n) == ("closed", 300)


def test_ids_are_kept_where_the_study_says_so(make: Make, tmp_path: Path) -> None:
    collector = make('keep_ids = "always"\n')
    text = body(collector, 300)
    send(collector, text)
    collector.close_survey()
    assert collector.status() == "closed"
    file = (tmp_path / "survey.db").read_bytes()
    assert collector.format.parse(text).ids[0].tobytes() in file
    collector.open_survey()
    assert send(collector, text).new == 0
    assert collector.n == 300


def test_a_clock_that_is_wrong_at_a_stop_and_at_a_start_closes_nothing(make: Make) -> None:
    now = [NOW]
    more = "closes = 2026-01-04T00:00:00Z\n"
    collector = make(more, clock=lambda: now[0])
    text = body(collector)
    send(collector, text)
    for _ in range(2):
        now[0] = NOW + timedelta(days=3650)
        collector.stop()
        collector = make(more, clock=lambda: now[0])
        assert refusal(submit(collector, text)).name == "closed"
        now[0] = NOW
        assert send(collector, text).new == 0
        assert send(collector).new == 1


def test_the_owner_opens_before_the_clock(make: Make) -> None:
    collector = make("opens = 2026-01-02T00:00:00Z\n", clock=lambda: NOW - timedelta(days=9))
    collector.open_survey()
    assert send(collector).new == 1


def test_a_log_that_shows_single_people_is_emptied_sooner_than_one_of_crowds(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a collector that goes by how many reports came, when 49 of 50 were repeats, and one that
    lets a single person stand in the log beside later crowds.
    """
    collector = make()
    collector.stop()  # from here the writer's work is done by hand
    collector._stopping = False
    monkeypatch.setattr(module, "_QUIET", 3600.0)
    monkeypatch.setattr(SQLiteStore, "rest", 0.0)
    crowd = new_ids(module._CROWD)

    def is_emptied_after(ids: np.ndarray) -> bool:
        sent = submit(collector, body(collector, len(ids), ids))
        collector._work()
        assert sent.done()
        return Path(f"{collector._store.name}-wal").stat().st_size == 0

    assert is_emptied_after(new_ids(1))
    assert not is_emptied_after(crowd)
    assert not is_emptied_after(crowd)  # nobody is new
    assert not is_emptied_after(new_ids(len(crowd)))
    assert is_emptied_after(np.concatenate([crowd[1:], new_ids(1)]))  # and all before it too
    assert not is_emptied_after(new_ids(len(crowd)))
    assert is_emptied_after(new_ids(len(crowd) - 1))
    collector._store.close()


def test_only_invited_people_are_counted(make: Make) -> None:
    collector = make('access = "invited"\n')
    ids = new_ids(3)
    assert refusal(submit(collector)).name == "not_invited"
    collector.invite(ids[:2])
    collector.invite(ids[:2])
    error = refusal(submit(collector, body(collector, 3, ids)))
    assert (error.name, error.position) == ("not_invited", 2)
    assert send(collector, body(collector, 2, ids[:2])).new == 2
    assert send(collector, body(collector, 2, ids[:2])).new == 0  # another report is not counted
    assert collector.invitations == (2, 2)
    collector.stop()
    assert make('access = "invited"\n').invitations == (2, 2)
    refused(errors.ArgumentError, "uint8", collector.invite, np.zeros((2, 5), dtype=np.uint8))


def test_rejects_are_counted_by_reason_and_kept_without_a_submission(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_QUIET", 0.02)
    collector = make()
    before = collector.version
    for _ in range(3):
        collector.reject("too_large")
    assert collector.wait_for(before, 10)
    assert collector.state().rejects == {"too_large": 3}
    refused(errors.ArgumentError, "small letters", collector.reject, "Robert'); DROP TABLE")
    for i in range(200):
        collector.reject("x" * (1 + i % 30) + "_" * (i // 30))
    collector.stop()
    rejects = make().state().rejects
    assert sum(rejects.values()) == 203
    assert len(rejects) <= 101


def test_who_waits_for_a_version_learns_of_it(make: Make) -> None:
    collector = make()
    send(collector)
    assert collector.wait_for(0, 0.01)
    assert collector.version == collector.state().version
    assert not collector.wait_for(collector.version, 0.01)


def test_those_that_wait_are_counted_before_the_collector_stops(make: Make) -> None:
    collector = make()
    futures = [submit(collector, body(collector, 5)) for _ in range(40)]
    collector.stop()
    assert all(future.result(0).new == 5 for future in futures)
    assert refusal(submit(collector)).name == "stopped"
    refused(Refused, "its server is being stopped", collector.close_survey)
    assert make().n == 200


def test_what_waits_is_one_commit_also_behind_another_task(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = make()
    with commits_held(monkeypatch) as sizes:
        first = submit(collector)
        wait_until(lambda: not collector._waiting)
        futures = [first]
        tasks = []
        for _ in range(3):
            futures.append(submit(collector))
            tasks.append(threading.Thread(target=collector.remember, args=("a", b"b")))
            tasks[-1].start()
            wait_until(lambda: len(collector._queue) >= 2 * len(tasks))
    assert all(future.result(10).new == 1 for future in futures)
    for task in tasks:
        task.join(10)
    assert sizes == [1, 3]


def test_the_health_is_that_of_reports_and_not_of_a_change_that_fits_a_full_disk(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = make()
    monkeypatch.setattr(module, "_TRUSTED", 1e9)  # however slow the machine is
    full = [True]

    def unless_full(name: str) -> None:
        write = getattr(SQLiteStore, name)

        def small(store: SQLiteStore, content: dict[object, Sized]) -> None:
            if full[0] and (name == "add" or sum(map(len, content.values())) > 4096):
                raise Refused("store_full", "store", "has no space left")
            write(store, content)

        monkeypatch.setattr(SQLiteStore, name, small)

    unless_full("add")
    unless_full("put")
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            collector.check()  # nobody has sent yet
        assert refused.value.name == "store_full"
        collector.reject("store_full")  # is kept: it fits
        assert refusal(submit(collector)).name == ("store_full")
    full[0] = False
    with pytest.raises(Refused):
        collector.check()  # what the last commit did, a moment ago
    send(collector)
    collector.check()
    full[0] = True
    refusal(submit(collector))
    monkeypatch.setattr(module, "_TRUSTED", 0.0)
    full[0] = False
    collector.check()  # although nobody has sent since


def test_a_store_that_contradicts_itself_is_refused(make: Make, tmp_path: Path) -> None:
    text = """
    [public.ward]
    values = ["north", "south"]
    [attributes.smokes]
    values = ["no", "yes"]
    mechanism = "RandomizedResponse"
    epsilon = 1.0
    [attributes.drinks]
    values = ["no", "yes", "often"]
    mechanism = "SubsetSelection"
    epsilon = 1.0
    [attributes.eats]
    values = ["no", "yes"]
    mechanism = "RandomizedResponse"
    epsilon = 1.0
    reports = 2
    """
    collector = make(text=text, ways=None)
    form = collector.format
    answers = {"smokes": ["yes"] * 40, "drinks": ["often"] * 40, "eats": ["no"] * 40}
    reports = {name: m.randomize(answers[name]) for name, m in form.study.mechanisms.items()}
    send(collector, form.seal(reports, {"ward": ["north", "south"] * 20}))
    collector.stop()
    file = tmp_path / "survey.db"
    whole = file.read_bytes()

    def refused_after(*statements: str, checked: bool = True) -> str:
        """The refusal of a store in which rows are changed; perhaps with a check that agrees."""
        file.write_bytes(whole)
        with sqlite3.connect(file) as connection:
            for statement in statements:
                assert connection.execute(statement).rowcount == 1
            if not checked:
                total = SQLiteStore._total(connection)
                connection.execute("UPDATE warner_checks SET total = ?", [total])
        connection.close()
        with pytest.raises(Refused) as refused:
            make(text=text)
        assert refused.value.name == "store_damaged"
        return str(refused.value)

    def more(cell: int) -> str:
        """64 reports more in a cell, or in the next one where nobody sent the report of this."""
        from_here = f"length(cell) = 8 AND cell >= x'{cell.to_bytes(8, 'big').hex()}'"
        chosen = f"(SELECT min(cell) FROM warner_counts WHERE {from_here})"
        return f"UPDATE warner_counts SET n = n + 64 WHERE cell = {chosen}"

    report = "(SELECT max(cell) FROM warner_counts WHERE length(cell) > 8)"
    distinct = f"UPDATE warner_counts SET n = n + 1 WHERE cell = {report}"
    one_id = "DELETE FROM warner_spent WHERE id = (SELECT min(id) FROM warner_spent)"
    for change in (
        more(0),
        distinct,
        one_id,
        "UPDATE warner_checks SET total = total + 1",
        "UPDATE warner_facts SET content = x'00' WHERE name = 'mark'",
    ):
        assert "no longer holds exactly what warner wrote" in refused_after(change)

    def beyond_checks(*statements: str) -> str:
        return refused_after(*statements, checked=False)

    assert "got 104 and 40" in beyond_checks(more(0))
    assert "counts of 'smokes'" in beyond_checks(more(2))
    assert "counts of 'drinks'" in beyond_checks(more(4))
    assert "several reports" in beyond_checks(distinct)
    assert "ids of reports; got 40 and 39" in beyond_checks(one_id)
    assert "cannot be read" in beyond_checks(
        f"UPDATE warner_counts SET cell = x'{'0' * 31}9{'00' * 9}' WHERE cell = {report}"
    )  # a group of nobody
    assert "which study" in beyond_checks("DELETE FROM warner_facts WHERE name = 'study'")
    assert "cannot be read" in beyond_checks(
        "UPDATE warner_facts SET content = x'ff' WHERE name = 'mark'"
    )
    file.write_bytes(whole)
    assert make(text=text).n == 40


def test_processes_of_one_database_count_and_close_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that did not hear of the closing would count a repeat, as the ids are dropped."""
    monkeypatch.setattr(module, "_OTHERS", 1e9)  # no look at the others but when it matters
    address, study = postgres_address(), Study.parse(TEXT)
    first, second = (Collector(study, PostgresStore(address)) for _ in range(2))
    text = body(first, 3)
    assert (send(first, text).new, send(second, text).new, send(second).new) == (3, 0, 1)
    assert first.state().n == second.state().n == 4
    assert second.is_spent(first.format.parse(text).ids[0].tobytes())
    for collector in (first, second):
        collector.reject("malformed")
        collector.remember("a", b"b")
    assert first.state().rejects == second.state().rejects == {"malformed": 2}
    simulated = first.submit(first.format.parse(body(first)), simulated=True)
    assert refusal(simulated).name == "simulated"
    assert first.replace("step", None, b"1")
    assert not second.replace("step", None, b"2")
    assert second.remembered("step") == b"1"
    first.keep_owner("anna", b"hash")
    second.state()
    assert second.owners == {"anna": b"hash"} and second.record == first.record
    first.close_survey()
    assert refusal(submit(second, text)).name == "closed"
    assert (second.status(), second.state().n, second.is_final) == ("closed", 4, True)
    refused(Refused, "cannot be opened again", second.open_survey)
    for collector in (first, second):
        collector.stop()


def test_too_many_that_wait_are_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAITING", 20 * 17)
    collector = make()
    held = threading.Event()
    finish = SQLiteStore._finish

    def slow(store: SQLiteStore) -> None:
        held.wait(10)
        finish(store)

    monkeypatch.setattr(SQLiteStore, "_finish", slow)
    first = submit(collector)
    wait_until(lambda: not collector._waiting)
    batch = collector.format.parse(body(collector, 15))
    second, third = collector.submit(batch), collector.submit(batch)
    held.set()
    assert (first.result(10).new, second.result(10).new) == (1, 15)
    assert refusal(third).name == "busy"


def test_the_store_of_another_study_is_refused(make: Make) -> None:
    make().stop()
    with pytest.raises(Refused) as refused:
        make(text=TEXT.replace("1.0", "1.5"))
    assert refused.value.name == "store_of_another_study"
    with pytest.raises(Refused, match="was begun with a different number for --ways") as refused:
        make(ways=1)
    assert refused.value.name == "store_of_another_study"
    make().stop()  # and the lock is free


def test_a_store_with_questions_in_another_order_is_refused_for_the_order(make: Make) -> None:
    """Rejects a message that leaves open whether --ways or the order differs."""
    other = TEXT.replace("smokes", "drinks").replace("[collect]", "")
    make(text=other + TEXT).stop()
    with pytest.raises(Refused, match="begun with questions and public columns in another order"):
        make(text=TEXT.replace("[collect]", other))


def test_the_store_of_another_round_is_refused_with_both_rounds(make: Make) -> None:
    """Rejects a message that says that questions or epsilons differ, where only the round does."""
    text = "[repeat]\nrounds = 52\nround = 1\nforever = 2.0\n" + TEXT
    make(text=text).stop()
    with pytest.raises(Refused, match="holds reports of round 1, but the study file is of round 2"):
        make(text=text.replace("round = 1", "round = 2"))
    with pytest.raises(Refused, match="a question, its values or an epsilon is different"):
        make(text=text.replace("forever = 2.0", "forever = 2.5"))


def test_attributes_in_another_order_are_another_study(make: Make) -> None:
    other = TEXT.replace("[collect]", "").replace("smokes", "drinks")
    make(text=other + TEXT).stop()
    with pytest.raises(Refused, match="another order"):
        make(text=TEXT.replace("[collect]", "") + other + "[collect]")


def test_groups_beyond_the_memory_are_refused_alone(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts_module, "LARGEST", 3 * 3)  # people, no and yes
    collector = make(text='[public.visit]\ndates = "day"\n' + TEXT)
    mechanism = collector.format.study.mechanisms["smokes"]

    def on(days: list[str]) -> bytes:
        return collector.format.seal(
            {"smokes": mechanism.randomize(["no"] * len(days))}, {"visit": days}
        )

    assert send(collector, on(["2026-01-01", "2026-01-02"])).new == 2
    with commits_held(monkeypatch) as sizes:
        first = collector.submit(collector.format.parse(on(["2026-01-01"])))
        wait_until(lambda: not collector._waiting)
        futures = [
            collector.submit(collector.format.parse(on([f"2026-01-{day:02}"])))
            for day in (1, 3, 4, 2)
        ]
    assert [f.exception(10) is None for f in [first, *futures]] == [True, True, True, False, True]
    assert refusal(futures[2]).name == "too_many_groups"
    assert collector.n == 6
    assert sizes == [1, 3]  # those who wait are not committed one by one


def test_a_study_with_more_counts_than_memory_is_refused(make: Make) -> None:
    many = "".join(f"[public.{name}]\nintegers = [0, 9999999]\n" for name in "ab")
    with pytest.raises(errors.ArgumentError, match="too many combinations of values in its public"):
        make(text=many + '[public.c]\ndates = "day"\n' + TEXT)


def test_what_is_unforeseen_is_no_traceback_with_contents(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = make()

    def broken(*_: object) -> None:
        raise KeyError("a person's answer")

    monkeypatch.setattr(collector._counts, "added", broken)
    error = refusal(submit(collector))
    assert "answer" not in str(error)
    assert error.__cause__ is None
    monkeypatch.undo()
    assert send(collector).new == 1


def test_a_store_that_can_be_written_is_no_news(make: Make) -> None:
    collector = make()
    before = collector.version
    collector.check()
    assert collector.version == before


def test_a_survey_that_the_clock_has_closed_for_long_drops_its_ids(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "_LOOK", 0.01)
    monkeypatch.setattr(module, "_QUIET", 0.01)
    monkeypatch.setattr(module, "_GRACE", 0.05)
    now = [NOW]
    collector = make("closes = 2026-01-04T00:00:00Z\n", clock=lambda: now[0])
    ids = new_ids(300)
    send(collector, body(collector, 300, ids))
    version = collector.version
    assert not collector.wait_for(version, 0.1)  # it is open
    now[0] += timedelta(days=2)
    assert collector.wait_for(version, 10)
    now[0] = NOW
    assert (collector.status(), collector.n) == ("closed", 300)
    collector.stop()
    file = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(row.tobytes()[:8] in file for row in ids)
