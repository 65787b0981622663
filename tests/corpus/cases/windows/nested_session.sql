-- The window of a session is carried on.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT w, max(n) AS most FROM (SELECT session('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key) GROUP BY w;
