"""The maximum of the likelihood, with a certificate."""
