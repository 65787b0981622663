"""Tables of jobs: runs, checkpoints, events, totals."""
