"""What should be, what is, what to do next. No HTTP, SQL or Spark here."""
