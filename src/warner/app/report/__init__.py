"""Reports for readers: what a report says, and how it is written as HTML and as PDF."""
