-- What stands in the list is grouped by or aggregated; without a window there is no end to it.
--: error sql.not_grouped 20:13 column 'value' is neither in GROUP BY nor inside an aggregate
--: error sql.updating 21:8 an aggregate without a time window gives results that change for ever, which is not built yet
--: error sql.updating 22:43 an aggregate without a time window gives results that change for ever, which is not built yet
--: error sql.column_count 23:58 GROUP BY 3 is not the number of a column
--: error sql.type_mismatch 24:64 a condition must be BOOLEAN, not BIGINT
--: error sql.not_grouped 25:64 column 'key' is neither in GROUP BY nor inside an aggregate
--: error sql.unsupported 26:8 * cannot stand beside GROUP BY
--: error sql.function_arguments 27:8 sum does not take (TEXT)
--: error sql.function_arguments 28:8 sum does not take (*)
--: error sql.unsupported 29:12 an aggregate cannot stand inside another one
--: error sql.unsupported 30:8 count(DISTINCT ...) is not built yet
--: error sql.type_mismatch 31:31 a condition must be BOOLEAN, not BIGINT
--: error sql.unsupported 32:8 upper(key) FILTER(WHERE active) is not supported here
--: error sql.unsupported 33:65 ROLLUP (key) is not supported here
--: error sql.unsupported 34:58 the aggregate count is not allowed here
--: error sql.unsupported 35:12 value ORDER BY at is not supported here
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
SELECT count(DISTINCT key) FROM events GROUP BY tumble('1 minute');
SELECT count(*) FILTER (WHERE value) FROM events GROUP BY tumble('1 minute');
SELECT upper(key) FILTER (WHERE active) FROM events GROUP BY tumble('1 minute');
SELECT count(*) FROM events GROUP BY tumble('1 minute'), ROLLUP(key);
SELECT count(*) FROM events GROUP BY tumble('1 minute'), count(*);
SELECT max(value ORDER BY at) FROM events GROUP BY tumble('1 minute');
