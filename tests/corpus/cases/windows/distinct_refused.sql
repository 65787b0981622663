-- What cannot be computed of different values.
--: error sql.unsupported 8:8 count(DISTINCT *) is not supported
--: error sql.unsupported 9:52 stddev(DISTINCT ...) cannot be computed in a session, nor beside an aggregate that must see all rows
--: error sql.unsupported 10:74 string_agg(DISTINCT ...) cannot be computed in a session, nor beside an aggregate that must see all rows
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
SELECT count(DISTINCT *) FROM events GROUP BY tumble('1 minute');
SELECT stddev(DISTINCT value) FROM events GROUP BY session('1 minute');
SELECT median(value), string_agg(DISTINCT key, ',') FROM events GROUP BY tumble('1 minute');
