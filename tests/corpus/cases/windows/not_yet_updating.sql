-- An aggregate without a window.
--: notimpl results that change are for the issue of updating queries
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, count(*) FROM events GROUP BY key;
