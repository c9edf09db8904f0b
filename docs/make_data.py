"""Write docs/papers/data.md, the table of the data sets of the experiments, from their declarations."""

from __future__ import annotations

from pathlib import Path

from papers import DATA_SETS, experiments

PAGE = Path(__file__).parent / "papers" / "data.md"
HEAD = """# Data of the experiments

`python -m papers --data FOLDER`, or the variable `WARNER_DATA`, names a folder with these files. Each is CSV
with one header line, compressed by gzip, and is checked against its SHA-256. Their owners allow research and
no more, so the package ships columns of Adult alone. Without the folder, made data of the same shape stand
in, and the results say so.

| file | rows | content | original | used by | SHA-256 |
|---|---|---|---|---|---|
"""


def page() -> str:
    """The page as Markdown."""
    lines = []
    for each in DATA_SETS.values():
        users = [name for name, e in experiments().items() if each.name in e.data]
        papers = ", ".join(dict.fromkeys(name.split("/")[0] for name in users)) or "-"
        lines.append(
            f"| `{each.name}` | {each.rows:,} | {each.holds} | {each.original} | {papers} "
            f"| `{each.sha256}` |"
        )
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
