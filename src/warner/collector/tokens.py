"""Blind tokens: who is invited exchanges a code for a token from which it does not follow.

An issuer, a process of its own and best another party, knows the codes and signs without seeing
what it signs. The collector knows only public keys: it sees that a token was signed for somebody
who is invited. Who that was follows from no number, also where both parties put everything together
that passed through them; what they can compare is times, and what changed in between. The scheme is
RSABSSA-SHA384-PSS-Randomized of RFC 9474: with

    m = EMSA-PSS(prefix || message, salt),  sent to be signed: z = m r^e mod n,  s = z^d / r mod n

z is uniform whatever m is, since r is, and s is a signature of m that anybody can check. A token is
``prefix || s``. The message says which study it is of; the key says which questions were drawn for
the code, where not everybody is asked all of them: each block of questions has a key.

The blindness depends on no computation. What 2048 bits protect is that nobody makes tokens.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.errors import ArgumentError, FileError
from warner.collector.access import ALPHABET, CODE_LETTERS, ID_BYTES, plain_code
from warner.collector.refusals import READ_AGAIN, Refused
from warner.collector.survey_document import draw_of
from warner.studies.study import Study

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

BITS = 2048
PREFIX_BYTES, SALT_BYTES = 32, 48
SIGNATURE_BYTES = BITS // 8
TOKEN_BYTES = PREFIX_BYTES + SIGNATURE_BYTES
MOST_KEYS = 64  # blocks of questions, which the survey document lists a key for
_EXPONENT = 65537
_ASKING = b"WRNB"
_LAYOUT_BYTES = 32
REQUEST_BYTES = len(_ASKING) + _LAYOUT_BYTES + CODE_LETTERS + SIGNATURE_BYTES


# -----------------------------------------------------------------------------------------------
# RFC 9474.


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 with SHA-384."""
    size = hashlib.sha384().digest_size
    rounds = range(math.ceil(length / size))
    return b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in rounds)[:length]


def encoded(message: bytes, salt: bytes, bits: int) -> int:
    """EMSA-PSS of a message as a number below 2^bits (RFC 8017, 9.1.1)."""
    length = math.ceil(bits / 8)
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    padded = bytes(length - len(salt) - len(digest) - 2) + b"\x01" + salt
    hidden = bytes(a ^ b for a, b in zip(padded, _mask(digest, len(padded)), strict=True))
    number = int.from_bytes(hidden + digest + b"\xbc", "big")
    return number & ((1 << bits) - 1)


