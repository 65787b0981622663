-- DISTINCT of rows that carry their window is one of each window, and changes nothing afterwards.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW counts AS SELECT tumble(INTERVAL '1 hour') AS w, key, count(*) AS n FROM events GROUP BY w, key;
SELECT DISTINCT n, w FROM counts;
