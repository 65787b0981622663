"""What becomes of a pipeline's state when another script takes its place, said before anything is done."""
