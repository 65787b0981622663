-- Two windows side by side.
--: notimpl joins are for a later issue
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW t AS SELECT tumble('1 minute') AS w, count(*) AS n FROM events GROUP BY w;
SELECT a.n FROM t AS a JOIN t AS b ON a.w = b.w;
