"""A fleet for a day of traffic: which format on which GPU, how many replicas each hour, at what cost."""
