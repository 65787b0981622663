-- Rows of two streams meet whenever they come; what is no equality is tested beside.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT events.key, e.page FROM events JOIN clicks AS e ON events.key = e.key AND value > length(e.page) AND e.page <> 'x';
