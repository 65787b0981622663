"""Whether two plans mean the same: fingerprints, meanings, pinned names."""
