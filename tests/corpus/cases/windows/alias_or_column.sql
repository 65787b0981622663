-- A name in GROUP BY is the input's column before it is an alias; in HAVING as well.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT upper(key) AS key, tumble('1 minute') AS w, count(*) AS value FROM events GROUP BY key, w;
SELECT upper(key) AS k, tumble('1 minute') AS w, count(*) AS n FROM events GROUP BY k, w HAVING n > 1 AND k <> 'A';
