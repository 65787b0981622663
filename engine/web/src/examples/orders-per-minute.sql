-- A counter as if it were orders: how many there are in each minute of event time, which passes quickly here.
CREATE TABLE orders WITH (
  connector = 'impulse', event_rate = 1000, event_time_interval = '50 milliseconds'
);

CREATE TABLE per_minute (minute TIMESTAMP, orders BIGINT) WITH (connector = 'preview');

INSERT INTO per_minute
SELECT window.start, orders
FROM (
  SELECT tumble(INTERVAL '1 minute') AS window, count(*) AS orders
  FROM orders
  GROUP BY window
);
