import type { Session } from "../api/types";
import { Schedules } from "../settings/schedules";
import { StorageUse } from "../settings/storage";
import { Tokens } from "../settings/tokens";
import { useTitle } from "../title";

/** What holds for the whole control plane. What is not passed on to somebody is not there for him. */
export function Settings({ session }: { session: Session }) {
  useTitle("Settings");
  return (
    <div class="kept">
      <div class="tools">
        <h1>Settings</h1>
      </div>
      <Schedules />
      <StorageUse isPassedOn={Boolean(session.through)} />
      {!session.through && <Tokens isAdmin={session.who === "admin"} />}
      <section class="panel" aria-label="Version">
        <h2>Version</h2>
        <p>{`Arroyo ${session.version}`}</p>
      </section>
    </div>
  );
}
