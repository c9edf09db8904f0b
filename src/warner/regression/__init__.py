"""Regression of a hidden answer on public covariates."""
