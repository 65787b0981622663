-- Joins go from left to right; parentheses go first.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT c.page, e.value FROM events AS e JOIN clicks AS c ON c.key = e.key LEFT JOIN (SELECT key, max_page FROM (SELECT key, page AS max_page FROM clicks) AS q) AS d ON d.max_page = c.page;
SELECT x.value FROM events AS x JOIN (events AS y JOIN clicks USING (key)) ON x.key = y.key;
