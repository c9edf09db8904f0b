"""Words that nobody has listed: their letters, or the words that two lists of pieces make."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.domains.base import Domain, StudyEntry, built_in, refuse_types, sequence

OTHER = "(other)"
UTF8 = "utf-8"
LARGEST_ALPHABET = 254  # letters, each a byte beside that of the end
_LONGEST = 64
_HIDDEN = "·"  # in a label, of each letter before those that are asked
# The bytes of texts in UTF-8, without those of control characters.
_BYTES = "".join(chr(byte) for byte in (*range(0x20, 0x7F), *range(0x80, 0xF5)))


class Words(Domain):
    """The letters ``start`` to ``stop`` of a word, whatever the word is.

        K = 1 + A + A^2 + ... + A^m + 1,   m = stop - start

    for A letters: all pieces of at most m letters, since words end early, and a last value for all
    words that have another letter there, or more than ``longest`` letters. So any text is an
    answer, and none is refused. Upper and lower case are one where the alphabet has no upper case.

    With ``left`` and ``right`` the values are the pieces of the first list before those of the
    second, and all other words are the last value. A piece of ``left`` that ends a word stands
    alone.

    Args:
        alphabet: the letters, such as ``"a-z"`` or ``"a-zäöüß'-"``, where a hyphen at an end is a
            letter; or ``"utf-8"`` for words in any script, whose letters are then bytes.
        longest: letters of the longest word; 1 to 64.
        start, stop: which letters are asked, counted from 0; ``stop`` None for ``longest``.
        left, right: the pieces that make up the values, of ``middle - start`` and
            ``stop - middle`` letters at most; none for all pieces.
        middle: where the pieces of ``right`` begin.

    Raises:
        ArgumentError: an alphabet with a letter twice or more than 254, other limits, or a text
            that is no piece.

    >>> words = Words("a-z", 8, stop=2)
    >>> words.size, words.decode(words.encode(["Hi", "hello", "a", "Ω", "far too long"]))
    (704, ['hi', 'he', 'a', '(other)', '(other)'])
    """

    kind = "words"
    study = StudyEntry(
        "words",
        "words that nobody has listed. A report is about some letters of a word, or about two "
        "neighbouring pieces of the word",
        {
            "alphabet": (str, ...),
            "longest": (int, ...),
            "start": (int, 0),
            "stop": (int, 0),
            "middle": (int, 0),
            "left": (list[str], []),
            "right": (list[str], []),
        },
        'words = { alphabet = "a-z", longest = 8, stop = 4 }',
    )
    noun = "words"
    remedy = "Write words as texts"
    too_many = (
        "Search for the most common words with warner.find(), or ask only for the first letters of "
        "each word: Words(..., stop=4) asks for four"
    )

    def __init__(
        self,
        alphabet: str = "a-z",
        longest: int = 8,
        start: int = 0,
        stop: int | None = None,
        middle: int = 0,
        left: Sequence[str] = (),
        right: Sequence[str] = (),
    ) -> None:
        self.alphabet = alphabet
        self.letters = _letters(alphabet)
        self.longest = integer("longest", longest, 1, _LONGEST)
        self.start = integer("start", start, 0, self.longest - 1)
        # A study file has no None.
        self.stop = integer("stop", stop or self.longest, self.start + 1, self.longest)
        self._ignores_case = self.letters == self.letters.lower()
        self._code_of = np.zeros(0x110000 if alphabet != UTF8 else 256, dtype=np.uint8)
        self._code_of[1:] = LARGEST_ALPHABET + 1  # of no letter
        self._code_of[list(map(ord, self.letters))] = np.arange(1, len(self.letters) + 1)
        self.left, self.right = tuple(left), tuple(right)
        self.middle = self.start
        if self.left or self.right:
            self.middle = integer("middle", middle, self.start + 1, self.stop - 1)
            self._first = self._pieces("left", self.left, self.middle - self.start)
            self._second = self._pieces("right", self.right, self.stop - self.middle)
            size = len(self._whole) * len(self.right) + len(self._ended) + 1
        else:
            size = count_pieces(len(self.letters), self.stop - self.start) + 1
        self.size = size  # whole words are more than a mechanism takes; warner.find asks for pieces

    @cached_property
    def _sums(self) -> list[int]:
        """The number of pieces of at most m - 1, .., 0 letters."""
        lengths = range(self.stop - self.start - 1, -1, -1)
        return [count_pieces(len(self.letters), length) for length in lengths]

    def _pieces(self, name: str, texts: Sequence[str], length: int) -> np.ndarray:
        """The codes (p, length) of a list of pieces."""
        for text in texts:
            if not isinstance(text, str):
                raise ArgumentTypeError(name, "must be a list of texts", kind(text))
        codes = self._codes([*texts], length, is_piece=True)
        bad = (codes > len(self.letters)).any(axis=1) | ~_ends_once(codes)
        bad |= np.array([len(text) > length for text in texts], dtype=bool)
        if len(set(texts)) < len(texts) or bad.any() or not texts:
            rule = f"must be different pieces, each of 1 to {length} letters of the alphabet"
            raise ArgumentError(name, rule, show(texts[int(np.argmax(bad))]) if texts else None)
        return codes

    @cached_property
    def _whole(self) -> np.ndarray:
        """The places in ``left`` of pieces that the word may go on after."""
        return np.flatnonzero(self._first[:, -1] > 0)

    @cached_property
    def _ended(self) -> np.ndarray:
        """The places in ``left`` of pieces that end the word, where ``right`` has the end."""
        return np.flatnonzero(self._first[:, -1] == 0) if "" in self.right else np.zeros(0, int)

    def _codes(self, texts: list[str], length: int, is_piece: bool = False) -> np.ndarray:
        """The codes of the first letters of texts: 0 after the end, and 1 to A.

        Returns (n, length).
        """
        if self.alphabet == UTF8 and not is_piece:
            texts = [text.encode("utf-8", "replace").decode("latin-1") for text in texts]
        if self._ignores_case and self.alphabet != UTF8:
            texts = list(map(str.lower, texts))
        array = np.array(texts, dtype=f"<U{length}")
        points = array.view(np.uint32).reshape(len(texts), length)
        return self._code_of[np.minimum(points, len(self._code_of) - 1)]

    def encode(self, values: Any) -> np.ndarray:
        answers = sequence(values)
        texts = answers.tolist() if isinstance(answers, np.ndarray) else list(answers)
        refuse_types(texts, (str,))
        texts = list(built_in(texts))
        if any(not text.isascii() for text in texts):
            texts = [unicodedata.normalize("NFC", text) for text in texts]
        codes = self._codes(texts, self.longest + 1)
        inside = (codes[:, -1] == 0) & _ends_once(codes)
        inside &= np.array([text != OTHER for text in texts], dtype=bool)
        window = codes[:, self.start : self.stop]
        inside &= (window <= len(self.letters)).all(axis=1)
        if self.left:
            index = self._of_lists(window)
        else:
            steps = 1 + (window.astype(np.int64) - 1) * np.array(self._sums)
            index = np.where(window > 0, steps, 0).sum(axis=1)
        return np.where(inside, index, self.size - 1)

    def _of_lists(self, window: np.ndarray) -> np.ndarray:
        """The values (n,) of codes (n, m), where the values are pieces beside each other."""
        cut = self.middle - self.start
        first, second = _find(self._first, window[:, :cut]), _find(self._second, window[:, cut:])
        index = np.full(len(window), self.size - 1)
        # The place of a piece of ``left`` among those of its kind.
        rank = np.zeros(len(self.left), dtype=np.int64)
        rank[self._whole], rank[self._ended] = range(len(self._whole)), range(len(self._ended))
        goes_on = (first >= 0) & (window[:, cut - 1] > 0) & (second >= 0)
        index[goes_on] = rank[first[goes_on]] * len(self.right) + second[goes_on]
        ends = (first >= 0) & (window[:, cut - 1] == 0) & bool(len(self._ended))
        index[ends] = len(self._whole) * len(self.right) + rank[first[ends]]
        return index

    def pieces(self, index: Any) -> list[str | None]:
        """The letters that are asked, of values ``index`` (n,); None of other words."""
        places = self._index(index)
        if self.left:
            return [self._joined(value) for value in places.tolist()]
        codes = np.zeros((len(places), self.stop - self.start), dtype=np.int64)
        other = places == self.size - 1
        left = np.where(other, 0, places)
        for i, count in enumerate(self._sums):
            goes_on = left > 0
            codes[goes_on, i] = (left[goes_on] - 1) // count + 1
            left[goes_on] = (left[goes_on] - 1) % count
        texts = ["".join(self.letters[code - 1] for code in row if code) for row in codes.tolist()]
        return [None if is_other else text for text, is_other in zip(texts, other, strict=True)]

    def places_in(self, index: Any) -> tuple[np.ndarray, np.ndarray]:
        """The places in ``left`` and in ``right`` of values ``index`` (n,); -1 of other words."""
        places = self._index(index)
        inside = len(self._whole) * len(self.right)
        goes_on, ends = places < inside, (places >= inside) & (places < self.size - 1)
        first, second = np.full((2, len(places)), -1)
        first[goes_on] = self._whole[places[goes_on] // len(self.right)]
        second[goes_on] = places[goes_on] % len(self.right)
        first[ends] = self._ended[places[ends] - inside]
        second[ends] = self.right.index("") if ends.any() else -1
        return first, second

    def _joined(self, value: int) -> str | None:
        """The letters of a value that is made of pieces."""
        (first,), (second,) = self.places_in([value])
        return None if first < 0 else self.left[first] + self.right[second]

    def decode(self, index: Any) -> list[str]:
        hidden = _HIDDEN * self.start
        return [
            OTHER if text is None else hidden + self._shown(text) for text in self.pieces(index)
        ]

    def _shown(self, piece: str) -> str:
        """A piece as people read it: of bytes, as far as they are characters."""
        if self.alphabet != UTF8:
            return piece
        return piece.encode("latin-1").decode("utf-8", "backslashreplace")

    def spec(self) -> dict[str, Any]:
        stated = {"kind": self.kind, "alphabet": self.alphabet, "longest": self.longest}
        stated |= {"start": self.start, "stop": self.stop}
        if not self.left:
            return stated
        return {**stated, "middle": self.middle, "left": [*self.left], "right": [*self.right]}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        stated = {key: value for key, value in spec.items() if key != "kind"}
        return cls(stated.pop("alphabet"), stated.pop("longest"), **stated)


def count_pieces(letters: int, length: int) -> int:
    """The number of different pieces of at most ``length`` letters.

    >>> count_pieces(26, 4)
    475255
    """
    return sum(letters**i for i in range(length + 1))


def _letters(alphabet: str) -> str:
    """The letters of an alphabet, whose ranges are written out."""
    if not isinstance(alphabet, str):
        raise ArgumentTypeError("alphabet", "must be a text such as 'a-z'", kind(alphabet))
    if alphabet == UTF8:
        return _BYTES
    text, letters = unicodedata.normalize("NFC", alphabet), ""
    i = 0
    while i < len(text):
        if text[i + 1 : i + 2] == "-" and i + 2 < len(text):
            if not text[i] < text[i + 2]:
                rule, remedy = "has a range in the wrong order", "Write it like a-z"
                raise ArgumentError("alphabet", rule, show(text[i : i + 3]), remedy)
            letters += "".join(map(chr, range(ord(text[i]), ord(text[i + 2]) + 1)))
            i += 3
        else:
            letters += text[i]
            i += 1
    if len(set(letters)) < len(letters) or not 2 <= len(letters) <= LARGEST_ALPHABET:
        rule = f"must have 2 to {LARGEST_ALPHABET} different letters"
        remedy = "For words in any script use the alphabet 'utf-8'"
        got = f"{len(letters)} letters, {len(set(letters))} of them different"
        raise ArgumentError("alphabet", rule, got, remedy)
    if _HIDDEN in letters or any(not letter.isprintable() for letter in letters):
        rule = f"must not contain {_HIDDEN!r}, or characters that a screen cannot show"
        raise ArgumentError("alphabet", rule, show(alphabet))
    return letters


def _ends_once(codes: np.ndarray) -> np.ndarray:
    """Whether no letter follows the end, in codes (n, m)."""
    return np.asarray(~((codes[:, :-1] == 0) & (codes[:, 1:] > 0)).any(axis=1))


def _find(pieces: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The places (n,) of codes (n, m) among pieces (p, m); -1 of those that are not there."""
    width = pieces.shape[1]
    # Bytes that end a text of NumPy with 0 are cut off, and 0 is the end of a word.
    ours = np.ascontiguousarray(pieces).view(f"S{width}").ravel()
    theirs = np.ascontiguousarray(codes).view(f"S{width}").ravel()
    order = np.argsort(ours)
    rank = np.minimum(np.searchsorted(ours[order], theirs), len(ours) - 1)
    nearest = order[rank]
    return np.where(ours[nearest] == theirs, nearest, -1)
