"""Cron, savepoint schedules and retention. Pure."""
