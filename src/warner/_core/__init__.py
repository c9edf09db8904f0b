"""Foundations: checks, errors, exact arithmetic, random words, files."""
