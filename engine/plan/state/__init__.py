"""What the operators of a plan keep, and in which form."""
