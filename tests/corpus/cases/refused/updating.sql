-- An aggregate needs a window.
--: error sql.updating 5:48 an aggregate without a time window gives results that change for ever, which is not built yet
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, count(*) AS n FROM events GROUP BY key;
