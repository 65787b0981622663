-- What a join of versions cannot be.
--: error sql.event_time 13:36 FOR SYSTEM_TIME AS OF takes the event time of the rows before it
--: error sql.join 14:36 versions are those of a primary key, by which they are joined
--: error sql.join 15:42 RIGHT JOIN of versions is not supported
--: error sql.join 16:36 a join of versions needs equalities, and takes no other condition
--: error sql.unsupported 17:26 FOR SYSTEM_TIME AS OF is not supported
--: error sql.updating 18:82 a join of versions needs rows that are not changed afterwards
--: error sql.window_mismatch 19:124 a time window cannot be opened over OVER by event time: its rows come when the watermark has passed them
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE rates (at TIMESTAMP NOT NULL, name TEXT PRIMARY KEY, rate DOUBLE)
WITH (connector = 'single_file', path = '/rates.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT e.key FROM events AS e JOIN rates FOR SYSTEM_TIME AS OF e.value AS r ON e.key = r.name;
SELECT e.key FROM events AS e JOIN rates FOR SYSTEM_TIME AS OF e.at AS r ON e.value = r.rate;
SELECT e.key FROM events AS e RIGHT JOIN rates FOR SYSTEM_TIME AS OF e.at AS r ON e.key = r.name;
SELECT e.key FROM events AS e JOIN rates FOR SYSTEM_TIME AS OF e.at AS r ON e.key = r.name AND e.value > r.rate;
SELECT e.key FROM events FOR SYSTEM_TIME AS OF at AS e;
SELECT e.key FROM (SELECT key, count(*) AS n FROM events GROUP BY key) AS e JOIN rates FOR SYSTEM_TIME AS OF e.n AS r ON e.key = r.name;
SELECT tumble('1 minute'), count(*) FROM events AS e JOIN rates FOR SYSTEM_TIME AS OF e.at AS r ON e.key = r.name GROUP BY 1;
