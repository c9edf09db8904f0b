"""The clients in Go, Rust and Kotlin against the collector itself: ``make test-clients`` builds them.

A relay between the two sees every request, and loses replies.
"""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.browser._collecting import Relay, Served
from tests.vectors.surveys import (
    DRAWN,
    DRAWN_ANSWERS,
    DRAWN_ROUNDS,
    FINITE,
    FINITE_ANSWERS,
    ROUNDS,
    ROUNDS_ANSWERS,
    SURVEY,
)
from warner.collector.submissions import SubmissionFormat
from warner.collector.tokens import block_of_code

PEOPLE = {"go": 1000, "rust": 1000, "kotlin": 100}  # each of whom starts a program
LANGUAGES = {
    "go": ["send-go"],
    "rust": ["send-rust"],
    "kotlin": ["java", "-cp", "send-kotlin.jar:/usr/share/java/json-android.jar", "warner.SendKt"],
}
OPEN = FINITE.replace('"invited"', '"open"')
ANSWERS = FINITE_ANSWERS[0]
PUBLIC = {"ward": "south"}


class Client:
    """The program ``send`` of one language.

    Args:
        name: of the language.
        folder: where the devices of people lie.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        built = Path(sys.executable).parent
        first, *others = (part.replace("send-", f"{built}/send-") for part in LANGUAGES[name])
        found = shutil.which(first)
        assert found is not None, "make test-clients builds the clients"
        self.command = [found, *others]
        self.people = PEOPLE[name]

    def send(
        self,
        url: str,
        device: str,
        answers: dict[str, Any] = ANSWERS,
        code: str = "",
        digest: str | None = None,
        limit: int = 60,
        trusted: Path | None = None,
    ) -> tuple[int, str]:
        """What the program returns, and what it says. ``trusted`` is the certificate of an authority."""
        person = {"answers": answers, "public": PUBLIC, "code": code}
        seconds = f"{limit}s" if self.name == "go" else str(limit)
        options = ["--folder", str(self.folder / device), "--for", seconds]
        if digest is not None:
            options += ["--digest", digest]
        environment = {}
        if trusted is not None and self.name == "kotlin":
            store = trusted.with_suffix(".store")
            keytool = shutil.which("keytool") or ""
            made = ["-importcert", "-noprompt", "-storepass", "public", "-file", str(trusted)]
            subprocess.run(
                [keytool, *made, "-keystore", str(store)], check=True, capture_output=True
            )
            of_store = "-Djavax.net.ssl.trustStore"
            environment["JDK_JAVA_OPTIONS"] = f"{of_store}={store} {of_store}Password=public"
        elif trusted is not None:
            environment["SSL_CERT_FILE"] = str(trusted)
        done = subprocess.run(
            [*self.command, *options, url],
            input=json.dumps(person),
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = (done.stdout + done.stderr).strip().splitlines()
        return done.returncode, "\n".join(line for line in said if not line.startswith("NOTE: "))


@pytest.fixture(params=[*LANGUAGES])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    return Client(request.param, tmp_path / "devices")


class Asked:
    """A survey that is served, and a relay before it."""

    def __init__(self, folder: Path, text: str, codes: int = 0) -> None:
        folder.mkdir()
        self.served = Served(folder, text, codes)
        self.relay = Relay(self.served.url)
        self.is_over = False

    def bodies(self) -> list[bytes]:
        return [post.body for post in self.relay.posts]

    def stop(self) -> int:
        """How many people were counted."""
        self.is_over = True
        self.relay.stop()
        return self.served.people()


Ask = Callable[..., Asked]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Serves surveys, and ends them where a test does not."""
    served: list[Asked] = []

    def start(text: str, codes: int = 0) -> Asked:
        served.append(Asked(tmp_path / f"served-{len(served)}", text, codes))
        return served[-1]

    yield start
    for asked in served:
        if not asked.is_over:
            asked.stop()


