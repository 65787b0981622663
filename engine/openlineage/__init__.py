"""Programs in terms of OpenLineage: datasets that they read and write, and column lineage."""
