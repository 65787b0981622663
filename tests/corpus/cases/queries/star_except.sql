-- A star can leave columns out.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT * EXCEPT (at, "ACTIVE") FROM events;
SELECT e.* EXCLUDE (value), 1 AS one FROM events AS e;
