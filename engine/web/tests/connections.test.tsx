// @vitest-environment happy-dom
import { render } from "preact";
import { afterEach, expect, test, vi } from "vitest";
import type { Connector } from "../src/api/types";
import { NewOne } from "../src/connections/new-one";
import { type OptionSchema, configOf, optionsOf } from "../src/connections/options";
import { KeptList } from "../src/pages/connections";

const SCHEMA: OptionSchema = {
  properties: {
    retries: { type: "integer", default: 3 },
    servers: { type: "string", description: "Where the brokers are." },
    auth: { properties: { type: { enum: ["none", "sasl"] }, password: { type: "string" } }, sensitive: ["password"] },
    acks: { type: "boolean" },
  },
  required: ["servers"],
};
const KAFKA = { name: "kafka", description: "", hidden: false, connection_config: JSON.stringify(SCHEMA), table_config: "{}", formats: [] as string[] } as Connector;

const place = document.body.appendChild(document.createElement("div"));
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
});

const settled = () => new Promise((rest) => setTimeout(rest, 20));
const button = (name: string) => [...place.querySelectorAll("button")].find(({ textContent }) => textContent === name)!;

async function type(id: string, text: string): Promise<void> {
  const input = place.querySelector<HTMLInputElement>(`[id="${id}"]`)!;
  input.value = text;
  input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  await settled();
}

test("a form has what somebody must give first, and sends what is filled in as what it is", () => {
  const options = optionsOf(SCHEMA);

  expect(options.map(({ name, isRequired, isSecret }) => [name, isRequired, isSecret])).toEqual([
    ["servers", true, false],
    ["retries", false, false],
    ["auth.type", false, false],
    ["auth.password", false, true],
    ["acks", false, false],
  ]);
  expect(configOf(options, { servers: "b:1", retries: "5", "auth.password": "x", acks: "true" })).toEqual({ servers: "b:1", retries: 5, auth: { password: "x" }, acks: true });
  expect(configOf(options, { retries: "many" })).toEqual({ retries: "many" });
});

test("a connection is tried as it is filled in, and kept, and its secret is never readable", async () => {
  const asked: [string, unknown][] = [];
  vi.stubGlobal("fetch", async (path: string, { body }: RequestInit) => {
    asked.push([path, JSON.parse(String(body))]);
    return Response.json({ error: true, done: true, message: "it is away", hint: "start it" });
  });
  const made = vi.fn();
  render(<NewOne kind="connection" connectors={[KAFKA]} profiles={[]} made={made} close={() => undefined} />, place);
  await type("new-name", "shop");
  await type("option-servers", "b:1");
  await type("option-auth.password", "hush");

  button("Test").click();
  await settled();
  expect(place.textContent).toContain("it is away. start it");
  button("Save connection").click();
  await settled();

  const body = { name: "shop", connector: "kafka", config: { servers: "b:1", auth: { password: "hush" } } };
  expect(asked).toEqual([
    ["api/v1/connection_profiles/test", body],
    ["api/v1/connection_profiles", body],
  ]);
  expect(made).toHaveBeenCalledOnce();
  expect(place.querySelector<HTMLInputElement>('[id="option-auth.password"]')!.type).toBe("password");
});

test("the last message of a table's test is what came of it", async () => {
  vi.stubGlobal("fetch", async () => new Response('data: {"message":"asking"}\n\ndata: {"error":false,"done":true,"message":"it is there"}\n\n'));
  render(<NewOne kind="table" connectors={[KAFKA]} profiles={[]} made={() => undefined} close={() => undefined} />, place);
  await type("new-name", "orders");

  button("Test").click();
  await settled();

  expect(place.textContent).toContain("it is there");
});

test("what is used is not deleted, and what is not only once somebody is sure", async () => {
  const removed = vi.fn(async () => undefined);
  const rows = [
    { id: "1", name: "used", about: "", users: ["pipeline p"], path: "/a" },
    { id: "2", name: "free", about: "", users: [], path: "/b" },
  ];
  render(<KeptList title="Tables" none="" rows={rows} remove={removed} />, place);
  const [used, free] = [...place.querySelectorAll("button")];

  expect(used!.disabled).toBe(true);
  free!.click();
  await settled();
  expect(removed).not.toHaveBeenCalled();
  expect(free!.textContent).toBe("Sure?");
  free!.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 })); // of the same double click
  await settled();
  expect(removed).not.toHaveBeenCalled();
  free!.click();
  await settled();
  expect(removed).toHaveBeenCalledWith("/b");
});
