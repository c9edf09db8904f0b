"""Attacks on warner, by code of their own: exact laws, samplers, canaries, forged files, equal
files, times.

    python -m tests.attack [NAME ...] [--minutes M] [--seed S] [--resume FILE]

Every attack is a sequence of cases. A case is a function of the seed and of its number, and can be
run again alone.
"""
