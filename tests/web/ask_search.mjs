// Ask the search of the built site, as a browser does: node ask_search.mjs WORKER INDEX QUERY... prints {query: [locations]}.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const [worker, index, ...queries] = process.argv.slice(2);
const answers = [];
let ask;
const scope = {
  console,
  addEventListener: (_kind, handler) => (ask = handler),
  postMessage: (answer) => answers.push(answer),
};
scope.self = scope;
vm.runInNewContext(readFileSync(worker, "utf8"), scope);

async function send(type, data) {
  const count = answers.length;
  ask({ data: { type, data } });
  while (answers.length === count) await new Promise((resolve) => setImmediate(resolve));
  return answers.at(-1).data;
}

await send(0, { ...JSON.parse(readFileSync(index, "utf8")), options: { suggest: false } });
const found = {};
for (const query of queries) found[query] = (await send(2, query)).items.map(([page]) => page.location);
console.log(JSON.stringify(found));
