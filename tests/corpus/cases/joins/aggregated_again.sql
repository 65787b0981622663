-- What was joined within a window can be aggregated by it.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM clicks GROUP BY window, key;
SELECT window, sum(other) AS s FROM (SELECT e.window, c.n AS other FROM c RIGHT JOIN e USING (window, key)) GROUP BY window;
SELECT tumble('1 minute') AS w, max(m) AS m FROM (SELECT window, e.n + c.n AS m FROM e JOIN c USING (window, key)) GROUP BY w;
