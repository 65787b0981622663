-- Conditions of outer joins without windows that only Spark could compute for every pair of rows.
--: error sql.join 9:66 this condition is too intricate for a join without windows that is not an inner one
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT e.key, c.page FROM events e LEFT JOIN clicks c ON e.key = c.key AND upper(c.page) > lower(e.key);
INSERT INTO nowhere SELECT e.key, c.page FROM events e LEFT JOIN clicks c ON e.key = c.key AND upper(e.key || c.page) = 'A';
