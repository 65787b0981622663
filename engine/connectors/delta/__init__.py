"""Delta tables: data files, and the Delta log that lists them."""
