"""What all tests of the collector share."""

from tests.services import hurried as hurried
