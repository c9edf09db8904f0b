"""Reports and tallies: the columns that leave the device, and the counts that are kept."""
