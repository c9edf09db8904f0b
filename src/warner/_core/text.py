"""Texts that screens can show and files can be named after, and times in words."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

# Characters that no page, picture or terminal shows as text: control characters (C0, DEL, C1),
# separators of lines and paragraphs, direction marks, surrogates and noncharacters. The list does
# not depend on the Unicode tables of a Python version.
_UNREADABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e"
    "\\u2066-\\u2069\\ud800-\\udfff\\ufdd0-\\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)

# Characters that take no room in a line: soft hyphen, joiners, marks of order and variation.
_NO_WIDTH = re.compile(
    "[\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u2064\\u3164"
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\U000e0000-\\U000e0fff]"
)

# No separator of folders, no hidden file, and short enough for a file name with more before it.
_FILE_NAME = re.compile(r"\w[\w .-]{0,59}")
FILE_NAME_RULE = (
    "must begin with a letter or a digit, and have at most 60 letters, digits, spaces and signs "
    ". _ -, because files are named after groups"
)

ALIKE = "must not have labels that look alike"
DIFFER = (
    "They differ only in capital letters, spaces, the way accents are stored, or invisible "
    "characters. Rename or remove one of them"
)

# The first advice where reports are expected and something else came.
RANDOMISE = "If these are answers, randomise them first. Run: warner randomize STUDY FILE"
RANDOMISE_FIRST = (
    f"{RANDOMISE}. If people answered with a card on paper, run: warner estimate FILE --design "
    "DESIGN, for example crosswise:1/4"
)

# The advice on reports that the mechanism cannot have made.
MADE_BY = "Use the study or mechanism with which the reports were made"

# The advice on a file, or on data in it, that is not as warner wrote it.
AS_WRITTEN = (
    "The file may be damaged, or another program may have changed it. Use the file as warner wrote "
    "it"
)

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# Several in a chain, such as simplecache::https://host/a.csv.
_NEXT = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*(?:://|::))")
_NEXT_TO_A_HALF = 1e-14  # of a number, by which rounding errors move it
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")  # container@account.host
_PORT = re.compile(r"[^:]*:\d+")


def canonical(value: Any) -> str:
    """Return the only JSON text of a value: sorted keys, no spaces, ASCII.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def without_secrets(text: str) -> str:
    """Return an address without user, password, query and fragment; any other text as it is.

    >>> without_secrets("s3://key:secret@bucket/a.csv"), without_secrets("s3://bucket/part-?.csv")
    ('s3://...@bucket/a.csv', 's3://bucket/part-?.csv')
    """
    if len(links := _NEXT.split(text)) > 1:
        return "::".join(map(without_secrets, links))
    if (address := _ADDRESS.fullmatch(text)) is None:
        return text
    scheme, rest = address.groups()
    is_web = scheme.lower() in ("http", "https")
    start, mark, query = rest.partition("?")
    more = ""
    if mark and (is_web or "=" in query):  # elsewhere it may be a sign of a pattern
        rest, more = start, "?..."
    if is_web:
        rest, mark, _ = rest.partition("#")[0].partition(";")
        more = "?..." if mark else more
    host, slash, below = rest.partition("/")
    if "@" in host:
        user, _, host_alone = host.rpartition("@")
        if scheme not in _CONTAINERS or ":" in user:
            host = f"...@{host_alone}"
    elif ":" in host and not _PORT.fullmatch(host):
        # A password with a slash: the host stands behind the last @.
        _, at, below = below.rpartition("@")
        host, slash = ("...@", "") if at else ("...", slash)
    return f"{scheme}://{host}{slash}{below}{more}"


def can_name_a_file(text: str) -> bool:
    """Return whether ``text`` can be a part of the name of a file, on any system.

    >>> can_name_a_file("clinic A"), can_name_a_file("../clinic"), can_name_a_file("a" * 61)
    (True, False, False)
    """
    is_plain = _FILE_NAME.fullmatch(text) is not None and text == text.strip()
    return is_plain and unreadable(text) is None


