-- CUMULATE and the offset of Flink, its sessions by key, and windows as RisingWave writes them.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT 'cumulate' AS name, window_start, window_end, count(*) AS n
FROM TABLE(CUMULATE(TABLE events, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '3' MINUTES)) GROUP BY window_start, window_end
UNION ALL
SELECT 'offset', window_start, window_end, count(*)
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '2' MINUTES, INTERVAL '-1' MINUTE)) GROUP BY window_start, window_end
UNION ALL
SELECT 'session', window_start, window_end, count(*)
FROM TABLE(SESSION(TABLE events PARTITION BY key, DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, key
UNION ALL
SELECT 'hop', window_start, window_end, count(*)
FROM HOP(events, at, INTERVAL '1 minute', INTERVAL '2 minutes') GROUP BY window_start, window_end;
