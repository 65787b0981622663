-- Patterns, rows of values and arrays that cannot be compared.
--: error sql.function_arguments 20:8 the pattern of LIKE ... ESCAPE must be a constant text
--: error sql.function_arguments 21:8 ESCAPE takes a single character
--: error sql.function_arguments 22:8 the pattern ends with its escape character
--: error sql.function_arguments 23:8 pattern '(a' is not valid
--: error sql.function_arguments 24:8 the pattern ends with its escape character
--: error sql.column_count 25:8 a row of 2 values cannot be compared with one of 3
--: error sql.column_count 26:8 a row of 2 values cannot be compared with one of 1
--: error sql.type_mismatch 27:8 'b' is not a BIGINT
--: error sql.unsupported 28:8 (key, value) is not supported here
--: error sql.unsupported 29:16 ANY(ARRAY[1, 2]) is not supported here
--: error sql.unsupported 30:16 ALL (SELECT value FROM events) is not supported here
--: error sql.unsupported 31:8 ALL takes an array literal
--: error sql.function_arguments 32:8 array_has does not take (BIGINT, BIGINT)
--: error sql.unsupported 33:18 ANY with a sub-query is not supported here
--: error sql.unknown_type 34:8 type 'TIMESTAMP(4)' is not supported
--: error sql.unknown_column 35:8 there is no column 'nothing' here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT key LIKE key ESCAPE '!' FROM events;
SELECT key LIKE 'a' ESCAPE 'ab' FROM events;
SELECT key LIKE 'a!' ESCAPE '!' FROM events;
SELECT key SIMILAR TO '(a' FROM events;
SELECT key SIMILAR TO 'a\' FROM events;
SELECT (key, value) = ('a', 1, 2) FROM events;
SELECT (key, value) = 1 FROM events;
SELECT (key, value) < ('a', 'b') FROM events;
SELECT (key, value) FROM events;
SELECT value > ANY([1, 2]) FROM events;
SELECT value > ALL (SELECT value FROM events) FROM events;
SELECT value <> ALL(make_array(value)) FROM events;
SELECT value = ANY(value) FROM events;
SELECT active = (value = ANY(SELECT value FROM events)) FROM events;
SELECT at::TIMESTAMP(4) FROM events;
SELECT * EXCEPT (nothing) FROM events;
