-- A column beside an aggregate is grouped by.
--: error sql.not_grouped 5:42 column 'key' is neither in GROUP BY nor inside an aggregate
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY w;
