"""Tell those who wait that a pipeline has changed."""
