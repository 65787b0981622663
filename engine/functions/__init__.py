"""One declaration per SQL function; what is not declared here cannot be called."""
