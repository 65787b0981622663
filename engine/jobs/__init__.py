"""Jobs: desired state, observed state, next action. Does not use HTTP, SQL or Spark."""
