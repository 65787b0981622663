"""Plans as frozen values, the rules that improve them, and the text that explains them."""
