"""Write CHANGELOG.md from the fragments in changelog.d, so that the two cannot differ."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
SECTIONS = {"added": "Added", "changed": "Changed", "fixed": "Fixed"}
HEAD = """# Changelog

Made from the fragments in `changelog.d` by `make docs`. Each change that users notice has one.

## 0.1.0, not released yet
"""


def changelog() -> str:
    """All fragments, by kind, the newest first."""
    parts = [HEAD]
    for kind, title in SECTIONS.items():
        fragments = sorted(ROOT.glob(f"changelog.d/*.{kind}.md"), key=_age, reverse=True)
        if fragments:
            parts.append(f"\n### {title}\n")
            parts += [_item(path.read_text()) for path in fragments]
    return "\n".join(parts) + "\n"


def _age(path: Path) -> tuple[int, str]:
    """Numbered fragments by number, after which come those with names."""
    name = path.name.partition(".")[0]
    return (int(name) if name.isdecimal() else 10**6, name)


def _item(text: str) -> str:
    first, *rest = text.strip().splitlines()
    return "\n".join([f"- {first}", *(f"  {line}".rstrip() for line in rest)])


if __name__ == "__main__":
    (ROOT / "CHANGELOG.md").write_text(changelog())
