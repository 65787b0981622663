"""From text to the parser's tree, with places that a reader can find again."""
