"""The provider against a scripted control plane."""