def test_a_thousand_people_are_counted_once(client: Client, ask: Ask) -> None:
    """Rejects a client that draws anew where a reply was lost, that sends the answer itself (1,000 times
    "café", expected are 576), a uniform one (333), or what one word makes for all people (0 or 1,000).
    """
    asked = ask(OPEN)
    asked.relay.lost_replies = 8

    def person(i: int) -> tuple[int, str]:
        return client.send(asked.relay.url, f"{i}")

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(person, range(client.people))) == {(0, "sent")}
    bodies = asked.bodies()
    assert len(bodies) == client.people + 8 and len(set(bodies)) == client.people
    again = [client.send(asked.relay.url, "0", FINITE_ANSWERS[1]) for _ in range(2)]
    assert again == [(0, "sent")] * 2 and len(asked.bodies()) == client.people + 8
    token = asked.served.live.partition("token=")[2]  # lifts the limits of rates
    for body in set(bodies):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
        request = urllib.request.Request(f"{asked.served.url}reports", body, headers)
        with urllib.request.urlopen(request, timeout=20) as reply:
            assert (reply.status, json.load(reply)) == (202, {"accepted": 1, "new": 0})
    form = SubmissionFormat(asked.served.study)
    reports = [form.parse(body).columns("smokes")["report"][0] for body in set(bodies)]
    n, share = client.people, 10627480729818066791 / 2**64  # own of the program
    deviation = (n * share * (1 - share)) ** 0.5
    assert abs(sum(report == 1 for report in reports) - n * share) < 6 * deviation
    assert asked.stop() == client.people


def test_an_invited_person_sends_one_report_from_all_devices(client: Client, ask: Ask) -> None:
    """Rejects a client that draws before it has asked whether the code was used."""
    asked = ask(FINITE, codes=10)
    asked.relay.lost_replies = 1
    for i, code in enumerate(asked.served.codes[:8]):
        assert client.send(asked.relay.url, "shared", FINITE_ANSWERS[i % 3], code) == (0, "sent")
    posts = len(asked.bodies())
    assert posts == 8 + 1
    assert client.send(asked.relay.url, "other", code=asked.served.codes[0]) == (1, "spent")
    wrong = client.send(asked.relay.url, "other", code="2222-2222-2222-2222")
    assert wrong == (1, "not-invited")
    status, said = client.send(asked.relay.url, "other", code="12")
    assert status == 2 and said.startswith("code: code:")
    assert len(asked.bodies()) == posts
    assert sorted(path.name for path in (client.folder / "other").iterdir()) == ["key"]
    assert asked.stop() == 8


def test_what_could_not_arrive_is_sent_later_as_it_was(client: Client, ask: Ask) -> None:
    asked = ask(OPEN)
    assert client.send(asked.relay.url, "a", limit=0)[1] == "sent"
    asked.served.stop()  # the survey was read, and the relay reaches nobody
    asked.relay.target = "http://127.0.0.1:9/"
    assert client.send(asked.relay.url, "b", limit=0) == (1, "unavailable")
    asked.relay.stop()


def test_bytes_are_kept_until_a_reply_came(client: Client, ask: Ask) -> None:
    """Rejects a client that forgets what it sent, or seals other answers in its place."""
    asked = ask(OPEN)
    asked.relay.lost_replies = 1
    assert client.send(asked.relay.url, "a", limit=0) == (1, "unavailable")
    (kept,) = (client.folder / "a").glob("outbox-*")
    assert kept.read_bytes() == asked.bodies()[0] and kept.stat().st_mode & 0o077 == 0
    assert client.send(asked.relay.url, "a", FINITE_ANSWERS[1]) == (0, "sent")
    assert len(asked.bodies()) == 2 and len(set(asked.bodies())) == 1
    assert kept.read_bytes() == b""
    assert asked.stop() == 1


