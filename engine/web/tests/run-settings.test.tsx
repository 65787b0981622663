// @vitest-environment happy-dom
import { type ComponentChild, render } from "preact";
import { useState } from "preact/hooks";
import { afterEach, expect, test, vi } from "vitest";
import type { Completions, RunSettingName } from "../src/api/types";
import { RunSettings, type Settings, asOption, readSparkLines, sparkLines, withSetting } from "../src/editor/run-settings";

const MASTER: RunSettingName = { name: "master", description: "Where Spark runs.", accepts: "local[N] or spark://HOST:PORT", default: "`local[P]`", choices: [], group: "general" };
const FUSE: RunSettingName = { name: "fuse", description: "Push filters down.", accepts: "on or off", default: "on", choices: ["on", "off"], group: "general" };
const CORES: RunSettingName = { name: "max_cores", description: "Cores of all executors.", accepts: "a whole number", default: "the parallelism", choices: [], group: "cluster" };

const place = document.body.appendChild(document.createElement("div"));
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
});

async function shown(child: ComponentChild): Promise<void> {
  vi.stubGlobal("fetch", async () => Response.json({ run_settings: [MASTER, FUSE, CORES], spark_settings: ["spark.network.timeout"] } as Partial<Completions>));
  render(child, place);
  await vi.waitFor(() => expect(place.querySelector("details")).not.toBe(null));
}

function type(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

test("a setting that is emptied has its default again", () => {
  expect(withSetting({ fuse: "on", memory: "4g" }, "fuse", "off")).toEqual({ fuse: "off", memory: "4g" });
  expect(withSetting({ fuse: "on", memory: "4g" }, "fuse", "")).toEqual({ memory: "4g" });
});

test("settings of Spark are lines, and a line without a value is sent by its name", () => {
  expect(sparkLines({ memory: "4g", "spark.a": "1", "spark.b": "x=y" })).toBe("spark.a=1\nspark.b=x=y");
  expect(readSparkLines(" spark.a = 1 \n\nspark.b=x=y\nspark.c")).toEqual({ "spark.a": "1", "spark.b": "x=y", "spark.c": "" });
});

test("a setting with few values is a list, and any other names what it accepts", () => {
  expect(asOption(FUSE)).toMatchObject({ choices: ["on", "off"], about: "Push filters down.", usual: "on" });
  expect(asOption(MASTER)).toMatchObject({ about: "Where Spark runs. Value: local[N] or spark://HOST:PORT.", usual: "local[P]" });
});

test("fields and lines change one set of settings", async () => {
  let last: Settings = {};
  function Form() {
    const [settings, setSettings] = useState<Settings>({ master: "local[2]", "spark.network.timeout": "9s" });
    return (
      <RunSettings
        settings={settings}
        changed={(edited) => {
          last = edited;
          setSettings(edited);
        }}
      />
    );
  }
  await shown(<Form />);
  expect(place.querySelector("summary")!.textContent).toBe("Run settings (2 set)");
  expect(place.querySelector<HTMLInputElement>("#option-master")!.value).toBe("local[2]");
  expect([...place.querySelectorAll("legend")].map(({ textContent }) => textContent)).toEqual(["General", "Spark cluster", "History"]);

  type(place.querySelector<HTMLInputElement>("#option-master")!, "spark://there:7077");
  await vi.waitFor(() => expect(last).toEqual({ master: "spark://there:7077", "spark.network.timeout": "9s" }));
  type(place.querySelector<HTMLTextAreaElement>("textarea")!, "spark.network.timeout=120s");
  await vi.waitFor(() => expect(last).toEqual({ master: "spark://there:7077", "spark.network.timeout": "120s" }));
  type(place.querySelector<HTMLInputElement>("#option-master")!, "");
  await vi.waitFor(() => expect(last).toEqual({ "spark.network.timeout": "120s" }));
});
