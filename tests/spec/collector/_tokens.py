"""A study whose people have tokens, with its keys, for tests."""

from __future__ import annotations

from functools import cache

import numpy as np
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from warner.collector.access import invited_ids, new_codes
from warner.collector.collector import Collector
from warner.collector.submissions import SubmissionFormat
from warner.collector.tokens import (
    BITS,
    Blinding,
    PrivateKey,
    PublicKey,
    block_of_code,
    keys_of,
    request_in,
)
from warner.reports.block_schema import BLOCK
from warner.reports.reports import Reports
from warner.studies.study import Study

ISSUER = "https://codes.example.org"
ONE = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
# Each person is asked one of three questions.
DRAWN = '[ask]\neach = "one"\nepsilon = 1.0\n' + "".join(
    f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in ("smokes", "drinks", "bets")
)


@cache
def keys(count: int) -> tuple[PrivateKey, ...]:
    """Private keys, made once for all tests of a process."""
    made = (generate_private_key(65537, BITS) for _ in range(count))
    return tuple(map(PrivateKey.of, made))


def study_of(text: str = ONE, count: int = 1, issuer: str = ISSUER, wait: int = 0) -> Study:
    """A study with tokens and public keys."""
    listed = ", ".join(f'"{key.public.text}"' for key in keys(count))
    return Study.parse(f"""{text}
[collect]
access = "tokens"
people = 100
[collect.tokens]
issuer = "{issuer}"
wait = {wait}
keys = [{listed}]
""")


def invited(study: Study, issuer: Collector, n: int) -> list[str]:
    """Codes of n people who are invited."""
    codes = new_codes(n)
    issuer.invite(invited_ids(study.digest, codes))
    return codes


def request_of(study: Study, code: str) -> tuple[Blinding, bytes]:
    """What a device draws, and the request that it then sends to the issuer."""
    blinding = Blinding.draw(key_of(study, code))
    return blinding, blinding.request(key_of(study, code), study, code)


def key_of(study: Study, code: str) -> PublicKey:
    """The public key for the block of a code."""
    return keys_of(study)[block_of_code(study, code)]


def token_for(study: Study, code: str) -> bytes:
    """The token of a code, without an issuer between."""
    blinding, request = request_of(study, code)
    private = keys(len(keys_of(study)))[block_of_code(study, code)]
    _, blinded = request_in(request, study.layout)
    return blinding.token(key_of(study, code), study, private.sign(blinded))


def body_of(study: Study, tokens: list[bytes], blocks: list[int] | None = None) -> bytes:
    """The body of a request with one report for each token, on some blocks."""
    ((name, mechanism),) = study.mechanisms.items()
    ids = np.frombuffer(b"".join(tokens), np.uint8).reshape(len(tokens), -1)
    if blocks is None:
        reports = mechanism.randomize(["yes"] * len(tokens))
    else:
        drawn = mechanism.randomize([{"smokes": "yes", "drinks": "no", "bets": "no"}] * 200)
        chosen = [list(drawn.columns[BLOCK]).index(block) for block in blocks]
        columns = {column: values[chosen] for column, values in drawn.columns.items()}
        reports = Reports(mechanism.header, columns)
    return SubmissionFormat(study).seal({name: reports}, ids=ids)
