-- Rows that change cannot go where they could not be taken back.
--: error sql.updating 11:13 the rows are changed afterwards, and the sink cannot take changes
--: error sql.updating 12:13 the rows are changed afterwards, and the sink cannot take changes
--: error sql.updating 14:13 the rows are changed afterwards, and the sink cannot take changes
--: error sql.updating 15:13 the rows are changed afterwards, and the sink cannot take changes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE plain WITH (connector = 'single_file', path = '/plain.json', format = 'json', type = 'sink');
CREATE TABLE typed (n BIGINT) WITH (connector = 'stdout', format = 'json');
CREATE TABLE pipe (key TEXT, n BIGINT);
INSERT INTO plain SELECT DISTINCT key FROM events;
INSERT INTO typed SELECT count(*) FROM events;
INSERT INTO pipe SELECT key, count(*) FROM events GROUP BY key;
INSERT INTO plain SELECT key FROM pipe;
INSERT INTO plain SELECT key FROM events UNION SELECT key FROM events;
