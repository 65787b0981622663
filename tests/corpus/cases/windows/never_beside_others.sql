-- Windows go on where no row of one sink will pass, and those of another do.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE TABLE nowhere WITH (connector = 'blackhole');
CREATE VIEW w AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
INSERT INTO nowhere SELECT l.key, r.n FROM w AS l JOIN w AS r ON l.window = r.window AND l.key = r.key AND 1 = 2;
INSERT INTO out SELECT l.key, r.n FROM w AS l JOIN w AS r ON l.window = r.window AND l.key <> r.key WHERE 1 = 2;
