"""What all attacks share."""

from tests.services import unflushed as unflushed
