-- USING shows a column once, whichever side has it.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT * FROM events RIGHT JOIN clicks USING (key);
SELECT key, events.key AS own, page FROM events FULL JOIN clicks USING (key);
SELECT page FROM events NATURAL JOIN clicks;
