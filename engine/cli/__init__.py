"""The command line: one module per verb, in folders by subject."""
