"""What leaves the device, and the counts that are kept of it."""
