"""The control plane's HTTP face, one resource a module."""
