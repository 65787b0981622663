"""Deploy, watch and manage streaming SQL pipelines from Airflow."""

from importlib.metadata import version

__version__ = version("airflow-provider-arroyo")
