"""`arroyo state`: look into a state or a savepoint."""
