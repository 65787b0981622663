"""Plan upgrades, restores, forks and hand-overs, and roll back failed upgrades."""
