"""URLs that are requested at an interval."""
