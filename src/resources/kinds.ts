/**
 * REGISTRY of the kinds the program has built in. A new kind is a file and a line here; no SQL.
 *
 * @module
 */

import type { AnyKind } from "./kind.ts";
import { project } from "./project.ts";
import { secretStore } from "./secret_store.ts";
import { trigger } from "./trigger.ts";
import { workflow } from "./workflow.ts";
import { workspace } from "./workspace.ts";

/** Every built-in kind, in the order `svc get` and the docs list them. */
export const KINDS: readonly AnyKind[] = [trigger, workflow, workspace, secretStore, project];

/** The kind whose `kind:` is exactly `name`. */
export function findKind(name: string): AnyKind | undefined {
  return KINDS.find((definition) => definition.kind === name);
}

/** The kind a person means: singular, plural or short name, in any case. */
export function findKindByAnyName(name: string): AnyKind | undefined {
  const wanted = name.toLowerCase();
  return KINDS.find((definition) =>
    definition.kind.toLowerCase() === wanted || definition.plural === wanted ||
    definition.shortNames.includes(wanted)
  );
}
