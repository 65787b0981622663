-- Arguments that can never be right are refused, and row_time has to be inside an aggregate or grouped by.
--: error sql.function_arguments 11:8 argument 2 of to_char cannot be '%Q'
--: error sql.function_arguments 12:8 argument 2 of arrow_cast cannot be 'Int31'
--: error sql.function_arguments 13:8 argument 2 of arrow_cast must be a constant
--: error sql.function_arguments 14:8 digest does not know 'crc32'
--: error sql.function_arguments 15:8 random does not take (BIGINT)
--: error sql.not_grouped 16:8 row_time() is neither in GROUP BY nor inside an aggregate
--: error sql.unknown_column 17:39 no column 'e' here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT to_char(at, '%Q') FROM events;
SELECT arrow_cast(value, 'Int31') FROM events;
SELECT arrow_cast(value, key) FROM events;
SELECT digest(key, 'crc32') FROM events;
SELECT random(3) FROM events;
SELECT row_time(), count(*) FROM events GROUP BY tumble('1 minute');
SELECT current_date FROM events WHERE e.current_time > 1;
