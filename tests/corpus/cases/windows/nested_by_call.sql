-- Or by calling the same window again.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT max(n) AS most FROM (SELECT hop('1 minute', '2 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key)
GROUP BY hop('1 minute', '2 minutes');
