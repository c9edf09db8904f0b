"""Groups of people: their estimates, differences, tests and weights."""
