"""Programs in the words of OpenLineage: which datasets they read and write, and which columns come from which."""
