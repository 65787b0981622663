"""Tables, connections and functions that are kept for all scripts: how one is said in SQL, and who names it."""
