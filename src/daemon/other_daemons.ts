/**
 * Takes in what other daemons over the same database have stored, as far as this one holds it
 * elsewhere: the catalog in memory, and the inboxes of running tasks as files.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import type { Inboxes } from "../tasks/step/inbox.ts";
import type { State } from "./state.ts";

/** What this needs. */
export type OtherDaemonsHost =
  & Pick<State, "events" | "clock" | "log" | "health">
  & { readonly resources: Pick<State["resources"], "refresh"> }
  & { readonly inboxes: Pick<Inboxes, "catchUp"> };

/**
 * How often this one looks for changed resources itself: who has changed them may have died before
 * saying so. Shorter than a change waits for all to decide by it.
 */
const LOOK_INTERVAL_MS = 4000;

/** Follows them until it is disposed. */
export function followOtherDaemons(
  { events, clock, log, health, resources, inboxes }: OtherDaemonsHost,
): AsyncDisposable {
  const following = new AsyncDisposableStack();
  const refresh = following.use(
    new SerialRunner({
      async run() {
        await resources.refresh();
        health.clear("resources");
        return clock.now() + LOOK_INTERVAL_MS;
      },
      onError(error) {
        log.warn("resources that other daemons applied could not be read, trying again", { error });
        health.set(
          "resources",
          `resources that other nodes have stored could not be read: ${messageOf(error)}`,
        );
      },
      clock,
    }),
  );
  refresh.kick();
  following.use(events.on("resourcesStored", () => refresh.kick()));
  following.use(
    events.on("inboxFilled", ({ taskId }) => {
      inboxes.catchUp(taskId).catch((error) => log.warn("an inbox could not be read", { error }));
    }),
  );
  return following;
}
