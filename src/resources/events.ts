/**
 * REGISTRY of what `spec.event.<source>` may hold. Each trigger source brings the schema of its own
 * block; what the source does at run time is in `sources/`, under the same name.
 *
 * @module
 */

import type { EventDefinition } from "./event.ts";
import { cronEvent } from "./event_cron.ts";
import { filesystemEvent } from "./event_filesystem.ts";
import { taskEvent } from "./event_task.ts";
import { webhookEvent } from "./event_webhook.ts";

/** Every trigger source. */
export const EVENTS: readonly EventDefinition[] = [
  webhookEvent,
  cronEvent,
  filesystemEvent,
  taskEvent,
];
