import { useEffect, useState } from "preact/hooks";
import { ask } from "../api/client";
import type { Completions, RunSettingName } from "../api/types";
import { OptionField } from "../connections/option-fields";
import type { Option } from "../connections/options";

export type Settings = Readonly<Record<string, string>>;

const GROUPS: readonly [RunSettingName["group"], string][] = [
  ["general", "General"],
  ["cluster", "Spark cluster"],
  ["history", "History"],
];

interface Props {
  settings: Settings;
  changed: (settings: Settings) => void;
}

/** The settings of a pipeline's runs, in a fold: a field for each, and lines for those of Spark. */
export function RunSettings({ settings, changed }: Props) {
  const [offered, setOffered] = useState<Pick<Completions, "run_settings" | "spark_settings"> | null>(null);
  useEffect(() => {
    ask<Completions>("GET", "/completions").then(setOffered, () => undefined); // the script can be deployed without
  }, []);
  const [spark, setSpark] = useState<string | null>(null);
  const count = Object.keys(settings).length;
  if (!offered?.run_settings) return null;
  const sparkText = spark ?? sparkLines(settings);
  return (
    <details class="panel run-settings">
      <summary>{count === 0 ? "Run settings" : `Run settings (${count} set)`}</summary>
      <p class="hint">They apply from the next start. Empty fields have their defaults.</p>
      {GROUPS.map(([group, title]) => (
        <fieldset key={group}>
          <legend>{title}</legend>
          {offered.run_settings
            .filter((each) => each.group === group)
            .map((each) => (
              <OptionField key={each.name} option={asOption(each)} text={settings[each.name] ?? ""} changed={(text) => changed(withSetting(settings, each.name, text))} />
            ))}
        </fieldset>
      ))}
      <div class="field">
        <label for="spark-settings">Settings of Spark, one per line</label>
        <textarea
          id="spark-settings"
          rows={3}
          spellcheck={false}
          placeholder="spark.network.timeout=120s"
          value={sparkText}
          aria-describedby="spark-settings-about"
          onInput={(event) => {
            setSpark(event.currentTarget.value);
            changed({ ...withoutSpark(settings), ...readSparkLines(event.currentTarget.value) });
          }}
        />
        <p id="spark-settings-about" class="hint">{`Allowed: ${offered.spark_settings.join(", ")}.`}</p>
      </div>
    </details>
  );
}

/** A setting as a field of a form has it. */
export function asOption({ name, description, accepts, default: usual, choices }: RunSettingName): Option {
  const about = choices.length > 0 ? description : `${description} Value: ${accepts}.`;
  return { name, type: "string", about, choices, usual: usual.replaceAll("`", ""), isRequired: false, isSecret: false };
}

/** The settings with one changed; an empty text removes it. */
export function withSetting(settings: Settings, name: string, text: string): Settings {
  const { [name]: _, ...others } = settings;
  return text === "" ? others : { ...others, [name]: text };
}

/** The settings of Spark as lines. */
export function sparkLines(settings: Settings): string {
  return Object.entries(settings)
    .filter(([name]) => name.startsWith("spark."))
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** The settings that lines name. A line without a value is sent as it is, so that the control plane refuses it by its name. */
export function readSparkLines(text: string): Settings {
  const lines = text.split("\n").map((line) => line.trim());
  return Object.fromEntries(
    lines
      .filter((line) => line !== "")
      .map((line) => {
        const at = line.indexOf("=");
        return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

function withoutSpark(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !name.startsWith("spark.")));
}
