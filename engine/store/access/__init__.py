"""Tokens, sessions, idempotency keys, and the key that seals secrets."""
