"""The page of a control plane inside Airflow, passed through Airflow's own server and login."""
