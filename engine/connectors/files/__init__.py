"""What connectors that write and read files share: segments, rolls, partitions, targets, rows of a file."""
