"""JSON, one object per record."""
