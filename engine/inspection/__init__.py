"""What is in a state or a savepoint, and whether it is whole: read without Spark, and never changed."""
