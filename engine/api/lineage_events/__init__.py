"""The runs of pipelines as events of OpenLineage: what is to be told, and where it is sent."""
