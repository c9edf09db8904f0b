"""Posterior means under a prior that is learnt from the reports."""
