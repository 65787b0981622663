"""From text to the parser's tree, with positions that a reader can find again."""
