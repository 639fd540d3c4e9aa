/**
 * REGISTRY of the built-in kinds. A new kind is a file and a line here and in `kind_names.ts`; no SQL.
 *
 * @module
 */

import { agent } from "./agent.ts";
import { connection } from "./connection.ts";
import { customResourceDefinition } from "./custom_resource_definition.ts";
import type { AnyKind } from "./kind.ts";
import { notification } from "./notification.ts";
import { person } from "./person.ts";
import { project } from "./project.ts";
import { sandbox } from "./sandbox.ts";
import { secretStore } from "./secret_store.ts";
import { stepTemplate } from "./step_template.ts";
import { trigger } from "./trigger.ts";
import { workflow } from "./workflow.ts";
import { workspace } from "./workspace.ts";

/** Every built-in kind, in the order `svc get` and the docs list them. */
export const KINDS: readonly AnyKind[] = [
  trigger,
  workflow,
  agent,
  stepTemplate,
  workspace,
  sandbox,
  secretStore,
  connection,
  notification,
  person,
  customResourceDefinition,
  project,
];
