"""Endpoints of savepoints: take, restore, move, schedule, retain."""
