-- A comment is closed.
--: error sql.syntax 3:10 a comment is not closed
SELECT 1 /* FROM events;
