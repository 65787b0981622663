"""Plan upgrades, restores, forks and hand-overs, and undo an upgrade that fails."""
