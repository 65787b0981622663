"""Write the rows of an epoch into segments, and hand them to the sinks."""
