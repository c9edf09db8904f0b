"""The command line, study files and the demonstration."""
