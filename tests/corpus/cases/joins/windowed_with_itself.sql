-- One relation twice is one branch.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM clicks GROUP BY window, key;
SELECT a.key, b.key AS other FROM e AS a JOIN e AS b ON a.window = b.window AND a.n = b.n;
