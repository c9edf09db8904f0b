"""``python -m warner`` is the command line."""

from warner.app.cli import main

main(prog_name="python -m warner")
