-- Two names for what equal queries share.
--: error sql.hint 8:22 id(second) is the second name of an operator
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE a WITH (connector = 'blackhole');
CREATE TABLE b WITH (connector = 'blackhole');
INSERT INTO a SELECT /*+ id(first) */ tumble('1 minute'), key, count(*) FROM events GROUP BY 1, 2;
INSERT INTO b SELECT /*+ id(second) */ tumble('1 minute'), key, count(*) FROM events GROUP BY 1, 2;
