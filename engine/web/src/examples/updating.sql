-- The number of bids of each auction so far: without a window, each row is updated as bids come.
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 200);

CREATE TABLE bids_so_far WITH (connector = 'preview');

INSERT INTO bids_so_far
SELECT bid.auction AS auction, count(*) AS bids, max(bid.price) AS highest
FROM nexmark
WHERE bid IS NOT NULL
GROUP BY bid.auction;
