import { useMemo, useState } from "preact/hooks";
import { ask, lastEvent } from "../api/client";
import type { ConnectionProfile, Connector, TestMessage } from "../api/types";
import { ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";
import { OptionFields } from "./option-fields";
import { type OptionSchema, type Texts, configOf, optionsOf } from "./options";

export type Kind = "connection" | "table";

interface Inferred {
  columns: string;
  message: string;
}

interface Props {
  kind: Kind;
  connectors: readonly Connector[];
  profiles: readonly ConnectionProfile[];
  made: () => void;
  close: () => void;
}

/** A form for a connection or a table, made of what its connector declares, with a test of what is filled in. */
export function NewOne({ kind, connectors, profiles, made, close }: Props) {
  const offered = connectors.filter((connector) => !connector.hidden && (kind === "table" || connector.connection_config !== null));
  const [chosen, setChosen] = useState(offered[0]?.name ?? "");
  const [name, setName] = useState("");
  const [profile, setProfile] = useState("");
  const [format, setFormat] = useState("");
  const [columns, setColumns] = useState("");
  const [texts, setTexts] = useState<Texts>({});
  const [busy, setBusy] = useState<"" | "testing" | "making" | "looking">("");
  const [error, setError] = useState<Error | null>(null);
  const [verdict, setVerdict] = useState<TestMessage | null>(null);
  const connector = offered.find((each) => each.name === chosen);
  const options = useMemo(() => {
    const schema = kind === "table" ? connector?.table_config : connector?.connection_config;
    return schema ? optionsOf(JSON.parse(schema) as OptionSchema) : [];
  }, [kind, connector]);
  const fitting = profiles.filter((each) => each.connector === chosen);

  function body(): object {
    const whole = { name: name.trim(), connector: chosen, config: configOf(options, texts) };
    if (kind === "connection") return whole;
    return { ...whole, connection_profile_id: profile || null, schema: { format: format || null, columns } };
  }

  async function attempt(what: "testing" | "making" | "looking", action: () => Promise<void>): Promise<void> {
    setBusy(what);
    setError(null);
    setVerdict(null);
    try {
      await action();
    } catch (problem) {
      setError(problem as Error);
    }
    setBusy("");
  }

  const test = () =>
    attempt("testing", async () => {
      setVerdict(await (kind === "table" ? lastEvent<TestMessage>("/connection_tables/test", body()) : ask<TestMessage>("POST", "/connection_profiles/test", { body: body() })));
    });
  const findColumns = () =>
    attempt("looking", async () => {
      const { columns: found, message } = await ask<Inferred>("POST", "/connection_tables/schemas/infer", { body: { ...body(), name: name.trim() || "unnamed" } });
      setColumns(found);
      setVerdict({ error: false, done: true, message });
    });
  const make = () =>
    attempt("making", async () => {
      await ask("POST", kind === "table" ? "/connection_tables" : "/connection_profiles", { body: body() });
      made();
    });

  return (
    <form
      class="panel connection"
      aria-label={`New ${kind}`}
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <h2>{`New ${kind}`}</h2>
      <div class="field">
        <label for="new-name">
          <span>Name (required)</span>
        </label>
        <input id="new-name" autofocus required maxLength={128} pattern="[A-Za-z_][A-Za-z0-9_]*" autocomplete="off" spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </div>
      <div class="field">
        <label for="new-connector">
          <span>Connector</span>
        </label>
        <select
          id="new-connector"
          value={chosen}
          onChange={(event) => {
            setChosen(event.currentTarget.value);
            setTexts({});
            setProfile("");
            setFormat("");
            setVerdict(null);
          }}
        >
          {offered.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
        <p class="hint">{connector?.description}</p>
      </div>
      {kind === "table" && fitting.length > 0 && (
        <div class="field">
          <label for="new-profile">
            <span>Connection</span>
          </label>
          <select id="new-profile" value={profile} onChange={(event) => setProfile(event.currentTarget.value)}>
            <option value="">none</option>
            {fitting.map((each) => (
              <option key={each.id} value={each.id}>
                {each.name}
              </option>
            ))}
          </select>
        </div>
      )}
      <OptionFields key={chosen} options={options} texts={texts} changed={setTexts} />
      {kind === "table" && (
        <>
          {connector && connector.formats.length > 0 && (
            <div class="field">
              <label for="new-format">
                <span>Format</span>
              </label>
              <select id="new-format" value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
                <option value="">{connector.default_format ? `default: ${connector.default_format}` : "Choose one"}</option>
                {connector.formats.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </div>
          )}
          <div class="field">
            <label for="new-columns">
              <span>Columns</span>
            </label>
            <textarea id="new-columns" rows={6} spellcheck={false} value={columns} aria-describedby="new-columns-about" onInput={(event) => setColumns(event.currentTarget.value)} />
            <p id="new-columns-about" class="hint">
              <button type="button" disabled={busy !== ""} onClick={() => void findColumns()}>
                Detect columns
              </button>{" "}
              from existing data, or list them as in CREATE TABLE: <code>id BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at</code>
            </p>
          </div>
        </>
      )}
      {error && <ProblemBox error={error} />}
      <p role="status" class={verdict?.error ? "problem" : "verdict"}>
        {busy === "testing" ? "Testing..." : busy === "looking" ? "Detecting columns..." : verdict && <Sentence text={`${verdict.message}${verdict.hint ? `. ${verdict.hint}` : ""}`} />}
      </p>
      <div class="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
        <button type="button" disabled={busy !== "" || name.trim() === ""} onClick={() => void test()}>
          Test
        </button>
        <button class="primary" disabled={busy !== ""}>
          {`Save ${kind}`}
        </button>
      </div>
    </form>
  );
}
