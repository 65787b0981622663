"""The kinds of relation a plan is made of, one family a module."""
