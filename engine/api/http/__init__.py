"""What every endpoint stands on: authentication, bodies, query parameters, problems."""