def test_permanent_reports_are_kept_for_the_next_round(client: Client, ask: Ask) -> None:
    """Rejects a client that draws a permanent report in each round, or more of them than two."""
    people = [(1, 0, 5), (2, 0, 5), (3, 1, 10)]  # round, answers, permanent reports afterwards
    answers = [{**FINITE_ANSWERS[i], "hours": 5.0 + 5 * i, "fit": i != 1} for i in (0, 1, 2)]
    for number, i, permanent in people:
        text = ROUNDS.replace('"invited"', '"open"').replace("round = 2", f"round = {number}")
        asked = ask(text)
        assert client.send(asked.relay.url, "a", answers[i]) == (0, "sent")
        memos = sorted((client.folder / "a").glob("memo-*"))
        assert len(memos) == permanent
        assert asked.stop() == 1
    kept = {path: path.read_bytes() for path in memos}
    text = ROUNDS.replace('"invited"', '"open"').replace("round = 2", "round = 4")
    asked = ask(text)
    status, said = client.send(asked.relay.url, "a", answers[2])
    assert status == 2 and said.startswith("memo_full: ") and "nie" not in said
    assert not asked.bodies()
    memos[0].write_bytes(kept[memos[0]][:40])
    status, said = client.send(asked.relay.url, "a", answers[1])
    assert status == 2 and said.startswith("memo_altered: ") and not asked.bodies()
    memos[0].write_bytes(kept[memos[0]])
    assert {path: path.read_bytes() for path in memos} == kept
    shutil.copytree(client.folder / "a", client.folder / "copy")
    (client.folder / "copy" / "key").unlink()
    status, said = client.send(asked.relay.url, "copy", answers[0])
    assert status == 2 and said.startswith("memo_full: ")  # a copy opens nowhere else
    assert asked.stop() == 0


def test_the_questions_of_a_person_are_drawn_once(client: Client, ask: Ask) -> None:
    """Rejects a client that draws again after a refused answer or a lost reply, one that gives every
    person the same block (of 24 with odds of 0.43, 0.14 and 0.43), and one that reads other answers.
    """
    asked = ask(DRAWN.replace('"invited"', '"open"'))
    begins = 36 + 16 + 4  # after the layout, the id and the public column
    drawn = []
    for i in range(24):
        device = client.folder / f"{i}"
        status, said = client.send(asked.relay.url, device.name, {})
        assert status == 2 and said.startswith("bad_answer: ")
        (block,) = device.glob("block-*")
        names = asked.served.study.draw.blocks[int(block.read_text())]
        answers = {name: DRAWN_ANSWERS[0][name] for name in names}
        asked.relay.lost_replies = 1 if i == 0 else 0
        others = {name: "secret-7391" for name in DRAWN_ANSWERS[0] if name not in names}
        assert client.send(asked.relay.url, device.name, {**others, **answers}) == (0, "sent")
        assert asked.bodies()[-1][begins] == int(block.read_text())
        drawn.append(int(block.read_text()))
    assert set(drawn) >= {0, 2} and len(set(asked.bodies())) == 24
    assert asked.stop() == 24


