"""The clients in other languages, see clients/README.md."""
