/**
 * Adds to waits what is not in their rows: that the trigger whose events they wait for was deleted.
 *
 * @module
 */

import type { Catalog } from "../../resources/catalog.ts";
import type { ListedWait } from "../../store/wait_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";

/** A part of a wait as it is shown. */
export interface ExplainedWait extends ListedWait {
  /** Whether the trigger of its events was deleted: then only time or a person ends it. */
  readonly isOrphan?: boolean;
}

/** A store that explains the waits that it lists. */
export function explainingWaits<Given extends Pick<WaitStore, "listWaits">>(
  store: Given,
  { catalog }: { readonly catalog: Pick<Catalog, "find"> },
): Given {
  const explain = (wait: ListedWait): ExplainedWait => {
    const { kind, key, project } = wait;
    const isOrphan = kind === "event" && key !== undefined &&
      catalog.find("Trigger", project, key.trigger) === undefined;
    return isOrphan ? { ...wait, isOrphan } : wait;
  };
  return { ...store, listWaits: async (query) => (await store.listWaits(query)).map(explain) };
}
