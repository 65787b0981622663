-- Bids above a price, in dollars instead of cents, row by row.
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 200);

CREATE TABLE expensive (
  at TIMESTAMP, auction BIGINT, bidder BIGINT, dollars DOUBLE, channel TEXT
) WITH (connector = 'preview', rows = 200);

INSERT INTO expensive
SELECT bid.datetime, bid.auction, bid.bidder, bid.price / 100.0, upper(bid.channel)
FROM nexmark
WHERE bid.price > 1000000;
