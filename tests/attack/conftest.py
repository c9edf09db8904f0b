"""What all attacks share."""

from tests.services import hurried as hurried
