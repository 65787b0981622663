-- A table function stands in FROM, beside the rows that it is called for; with a left join they stay without any.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT key, w.text AS text, w.size AS size FROM events, words(key || ' x') AS w WHERE w.size > 1 OR value > 2;
INSERT INTO out SELECT key, (w.word).text, value FROM events LEFT JOIN LATERAL words(key) AS w(word) ON true;
