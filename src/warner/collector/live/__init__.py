"""The owner's live page: when it shows something new, and what."""
