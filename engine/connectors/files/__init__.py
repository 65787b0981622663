"""Files in directories and buckets: read, looked up, and written by rolls."""
