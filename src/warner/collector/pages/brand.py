"""The logo and the colours of the owner on the survey page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from warner._core.atomic_files import read_whole
from warner._core.errors import ArgumentError

_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
_MOST = 50_000  # bytes of a logo: a phone loads the page with it
_LEAST_CONTRAST = 4.5  # of text, WCAG 2.2 level AA
# What stands behind the colour and before it, of survey.css: light, then dark.
_AROUND = (("#ffffff", "#f4f6f8"), ("#1a222b", "#11171d", "#06282b"))
_PALE = (("#ffffff", 0.12), ("#1a222b", 0.25))


def brand_files(logo: str | None, colours: str | None) -> Mapping[str, tuple[bytes, str]]:
    """What a page loads of its owner: ``{name: (content, content type)}``."""
    files = {}
    if logo is not None:
        content, ending = read_whole(logo), Path(logo).suffix.lower()
        if ending not in _TYPES:
            rule = f"must be a picture in one of the formats {', '.join(_TYPES)}"
            raise ArgumentError("--logo", rule, logo, "Save the picture as .png")
        if len(content) > _MOST:
            rule = f"must have at most {_MOST:,} bytes"
            raise ArgumentError("--logo", rule, f"{len(content):,}", "Make the picture smaller")
        files["logo"] = (content, _TYPES[ending])
    if colours is not None:
        light, dark = _checked(colours)
        css = f":root {{ {_rules(light, *_PALE[0])} }}\n"
        css += f"@media (prefers-color-scheme: dark) {{ :root {{ {_rules(dark, *_PALE[1])} }} }}\n"
        files["brand.css"] = (css.encode(), "text/css; charset=utf-8")
    return files


def contrast(one: str, other: str) -> float:
    """The ratio of the luminances of two colours, 1 to 21 (WCAG 2.2).

    >>> contrast("#ffffff", "#000000"), round(contrast("#0b5c63", "#ffffff"), 1)
    (21.0, 7.7)
    """
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _checked(colours: str) -> tuple[str, str]:
    """The two colours, for light and for dark screens."""
    named = [colour.strip().lower() for colour in colours.split(",")]
    right = len(named) == 2 and all(
        len(c) == 7 and c[0] == "#" and set(c[1:]) <= set("0123456789abcdef") for c in named
    )
    if not right:
        remedy = 'For example --colours "#0b5c63,#6fd0d0"'
        rule = "must be two colours of the form #RRGGBB, with a comma between them"
        raise ArgumentError("--colours", rule, colours, remedy)
    for name, colour, around in zip(("first", "second"), named, _AROUND, strict=True):
        least = min(contrast(colour, other) for other in around)
        if least < _LEAST_CONTRAST:
            rule = (
                f"the {name} colour is hard to read: its contrast with the page is {least:.1f}, "
                f"but must be at least {_LEAST_CONTRAST}"
            )
            remedy = f"Choose a {'darker' if name == 'first' else 'lighter'} colour"
            raise ArgumentError("--colours", rule, colour, remedy)
    return named[0], named[1]


def _channels(colour: str) -> list[int]:
    return [int(colour[i:j], 16) for i, j in pairwise((1, 3, 5, 7))]


def _luminance(colour: str) -> float:
    """The relative luminance of a colour, 0 to 1."""
    parts = [c / 255 for c in _channels(colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _rules(colour: str, ground: str, share: float) -> str:
    """The colour, and a pale one of it for what is chosen."""
    both = zip(_channels(colour), _channels(ground), strict=True)
    pale = "".join(f"{round(share * c + (1 - share) * g):02x}" for c, g in both)
    return f"--accent: {colour}; --accent-pale: #{pale};"
