"""Tests on Spark and Sail, which have an environment of their own: make test-spark."""
