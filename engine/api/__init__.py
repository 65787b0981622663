"""HTTP interface of the control plane, one resource per module."""
