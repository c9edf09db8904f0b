"""Who may do what: the tokens of owners, invitation codes, and proof that a form is an owner's.

The store keeps the SHA-256 of each token, and of each code the 16 bytes that become the id of its
report. Neither the token nor a code can be computed from it: both are random and long.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from warner._core.errors import ArgumentError
from warner.collector.refusals import Refused

ID_BYTES = 16  # of the id of a report, and of an invitation
TOKEN_BYTES = 32
COOKIE = "warner_owner"
METRICS = "metrics"  # the name of a token that reads the metrics, and may do nothing else
VIEWER = " (viewer)"  # the end of the name of a token that reads what is published, and no more
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # without 0 and O, 1, I and L, U
CODE_LETTERS = 16
MOST_INVITED = 10_000  # ids of one body
_GROUP = 4
_INVITING = b"WRNI"
_DIGEST_BYTES = 32


def new_token() -> str:
    """A token for the owner: 256 random bits in letters and digits that an address may hold."""
    return base64.urlsafe_b64encode(secrets.token_bytes(TOKEN_BYTES)).rstrip(b"=").decode()


def token_for(name: str, owners: str) -> str:
    """The token of somebody else, which follows from the owner's: it is the same in every store."""
    return hmac.new(_bytes(owners), f"warner token\n{name}".encode(), "sha256").hexdigest()


def token_hash(token: str) -> bytes:
    """What is stored of a token: its SHA-256, 32 bytes."""
    return hashlib.sha256(_bytes(token)).digest()


class Owner:
    """Knows the owner, "", and others, by the SHA-256 of tokens that ``stored`` gives by name."""

    def __init__(self, stored: Callable[[], Mapping[str, bytes]]) -> None:
        self._stored = stored

    def name_of(self, token: str) -> str | None:
        """Whose token this is; None for nobody's. The time it takes says nothing about it."""
        digest = token_hash(token)
        names = [n for n, hashed in self._stored().items() if hmac.compare_digest(digest, hashed)]
        return next(iter(names), None)


def may(name: str, deed: str) -> bool:
    """Whether the token of this name is for reading the "metrics", to "read", or to "act".

    >>> may("anna", "act"), may(f"ben{VIEWER}", "act"), may(f"ben{VIEWER}", "read")
    (True, False, True)
    """
    if name == METRICS:
        return deed == "metrics"
    return deed == "read" or not name.endswith(VIEWER)


def proof_of(token: str) -> str:
    """The anti-forgery value of the forms on the page of who has a token."""
    # Other sites cannot read it, so a form that they make the owner's browser send lacks it. It
    # follows from the token alone, so any process that serves the survey takes it.
    return hmac.new(_bytes(token), b"warner form", hashlib.sha256).hexdigest()


def is_proof(value: str, token: str) -> bool:
    """Whether a form has the value of the page."""
    return hmac.compare_digest(_bytes(value), proof_of(token).encode())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def new_codes(n: int) -> list[str]:
    """Invitation codes: 16 random letters each, 78 bits, in groups of four.

    >>> code, = new_codes(1)
    >>> len(code), code[4], code[9], code[14]
    (19, '-', '-', '-')
    """
    codes: dict[str, None] = {}
    while len(codes) < n:
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
        codes["-".join(letters[i : i + _GROUP] for i in range(0, CODE_LETTERS, _GROUP))] = None
    return list(codes)


def codes_in(path: str) -> list[str]:
    """The codes in a file that ``warner collect invite`` or ``unused`` has written."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    codes = [row[0] for row in rows[1:] if row]
    letters = set(ALPHABET)
    if not rows or rows[0][:1] != ["code"] or not codes:
        rule = "must have a first column named 'code', and the invitation codes below this name"
        remedy = 'Pass the file that "warner collect invite -o" wrote'
        raise ArgumentError(path, rule, None, remedy)
    for number, code in enumerate(codes, 2):
        plain = plain_code(code)
        if len(plain) != CODE_LETTERS or not set(plain) <= letters:
            # The code itself is not repeated: a message may be logged.
            rule = "has no valid invitation code"
            remedy = 'Pass the unchanged file that "warner collect invite -o" wrote'
            raise ArgumentError(f"{path}: row {number}", rule, None, remedy)
    if len(set(map(plain_code, codes))) < len(codes):
        rule = "has the same code in several rows"
        raise ArgumentError(path, rule, None, "Keep one of these rows, and delete the others")
    return codes


def plain_code(code: str) -> str:
    """A code as it is hashed: capital letters, without hyphens and spaces.

    >>> plain_code(" abcd efgh-jkmn pqrs ")
    'ABCDEFGHJKMNPQRS'
    """
    return "".join(code.split()).replace("-", "").upper()


def invited_id(digest: str, code: str) -> bytes:
    """The id of the report of an invited person, 16 bytes of SHA-256."""
    # There is no line end after the code. An id is counted once, so a code is good for one report,
    # and that it was used is all that is stored.
    text = f"warner invitation\n{digest}\n{plain_code(code)}"
    return hashlib.sha256(text.encode()).digest()[:ID_BYTES]


def invited_ids(digest: str, codes: Sequence[str]) -> np.ndarray:
    """The ids of the reports of invited people, uint8 (n, 16)."""
    # Sorted, so that the store does not know the order in which people were invited.
    ids = b"".join(sorted(invited_id(digest, code) for code in codes))
    return np.frombuffer(ids, np.uint8).reshape(-1, ID_BYTES)


def invitations_body(digest: str, ids: np.ndarray) -> bytes:
    """The body of a request that invites people: a mark, the digest of the study, ids (n, 16)."""
    return _INVITING + bytes.fromhex(digest) + ids.tobytes()


def invitations_in(body: bytes, digest: str) -> np.ndarray:
    """The ids in such a body, uint8 (n, 16).

    >>> ids = invited_ids("00" * 32, new_codes(3))
    >>> invitations_in(invitations_body("00" * 32, ids), "00" * 32).tolist() == ids.tolist()
    True
    """
    head, ids = body[: len(_INVITING) + _DIGEST_BYTES], body[len(_INVITING) + _DIGEST_BYTES :]
    count, left = divmod(len(ids), ID_BYTES)
    if left or not 1 <= count <= MOST_INVITED or not head.startswith(_INVITING):
        rule = 'are not in the form that "warner collect invite" sends'
        raise Refused("malformed", "invitations", rule)
    if head != _INVITING + bytes.fromhex(digest):
        raise Refused(
            "other_study",
            "invitations",
            "belong to another study",
            None,
            "Use the study file with which the collector was started",
        )
    return np.frombuffer(ids, np.uint8).reshape(-1, ID_BYTES)
