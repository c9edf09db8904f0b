"""The pages that the collector serves, as HTML."""
