"""Databases for the statement of warner sql; those that are installed apart: make test-sql."""
