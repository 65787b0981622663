"""Plans as frozen values, the rules that rewrite them, and the text that explains them."""
