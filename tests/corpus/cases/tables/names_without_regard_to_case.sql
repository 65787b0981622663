-- Tables and columns are found without regard to case, and columns keep the case of their declaration or their use.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW Vue AS SELECT Key, VALUE AS "Value" FROM Events;
SELECT KEY, value FROM vUE;
