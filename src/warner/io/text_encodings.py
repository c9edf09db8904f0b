"""Encodings of text files, and files that are no text but end up where text is expected."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any

from warner._core.errors import FileError

# The first bytes of files that people give in place of CSV, with what they are and what helps.
_SPREADSHEET = "Save it as CSV UTF-8: in Excel with File, Save As"
_OTHERS = {
    b"PK\x03\x04": ("a spreadsheet (.xlsx or .ods) or another zip file", _SPREADSHEET),
    b"\xd0\xcf\x11\xe0": ("an Excel file (.xls)", _SPREADSHEET),
    b"PAR1": ("a Parquet file", "Let its name end in .parquet"),
    b"%PDF": ("a PDF file", "Export the table as CSV"),
}
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BLOCK = 2**20
# Excel can name the delimiter in a line of its own, before the line of names.
SEPARATOR = re.compile(rb"\A(?:\xef\xbb\xbf)?sep=[,;\t]\r?\n")


def as_utf8(begin: bytes, stream: Any, shown: str) -> tuple[bytes, io.RawIOBase]:
    """A text in UTF-8, from UTF-8, from UTF-16 with its mark, or from Windows-1252.

    A text that is not UTF-8 is taken as Windows-1252, which holds all printed characters of
    Latin-1. A letter that is thereby misread is in no label, so that its answer is refused.
    """
    for first, (what, remedy) in _OTHERS.items():
        if begin.startswith(first):
            raise FileError(shown, "must be CSV", what, remedy)
    encoding = next((name for mark, name in _MARKS.items() if begin.startswith(mark)), None)
    if encoding is None:
        if _is_utf8(begin):
            return begin, _After(begin, stream)
        encoding = "cp1252"
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(begin).removeprefix("\ufeff").encode()
    return text, _Decoded(text, decoder, stream)


def _is_utf8(begin: bytes) -> bool:
    """Whether bytes are the begin of a UTF-8 text, which may end within a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeDecodeError:
        return False
    return True


class _After(io.RawIOBase):
    """A stream from its beginning, of which ``begin`` was read before."""

    def __init__(self, begin: bytes, stream: Any) -> None:
        self._begin, self._stream = begin, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._begin:
            stop = size if size >= 0 else len(self._begin)
            begin, self._begin = self._begin[:stop], self._begin[stop:]
            return begin
        return bytes(self._stream.read(size if size >= 0 else None))


class _Decoded(io.RawIOBase):
    """A text in another encoding as UTF-8; ``begin`` of it was read before."""

    def __init__(self, begin: bytes, decoder: codecs.IncrementalDecoder, stream: Any) -> None:
        self._begin, self._decoder, self._stream = begin, decoder, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._begin and (data := bytes(self._stream.read(_BLOCK))):
            self._begin = self._decoder.decode(data).encode()
        stop = size if size >= 0 else len(self._begin)
        begin, self._begin = self._begin[:stop], self._begin[stop:]
        return begin
