"""Empirical Bayes: posteriors of the shares under a prior learnt from the same reports (METHODS 5).

The K shares are many numbers of one kind. Each share has a noisy unbiased estimate. If most shares
seem to be near 0, a single estimate a little above the others is probably noise. So the prior, the
law of the shares, is estimated from all estimates together. The prior then corrects each estimate.

The parts, in the order in which ``EmpiricalBayes`` uses them:

``noise.EstimateNoise``
    The unbiased estimates, moved to sum to one, and the likelihood of each share: binomial counts,
    products of them for several mechanisms, or normal. It chooses the atoms, the shares that the
    prior can have. Without the move, each estimate contains a part of the error of the sum.

``neighbours.NeighbourPrediction``
    A second observation of each share, predicted from the other values by the spectrum along their
    order. Without it, smooth or periodic distributions would not use that neighbours are alike. The
    data decide whether there is a prediction at all, so labels in no order lose little.

``prior.LearnedPrior``
    The prior: parametric laws, averaged by how well they explain the estimates, and around them a
    Dirichlet process of the values' posteriors. The prior of a value is fitted without this value.
    Without the parametric laws, values that are few or far apart would serve as their own prior.
    Without the Dirichlet process, a distribution unlike every law would be shrunk wrongly.

``prior.tilt_to_sum``
    Posteriors tilted until their means sum to one, which is conditioning on the sum to first order.
    Without it the noise of one large share would move all others.

``small_domain.SmallDomainPosterior``
    The posterior for up to 7 values. These are too few to learn a prior from. The prior is
    therefore a fixed mixture of Dirichlet laws, and the shares sum to one exactly.

``noise.split_large_values``
    Values with large shares that differ much keep their estimates, because such shares say nothing
    about each other. Without it the number of atoms, and the time, would grow with the domain.

Two passes may follow, each only where it gains more than it loses, measured in reports:

``estimator._without_collisions``
    For hashing with a small pool of seeds, where values collide in some seeds. The first posterior
    gives the expected part of a count that belongs to other values. This part is subtracted.

``whole_reports``
    A report that supports a common value says less about the other values that it supports. Support
    counts do not contain this information. One step of the likelihood of whole reports adds it.

All constants are in ``settings.Settings``, each with its reason. The tests
in ``tests/statistical/estimators/empirical_bayes`` remove parts one by one and show that the method
then errs more.
"""