def test_one_question_is_drawn_for_all_rounds(client: Client, ask: Ask) -> None:
    """Rejects a client that draws its question anew in each round, one that makes permanent reports on
    other questions too, and one that takes a code of another question.
    """
    opened = DRAWN_ROUNDS.replace('"invited"', '"open"')
    answers = [{n: a for n, a in each.items() if n != "hours"} for each in ROUNDS_ANSWERS]
    drawn: dict[int, set[int]] = {}
    for number, i in [(1, 0), (2, 0), (3, 1)]:
        asked = ask(opened.replace("round = 2", f"round = {number}"))
        for person in range(12):
            sent = client.send(asked.relay.url, f"{person}", answers[i])
            assert sent == (0, "sent")
            (block,) = (client.folder / f"{person}").glob("block-*")
            assert asked.bodies()[-1][36 + 16 + 4] == int(block.read_text())
            drawn.setdefault(person, set()).add(int(block.read_text()))
            assert len([*block.parent.glob("memo-*")]) == 1 + (number == 3)
        assert asked.stop() == 12
    assert all(len(blocks) == 1 for blocks in drawn.values())
    assert len(set.union(*drawn.values())) > 1  # one in 4^11 by chance
    asked = ask(opened.replace("round = 2", "round = 4"))
    others = {**answers[2], "smokes": "nie", "drinks": 3, "place": [1, 1], "fit": None}
    status, said = client.send(asked.relay.url, "0", others)
    assert status == 2 and said.startswith("memo_full: ") and not asked.bodies()
    assert asked.stop() == 0
    kept = None
    for number in (1, 2):
        asked = ask(DRAWN_ROUNDS.replace("round = 2", f"round = {number}"), codes=24)
        blocks = {code: block_of_code(asked.served.study, code) for code in asked.served.codes}
        kept = next(iter(blocks.values())) if kept is None else kept
        same, other = (
            next(code for code, block in blocks.items() if (block == kept) is is_same)
            for is_same in (True, False)
        )
        if number == 1:
            assert client.send(asked.relay.url, "a", answers[0], same) == (0, "sent")
        before = {path.name for path in (client.folder / "a").iterdir()}
        status, said = client.send(asked.relay.url, "a", answers[0], other)
        assert status == 2 and said.startswith("memo_other: ")
        assert {path.name for path in (client.folder / "a").iterdir()} == before
        if number == 2:
            assert client.send(asked.relay.url, "a", answers[0], same) == (0, "sent")
        assert asked.stop() == 1
    assert len([*(client.folder / "a").glob("memo-*")]) == 1


@pytest.mark.parametrize(
    "text, code",
    [(OPEN, "altered"), (SURVEY.replace('"invited"', '"open"'), "unknown_")],
)
def test_a_survey_that_is_refused_is_named(client: Client, ask: Ask, text: str, code: str) -> None:
    asked = ask(text)
    digest = "0" * 64 if code == "altered" else None
    status, said = client.send(asked.relay.url, "a", digest=digest)
    assert status == 2 and said.startswith(code) and not asked.bodies()
    assert asked.stop() == 0


def test_a_wrong_answer_is_refused_by_its_question_alone(client: Client, ask: Ask) -> None:
    asked = ask(OPEN)
    for answers in [{**ANSWERS, "smokes": "secret-7391"}, {**ANSWERS, "drinks": 7391}]:
        status, said = client.send(asked.relay.url, "a", answers)
        assert status == 2 and said.startswith("bad_answer: ") and "7391" not in said
    assert sorted(path.name for path in (client.folder / "a").iterdir()) == ["key"]
    assert asked.stop() == 0


def test_nothing_is_sent_without_tls_or_to_a_stranger(
    client: Client, ask: Ask, authority: tuple[Path, ssl.SSLContext]
) -> None:
    """Rejects a client that sends over HTTP, or to a certificate that nobody vouches for."""
    for url in [
        "http://192.0.2.1/",
        "http://localhost.example.org/",
        "http://127.0.0.1@192.0.2.1/",
    ]:
        status, said = client.send(url, "a")
        assert status == 2 and said.startswith("insecure: "), url
    trusted, context = authority
    asked = ask(OPEN)
    server = asked.relay._server
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = asked.relay.url.replace("http://127.0.0.1", "https://localhost")
    assert client.send(url, "a", limit=0) == (1, "unavailable")
    assert not asked.relay.requests
    assert client.send(url, "a", trusted=trusted) == (0, "sent")
    assert asked.stop() == 1


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[tuple[Path, ssl.SSLContext]]:
    """The certificate of an authority, and a server that it vouches for as localhost."""
    now = datetime.now(UTC)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def made(
        subject: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
    ) -> x509.Certificate:
        is_authority = key is signer
        builder = (
            x509.CertificateBuilder(name("authority"), name(subject), key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )
        if not is_authority:
            names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(signer, hashes.SHA256())

    above, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    pem = serialization.Encoding.PEM
    trusted, served = tmp_path / "authority.pem", tmp_path / "served.pem"
    trusted.write_bytes(made("authority", above, above).public_bytes(pem))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    served.write_bytes(
        made("localhost", own, above).public_bytes(pem) + own.private_bytes(pem, *private)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    yield trusted, context
