-- What stands in the list is grouped by or aggregated.
--: error sql.not_grouped 15:13 column 'value' is neither in GROUP BY nor inside an aggregate
--: error sql.column_count 18:58 GROUP BY 3 is not the number of a column
--: error sql.type_mismatch 19:64 a condition must be BOOLEAN, not BIGINT
--: error sql.not_grouped 20:64 column 'key' is neither in GROUP BY nor inside an aggregate
--: error sql.unsupported 21:8 * cannot be used with GROUP BY
--: error sql.function_arguments 22:8 sum does not take (TEXT)
--: error sql.function_arguments 23:8 sum does not take (*)
--: error sql.unsupported 24:12 an aggregate cannot stand inside another one
--: error sql.type_mismatch 25:31 a condition must be BOOLEAN, not BIGINT
--: error sql.unsupported 26:8 upper(key) FILTER(WHERE active) is not supported here
--: error sql.unsupported 28:58 aggregate count is not allowed here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, value, count(*) FROM events GROUP BY tumble('1 minute'), key;
SELECT count(*) FROM events;
SELECT key, count(*) FROM events GROUP BY key;
SELECT count(*) FROM events GROUP BY tumble('1 minute'), 3;
SELECT count(*) FROM events GROUP BY tumble('1 minute') HAVING count(*);
SELECT count(*) FROM events GROUP BY tumble('1 minute') HAVING key = 'a';
SELECT * FROM events GROUP BY tumble('1 minute');
SELECT sum(key) FROM events GROUP BY tumble('1 minute');
SELECT sum(*) FROM events GROUP BY tumble('1 minute');
SELECT sum(sum(value)) FROM events GROUP BY tumble('1 minute');
SELECT count(*) FILTER (WHERE value) FROM events GROUP BY tumble('1 minute');
SELECT upper(key) FILTER (WHERE active) FROM events GROUP BY tumble('1 minute');
SELECT count(*) FROM events GROUP BY tumble('1 minute'), ROLLUP(key);
SELECT count(*) FROM events GROUP BY tumble('1 minute'), count(*);
