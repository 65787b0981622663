import{A as e,C as t,D as n,E as r,S as i,T as a,_ as o,g as s,h as c,k as l,m as u,r as d,t as f,v as p,y as m}from"./index-CAchIz1r.js";import{i as h,n as g,t as _}from"./tabs-BAI2y3VA.js";import{n as v,r as y,t as b}from"./script-DNGHA6Be.js";import{t as x}from"./action-dialog-QoCPSBSw.js";var S=[{name:`bids-per-window`,about:`Bids per auction in windows`,query:`-- How many bids each auction gets, in windows of five seconds.
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
`}],C={rows:[],total:0};function w(e=C,{start_id:t,batch:n}){let i=r(n),a=t+i.length,o=a<e.total?C:e,s=i.map((e,n)=>({number:t+n+1,cells:e})).filter(({number:e})=>e>o.total);return{rows:[...o.rows,...s].slice(-500),total:a}}var T=1e3,E=2e3,D={job:null,tables:new Map,isStopping:!1,isOver:!1,error:null},O=class{query;limit;changed;view=D;pipeline=null;upSince=null;isLeft=!1;ending=new AbortController;constructor(e,t,n){this.query=e,this.limit=t,this.changed=n}async play(){try{let{id:e}=await i(`POST`,`/pipelines/preview`,{body:{query:this.query}});if(this.pipeline=e,this.isLeft)return this.end();await Promise.all([this.watch(),this.read()])}catch(e){this.show({error:e})}this.show({isOver:!0}),this.ending.abort()}stop(){this.view.isStopping||this.view.isOver||(this.show({isStopping:!0}),this.end())}leave(){this.isLeft||(this.isLeft=!0,this.ending.abort(),this.end())}end(){this.pipeline===null||k(this.view.job)||i(`PATCH`,`/pipelines/${a(this.pipeline)}`,{body:{stop:`immediate`},keepalive:!0}).catch(()=>this.show({isStopping:!1}))}async watch(){for(;!this.ending.signal.aborted&&!k(this.view.job);)await this.tryAgain(async()=>{let{data:e}=await i(`GET`,`/pipelines/${a(this.pipeline)}/jobs`,{signal:this.ending.signal});e[0]&&this.show({job:e[0],error:null})}),this.mind(),k(this.view.job)||await this.rest(T)}async read(){for(;!this.ending.signal.aborted;){let e=this.view.job;if(e!==null){let n=k(e),r=`/pipelines/${a(this.pipeline)}/jobs/${a(e.id)}/output`,i=await this.tryAgain(()=>t(r,this.ending.signal,e=>this.take(JSON.parse(e))));if(n&&i)return}await this.rest(T)}}take(e){let t=new Map(this.view.tables);t.set(e.operator_id,w(t.get(e.operator_id),e)),this.show({tables:t}),this.mind()}mind(){this.view.job?.state===`Running`&&(this.upSince??=performance.now());let{milliseconds:e,rows:t}=this.limit(),n=e!==void 0&&this.upSince!==null&&performance.now()-this.upSince>=e,r=t!==void 0&&[...this.view.tables.values()].some(({total:e})=>e>=t);(n||r)&&this.stop()}async tryAgain(e){try{return await e(),!0}catch(e){if(this.ending.signal.aborted)return!1;if(e instanceof p&&e.status<500)throw e;return this.show({error:e instanceof p?e:new m}),await this.rest(E),!1}}rest(e){return new Promise(t=>{let n=setTimeout(t,e);this.ending.signal.addEventListener(`abort`,()=>(clearTimeout(n),t()),{once:!0})})}show(e){this.view={...this.view,...e},this.isLeft||this.changed(this.view)}};function k(e){return e!==null&&e.settled&&(e.state===`Stopped`||e.state===`Failed`||e.state===`Finished`)}var A=[[`a minute`,{milliseconds:6e4}],[`100 rows of a table`,{rows:100}],[`10,000 rows of a table`,{rows:1e4}],[`ten minutes`,{milliseconds:6e5}]];function j({query:t,refused:r,again:i,close:a}){let[c,u]=e(D),[f,p]=e(`a minute`),[m,h]=e(``),v=l(null),y=l({});y.current=A.find(([e])=>e===f)[1],n(()=>{let e=new O(t,()=>y.current,u),n=()=>e.leave();return v.current=e,e.play(),addEventListener(`pagehide`,n),()=>{removeEventListener(`pagehide`,n),e.leave()}},[]),n(()=>{c.error&&r(c.error)},[c.error]);let{job:b,tables:x}=c,S=[...new Set([...Object.keys(b?.sinks??{}),...x.keys()])],C=S.includes(m)?m:S[0]??``,w=x.get(C),T=c.isOver||k(b);return o(`section`,{class:`panel preview`,"aria-label":`Preview`,children:[o(`div`,{class:`row`,children:[o(`h2`,{children:`Preview`}),b&&o(d,{state:b.state}),o(`span`,{class:`hint`,role:`status`,children:N(b,c.isStopping,T)}),o(`span`,{class:`grow`}),o(`label`,{children:[`Stop after`,` `,o(`select`,{value:f,disabled:T,onChange:e=>p(e.currentTarget.value),children:A.map(([e])=>o(`option`,{children:e},e))})]}),T?o(`button`,{onClick:i,children:`Run again`}):o(`button`,{disabled:c.isStopping,onClick:()=>v.current?.stop(),children:`Stop`}),o(`button`,{onClick:a,children:`Close`})]}),c.error&&o(s,{error:c.error}),b?.failure_message&&o(M,{job:b}),o(_,{label:`Tables of the preview`,tabs:S.map(e=>({name:e,text:`${e} ${(x.get(e)?.total??0).toLocaleString(`en`)}`})),chosen:C,choose:h,children:o(g,{rows:w?.rows??[],none:T?`There is no row.`:`There is no row yet.`},C)})]})}function M({job:e}){return o(`div`,{class:`problem`,role:`alert`,children:[o(`p`,{children:[o(`code`,{children:e.failure_code}),` `,e.failure_message]}),e.failure_hint&&o(`p`,{class:`hint`,children:e.failure_hint})]})}function N(e,t,n){return n?`It is over, and nothing was written to a sink.`:t?`It stops.`:e?.step??(e?.state===`Running`?`Nothing is written to a sink.`:`It starts.`)}function P({pipeline:t}){f(t===null?`New pipeline`:`Edit ${t}`);let[r,l]=e({text:``}),[d,m]=e(``),[g,_]=e(t??``),[C,w]=e(null),[T,E]=e(!1),D=y(d),[O,k]=e(null),[A,M]=e(null),N=d.trim()!==``&&v(D),P=g.trim()!==``&&N,F=A?.of===d?{...D,errors:A.errors}:D;function I(){M(null),k({query:d,number:(O?.number??0)+1})}function L(e){l({text:e}),m(e)}n(()=>{if(t===null)return L(h());i(`GET`,`/pipelines/${a(t)}`).then(e=>L(e.query),w)},[t]);let R={name:`Deploy`,title:`Deploy ${g.trim()}`,about:`A pipeline of this name becomes what the script says; without one it is made.`,confirm:`Deploy`,fields:[{name:`parallelism`,label:`Tasks that work side by side; empty leaves them as they are`,kind:`number`,value:``}],change:{before:()=>i(`GET`,`/pipelines/${a(g.trim())}`).then(e=>e.query),after:d},send:({parallelism:e},t,n)=>i(`PUT`,`/pipelines/by-name/${a(g.trim())}`,{body:{query:d,...n,...e?{parallelism:Number(e)}:{}},query:{dry_run:t}})};return o(`div`,{class:`editor`,children:[o(`div`,{class:`tools`,children:[o(`h1`,{children:t===null?`New pipeline`:`Edit`}),o(`label`,{children:[`Name `,o(`input`,{value:g,readOnly:t!==null,maxLength:256,onInput:e=>_(e.currentTarget.value)})]}),t===null&&o(`label`,{children:[`Example`,` `,o(`select`,{value:``,onChange:e=>{let t=S.find(t=>t.name===e.currentTarget.value);t&&(L(t.query),_(t.name),e.currentTarget.value=``)},children:[o(`option`,{value:``,children:`Choose one`}),S.map(e=>o(`option`,{value:e.name,children:e.about},e.name))]})]}),o(`span`,{class:`grow`}),o(`button`,{disabled:!N,title:`Run it without writing to its sinks (Control, Shift and Enter)`,onClick:I,children:`Preview`}),o(`button`,{class:`primary`,disabled:!P,onClick:()=>E(!0),children:`Deploy`})]}),C&&o(s,{error:C}),o(b,{loaded:r,text:d,verdict:F,changed:m,submit:()=>P&&E(!0),preview:()=>N&&I()}),O&&o(j,{query:O.query,refused:e=>e instanceof p&&e.complaints.length>0&&M({of:O.query,errors:e.complaints}),again:I,close:()=>k(null)},O.number),T&&o(x,{action:R,close:()=>E(!1),done:()=>{E(!1),u(c(g.trim()))}})]})}export{P as Editor};