-- A Python function over each row. First store it: Connections, New function, with this text:
--
--   from engine.udf import udf
--
--   @udf
--   def shout(text: str) -> str:
--       return text.upper() + "!"
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 50);

CREATE TABLE shouted WITH (connector = 'preview');

INSERT INTO shouted
SELECT bid.auction AS auction, shout(bid.channel) AS channel
FROM nexmark
WHERE bid IS NOT NULL;
