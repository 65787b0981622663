-- Prefixes that are none, and one too many.
--: error sql.sink_prefix 12:19 '../other' is no prefix for what a script writes
--: error sql.sink_prefix 13:19 '' is no prefix for what a script writes
--: error sql.sink_prefix 14:19 sink_prefix is a text, not 5
--: error sql.sink_prefix 16:19 the script is to write under 'february', and under 'january' already
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE kept (key TEXT) WITH (connector = 'single_file', path = '/out/kept.json', format = 'json', type = 'sink');
INSERT INTO kept SELECT key FROM events;
-- as a folder it would be above or beside the place,
-- and as the begin of a topic's name no name at all
SET sink_prefix = '../other';
SET sink_prefix = '';
SET sink_prefix = 5;
SET sink_prefix = 'january';
SET sink_prefix = 'february';
