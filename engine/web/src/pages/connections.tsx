import { useEffect, useState } from "preact/hooks";
import { allOf, ask, part } from "../api/client";
import type { ConnectionProfile, ConnectionTable, Connector, StoredUdf } from "../api/types";
import { NewFunction } from "../connections/new-function";
import { type Kind, NewOne } from "../connections/new-one";
import { apart } from "../format";
import { ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";
import { isRepeated } from "../parts/sure-button";
import { useMayChange } from "../session";
import { useTitle } from "../title";

interface Kept {
  connectors: Connector[];
  profiles: ConnectionProfile[];
  tables: ConnectionTable[];
  functions: StoredUdf[];
}

export interface Row {
  id: string;
  name: string;
  about: string;
  users: readonly string[];
  /** Where it is deleted; null of what stands in the administrator's file. */
  path: string | null;
}

/** What is kept for all pipelines: connections, tables and functions. */
export function Connections() {
  useTitle("Connections");
  const [kept, setKept] = useState<Kept | null>(null);
  const [making, setMaking] = useState<Kind | "function" | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const mayChange = useMayChange();

  async function load(): Promise<void> {
    const all = <T,>(path: string) => ask<{ data: T[] }>("GET", path).then(({ data }) => data);
    try {
      const [connectors, profiles, tables, functions] = await Promise.all([
        all<Connector>("/connectors"),
        all<ConnectionProfile>("/connection_profiles"),
        allOf<ConnectionTable>("/connection_tables"),
        all<StoredUdf>("/udfs"),
      ]);
      setKept({ connectors, profiles, tables, functions });
    } catch (problem) {
      setError(problem as Error);
    }
  }

  useEffect(() => void load(), []);

  async function remove(path: string): Promise<void> {
    setError(null);
    try {
      await ask("DELETE", path);
    } catch (problem) {
      setError(problem as Error);
    }
    await load();
  }

  function made(): void {
    setMaking(null);
    void load();
  }

  const profiles = kept?.profiles.map(({ id, name, connector, stored, used_by }): Row => ({ id, name, about: stored ? connector : `${connector}, from the administrator's file`, users: used_by ?? [], path: stored ? `/connection_profiles/${part(id)}` : null }));
  const tables = kept?.tables.map(({ id, name, connector, table_type, connection_profile, fault, used_by }): Row => ({ id, name, about: `${table_type} of ${connector}${connection_profile ? ` through ${apart(connection_profile.name)}` : ""}${fault ? `: ${apart(fault)}` : ""}`, users: used_by, path: `/connection_tables/${part(id)}` }));
  const functions = kept?.functions.map(({ id, name, names, description, used_by }): Row => ({ id, name, about: description || names.join(", "), users: used_by, path: `/udfs/${part(id)}` }));

  return (
    <div class="kept">
      <div class="tools">
        <h1>Connections</h1>
        <span class="grow" />
        {mayChange && (
          <>
            <button disabled={!kept} onClick={() => setMaking("connection")}>
              New connection
            </button>
            <button disabled={!kept} onClick={() => setMaking("table")}>
              New table
            </button>
            <button disabled={!kept} onClick={() => setMaking("function")}>
              New function
            </button>
          </>
        )}
      </div>
      {error && <ProblemBox error={error} />}
      {making === "function" && <NewFunction close={() => setMaking(null)} made={made} />}
      {kept && making && making !== "function" && (
        <NewOne
          key={making}
          kind={making}
          connectors={kept.connectors}
          profiles={kept.profiles}
          close={() => setMaking(null)}
          made={made}
        />
      )}
      <KeptList title="Connections" none="No connections yet." rows={profiles} remove={remove} />
      <KeptList title="Tables" none="No tables yet. Scripts can use stored tables without declaring them." rows={tables} remove={remove} />
      <KeptList title="Functions" none="No functions yet." rows={functions} remove={remove} />
    </div>
  );
}

export function KeptList({ title, none, rows, remove }: { title: string; none: string; rows: Row[] | undefined; remove: (path: string) => Promise<void> }) {
  const [sure, setSure] = useState<string | null>(null);
  const mayChange = useMayChange();
  return (
    <section class="panel" aria-label={title} aria-busy={!rows}>
      <h2>{title}</h2>
      {rows?.length === 0 && <p class="hint">{none}</p>}
      <ul class="plain">
        {rows?.map(({ id, name, about, users, path }) => (
          <li key={id}>
            <span>
              <strong>{name}</strong> <span>{about}</span>
              {users.length > 0 && <span class="hint"> <Sentence text={`used by ${users.join(", ")}`} /></span>}
            </span>
            {path && mayChange && (
              <button
                class="danger"
                disabled={users.length > 0}
                aria-label={sure === id ? `Delete ${apart(name)} for good` : `Delete ${apart(name)}`}
                onBlur={() => setSure(null)}
                onClick={(event) => {
                  if (isRepeated(event)) return;
                  if (sure !== id) return setSure(id);
                  setSure(null);
                  void remove(path);
                }}
              >
                {sure === id ? "Sure?" : "Delete"}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
