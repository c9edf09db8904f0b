"""The collector over HTTP: the application, what it takes, and what it refuses."""
