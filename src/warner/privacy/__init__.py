"""Privacy guarantees, and the exact distributions of reports from which they are computed."""
