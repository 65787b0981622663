"""Verbs that plan, rehearse and show upgrades."""