@dataclass(frozen=True)
class PublicKey:
    """A public RSA key with the exponent 65,537."""

    n: int

    @classmethod
    def of(cls, text: str) -> PublicKey:
        """A key of a study: its number in 342 letters and digits."""
        return cls(int.from_bytes(base64.urlsafe_b64decode(f"{text}=="), "big"))

    @property
    def text(self) -> str:
        """The key as a study states it."""
        return base64.urlsafe_b64encode(self._bytes(self.n)).rstrip(b"=").decode()

    def _bytes(self, number: int) -> bytes:
        return number.to_bytes((self.n.bit_length() + 7) // 8, "big")

    def encoded(self, message: bytes, salt: bytes) -> int:
        """The number that is signed for a message."""
        return encoded(message, salt, self.n.bit_length() - 1)

    def blinded(self, number: int, factor: int) -> bytes:
        """A number hidden by a factor: what the issuer sees."""
        return self._bytes(number * pow(factor, _EXPONENT, self.n) % self.n)

    def unblinded(self, signed: bytes, factor: int) -> bytes:
        """What the issuer has signed, without the factor."""
        return self._bytes(int.from_bytes(signed, "big") * pow(factor, -1, self.n) % self.n)

    @cached_property
    def _checker(self) -> RSAPublicKey:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

        return RSAPublicNumbers(_EXPONENT, self.n).public_key()

    def has_signed(self, message: bytes, signature: bytes) -> bool:
        """Whether a signature of a message is of this key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
        from cryptography.hazmat.primitives.hashes import SHA384

        pss = PSS(MGF1(SHA384()), SALT_BYTES)
        try:
            self._checker.verify(signature, message, pss, SHA384())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    """A private RSA key of an issuer. Nothing that is printed of it says what it is."""

    p: int
    q: int

    def __repr__(self) -> str:
        return "PrivateKey()"

    @classmethod
    def of(cls, key: RSAPrivateKey) -> PrivateKey:
        """A key of the cryptography package."""
        numbers = key.private_numbers()
        return cls(numbers.p, numbers.q)

    @cached_property
    def public(self) -> PublicKey:
        """The public key."""
        return PublicKey(self.p * self.q)

    @cached_property
    def _halves(self) -> tuple[int, int, int]:
        """The exponents modulo each prime, and the inverse of the second prime."""
        d = pow(_EXPONENT, -1, math.lcm(self.p - 1, self.q - 1))
        return d % (self.p - 1), d % (self.q - 1), pow(self.q, -1, self.p)

    def check(self, blinded: bytes) -> None:
        """Refuse what no device asks this key to sign."""
        if int.from_bytes(blinded, "big") >= self.public.n:
            raise Refused("malformed", "request", "has a number that is too large for this key")

    def sign(self, blinded: bytes) -> bytes:
        """The signature of a number that nobody but the device knows."""
        n, number = self.public.n, int.from_bytes(blinded, "big")
        # How long Python's powers take depends on the numbers. They are multiplied by a random one.
        factor = secrets.randbelow(n - 1) + 1
        base = number * pow(factor, _EXPONENT, n) % n
        of_p, of_q, inverse = self._halves
        by_q = pow(base, of_q, self.q)
        product = by_q + self.q * ((pow(base, of_p, self.p) - by_q) * inverse % self.p)
        signed = product * pow(factor, -1, n) % n
        if pow(signed, _EXPONENT, n) != number:  # a fault of one half would give the primes away
            raise Refused("error", "request", "could not be signed", None, "Send it again")
        return signed.to_bytes(len(blinded), "big")


# -----------------------------------------------------------------------------------------------
# Keys of a study.


def count_of_keys(study: Study) -> int:
    """How many keys a study needs: one for each block of questions that can be drawn."""
    draw = draw_of(study)
    count = 1 if draw is None else len(draw.blocks)
    if count > MOST_KEYS:
        rule = f"must have at most {MOST_KEYS} blocks of questions, because each block needs a key"
        remedy = 'List fewer blocks in [ask], or write access = "invited"'
        raise ArgumentError("study", rule, f"{count:,}", remedy)
    return count


def keys_of(study: Study) -> list[PublicKey]:
    """The public keys of a study, one for each block of questions."""
    tokens, count = study.collect.tokens, count_of_keys(study)
    stated = () if tokens is None else tokens.keys
    if len(stated) != count:
        rule = (
            "must have one key for each block of questions that a person can be asked, "
            f"{count:,} in all"
        )
        remedy = (
            "To make the keys and print the table [collect.tokens], run: warner collect keys STUDY"
        )
        raise ArgumentError("collect.tokens.keys", rule, f"{len(stated):,}", remedy)
    return [PublicKey.of(text) for text in stated]


def new_keys(count: int) -> bytes:
    """New private keys as a file, PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    return b"".join(
        rsa.generate_private_key(_EXPONENT, BITS).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        for _ in range(count)
    )


def keys_in(path: str | os.PathLike[str]) -> list[PrivateKey]:
    """The private keys in a file of :func:`new_keys`, in their order."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    end = b"-----END PRIVATE KEY-----\n"
    blocks = Path(path).read_bytes().replace(b"\r\n", b"\n").split(end)
    keys = []
    for block in blocks[:-1]:
        try:
            key: Any = load_pem_private_key(block + end, None)
        except ValueError:
            key = None
        # Nothing of the file is repeated: it is secret.
        if not isinstance(key, RSAPrivateKey) or key.key_size != BITS:
            break
        keys.append(PrivateKey.of(key))
    if not keys or len(keys) < len(blocks) - 1 or blocks[-1].strip():
        rule = "must be a file of private keys"
        raise FileError(os.fspath(path), rule, None, "To make one, run: warner collect keys STUDY")
    return keys


def message_of(digest: str) -> bytes:
    """What a token of a study says, after its random prefix."""
    return b"warner token\n" + bytes.fromhex(digest)


def token_id(digest: str, token: bytes) -> bytes:
    """The id of the report that comes with a token, 16 bytes: a token counts once."""
    content = b"warner token id\n" + bytes.fromhex(digest) + token[:PREFIX_BYTES]
    return hashlib.sha256(content).digest()[:ID_BYTES]


@dataclass(frozen=True)
class TokenChecker:
    """Checks the tokens that come with submissions of a study."""

    digest: str
    keys: Sequence[PublicKey]  # one for each block

    @classmethod
    def of(cls, study: Study) -> TokenChecker:
        """That of a study whose people have tokens."""
        return cls(study.digest, keys_of(study))

    def ids(self, tokens: np.ndarray) -> np.ndarray:
        """The ids (n, 16) of the reports that come with tokens (n, 288)."""
        ids = b"".join(token_id(self.digest, token.tobytes()) for token in tokens)
        return np.frombuffer(ids, np.uint8).reshape(-1, ID_BYTES)

    def first_wrong(self, tokens: np.ndarray, blocks: np.ndarray | None) -> int | None:
        """The first of tokens (n, 288) not signed for its block (n,), None where all were."""
        message = message_of(self.digest)
        for i, row in enumerate(tokens):
            token = row.tobytes()
            key = self.keys[0 if blocks is None else int(blocks[i])]
            if not key.has_signed(token[:PREFIX_BYTES] + message, token[PREFIX_BYTES:]):
                return i
        return None


# -----------------------------------------------------------------------------------------------
# The exchange.


@dataclass(frozen=True)
class Blinding:
    """What a device draws for one token, and keeps to itself until it has the token."""

    prefix: bytes
    salt: bytes
    factor: int

    @classmethod
    def draw(cls, key: PublicKey) -> Blinding:
        """New ones, from the operating system."""
        factor = secrets.randbelow(key.n - 1) + 1
        return cls(secrets.token_bytes(PREFIX_BYTES), secrets.token_bytes(SALT_BYTES), factor)

    def request(self, key: PublicKey, study: Study, code: str) -> bytes:
        """The body that asks an issuer to sign: a mark, the layout, the code, a blind number."""
        number = key.encoded(self.prefix + message_of(study.digest), self.salt)
        head = _ASKING + bytes.fromhex(study.layout) + plain_code(code).encode()
        return head + key.blinded(number, self.factor)

    def token(self, key: PublicKey, study: Study, signed: bytes) -> bytes:
        """The token; refused where the issuer has signed with another key."""
        signature = key.unblinded(signed, self.factor)
        if not key.has_signed(self.prefix + message_of(study.digest), signature):
            rule, remedy = "was not signed with the key in the study", "Use the issuer's study file"
            raise Refused("malformed", "token", rule, None, remedy)
        return self.prefix + signature


def request_in(body: bytes, layout: str) -> tuple[str, bytes]:
    """The code and the blind number of such a body."""
    head = _ASKING + bytes.fromhex(layout)
    code = body[len(head) : len(head) + CODE_LETTERS].decode("latin-1")
    if len(body) != REQUEST_BYTES or not body.startswith(_ASKING) or not set(code) <= set(ALPHABET):
        raise Refused(
            "malformed",
            "request",
            "must have the form in which devices ask for tokens",
        )
    if not body.startswith(head):
        raise Refused("other_study", "request", "belongs to another study", None, READ_AGAIN)
    return code, body[len(head) + CODE_LETTERS :]


def block_of_code(study: Study, code: str) -> int:
    """The block of questions that an invited person is asked, as every device computes it."""
    draw = draw_of(study)
    if draw is None:
        return 0
    text = f"warner block\n{study.draw_digest}\n{plain_code(code)}"
    word = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return bisect_right(list(accumulate(draw.odds)), word)
