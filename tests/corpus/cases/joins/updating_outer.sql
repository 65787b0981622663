-- Without a window, a row of one side alone is taken back when its partner comes.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT l.key, page, r.key AS other FROM events l FULL JOIN clicks r ON upper(l.key) = r.page AND l.at < r.at;
