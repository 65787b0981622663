"""The driver process of a run: its life, its work with Spark, its reports to the control plane."""
