"""The commands, by what they do. ``warner.app.cli`` puts them together."""
