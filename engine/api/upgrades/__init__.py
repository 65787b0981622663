"""Endpoints of upgrades: plans, rehearsals, rollbacks, reprocessing, hand-overs."""
