"""A first study file, from a look at the columns of a file of answers or from questions asked.

Nothing that a person answered reaches the study or a message, unless the caller asks for it.
"""
