"""What a reader holds: estimates, their intervals, summaries, tables and charts."""
