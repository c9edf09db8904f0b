"""Foundations that know nothing of privacy: checks, errors, exact arithmetic, sampling, hashing, files."""
