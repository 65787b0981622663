-- A window has a fixed length.
--: error sql.bad_duration 5:8 '1 month' has no fixed length
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble(INTERVAL '1 month') AS w, count(*) AS n FROM events GROUP BY w;
