-- Calls that do not fit a function of the user's are refused at their place.
--: error sql.type_mismatch 15:24 'x' is not a BIGINT
--: error sql.function_arguments 16:24 half does not take (BIGINT, BIGINT)
--: error sql.unknown_function 17:24 there is no function 'halve'
--: error sql.unknown_function 18:24 there is no window function 'half'
--: error sql.type_mismatch 19:48 a condition must be BOOLEAN, not DOUBLE
--: error sql.unsupported 20:48 aggregate most is not allowed here
--: error sql.function_arguments 21:24 most does not take (TEXT)
--: error sql.function_arguments 22:24 most does not take (*)
--: error sql.unsupported 23:29 an aggregate cannot stand inside another one
--: error sql.unsupported 24:37 a SELECT list can take apart one array only
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT half('x') FROM events;
INSERT INTO out SELECT half(1, 2) FROM events;
INSERT INTO out SELECT halve(1) FROM events;
INSERT INTO out SELECT half(value) OVER (PARTITION BY key) FROM events;
INSERT INTO out SELECT value FROM events WHERE half(value);
INSERT INTO out SELECT value FROM events WHERE most(value) > 1;
INSERT INTO out SELECT most(key) FROM events GROUP BY tumble('1 minute');
INSERT INTO out SELECT most(*) FROM events GROUP BY tumble('1 minute');
INSERT INTO out SELECT most(most(value)) FROM events GROUP BY tumble('1 minute');
INSERT INTO out SELECT some(value), some(value) FROM events;
