/**
 * What each operation takes, as schemas: a request comes from outside, also over the network, so its
 * shape is checked before anything looks at it. The types are those of `api/operations.ts`.
 *
 * @module
 */

import Type, { type TSchema } from "typebox";
import { type OperationName, ROLES, type StreamName } from "../../api/operations.ts";
import { MAX_DURATION_SECS } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { compileSchema, type Validator } from "../../resources/validate.ts";

const Text = Type.String();
const OptionalText = Type.Optional(Text);
const Texts = Type.Array(Text);
const Flag = Type.Boolean();
const Secs = Type.Integer({
  minimum: 0,
  maximum: MAX_DURATION_SECS,
  title: `whole seconds, from 0 to ${MAX_DURATION_SECS}`,
});
const OptionalSecs = Type.Optional(Secs);

function object(fields: Record<string, TSchema>): TSchema {
  return Type.Object(fields, { additionalProperties: false });
}

const ManifestFile = object({ name: Text, text: Text, fromDirectory: Type.Optional(Flag) });

const GetQuery = object({
  what: Text,
  name: OptionalText,
  project: OptionalText,
  trigger: OptionalText,
  outcome: OptionalText,
  state: OptionalText,
  workflow: OptionalText,
  since_secs: OptionalSecs,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
  before: OptionalText,
  selector: OptionalText,
});

/** Ids of tasks. */
const Ids = Type.Array(Text, { minItems: 1, maxItems: 1000 });

const INPUTS: Readonly<Record<OperationName | StreamName, TSchema>> = {
  status: object({}),
  apply: object({
    files: Type.Array(ManifestFile),
    project: OptionalText,
    dry_run: Flag,
    against_secs: OptionalSecs,
  }),
  get: GetQuery,
  "get.watch": GetQuery,
  describe: object({ what: Text, name: Text, project: OptionalText, reveal: Flag }),
  delete: object({ what: Text, names: Texts, project: OptionalText }),
  task: object({ id: Text }),
  "task.logs": object({
    id: Text,
    step: OptionalText,
    follow: Flag,
    tail: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
    since_secs: OptionalSecs,
  }),
  "task.wait": object({ ids: Ids, timeout_secs: OptionalSecs }),
  "task.cancel": object({ ids: Ids, reason: OptionalText }),
  "task.retry": object({ id: Text, from: OptionalText }),
  "task.inbox": object({ id: Text }),
  "task.inbox.send": object({ id: Text, text: Text }),
  "task.workspace": object({ id: Text }),
  "source.replay": object({ id: Text }),
  "source.bind": object({ id: Text, task: Text }),
  "slack.reply": object({ task: Text, text: Text }),
  "audit.verify": object({}),
  "db.backup": object({ file: Text, force: Flag }),
  "db.check": object({}),
  "db.vacuum": object({}),
  "delivery.explain": object({ id: Text }),
  "delivery.show": object({ id: Text }),
  "delivery.redeliver": object({
    id: OptionalText,
    project: OptionalText,
    trigger: OptionalText,
    outcome: OptionalText,
    since_secs: OptionalSecs,
  }),
  "secret.rotate": object({
    store: Text,
    key: Text,
    value: Text,
    project: OptionalText,
    create: Flag,
  }),
  "token.create": object({ role: Type.Enum([...ROLES]), ttl_secs: Secs, name: Text }),
  "token.revoke": object({ id: Text }),
  "trigger.test": object({
    name: Text,
    project: OptionalText,
    body: Text,
    headers: Type.Record(Text, Text),
    sign: Flag,
  }),
  "trigger.fire": object({ name: Text, project: OptionalText, payload: Text }),
  "trigger.suspend": object({ name: Text, project: OptionalText }),
  "trigger.resume": object({ name: Text, project: OptionalText }),
};

/** Checks inputs; each schema is compiled when it is first needed. */
export class InputChecks {
  readonly #validators = new Map<string, Validator>();

  /**
   * Refuses an input of another shape.
   *
   * @throws {AppError} `invalid`, with every finding.
   */
  check(name: OperationName | StreamName, input: unknown): void {
    const validator = this.#validators.get(name) ?? compileSchema(INPUTS[name]);
    this.#validators.set(name, validator);
    const findings = validator.check(input);
    if (findings.length === 0) return;
    const details = findings.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new AppError("invalid", `The input of "${name}" has another shape`, { details });
  }
}
