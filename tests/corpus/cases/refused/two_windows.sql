-- A query has one window.
--: error sql.window_mismatch 5:72 GROUP BY has two different windows
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT count(*) AS n FROM events GROUP BY tumble(INTERVAL '1 minute'), tumble(INTERVAL '2 minutes');
