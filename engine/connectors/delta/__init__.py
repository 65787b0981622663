"""Delta tables: files as everywhere, and the log that names them."""
