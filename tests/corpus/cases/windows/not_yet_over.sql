-- The rank within a window.
--: notimpl functions over windowed rows are for a later issue
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT row_number() OVER (PARTITION BY w ORDER BY n) FROM (SELECT tumble('1 minute') AS w, count(*) AS n FROM events GROUP BY w);
