"""The queries of the Nexmark benchmark over its own source, against the batch answer."""
