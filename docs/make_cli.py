"""Write docs/cli.md from the commands' own help, so that the two cannot differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from warner.app.cli import main, whole_commands

HEAD = "# The command line\n\nMade from `warner COMMAND --help` by `make docs`.\n"


def manual() -> str:
    """The help of every command, in one page."""
    pages = [
        HEAD,
        *(_page(name, command) for name, command in _commands()),
    ]
    return "\n".join(pages)


def _commands() -> Iterator[tuple[str, click.Command]]:
    """All commands with their names; those of a group follow the group."""
    yield "", main
    for name, command in whole_commands().items():
        yield name, command
        if isinstance(command, click.Group):
            for own, inner in sorted(command.commands.items()):
                yield f"{name} {own}", inner


def _page(name: str, command: click.Command) -> str:
    title = f"warner {name}".strip()
    context = click.Context(
        command,
        info_name=title,
        terminal_width=110,
        max_content_width=110,
        help_option_names=["-h", "--help"],
    )
    return f"## {title}\n\n```\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(manual())
