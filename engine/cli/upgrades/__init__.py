"""Verbs of upgrades: plan and rehearse."""
