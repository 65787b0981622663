"""Plan nodes to DataFrames, mirroring engine.plan.nodes."""
