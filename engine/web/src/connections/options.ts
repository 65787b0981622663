/** Options as forms have them: texts by the names of options, with a dot for each object that they are in. */

export interface OptionSchema {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  default?: unknown;
  properties?: Record<string, OptionSchema>;
  required?: string[];
  sensitive?: string[];
}

export interface Option {
  name: string;
  type: string;
  about: string;
  choices: string[];
  usual: string;
  isRequired: boolean;
  isSecret: boolean;
}

export type Texts = Readonly<Record<string, string>>;

/** The options of a schema in its order, those that somebody must give first. */
export function optionsOf(schema: OptionSchema, before = "", isRequired = true): Option[] {
  const found = Object.entries(schema.properties ?? {}).flatMap(([key, inner]): Option[] => {
    const name = before + key;
    const needed = isRequired && (schema.required ?? []).includes(key);
    if (inner.properties) return optionsOf(inner, `${name}.`, needed);
    return [
      {
        name,
        type: inner.type ?? "string",
        about: inner.description ?? "",
        choices: inner.enum?.map(String) ?? (inner.type === "boolean" ? ["true", "false"] : []),
        usual: inner.default === undefined ? "" : String(inner.default),
        isRequired: needed,
        isSecret: (schema.sensitive ?? []).includes(key),
      },
    ];
  });
  return before ? found : [...found.filter((option) => option.isRequired), ...found.filter((option) => !option.isRequired)];
}

/** What is sent of a form: what was left empty is not there, and numbers and truths are what they are. */
export function configOf(options: readonly Option[], texts: Texts): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const { name, type } of options) {
    const text = texts[name] ?? "";
    if (text === "") continue;
    const steps = name.split(".");
    let place = config;
    for (const step of steps.slice(0, -1)) place = (place[step] ??= {}) as Record<string, unknown>;
    place[steps.at(-1)!] = valueOf(type, text);
  }
  return config;
}

function valueOf(type: string, text: string): unknown {
  if (type === "boolean") return text === "true";
  if (type === "array") return text.split(",").map((item) => item.trim());
  const number = Number(text);
  return (type === "integer" || type === "number") && text.trim() !== "" && Number.isFinite(number) ? number : text;
}
