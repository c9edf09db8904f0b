"""Empirical Bayes: posteriors of the shares under a prior learnt from the same reports (METHODS 5).

The K shares are many numbers of one kind. Each has a noisy unbiased estimate. If most shares seem
to be near 0, a single estimate that stands out a little is probably noise. So the estimates
together say what shares look like (the prior), and the prior says what to make of each estimate.

The parts, in the order in which ``EmpiricalBayes`` uses them:

``noise.EstimateNoise``
    The unbiased estimates, moved to sum to one, and the likelihood of each share: binomial counts,
    products of them for several mechanisms, or normal. It chooses the atoms, the shares that the
    prior can have. Without the move each estimate carries a share of the error of the sum.

``neighbours.NeighbourPrediction``
    A second observation of each share, predicted from the other values by the spectrum along their
    order. Without it smooth or periodic distributions lose what neighbours know of each other. The
    data decide whether there is a prediction at all, so labels in no order lose little.

``prior.LearnedPrior``
    The prior: parametric laws, averaged by how well they explain the estimates, and around them a
    Dirichlet process of the values' posteriors. Each value is left out of its own prior.
    Without the parametric laws few or separate values confirm themselves. Without the Dirichlet
    process a distribution unlike every law is shrunk wrongly.

``prior.tilt_to_sum``
    Posteriors tilted until their means sum to one, which is conditioning on the sum to first order.
    Without it one large share passes its noise on to all others.

``small_domain.SmallDomainPosterior``
    Up to 7 values. There is too little to learn a prior from, so it is a fixed mixture of Dirichlet
    laws, and the sum is exact.

``noise.split_large_values``
    Large values that lie far apart keep their estimates, because they say nothing of each other.
    Without it the number of atoms, and the time, grow with the domain.

Two passes may follow, each only where it is worth more reports than it loses:

``estimator._without_collisions``
    For hashing with a small pool of seeds. Values collide in some seeds; the first posterior says
    how much of a count belongs to other values, and that is subtracted.

``estimator._with_whole_reports``
    A report that supports a common value says less of the others that it supports. Support counts
    do not know this. One Newton step of the likelihood of whole reports adds it.

All constants are in ``settings.Settings``, each with its reason. The tests
in ``tests/statistical/estimators/empirical_bayes`` remove parts one by one and show that the method
then errs more.
"""
