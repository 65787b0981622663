"""What state costs: its size, savepoints of it, another number of tasks for it, another query over it."""
