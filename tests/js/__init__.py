"""The browser half, warner.js, run by node."""
