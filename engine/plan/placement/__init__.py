"""Where each part of a plan is done: in the task of a source, in one task, or by Spark."""
