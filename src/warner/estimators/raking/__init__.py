"""Joint tables that agree with estimates of their margins, by raking.

``tables`` rakes a table to given margins, ``ascent`` takes steps of expectation maximisation along
conjugate directions, ``evidence`` says how much of an interaction the reports support, and
``estimator`` puts these together.
"""
