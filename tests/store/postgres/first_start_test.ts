/**
 * The first start of several daemons at the same moment, over a database that none has seen.
 *
 * @module
 */

import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import { createEmptyDatabase, postgresTest } from "../../helpers/postgres.ts";

postgresTest("daemons that start together make one schema", async () => {
  await using stack = new AsyncDisposableStack();
  const { url } = stack.use(await createEmptyDatabase());
  const opened = await Promise.allSettled(
    ["a", "b", "c", "d"].map((node) =>
      openPostgresStore({ url, owner: { node, run: node }, clock: systemClock })
    ),
  );
  for (const one of opened) if (one.status === "fulfilled") stack.use(one.value);
  for (const one of opened) if (one.status === "rejected") throw one.reason;
});
