"""Waits that hold no worker."""
