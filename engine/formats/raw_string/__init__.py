"""Raw text: a record is the text of the only column."""
