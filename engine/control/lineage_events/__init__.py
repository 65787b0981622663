"""OpenLineage events of pipelines' runs: what to emit, and where to send it."""
