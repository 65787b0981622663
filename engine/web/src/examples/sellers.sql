-- Who has put something up for auction, and from where: two streams joined within windows of ten seconds.
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 500);

CREATE TABLE sellers (closed_at TIMESTAMP, seller BIGINT, name TEXT, city TEXT, item TEXT) WITH (connector = 'preview');

INSERT INTO sellers
SELECT a.window.end, a.seller, p.name, p.city, a.item
FROM (
  SELECT tumble(INTERVAL '10 seconds') AS window, auction.seller AS seller, auction.item_name AS item
  FROM nexmark WHERE auction IS NOT NULL
  GROUP BY window, auction.seller, auction.item_name
) a
JOIN (
  SELECT tumble(INTERVAL '10 seconds') AS window, person.id AS id, person.name AS name, person.city AS city
  FROM nexmark WHERE person IS NOT NULL
  GROUP BY window, person.id, person.name, person.city
) p
ON a.window = p.window AND a.seller = p.id;
