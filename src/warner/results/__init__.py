"""Estimates, and what is computed from them: intervals, summaries, tables and charts."""
