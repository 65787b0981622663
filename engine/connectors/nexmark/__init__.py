"""The events of the Nexmark benchmark."""
