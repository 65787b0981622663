-- Arguments that can never be right are refused, and row_time has to be inside an aggregate or grouped by.
--: error sql.function_arguments 17:8 argument 2 of to_char cannot be '%Q'
--: error sql.function_arguments 18:8 argument 2 of arrow_cast cannot be 'Int31'
--: error sql.function_arguments 19:8 argument 2 of arrow_cast must be a constant
--: error sql.function_arguments 20:8 'crc32' is not a valid argument of digest
--: error sql.bad_duration 21:13 '1 month' has no fixed length
--: error sql.function_arguments 22:8 an interval of months cannot be added to a value of type BIGINT
--: error sql.bad_duration 23:13 '1.5 months' has no fixed length
--: error sql.bad_duration 24:13 '1 month x' has no fixed length
--: error sql.function_arguments 25:8 random does not take (BIGINT)
--: error sql.not_grouped 26:8 row_time() is neither in GROUP BY nor inside an aggregate
--: error sql.unknown_column 27:39 there is no column 'e' here
--: error sql.function_arguments 28:8 argument 2 of to_char cannot be 'yyyy-MM-dd HH:mm'
--: error sql.function_arguments 29:8 argument 2 of to_timestamp cannot be 'yyyy-MM-dd'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT to_char(at, '%Q') FROM events;
SELECT arrow_cast(value, 'Int31') FROM events;
SELECT arrow_cast(value, key) FROM events;
SELECT digest(key, 'crc32') FROM events;
SELECT at * INTERVAL '1 month' FROM events;
SELECT value + INTERVAL '1 month' FROM events;
SELECT at + INTERVAL '1.5 months' FROM events;
SELECT at + INTERVAL '1 month x' FROM events;
SELECT random(3) FROM events;
SELECT row_time(), count(*) FROM events GROUP BY tumble('1 minute');
SELECT current_date FROM events WHERE e.current_time > 1;
SELECT date_format(at, 'yyyy-MM-dd HH:mm') FROM events;
SELECT to_timestamp(key, 'yyyy-MM-dd') FROM events;
