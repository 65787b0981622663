"""Common parts of all endpoints: authentication, bodies, query parameters, problems."""
