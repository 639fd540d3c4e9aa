/**
 * REGISTRY of the blocks `spec.event.<source>`, one for each trigger source. Their behaviour at run
 * time is in `src/intake/`.
 *
 * @module
 */

import type { EventDefinition } from "./event.ts";
import { cronEvent } from "./event_cron.ts";
import { filesystemEvent } from "./event_filesystem.ts";
import { taskEvent } from "./event_task.ts";
import { webhookEvent } from "./event_webhook.ts";

export const EVENTS: readonly EventDefinition[] = [
  webhookEvent,
  cronEvent,
  filesystemEvent,
  taskEvent,
];