def file_name_key(text: str) -> str:
    """Return a text that is equal for names which some systems take for one file.

    Case is ignored there, and so is the way in which a letter is composed.

    >>> file_name_key("North") == file_name_key("NORTH")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def unreadable(text: str) -> str | None:
    """Return the first character of ``text`` that screens cannot show, in words for a message.

    >>> unreadable("<b>plain</b>"), unreadable("a\\x1b[2J")
    (None, 'the control character U+001B')
    """
    match = _UNREADABLE.search(text)
    if match is None:
        return None
    point = ord(match[0])
    if point < 0xA0:
        sort = "control character"
    elif 0xD800 <= point < 0xE000:
        sort = "surrogate"
    elif point >= 0xFDD0:
        sort = "noncharacter"
    else:
        sort = "line separator" if point in (0x2028, 0x2029) else "direction mark"
    return f"the {sort} U+{point:04X}"


def look(text: str) -> str:
    """Return a text that is equal for texts which a reader takes for one.

    Case, blanks, the way in which a letter is composed, and characters without width are ignored.

    >>> look("e\\u0301 \ufb01 ") == look("\u00c9  fi"), look("Ma\u00dfe") == look("Masse")
    (True, False)
    """
    if not text.isascii():
        composed = unicodedata.normalize("NFKC", _NO_WIDTH.sub("", text))
        # No casefold: it would take Masse for Ma\u00dfe. A sigma may end a word.
        text = unicodedata.normalize("NFKC", composed.lower().replace("\u03c2", "\u03c3"))
    return " ".join(text.lower().split())


def alike(texts: Iterable[str]) -> str | None:
    """Return two texts that a reader takes for one, by their escapes; None where there are none.

    >>> alike(["no", "yes", "Yes "]), alike(["a", "\u00e4"])
    ("'yes' and 'Yes '", None)
    """
    seen: dict[str, str] = {}
    for text in texts:
        other = seen.setdefault(look(text), text)
        if other != text:
            return f"{other!a} and {text!a}"
    return None


def visible(text: str) -> str:
    """Return ``text`` with escapes for the characters that screens cannot show; line ends stay.

    >>> visible("a\\x1b[2J\\n")
    'a\\\\x1b[2J\\n'
    """
    return _UNREADABLE.sub(
        lambda match: match[0] if match[0] == "\n" else match[0].encode("unicode_escape").decode(),
        text,
    )


def in_one_line(text: str) -> str:
    """Return ``text`` with escapes for line ends too; names of files may have them.

    >>> in_one_line("a\\nb.csv")
    'a\\\\nb.csv'
    """
    return visible(text).replace("\n", "\\n")


def nearest(written: str, words: Iterable[str], least: float = 0.6) -> str | None:
    """The known word that is nearest to a written one, in any case; None where none is near.

    ``least``: the similarity from which on a word is near, from 0 to 1 of equal words.

    >>> nearest("randomizedresponse", ["LocalHashing", "RandomizedResponse"])
    'RandomizedResponse'
    """
    as_known = {word.casefold(): word for word in words}
    near = get_close_matches(written.casefold(), as_known, 1, least)
    return as_known[near[0]] if near else None


def meant(written: str, words: Iterable[str]) -> str | None:
    """The remedy that names the nearest known word; None where none is near.

    >>> meant("mechnism", ["mechanism", "epsilon"])
    "Is 'mechanism' meant?"
    """
    near = nearest(written, words)
    return None if near is None else f"Is {near!r} meant?"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(0.34), duration(12.0), duration(185.0)
    ('0.3 s', '12 s', '3.1 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def series(words: Sequence[str], last: str) -> str:
    """Words with a word such as "or" before the last of them.

    >>> series(["a", "b", "c"], "or"), series(["a"], "and")
    ('a, b or c', 'a')
    """
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# -----------------------------------------------------------------------------------------------
# Numbers as a report writes them: with as many digits as their intervals warrant.


def decimals_of_percent(widths: Iterable[float]) -> int:
    """The decimals of percentages, from the widths of their intervals as shares.

    The same in tables, sentences and pages, which people compare. An interval of 20 points needs
    no decimals: rounded outwards it grows by at most a tenth.

    >>> decimals_of_percent([0.2, 0.3]), decimals_of_percent([0.004]), decimals_of_percent([1e-9])
    (0, 1, 3)
    """
    least = min((width for width in widths if width > 0), default=1.0)
    return 0 if least >= 0.2 else 1 if least >= 0.002 else 2 if least >= 0.0002 else 3


def percent(share: float, decimals: int) -> str:
    """A share in percent, with a space before the sign that no line ends at.

    >>> percent(0.4987, 0) == "50\N{NO-BREAK SPACE}%"
    True
    """
    return f"{number(100 * share, decimals)}\N{NO-BREAK SPACE}%"


def percent_interval(low: float, high: float, decimals: int) -> str:
    """An interval of a share, rounded outwards so that it stays at least as wide.

    >>> percent_interval(0.4438, 0.5615, 0) == "44 to 57\N{NO-BREAK SPACE}%"
    True
    """
    down, up = (number(100 * end, decimals) for end in outwards(low, high, decimals + 2))
    return f"{down} to {up}\N{NO-BREAK SPACE}%"


_MOST_BESIDE_0 = 6


def outwards(low: float, high: float, decimals: int) -> tuple[float, float]:
    """The ends of an interval in some decimals, so that it stays at least as wide.

    >>> outwards(-0.1234, 0.5678, 2)
    (-0.13, 0.57)
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return low, high
    unit = 10**decimals
    return math.floor(low * unit + 1e-7) / unit, math.ceil(high * unit - 1e-7) / unit


