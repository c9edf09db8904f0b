"""Methods of the literature that stop, smooth or correct expectation maximisation."""
