import{C as e,D as t,_ as n,g as r,h as i,m as a,t as o,w as s,x as c}from"./index-CoifcMdr.js";import{n as l,r as u,t as d}from"./script-D5OyLFgQ.js";import{t as f}from"./action-dialog-CSJXI5wA.js";var p=[{name:`bids-per-window`,about:`Bids per auction in windows`,query:`-- How many bids each auction gets, in windows of five seconds.
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
`},{name:`expensive-bids`,about:`Bids above a price, row by row`,query:`-- Bids above a price, in dollars instead of cents, row by row.
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 200);

CREATE TABLE expensive (
  at TIMESTAMP, auction BIGINT, bidder BIGINT, dollars DOUBLE, channel TEXT
) WITH (connector = 'preview', rows = 200);

INSERT INTO expensive
SELECT bid.datetime, bid.auction, bid.bidder, bid.price / 100.0, upper(bid.channel)
FROM nexmark
WHERE bid.price > 1000000;
`},{name:`sellers`,about:`Two streams joined in windows`,query:`-- Who has put something up for auction, and from where: two streams joined within windows of ten seconds.
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
`},{name:`orders-per-minute`,about:`A counter, minute by minute`,query:`-- A counter as if it were orders: how many there are in each minute of event time, which passes quickly here.
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
`}];function m({pipeline:m}){o(m===null?`New pipeline`:`Edit ${m}`);let[h,g]=t({text:``}),[_,v]=t(``),[y,b]=t(m??``),[x,S]=t(null),[C,w]=t(!1),T=u(_),E=y.trim()!==``&&_.trim()!==``&&l(T);function D(e){g({text:e}),v(e)}s(()=>{m!==null&&c(`GET`,`/pipelines/${e(m)}`).then(e=>D(e.query),S)},[m]);let O={name:`Deploy`,title:`Deploy ${y.trim()}`,about:`A pipeline of this name becomes what the script says; without one it is made.`,confirm:`Deploy`,fields:[{name:`parallelism`,label:`Tasks that work side by side; empty leaves them as they are`,kind:`number`,value:``}],change:{before:()=>c(`GET`,`/pipelines/${e(y.trim())}`).then(e=>e.query),after:_},send:({parallelism:t},n,r)=>c(`PUT`,`/pipelines/by-name/${e(y.trim())}`,{body:{query:_,...r,...t?{parallelism:Number(t)}:{}},query:{dry_run:n}})};return n(`div`,{class:`editor`,children:[n(`div`,{class:`tools`,children:[n(`h1`,{children:m===null?`New pipeline`:`Edit`}),n(`label`,{children:[`Name `,n(`input`,{value:y,readOnly:m!==null,maxLength:256,onInput:e=>b(e.currentTarget.value)})]}),m===null&&n(`label`,{children:[`Example`,` `,n(`select`,{value:``,onChange:e=>{let t=p.find(t=>t.name===e.currentTarget.value);t&&(D(t.query),b(t.name),e.currentTarget.value=``)},children:[n(`option`,{value:``,children:`Choose one`}),p.map(e=>n(`option`,{value:e.name,children:e.about},e.name))]})]}),n(`span`,{class:`grow`}),n(`button`,{class:`primary`,disabled:!E,onClick:()=>w(!0),children:`Deploy`})]}),x&&n(r,{error:x}),n(d,{loaded:h,text:_,verdict:T,changed:v,submit:()=>E&&w(!0)}),C&&n(f,{action:O,close:()=>w(!1),done:()=>{w(!1),a(i(y.trim()))}})]})}export{m as Editor};