-- ON need not name the window; rows meet within it all the same.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM clicks GROUP BY window, key;
SELECT e.n, d.n AS other FROM e JOIN (SELECT key, n FROM c) AS d ON e.key = d.key;
