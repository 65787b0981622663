"""Who is let in: named tokens, and sessions of browsers."""
