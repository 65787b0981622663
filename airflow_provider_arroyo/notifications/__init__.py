"""Telling people what Airflow does not know of a pipeline."""
