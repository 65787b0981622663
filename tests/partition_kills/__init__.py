"""Minutes of event time that close one after the other, while all that has to do with them is killed."""
