-- Text that stands for a value of another type must be one.
--: error sql.type_mismatch 8:30 'soon' is not a TIMESTAMP
--: error sql.type_mismatch 9:30 'a' is not a BIGINT
--: error sql.type_mismatch 10:8 '1.5' is not a BIGINT
--: error sql.type_mismatch 10:31 '1,5' is not a DOUBLE
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events WHERE at > 'soon' OR at > '2024-02-30';
SELECT key FROM events WHERE value = 'a' OR active = 'maybe' OR value IN (1, 'x');
SELECT CAST('1.5' AS BIGINT), CAST('1,5' AS DOUBLE), TRY_CAST('x' AS BIGINT), '2024'::TIMESTAMP, ' 12 '::INT FROM events;
