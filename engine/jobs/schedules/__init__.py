"""Cron, savepoint schedules and retention; pure."""
