"""Statistics that know nothing of serving: resampling, quantiles, mixtures, and whether a series has settled."""
