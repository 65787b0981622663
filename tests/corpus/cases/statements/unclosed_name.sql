-- So is a name in quotes.
--: error sql.syntax 3:15 " is not closed
SELECT 1 FROM "events;
