"""The gate at random moments: what a reader sees who goes by `complete_until`, in every shape of query."""
