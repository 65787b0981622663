-- An aggregate of the user's before OVER takes no FILTER, and DISTINCT nothing beside it.
--: error sql.over 7:8 joined takes no FILTER before OVER
--: error sql.unsupported 8:85 joined(DISTINCT ...) cannot be computed in a session, nor beside an aggregate that must see all rows
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW counts AS SELECT tumble('1 day') AS w, key, count(*) AS n FROM events GROUP BY w, key;
SELECT joined(key) FILTER (WHERE n > 1) OVER (PARTITION BY w) FROM counts;
SELECT tumble('1 day') AS w, joined(DISTINCT key), joined(key) FROM events GROUP BY w;
