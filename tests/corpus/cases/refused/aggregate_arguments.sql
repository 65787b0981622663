-- So does an aggregate.
--: error sql.function_arguments 5:42 sum does not take (TEXT)
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble(INTERVAL '1 minute') AS w, sum(key) AS s FROM events GROUP BY w;
