"""The command line: one module a verb, in folders by subject."""
