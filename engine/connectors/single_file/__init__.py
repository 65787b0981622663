"""One file of lines, read or written."""
