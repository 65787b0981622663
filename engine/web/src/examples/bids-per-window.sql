-- How many bids each auction gets, in windows of five seconds.
-- The rows are shown on the page of the pipeline, below Output.
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 500);

CREATE TABLE bids_per_window (
  closed_at TIMESTAMP, auction BIGINT, bids BIGINT, highest BIGINT
) WITH (connector = 'preview');

INSERT INTO bids_per_window
SELECT window.end, auction, bids, highest
FROM (
  SELECT
    tumble(INTERVAL '5 seconds') AS window,
    bid.auction AS auction,
    count(*) AS bids,
    max(bid.price) AS highest
  FROM nexmark
  WHERE bid IS NOT NULL
  GROUP BY window, bid.auction
);
