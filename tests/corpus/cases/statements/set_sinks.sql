-- A script that writes nowhere, wherever it says so.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE kept (key TEXT) WITH (connector = 'single_file', path = '/out/kept.json', format = 'json', type = 'sink');
INSERT INTO kept SELECT key FROM events;
SET sinks = 'preview';
