"""Identity of plans: fingerprints, canonical forms, pinned names."""
