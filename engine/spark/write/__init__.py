"""Write the rows of an epoch into segments, and pass them to the sinks."""
