"""Reports, which are the columns that leave the device, and tallies, which are their counts."""
