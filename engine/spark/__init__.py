"""Run plans as Spark queries."""
