-- By the call, by number, by alias, and by calling it in the SELECT list again.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble('1 minute') AS w, count(*) AS n FROM events GROUP BY tumble(INTERVAL '60 seconds');
SELECT key, tumble('1 minute') AS w, count(*) AS n FROM events GROUP BY 2, 1;
SELECT tumble('1 minute').start AS s, count(*) AS n FROM events GROUP BY tumble('1 minute');
SELECT count(*) AS n FROM events GROUP BY tumble('1 minute');
SELECT tumble('1 minute') AS w FROM events GROUP BY w;
