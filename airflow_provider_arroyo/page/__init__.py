"""The web UI of a control plane inside Airflow, behind Airflow's own server and login."""
