"""The collector: a survey page, an application that counts reports exactly once, a live page."""
