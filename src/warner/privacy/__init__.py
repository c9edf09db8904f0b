"""What is guaranteed, and the exact laws of reports that guarantees are computed from."""
