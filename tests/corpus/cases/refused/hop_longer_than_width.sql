-- A hop's width is a multiple of its slide.
--: error sql.window_argument 5:8 hop() width 10s currently must be a multiple of slide 7s
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT hop(INTERVAL '7 seconds', INTERVAL '10 seconds') AS w, count(*) AS n FROM events GROUP BY w;
