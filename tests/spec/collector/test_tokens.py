"""Blind tokens: one report for each code, and nobody can tell for which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from tests.spec.collector._tokens import (
    DRAWN,
    ISSUER,
    ONE,
    body_of,
    invited,
    key_of,
    keys,
    request_of,
    study_of,
    token_for,
)
from warner.collector import collector as module
from warner.collector.access import invited_id, new_codes
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.stores import SQLiteStore
from warner.collector.submissions import HEAD_BYTES, SubmissionFormat
from warner.collector.survey_document import survey_document
from warner.collector.tokens import (
    PrivateKey,
    block_of_code,
    keys_in,
    new_keys,
    request_in,
)
from warner.errors import ArgumentError, FileError, StudyError
from warner.studies.study import Study

VECTORS = Path(__file__).parents[2] / "vectors"


@contextmanager
def collecting(study: Study, path: Path, issues: bool = False) -> Iterator[Collector]:
    """What counts the reports of a study, or exchanges its codes."""
    collector = Collector(study, SQLiteStore(path), issues=issues)
    try:
        yield collector
    finally:
        collector.stop()


def exchange(study: Study, issuer: Collector, code: str, request: bytes) -> None:
    """Exchange a code in a request."""
    _, blinded = request_in(request, study.layout)
    issuer.exchange(invited_id(study.digest, code), blinded)


def test_the_numbers_of_rfc_9474() -> None:
    vector = json.loads((VECTORS / "blind_signatures.json").read_text())
    number = {name: int(text, 16) for name, text in vector.items() if name != "source"}
    content = {name: bytes.fromhex(text) for name, text in vector.items() if name != "source"}
    private = PrivateKey(number["p"], number["q"])
    key, factor = private.public, pow(number["inverse"], -1, private.public.n)
    message = content["prefix"] + content["message"]
    blinded = key.blinded(key.encoded(message, content["salt"]), factor)
    assert blinded == content["blinded"]
    assert private.sign(blinded) == content["signed"]
    assert key.unblinded(content["signed"], factor) == content["signature"]
    assert key.has_signed(message, content["signature"])
    assert not key.has_signed(content["message"], content["signature"])


def test_keys_come_back_from_their_file_and_from_a_study(tmp_path: Path) -> None:
    path = tmp_path / "issuer.pem"
    path.write_bytes(new_keys(2))
    first, second = keys_in(path)
    assert first.public != second.public and first.public.n.bit_length() == 2048
    assert repr(first) == "PrivateKey()"
    text = path.read_text()
    for damaged in ("", text[:-40], text.replace("A", "B", 3), text + "x", "SECRET"):
        path.write_text(damaged)
        assert "SECRET" not in str(
            refused(FileError, "must be a file of private keys", keys_in, path)
        )


@pytest.mark.parametrize(
    "text, words",
    [
        (
            f'[collect.tokens]\nissuer = "{ISSUER}"\nkeys = ["KEY"]\n',
            'can be used only with access = "tokens"',
        ),
        (
            'issuer = "ISSUER/path"\nkeys = ["KEY"]\n',
            "must be https:// and the name of a server in small letters",
        ),
        (
            'issuer = "http://codes.example.org"\nkeys = ["KEY"]\n',
            "must be https:// and the name of a server in small letters",
        ),
        ('issuer = "ISSUER"\nkeys = ["abc"]\n', "must be a public key"),
        ('issuer = "ISSUER"\nkeys = []\n', "keys"),
        ('issuer = "ISSUER"\nkeys = ["KEY"]\nwait = 86401\n', "wait"),
        ('keys = ["KEY"]\n', "issuer"),
    ],
)
def test_a_study_says_all_that_tokens_need(text: str, words: str) -> None:
    if not text.startswith("[collect"):
        text = f'[collect]\naccess = "tokens"\n[collect.tokens]\n{text}'
    text = text.replace("KEY", keys(1)[0].public.text).replace("ISSUER", ISSUER)
    refused(StudyError, words, Study.parse, ONE + text)


def test_a_study_has_a_key_for_each_block(tmp_path: Path) -> None:
    bare = Study.parse(ONE + '[collect]\naccess = "tokens"\n')
    refused(ArgumentError, r"print the table \[collect.tokens\]", SubmissionFormat, bare)
    study = study_of(DRAWN, 2)
    refused(
        ArgumentError,
        "must have one key for each block of questions that a person can be asked, 3 in all",
        SubmissionFormat,
        study,
    )
    assert survey_document(study_of(DRAWN, 3))["tokens"]["issuer"] == ISSUER


def test_a_code_is_exchanged_once_and_a_lost_answer_comes_again(tmp_path: Path) -> None:
    study = study_of()
    with collecting(study, tmp_path / "codes", issues=True) as issuer:
        code, other = invited(study, issuer, 2)
        _, request = request_of(study, code)
        _, second = request_of(study, code)
        exchange(study, issuer, code, request)
        exchange(study, issuer, code, request)
        refused(Refused, "was already used", exchange, study, issuer, code, second)
        exchange(study, issuer, other, request_of(study, other)[1])
        stranger = new_codes(1)[0]
        refused(
            Refused,
            "code that this study does not have",
            exchange,
            study,
            issuer,
            stranger,
            request,
        )
        spent = [issuer.is_spent(invited_id(study.digest, one)) for one in (code, other)]
        assert spent == [True, True]
    with collecting(study, tmp_path / "codes", issues=True) as issuer:
        exchange(study, issuer, code, request)
        refused(Refused, "was already used", exchange, study, issuer, code, second)
        issuer.close_survey()
        refused(Refused, "closed", exchange, study, issuer, other, request)


def test_of_many_at_once_one_exchanges_a_code(tmp_path: Path) -> None:
    """Rejects the issuer that looks first and spends later."""
    study = study_of()
    with collecting(study, tmp_path / "codes", issues=True) as issuer:
        (code,) = invited(study, issuer, 1)
        requests = [request_of(study, code)[1] for _ in range(40)]

        def is_taken(request: bytes) -> bool:
            try:
                exchange(study, issuer, code, request)
            except Refused as error:
                assert error.name == "exchanged"
                return False
            return True

        with ThreadPoolExecutor(20) as pool:
            assert sum(pool.map(is_taken, requests)) == 1


def test_the_stores_of_the_two_are_no_stores_of_the_other(tmp_path: Path) -> None:
    study = study_of()
    for first in (True, False):
        path = tmp_path / f"store{first}"
        with collecting(study, path, issues=first):
            pass
        refused(
            Refused, "must never be kept together", Collector, study, SQLiteStore(path), None,
            issues=not first,
        )  # fmt: skip


def test_a_token_counts_once(tmp_path: Path) -> None:
    study = study_of()
    tokens = [token_for(study, code) for code in new_codes(5)]
    with collecting(study, tmp_path / "counts") as collector:
        bodies = [body_of(study, [tokens[0]]) for _ in range(200)]
        with ThreadPoolExecutor(20) as pool:
            parse = collector.format.parse
            stored = list(pool.map(lambda body: collector.submit(parse(body)).result(30), bodies))
        assert sum(one.new for one in stored) == 1 and collector.n == 1
        both = parse(body_of(study, [*tokens, tokens[1]]))
        assert collector.submit(both).result(30).new == 4 and collector.n == 5


def test_what_was_not_signed_for_it_is_refused() -> None:
    study, other = study_of(), study_of(ONE.replace("1.0", "2.0"))
    code = new_codes(1)[0]
    token, form = token_for(study, code), SubmissionFormat(study)
    assert len(form.parse(body_of(study, [token]))) == 1
    body = body_of(study, [token, token_for(other, code)])
    with pytest.raises(Refused, match="number 2 of 2") as caught:
        form.parse(body)
    assert (caught.value.name, caught.value.position) == ("no_token", 1)
    for at in (0, 31, 32, 287):
        changed = bytearray(body_of(study, [token]))
        changed[HEAD_BYTES + at] ^= 1
        refused(Refused, "not valid for this study and its questions", form.parse, bytes(changed))
    plain = b"WRN1" + body_of(study, [token])[4:]
    refused(Refused, "must come with tokens", form.parse, plain)
    refused(
        ArgumentError,
        "ids: are missing. Pass the token of each person",
        form.seal,
        {"smokes": _report(study)},
    )


def _report(study: Study) -> object:
    return study.mechanisms["smokes"].randomize(["yes"])


def test_a_token_is_good_for_the_block_of_its_code_alone() -> None:
    """Rejects one key for all blocks: people could choose what they are asked."""
    study = study_of(DRAWN, 3)
    form, codes = SubmissionFormat(study), new_codes(12)
    blocks = [block_of_code(study, code) for code in codes]
    tokens = [token_for(study, code) for code in codes]
    assert len(form.parse(body_of(study, tokens, blocks))) == 12
    for i, block in enumerate(blocks):
        body = body_of(study, [tokens[i]], [(block + 1) % 3])
        refused(Refused, "not valid for this study and its questions", form.parse, body)


def test_an_issuer_cannot_mark_a_token_by_another_key() -> None:
    study, code = study_of(), new_codes(1)[0]
    blinding, request = request_of(study, code)
    other = keys(3)[1]
    signed = other.sign(bytes([0]) + request[-255:])
    refused(Refused, "the key in the study", blinding.token, key_of(study, code), study, signed)


# -----------------------------------------------------------------------------------------------
# Who has everything that passed through both parties.


def _small_factors(study: Study, requests: list[bytes], tokens: list[bytes]) -> list[list[bool]]:
    """Which request goes with which token by a factor below 2^256, as a careless device draws."""
    key, private = keys(1)[0].public, keys(1)[0]
    matches = []
    for request in requests:
        row = []
        for token in tokens:
            number = pow(int.from_bytes(token[32:], "big"), 65537, key.n)
            blinded = int.from_bytes(request[-256:], "big")
            # The one factor that explains the pair: every pair has one.
            cover = blinded * pow(number, -1, key.n) % key.n
            factor = int.from_bytes(private.sign(cover.to_bytes(256, "big")), "big")
            assert key.blinded(number, factor) == request[-256:]
            row.append(factor < 2**256)
        matches.append(row)
    return matches


def test_every_request_can_belong_to_every_token() -> None:
    """Even with the private key: each pair has exactly one factor, and all look alike.

    Rejects the device whose factors are small: there the pairs stand out.
    """
    study, n = study_of(), 4
    key = keys(1)[0]
    for small in (False, True):
        requests, tokens = [], []
        for code in new_codes(n):
            blinding, request = request_of(study, code)
            if small:
                object.__setattr__(blinding, "factor", blinding.factor % 2**200 + 1)
                request = blinding.request(key.public, study, code)
            requests.append(request)
            tokens.append(blinding.token(key.public, study, key.sign(request[-256:])))
        matches = np.array(_small_factors(study, requests, tokens))
        assert (matches == (np.eye(n, dtype=bool) if small else np.zeros((n, n), bool))).all()


def test_both_stores_and_logs_together_have_nothing_in_common(tmp_path: Path) -> None:
    """Who has both, with the codes, finds no number of one in the other.

    Rejects the collector that keeps a number of the code, as with access = "invited".
    """
    study, n = study_of(), 12
    contents: dict[bool, bytes] = {}
    secrets, exchanged = [], []
    with collecting(study, tmp_path / "codes", issues=True) as issuer:
        with collecting(study, tmp_path / "counts") as collector:
            codes = invited(study, issuer, n)
            for code in codes:
                blinding, request = request_of(study, code)
                exchange(study, issuer, code, request)
                token = blinding.token(key_of(study, code), study, keys(1)[0].sign(request[-256:]))
                body = body_of(study, [token])
                collector.submit(collector.format.parse(body)).result(10)
                secrets += [token[:32], token[32:], request[-256:], blinding.salt]
                exchanged.append(invited_id(study.digest, code))
                for issues in (True, False):
                    contents[issues] = contents.get(issues, b"") + _files(
                        tmp_path / ("codes" if issues else "counts")
                    )
        assert collector.n == n
    of_codes, of_counts = contents[True], contents[False]
    assert all(one in of_codes for one in exchanged)
    assert not any(one in of_counts for one in exchanged)
    ids = [one.tobytes() for one in SubmissionFormat(study).parse(
        body_of(study, [a + b for a, b in zip(secrets[::4], secrets[1::4], strict=True)])
    ).ids]  # fmt: skip
    assert all(one in of_counts for one in ids) and not any(one in of_codes for one in ids)
    for one in secrets:
        pieces = [one[at : at + 16] for at in range(0, len(one) - 15, 16)]
        assert not any(piece in of_codes or piece in of_counts for piece in pieces)


def _files(path: Path) -> bytes:
    """Everything that a store has on disk at a moment, with its log."""
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


def test_a_log_that_shows_the_order_of_exchanges_is_emptied_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects the issuer whose log waits as that of a crowd does, while codes come one by one."""
    study = study_of()
    with collecting(study, tmp_path / "codes", issues=True) as issuer:
        codes = invited(study, issuer, 2)
    monkeypatch.setattr(module, "_QUIET", 3600.0)
    monkeypatch.setattr(SQLiteStore, "rest", 0.0)
    issuer = Collector(study, SQLiteStore(tmp_path / "codes"), issues=True)
    issuer.stop()  # from here the writer's work is done by hand
    issuer._stopping = False
    for code in codes:
        ids = np.frombuffer(invited_id(study.digest, code) + bytes(16), np.uint8).reshape(2, 16)
        issuer._queue.append(module._Task(partial(issuer._exchange, ids), Future()))
        issuer._work()
        assert Path(f"{tmp_path}/codes-wal").stat().st_size == 0
    issuer._store.close()
