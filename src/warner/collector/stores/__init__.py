"""Where the collector keeps counts and spent ids: SQLite or PostgreSQL, behind one protocol."""
