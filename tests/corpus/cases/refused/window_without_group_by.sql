-- A window groups.
--: error sql.not_grouped 6:8 column 'key' is neither in GROUP BY nor inside an aggregate
--: error sql.window_context 6:13 can't call a windowing function without grouping by it in an aggregate
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, tumble(INTERVAL '1 minute') AS w FROM events;
