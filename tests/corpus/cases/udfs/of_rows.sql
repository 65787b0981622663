-- The user's functions stand wherever an expression may: in one another, in WHERE, beside ours.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT twice(value) AS a, twice(twice(value)) + twice(1) AS b, shout(key, 2) AS c, shout(key) AS d,
       is_nothing(value) AS e, plus(value, 0.5) AS f, later(value) AS g, next_minute(at) AS h
FROM events WHERE starts_with_b(key) IS NOT TRUE;
