-- The event time may be read out of text in a format, although Spark has no expression for that.
--: rows yes
CREATE TABLE events (at TEXT NOT NULL, value BIGINT,
  seen TIMESTAMP GENERATED ALWAYS AS (to_timestamp(at, '%d.%m.%Y', '%Y-%m-%dT%H:%M:%SZ')) STORED)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'seen');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT to_char(tumble('1 minute').start, '%-H:%M') AS minute, count(*) AS n FROM events GROUP BY tumble('1 minute');
