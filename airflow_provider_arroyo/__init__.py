"""Deploy, watch and manage streaming SQL pipelines from Airflow."""

__version__ = "0.1.0"
