-- Values that are none, or cannot be held, and what is not read.
--: error sql.type_mismatch 22:8 99999999999999999999 is out of range for BIGINT
--: error sql.type_mismatch 23:8 1e400 is out of range for numbers
--: error sql.function_arguments 24:8 + does not take (TEXT, BIGINT)
--: error sql.unknown_column 25:8 there is no column 'nothing' here
--: error sql.unknown_column 25:17 there is no column 'nowhere' here
--: error sql.unknown_column 26:8 a value of type TEXT has no members, and so no 'x'
--: error sql.unknown_function 27:8 there is no function 'reverse_all'
--: error sql.unknown_function 28:8 there is no function 'uper'
--: error sql.function_arguments 29:8 abs does not take (TEXT, BIGINT)
--: error sql.bad_duration 30:8 '1 month' has no fixed length
--: error sql.bad_duration 31:8 'soon' is not a length of time
--: error sql.type_mismatch 32:8 a value of type BOOLEAN cannot be cast to TIMESTAMP
--: error sql.unsupported 34:24 $1 is not supported here
--: error sql.unsupported 34:28 ? is not supported here
--: error sql.unsupported 35:8 key COLLATE "C" is not supported here
--: error sql.unsupported 35:25 at AT TIME ZONE 'UTC' is not supported here
--: error sql.function_arguments 38:8 'fortnight' is not a valid argument of date_trunc
--: error sql.over 39:8 OVER without a window goes by event time
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT 99999999999999999999 FROM events;
SELECT 1e400 FROM events;
SELECT key + 1 FROM events;
SELECT nothing, nowhere FROM events;
SELECT key.x FROM events;
SELECT reverse_all(key) FROM events;
SELECT uper(key) FROM events;
SELECT abs('a', 1) FROM events;
SELECT INTERVAL '1 month' FROM events;
SELECT INTERVAL 'soon' FROM events;
SELECT CAST(active AS TIMESTAMP) FROM events;
SELECT value BETWEEN SYMMETRIC 2 AND 1 FROM events;
SELECT E'a\nb', X'41', $1, ? FROM events;
SELECT key COLLATE "C", at AT TIME ZONE 'UTC' FROM events;
SELECT key LIKE 'a!%' ESCAPE '!' FROM events;
SELECT row_number() OVER (PARTITION BY key ORDER BY at) FROM events;
SELECT date_trunc('fortnight', at) FROM events;
SELECT sum(value) OVER () FROM events;
