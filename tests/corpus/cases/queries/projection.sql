-- Expressions without a name are called by their text; a name that is there already gets a number.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, key, value + 1, upper(key) AS "Upper", e.value, e.* FROM events AS e;
