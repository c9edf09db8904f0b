"""Write docs/names.md from the names of the literature that the package knows."""

from __future__ import annotations

from pathlib import Path

from warner._core.names import FURTHER, LITERATURE, home_of

PAGE = Path(__file__).parent / "names.md"
HEAD = """# Names in the literature

What you know under another name, and what it is called here. Python knows the short names too: `warner.GRR` is
an error that says `warner.RandomizedResponse`. Words for reports, budgets and channels are in the
[glossary](mechanisms.md#glossary), and forms of estimators in [theirs](estimators.md#glossary).

Whole packages: [RRreg](guides/coming_from_rrreg.md), [OpenDP, multi-freq-ldpy and RAPPOR](guides/coming_from_others.md).
"""


def page() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for title, names in LITERATURE.items():
        parts.append(f"\n## {title}\n\n| in the literature | here |\n|---|---|\n")
        for words, here in names.items():
            name, _, options = here.partition(" ")
            call = f"{home_of(name)}.{name}" + f"({options})" * bool(options)
            parts.append(f"| {', '.join(words.split())} | `{call}` |\n")
        here = {word for words in names for word in words.split()}
        parts += [f"\n{word}: {text}\n" for word, text in FURTHER.items() if word in here]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
