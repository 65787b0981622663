"""Endpoints of time buckets: consumers, deliveries, pushes to Airflow."""
