-- A condition is true or false, of single rows.
--: error sql.type_mismatch 9:30 a condition must be BOOLEAN, not BIGINT
--: error sql.unsupported 10:30 aggregate count is not allowed here
--: error sql.window_context 11:30 window function tumble is not allowed here
--: error sql.unknown_column 12:42 there is no column 'u' here
--: error sql.join 13:30 a join without windows needs an equality of its sides
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events WHERE value;
SELECT key FROM events WHERE count(*) > 1 GROUP BY tumble('1 minute'), key;
SELECT key FROM events WHERE tumble('1 minute');
SELECT upper(key) AS u FROM events WHERE u = 'A';
SELECT key FROM events WHERE EXISTS (SELECT 1 FROM events);
SELECT key FROM events WHERE value = (SELECT max(value) FROM events);
