-- A list of tables is joined by the equalities of WHERE.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT page FROM events AS e, clicks AS c WHERE e.key = c.key AND value > 1;
