"""The papers that mechanisms, estimators and intervals come from: one list, ``references.bib``.

``docs/references.md`` is made from it, and so is the BibTeX of mechanisms and of estimators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

PAPERS = ("P1", "P2", "P3", "P4", "P5")  # on which the package is built, as docstrings name them
_FIELDS = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}
_ENTRY = re.compile(r"@(\w+)\{([\w-]+),\n((?:  \w+ = \{.*\},\n)+)\}")
_FIELD = re.compile(r"  (\w+) = \{(.*)\},")
_HEADING = "keywords"  # of the list of references under which an entry stands


@dataclass(frozen=True)
class Reference:
    """A paper, book, data set or program: the type of its BibTeX entry, and unbraced fields."""

    kind: str
    fields: dict[str, str]

    @property
    def authors(self) -> list[str]:
        """The authors as they are printed."""
        return self.fields["author"].split(" and ")

    @property
    def title(self) -> str:
        """The title."""
        return self.fields["title"].strip("{}")

    @property
    def venue(self) -> str:
        """The journal, the conference or the publisher; empty where it is not known."""
        return self.fields.get(_FIELDS.get(self.kind, "howpublished"), "")

    @property
    def year(self) -> int | None:
        """The year of the publication; None where the source states none."""
        return int(self.fields["year"]) if "year" in self.fields else None

    @property
    def heading(self) -> str:
        """The heading in the list of references."""
        return self.fields.get(_HEADING, "")

    def line(self) -> str:
        """The reference as a line of a list."""
        number = f"({self.fields['number']})" if "number" in self.fields else ""
        volume = f" {self.fields.get('volume', '')}{number}".rstrip()
        pages = self.fields.get("pages", "").replace("--", "-")
        between = (":" if volume else ", pages ") if pages else ""
        where = f"{self.venue}{volume}{between}{pages}"
        venue = ", ".join(filter(None, [where, str(self.year or "")]))
        parts = filter(None, [", ".join(self.authors), self.title, venue])
        return ". ".join(parts).replace("\\&", "&") + "."

    def bibtex(self, key: str) -> str:
        """The reference as a BibTeX entry."""
        shown = {name: value for name, value in self.fields.items() if name != _HEADING}
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in shown.items())
        return f"@{self.kind}{{{key},\n{body}}}"


# How to cite the package itself; CITATION.cff says the same.
SOFTWARE = Reference(
    "software",
    {
        "author": "The warner developers",
        "title": "{warner: learn the distribution of sensitive answers without collecting them}",
        "howpublished": "version 0.1.0",
    },
)


@cache
def references() -> dict[str, Reference]:
    """All references by their keys, in the order of the file."""
    text = resources.files(__package__).joinpath("references.bib").read_text(encoding="utf-8")
    return {
        key: Reference(kind, dict(_FIELD.findall(body))) for kind, key, body in _ENTRY.findall(text)
    }


def bibtex_of(keys: Iterable[str], on: Mapping[str, Sequence[str]] | None = None) -> str:
    """The BibTeX entries of references, each once, and that of the package itself.

    A reference may be a key of the package or a whole entry, of which no other has the key: a paper
    of the package that such an entry names too is left out, and another one gets an x.

    ``on`` is {key: what the reference is on}, which stands as a comment above its entry.

    >>> print(bibtex_of(["warner1965"]))
    @article{warner1965,
      author = {S. L. Warner},
      title = {{Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias}},
      journal = {Journal of the American Statistical Association},
      volume = {60},
      number = {309},
      pages = {63--69},
      year = {1965},
    }
    <BLANKLINE>
    @software{warner,
      author = {The warner developers},
      title = {{warner: learn the distribution of sensitive answers without collecting them}},
      howpublished = {version 0.1.0},
    }
    """
    entries = []
    different = list(dict.fromkeys(keys))
    whole_entries = {_own_key(text).casefold(): text for text in different if _own_key(text)}
    for key in different:
        comment = f"% On {', '.join(on[key])}:\n" if on and key in on else ""
        entry = key.strip() if _own_key(key) else _entry(key, whole_entries)
        if entry:
            entries.append(comment + entry)
    return "\n\n".join([*entries, SOFTWARE.bibtex("warner")])


def _letters(text: str) -> str:
    """A title without what editors write differently."""
    return re.sub(r"\W", "", text).casefold()


def _own_key(text: str) -> str:
    """The key of a whole BibTeX entry; "" for a key of the package."""
    entry = re.match(r"\s*@\w+\s*[{(]\s*([^,\s]*)", text)
    return entry[1] if entry else ""


def _entry(key: str, whole_entries: Mapping[str, str]) -> str:
    """The BibTeX entry of a reference; the papers of docstrings are named after their authors.

    "" where it is one of the whole entries, by their keys.
    """
    reference = references()[key]
    if key in PAPERS:
        author = reference.authors[0].rpartition(" ")[2].lower()
        key = f"{author}{reference.year or ''}"
    title, renamed = _letters(reference.title), ""
    while key.casefold() in whole_entries:
        if title in _letters(whole_entries[key.casefold()]):
            return ""
        renamed = f"% Not {key}, which is the key of another entry:\n"
        key += "x"
    return renamed + reference.bibtex(key)
