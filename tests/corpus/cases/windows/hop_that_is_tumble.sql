-- A hop that slides by its width is a tumble.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT hop('1 minute', INTERVAL '60' SECOND) AS w, count(*) AS n FROM events GROUP BY w;
