"""How tasks reach the control plane."""