def decimals_beside_0(low: float, high: float, decimals: int) -> int:
    """As many decimals as an interval needs that leaves out 0, so that it is written without 0.

    >>> decimals_beside_0(-1.239, -0.078, 1), decimals_beside_0(-1.2, 0.0, 1)
    (2, 1)
    """
    while decimals < _MOST_BESIDE_0 and (low > 0 or high < 0):
        down, up = outwards(low, high, decimals)
        if down > 0 or up < 0:
            break
        decimals += 1
    return decimals


def decimals_of_number(width: float) -> int:
    """The decimals of a number, from the width of its interval: two digits of the width.

    >>> decimals_of_number(4.38), decimals_of_number(0.05), decimals_of_number(1234.0)
    (1, 3, 0)
    """
    if not (math.isfinite(width) and width > 0):
        return 2
    return min(max(1 - math.floor(math.log10(width)), 0), 6)


def number(value: float, decimals: int) -> str:
    """A number with a decimal point and marks of thousands; halves are rounded up, as in Excel.

    >>> number(1234.567, 1), number(-0.001, 1), number(14.5, 0), number(100 * 0.145, 0)
    ('1,234.6', '0.0', '15', '15')
    >>> number(10**15, 0)
    '1,000,000,000,000,000'
    """
    # Format rounds a half to the even digit, and 100 * 0.145 is a little below 14.5. A whole number
    # has no half, and a large one would become another.
    to_round = value if value % 1 == 0 else value * (1 + _NEXT_TO_A_HALF)
    shown = f"{to_round:,.{decimals}f}"
    return shown.removeprefix("-") if float(shown.replace(",", "")) == 0 else shown


def magnitude(n: int) -> str:
    """A whole number of any size, in three digits.

    >>> magnitude(12), magnitude(2**30), magnitude(2**10_000)
    ('12', '1.07e+9', '2.00e+3010')
    """
    return f"{Decimal(n):.3g}"


def at_most(value: float, digits: int = 3) -> str:
    """A number rounded up to some digits, for claims of the form "at most".

    >>> at_most(2.71828), at_most(8103.08), at_most(22026.5), at_most(1.0)
    ('2.72', '8,110', '22,100', '1')
    >>> at_most(math.inf), at_most(1.2e9), at_most(1.01e-6)
    ('infinitely many', '1.2e+09', '1.1e-06')
    """
    if math.isinf(value):
        return "infinitely many"
    if value >= 1e7 or 0 < value < 1e-3:
        exponent = math.floor(math.log10(value))
        up = math.ceil(value / 10.0 ** (exponent - 1) - 1e-9) * 10.0 ** (exponent - 1)
        return f"{up:.1e}"
    exponent = math.floor(math.log10(value)) if value > 0 else 0
    unit = 10.0 ** (digits - 1 - exponent)
    up = math.ceil(value * unit - 1e-9) / unit
    return f"{up:,.{max(digits - 1 - exponent, 0)}f}".removesuffix(".00")


def lead(heading: str) -> str:
    """A heading before a sentence.

    >>> lead("Do you smoke?"), lead("smokes")
    ('Do you smoke?', 'smokes:')
    """
    return heading if heading[-1:] in "?.!:" else f"{heading}:"


def of_hundred(share: float) -> str:
    """A share as a number of 100 people, with decimals only near 0 and 100.

    >>> of_hundred(0.7311), of_hundred(0.004), of_hundred(0.9991), of_hundred(1.0)
    ('73', '0.4', '99.91', '100')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}"
    away = 100 * min(share, 1 - share)
    decimals = 0 if away >= 1 else min(1 + math.floor(-math.log10(away)), 9)
    return f"{100 * share:.{decimals}f}"


def split_of_hundred(shares: Sequence[Fraction]) -> list[str]:
    """Shares with the sum 1 as numbers of 100 people, whole numbers of which make up 100.

    The largest remainders are rounded up, and of equal ones the smaller shares. Shares below one in
    100 have decimals, and are left out of the sum. Where equal shares would get unequal numbers,
    all are rounded by themselves.

    >>> split_of_hundred([Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)])
    ['66', '17', '17']
    >>> split_of_hundred([Fraction(1, 12), Fraction(1, 12), Fraction(5, 6)])
    ['about 8', 'about 8', 'about 83']
    """
    out = [of_hundred(float(share)) for share in shares]
    large = [i for i, share in enumerate(shares) if share >= Fraction(1, 100)]
    if len(large) > 1:
        whole = {i: int(100 * shares[i]) for i in large}
        left = round(100 * sum(shares[i] for i in large)) - sum(whole.values())
        for i in sorted(large, key=lambda i: (whole[i] - 100 * shares[i], shares[i]))[:left]:
            whole[i] += 1
        if len({(shares[i], whole[i]) for i in large}) > len({shares[i] for i in large}):
            return [text if text == "0" else f"about {text}" for text in out]
        for i in large:
            out[i] = str(whole[i])
    return out
