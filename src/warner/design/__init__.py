"""Decisions before and around a survey: theory, plans, audits, comparisons."""
