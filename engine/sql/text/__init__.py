"""Parse text to the parser's tree, with positions."""
