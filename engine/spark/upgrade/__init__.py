"""Upgrades: take over, migrate and rehearse the state of another query."""
