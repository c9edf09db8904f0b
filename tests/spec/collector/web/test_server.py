"""The real server: slow and endless requests, a graceful stop, a kill, and logs without contents."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.spec.collector._web import HAS_CROWDS, KIND, SERVED, Crowd, ask, served, site
from warner import errors
from warner.collector.submissions import SubmissionFormat
from warner.collector.web import intake, server
from warner.collector.web.application import Settings
from warner.collector.web.limits import Limits
from warner.collector.web.server import ListenAddress, quiet_logs
from warner.studies.study import Study

CANARY = b"CANARY77ab"
crowds = pytest.mark.skipif(not HAS_CROWDS, reason="needs 127.0.0.2")
CERTIFICATE = str(Path(__file__).with_name("localhost.pem"))  # made for tests, with its key


def raw(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """All that a server answers to bytes that arrive in parts, until it closes the connection."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while got := connection.recv(65536):
                found += got
        except ConnectionError:
            pass
    return found


def test_slow_long_and_broken_requests_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(intake, "DRAINED_SECONDS", 0.1)
    settings = Settings(Limits(rate=0, body=100_000, body_seconds=0.1))
    post = b"POST /reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
    with site(tmp_path / "a", settings=settings) as web, served(web.application) as port:
        for name, parts in {
            "slow": (post + b"Content-Length: 500\r\n\r\n" + CANARY,),
            "slow ": (post,),
            "slow  ": (b"",),
            "slow   ": (b"GET / HT",),
            "long_headers": (b"GET / HTTP/1.1\r\nX: ", *[b"x" * 30_000] * 4),
            "long_headers ": (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",),
            "long_headers  ": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000 + b"\r\n",),
            "bad_request": (b"\x00\x01\x02" + CANARY + b"\r\n\r\n",),
            "too_large": (post + b"Content-Length: 100000000\r\n\r\n", *[CANARY * 2000] * 9),
            "too_large ": (  # without an end, after which the connection could go on
                post + b"Transfer-Encoding: chunked\r\n\r\n",
                *[b"4e20\r\n" + CANARY * 2000 + b"\r\n"] * 9,
            ),
            "bad_request    ": (post + b"Transfer-Encoding: xchunked\r\n\r\n" + CANARY,),
            "bad_request     ": (post + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",),
            "bad_request      ": (
                post + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                b"not a length" + CANARY + b"\r\n",
            ),
            "bad_request ": (post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",),
            "bad_request  ": (
                post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ),
        }.items():
            answer = raw(port, *parts)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 4"), (name, answer)
            assert json.loads(body)["error"] == name.strip(), name
            assert b"connection: close" in head and b"content-security-policy" in head
            assert CANARY not in answer
        assert web.collector.n == 0


def test_a_connection_goes_on_after_a_refusal_whose_body_was_read(tmp_path: Path) -> None:
    with site(tmp_path / "a") as web, served(web.application) as port:
        good = web.body(2)
        texts = []
        for body in (b"x" * 50, good, good[:-1], good):
            head = f"POST /reports HTTP/1.1\r\nHost: a\r\nContent-Type: {KIND['content-type']}\r\n"
            texts.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        last = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        answer = raw(port, b"".join(texts) + last)
        assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"400", b"202", b"400", b"202", b"200"]
        assert web.collector.n == 2


def test_a_broken_request_behind_one_that_is_not_answered_yet_does_no_harm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with site(tmp_path / "a") as web, served(web.application) as port:
        head = f"POST /reports HTTP/1.1\r\nHost: a\r\nContent-Type: {KIND['content-type']}\r\n"
        body = web.body()
        first = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        for _ in range(3):
            raw(port, first + b"GET / HTTP/1.1\r\n\r\n" + b"\x00broken\r\n\r\n")
        assert ask(port, "POST", "/reports", body, KIND)[0] == 202
        assert web.collector.n == 1
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []


def test_requests_of_one_moment_are_one_batch_and_a_bad_one_is_refused_alone(
    tmp_path: Path,
) -> None:
    from tests.spec.collector._web import Client

    with site(tmp_path / "a") as web, Client(web.application) as client:
        bodies = [web.body(1 + i % 3) for i in range(30)]
        bad = bytearray(web.body(2))
        bad[36 + 16] = 99
        sent = [*bodies, bytes(bad), bodies[0]]
        answers = client.together(
            *(("POST", "/reports", {"content": body, "headers": KIND}) for body in sent)
        )
        assert [a.status_code for a in answers] == [202] * 30 + [400, 202]
        assert [a.json()["accepted"] for a in answers[:30]] == [1 + i % 3 for i in range(30)]
        assert answers[30].json()["position"] == 0
        assert web.collector.n == sum(1 + i % 3 for i in range(30))


def answer_on_its_own(port: int, request: bytes) -> tuple[int, list[str], bytes, bool]:
    """The status, the headers without the date, and the body of the answer to one request, and
    whether the connection is closed after an answer that accepts."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        # Who refuses a request by its head does not wait for its body, and ends the connection.
        varies = ("date", "connection")
        headers = sorted(
            f"{k}: {v}".lower() for k, v in reply.getheaders() if k.lower() not in varies
        )
        body = reply.read()
        return reply.status, headers, body, reply.status == 202 and reply.will_close


@pytest.mark.parametrize(
    "origins", ["", 'access = "open"\norigins = ["https://app.example.org"]\n']
)
def test_a_request_in_one_piece_is_answered_as_by_the_application(
    tmp_path: Path, origins: str
) -> None:
    """Rejects two ways of reading a request that differ: a status, a header, a length, a bad body
    that is counted, a limit that one way forgets, and a connection that stays open in one alone."""
    settings = Settings(Limits(rate=1e-9, burst=6, body=200), hosts=("a.example",))

    def post(
        body: bytes, more: bytes = b"", host: bytes = b"a.example", kind: bytes = b""
    ) -> bytes:
        typed = kind or b"application/octet-stream"
        head = b"POST /reports HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n"
        return head % (host, typed, len(body), more) + body

    seen, counted = [], []
    for name, long_way in (("plain", b""), ("ASGI", b"X-Other: 1\r\n")):
        with (
            site(tmp_path / name, origins, settings) as web,
            served(web.application, ListenAddress(port=0)) as port,
        ):
            other = bytearray(web.body())
            other[20] ^= 1  # a digest of another study
            ids = np.zeros((1, 16), np.uint8)
            sent = [
                post(web.body(1, ids), long_way),
                post(web.body(1, ids), long_way),
                post(b"nothing", long_way),
                post(bytes(other), long_way),
                post(web.body()[:-1], long_way),
                post(b"", long_way),
                post(web.body(), long_way, host=b"b.example"),
                post(web.body(), long_way, kind=b"text/plain"),
                post(web.body(20), long_way),
                post(web.body(), long_way),
                post(web.body(4), long_way),
                post(web.body(), b"Connection: close\r\n" + long_way),
                post(web.body(), long_way),
            ]
            one_by_one = [answer_on_its_own(port, one) for one in sent[:-1]]
            in_pieces = raw(port, sent[0][:-3], sent[0][-3:] + sent[-2], pause=0.05)
            seen.append((one_by_one, in_pieces.count(b"HTTP/1.1 202"), web.collector.n))
            counted.append(web.collector.state().rejects)
    assert seen[0] == seen[1] and counted[0] == counted[1]
    statuses = [status for status, *_ in seen[0][0]]
    assert [closed for *_, closed in seen[0][0]] == [False] * 11 + [True]
    assert statuses == [202, 202, 400, 409, 400, 400, 421, 415, 413, 202, 429, 202]
    assert seen[0][1:] == (2, 3)


def test_below_a_path_of_a_proxy(tmp_path: Path) -> None:
    place = ListenAddress(port=0, root_path="/survey", proxy="127.0.0.1")
    with site(tmp_path / "a") as web, served(web.application, place) as port:
        # The proxy takes the path away, and says who asked.
        headers = {"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"}
        assert ask(port, "GET", "/healthz")[0] == 200
        assert ask(port, "POST", "/reports", web.body(), {**KIND, **headers})[0] == 202
        status, found, _ = ask(port, "GET", f"/live?token={web.token}", None, headers)
        assert (status, found["location"]) == (303, "/survey/live")
        assert "path=/survey/live" in found["set-cookie"].lower()
        assert "secure" in found["set-cookie"].lower()


@crowds
@pytest.mark.parametrize(
    ("certificate", "says"),
    [
        (None, b"GET / HTTP/1.1\r\nX: "),
        (None, b""),
        (None, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
        (CERTIFICATE, b""),
        (CERTIFICATE, b"\x16\x03\x01"),
    ],
    ids=["half a head", "silent", "idle after an answer", "silent before TLS", "half a handshake"],
)
def test_one_sender_cannot_shut_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: str | None, says: bytes
) -> None:
    """Rejects a server that takes connections of one sender until no more are open to others."""
    monkeypatch.setattr(server, "_room", lambda: (40, 64))
    place = ListenAddress(port=0, certificate=certificate, key=certificate)
    trusting = ssl._create_unverified_context()
    with (
        site(tmp_path / "a") as web,
        served(web.application, place) as port,
        contextlib.closing(Crowd(port, 60, says)) as crowd,
    ):
        ended = 0
        for _ in range(20):
            ended += crowd.again()
            with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
                one = wire if certificate is None else trusting.wrap_socket(wire)
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                assert one.recv(15) == b"HTTP/1.1 200 OK"
                one.close()
        assert ended >= 50  # all but a quarter of 40, and those that came again


@crowds
def test_a_proxy_has_as_many_connections_as_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_room", lambda: (40, 64))
    place = ListenAddress(port=0, proxy="127.0.0.0/8")
    with (
        site(tmp_path / "a") as web,
        served(web.application, place) as port,
        contextlib.closing(Crowd(port, 30, b"GET / HTTP/1.1\r\nX: ")) as crowd,
    ):
        assert ask(port, "GET", "/healthz")[0] == 200
        assert crowd.again() == 0


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (1024, 524_288, 6400),
        (256, -1, 6400),
        (1024, 1024, None),
        (-1, -1, None),
        (9000, 9000, None),
    ],
)
def test_there_are_files_for_all_connections(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int | None
) -> None:
    """Rejects a server that takes more connections than it may have files."""
    changed: list[tuple[int, int]] = []
    fake = SimpleNamespace(
        RLIMIT_NOFILE=7,
        RLIM_INFINITY=-1,
        getrlimit=lambda kind: (soft, hard),
        setrlimit=lambda kind, limits: changed.append(limits),
    )
    monkeypatch.setattr(server, "resource", fake)
    most, backlog = server._room()
    assert changed == ([] if raised is None else [(raised, hard)])
    files = raised or (10**9 if soft == -1 else soft)
    assert 0 < most + backlog < files
    assert (most, backlog) == ((427, 341) if files == 1024 else (4096, 2048))


@pytest.mark.parametrize("is_secure", [False, True])
def test_browsers_are_told_to_stay_with_https(tmp_path: Path, is_secure: bool) -> None:
    name = "strict-transport-security"
    with (
        site(tmp_path / "a") as web,
        served(web.application, ListenAddress(port=0, is_secure=is_secure)) as port,
    ):
        for method, path in (("GET", "/"), ("GET", "/nothing"), ("POST", "/reports")):
            stated = ask(port, method, path)[1].get(name)
            assert stated == ("max-age=31536000" if is_secure else None)
        assert (name.encode() in raw(port, b"\x00\r\n\r\n")) == is_secure


def test_an_address_that_is_taken_is_named() -> None:
    """Rejects a remedy that leaves open whether the port or the host is meant."""
    with ListenAddress(port=0).listen() as taken:
        port = taken.getsockname()[1]
        words = rf"127.0.0.1:{port}.*\)\. Choose another --port, or --port 0 for any free port\."
        with pytest.raises(errors.ArgumentError, match=words):
            ListenAddress(port=port).listen()
    with pytest.raises(errors.ArgumentError, match=r"this address .*\)\. Choose another --host\."):
        ListenAddress("no such host.invalid").listen()


def test_what_the_server_logs_is_one_line_without_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "uvicorn.access", "asyncio")
    for name in (*known, "warner.collector"):
        log = logging.getLogger(name)
        for state in ("handlers", "propagate", "level", "disabled"):
            monkeypatch.setattr(log, state, getattr(log, state))
    quiet_logs()
    try:
        raise ValueError("SECRET 192.0.2.9")
    except ValueError:
        for name in ("uvicorn.error", "asyncio", "warner.collector.live.state"):
            logging.getLogger(name).exception("failed\nSECRET %s", "192.0.2.9")
    logging.getLogger("uvicorn.access").error("192.0.2.9 GET")
    logging.getLogger("uvicorn.error").warning("192.0.2.9")
    assert capsys.readouterr().err.splitlines() == ["ERROR: failed (ValueError)"] * 3


def _start(study: Path, *more: str) -> tuple[subprocess.Popen[str], int, str]:
    """``warner collect serve`` in a process, its port, and the token if it printed one."""
    command = [sys.executable, "-m", "warner", "collect", "serve", str(study), "--port", "0", *more]
    with open(study.with_suffix(".log"), "a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    shown = process.stdout.readline() + process.stdout.readline()
    found = re.search(r":(\d+)/", shown)
    assert found is not None, study.with_suffix(".log").read_text()
    return process, int(found[1]), shown.partition("token=")[2].strip()


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a process, which cannot notice it."""
    process.kill()
    process.wait(20)
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_survey_survives_a_kill_ends_gracefully_and_leaves_no_trace_of_anybody(
    tmp_path: Path,
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(SERVED + 'keep_ids = "always"\n')
    plan = Study.parse(study.read_text())
    form = SubmissionFormat(plan)
    mark = bytes.fromhex("c0ffee5eed15c0de")  # in the reports on drinks, of which only counts stay
    body = bytearray(
        form.seal(
            {
                name: m.randomize([7 if name == "drinks" else "no"] * 3)
                for name, m in plan.mechanisms.items()
            }
        )
    )
    process, port, token = _start(study)
    try:
        assert ask(port, "POST", "/reports", bytes(body), KIND)[0] == 202
        bad = {**KIND, "x-test": CANARY.decode(), "content-type": "text/" + CANARY.decode()}
        assert ask(port, "POST", f"/reports?{CANARY.decode()}", mark + CANARY, bad)[0] == 415
        _end(process)
        process, port, none = _start(study)
        assert none == "" and len(token) == 43
        assert ask(port, "POST", "/reports", bytes(body), KIND)[0] == 202  # a repeat
        bearer = {"authorization": f"Bearer {token}"}
        assert ask(port, "GET", "/live", None, bearer)[0] == 200
        with socket.create_connection(("127.0.0.1", port), timeout=10) as stream:
            line = f"Authorization: Bearer {token}\r\n".encode()
            stream.sendall(b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n")
            assert b"text/event-stream" in stream.recv(65536)
            process.send_signal(signal.SIGTERM)
            while stream.recv(65536):
                pass
        assert process.wait(20) == 0
    finally:
        _end(process)
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    for trace in (CANARY, mark, token.encode(), b"127.0.0.1", b"Traceback"):
        assert trace not in kept.replace(b"--host", b"")
    from warner.collector.collector import Collector
    from warner.collector.stores import SQLiteStore

    collector = Collector(plan, SQLiteStore(tmp_path / "study.counts.sqlite"))
    assert collector.n == 3 and dict(collector.state().rejects).get("type", 1) == 1
    collector.stop()
