/**
 * Every scenario of the bench, in the order in which they run.
 *
 * @module
 */

import type { Scenario } from "./scenario.ts";
import { accepts } from "./scenarios/accepts.ts";
import { besideTasks } from "./scenarios/beside_tasks.ts";
import { claims } from "./scenarios/claims.ts";
import { coldStart } from "./scenarios/cold_start.ts";
import { consolePage } from "./scenarios/console_page.ts";
import { drain } from "./scenarios/drain.ts";
import { egress } from "./scenarios/egress.ts";
import { hostileBodies } from "./scenarios/hostile_bodies.ts";
import { idleMemory } from "./scenarios/idle_memory.ts";
import { largeBodies } from "./scenarios/large_bodies.ts";
import { manyRows } from "./scenarios/many_rows.ts";
import { manyTriggers } from "./scenarios/many_triggers.ts";
import { mcp } from "./scenarios/mcp.ts";
import { mixedLoad } from "./scenarios/mixed_load.ts";
import { move } from "./scenarios/move.ts";
import { nodes } from "./scenarios/nodes.ts";
import { openPages } from "./scenarios/open_pages.ts";
import { packedChanges } from "./scenarios/packed_change.ts";
import { plugins } from "./scenarios/plugins.ts";
import { postgres } from "./scenarios/postgres.ts";
import { prCreate } from "./scenarios/pr_create.ts";
import { refusals } from "./scenarios/refusals.ts";
import { sandbox } from "./scenarios/sandbox.ts";
import { taskStart } from "./scenarios/task_start.ts";
import { waits } from "./scenarios/waits.ts";

export const SCENARIOS: readonly Scenario[] = [
  accepts,
  refusals,
  largeBodies,
  manyTriggers,
  manyRows,
  plugins,
  postgres,
  claims,
  move,
  nodes,
  taskStart,
  waits,
  drain,
  besideTasks,
  sandbox,
  egress,
  packedChanges,
  prCreate,
  coldStart,
  mcp,
  idleMemory,
  openPages,
  consolePage,
  mixedLoad,
  hostileBodies,
];
