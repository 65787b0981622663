"""From text to a typed plan. The only package that knows the SQL parser."""
