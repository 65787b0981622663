-- CASE with and without a value; NULL takes on the type of the others, and alone it is text.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT
  CASE WHEN value > 1 THEN NULL WHEN active THEN 1.5 ELSE value END AS a,
  CASE key WHEN 'a' THEN 1 WHEN 'b' THEN 2 END AS b,
  CASE WHEN active THEN NULL END AS c
FROM events;
