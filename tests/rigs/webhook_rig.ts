/**
 * The webhook server without a socket: a real store, a clock that stands still, and a log to read.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { defined } from "../../src/base/defined.ts";
import { BodyBudget } from "../../src/http/body_budget.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { webhookHandler } from "../../src/intake/routes.ts";
import type { Delivery } from "../../src/store/delivery_records.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task } from "../../src/store/task_records.ts";
import type { SlackHost } from "../../src/intake/slack.ts";
import { withPipeline } from "../../src/daemon/intake.ts";
import { currentOf, intakeState, NO_PLUGINS, NOW } from "./intake_state.ts";

/** A webhook server and its surroundings. */
export interface Rig extends AsyncDisposable {
  readonly store: Store;
  /** The host of the server, for tools that share it. */
  readonly host: SlackHost & { readonly store: Store };
  readonly catalog: Catalog;
  /** Path of the database. */
  readonly path: string;
  /** A clock that is moved by hand. */
  readonly clock: { time: number };
  /** Lines of the log. */
  readonly logged: string[];
  /** Number of times that the worker and the router were woken. */
  readonly kicks: { count: number; events: number };
  /** URLs of platforms that were visited. */
  readonly visited: readonly string[];
  /** The budget of the bodies of all requests. */
  readonly bodies: BodyBudget;
  readonly handler: (request: Request, remote: string) => Response | Promise<Response>;
  /** POSTs a body to a path. */
  post(path: string, body: BodyInit | undefined, headers?: HeadersInit): Promise<Response>;
  tasks(): Promise<Task[]>;
  /** Every record, those of refused requests included. */
  deliveries(): Promise<Delivery[]>;
}

/** Options of a rig. */
export interface RigOptions {
  /** Resources, as a user would write them. */
  readonly manifest: string;
  readonly maxBytes?: number;
  readonly deadlineMs?: number;
  /** Bytes of the budget of bodies; plenty when absent. */
  readonly bodyBudget?: number;
  readonly celDeadlineMs?: number;
  readonly ready?: () => boolean;
  /** Certificate that every server of a platform gives. */
  readonly certificate?: string;
  /** Methods in place of those of the store. */
  readonly broken?: Partial<Store>;
  /** Called to take in changes of other daemons. */
  readonly refresh?: (catalog: Catalog) => void;
}

/** Makes a server. */
export async function webhookRig(options: RigOptions): Promise<Rig> {
  const { manifest, broken = {}, celDeadlineMs, certificate } = options;
  const visited: string[] = [];
  const base = await intakeState(manifestResources(manifest), { celDeadlineMs });
  const { store, state, path, clock, logged, kicks } = base;
  Object.assign(base.broken, broken);
  const bodies = new BodyBudget(options.bodyBudget ?? 128 << 20);
  const host: Rig["host"] = {
    ...withPipeline(state, NO_PLUGINS),
    resources: currentOf(state.catalog, options.refresh),
    findCertificate: () =>
      Promise.resolve(
        certificate === undefined ? { failure: "certificate_unreachable" } : { pem: certificate },
      ),
    visit: (url) => Promise.resolve(void visited.push(url)),
    limits: { maxBytes: options.maxBytes ?? 1 << 20, deadlineMs: options.deadlineMs ?? 5000 },
    bodies,
  };
  const handler = webhookHandler(host, options.ready ?? (() => true));
  return {
    store,
    host,
    catalog: state.catalog,
    path,
    clock,
    logged,
    kicks,
    visited,
    bodies,
    handler,
    async post(path, body, headers) {
      // A Request would give a text a content type of its own.
      const sent = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const init = { method: "POST", ...defined({ body: sent }) };
      const request = new Request(`http://127.0.0.1${path}`, { ...init, headers: headers ?? {} });
      return await handler(request, "192.0.2.7");
    },
    tasks: () => store.listTasks({ limit: 10_000 }),
    async deliveries() {
      await state.rejections[Symbol.asyncDispose](); // writes queued records; the server goes on
      return await store.listDeliveries({ limit: 10_000 });
    },
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  };
}

/** The resources of a manifest, which has to be free of errors. */
export function manifestResources(text: string): Resource[] {
  const { documents, errors } = parseManifest("test.yaml", text);
  if (errors.length > 0) throw new Error(errors.join("\n"));
  return documents.map(({ value }) => {
    const { resource, findings } = readDocument(value, { kinds: new Catalog().kinds });
    if (resource === undefined) throw new Error(JSON.stringify(findings));
    return { ...resource, generation: 1, createdAt: NOW, updatedAt: NOW };
  });
}

/** The signature of a sender that knows `secret`, as a header: `sha256=<hex>`. */
export function sign(body: string | Uint8Array, secret = SECRET): Record<string, string> {
  const hex = createHmac("sha256", secret).update(body).digest("hex");
  return { "x-hub-signature-256": `sha256=${hex}`, "content-type": "application/json" };
}

/** The secret of `MANIFEST`. */
export const SECRET = "a secret of twenty bytes and more";

/** A workflow, its workspace, a secret and the trigger `push`. */
export const MANIFEST = `
kind: Workflow
metadata: {name: ci}
spec: {steps: [{id: build, run: "true"}]}
---
kind: Workspace
metadata: {name: repo}
spec: {path: repo}
---
kind: SecretStore
metadata: {name: github}
spec: {data: {previous: "the one before, still valid today", current: "${SECRET}"}}
---
kind: Trigger
metadata: {name: push}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256}}
  action: {workflow: ci, workspace: repo}
`;

/** A trigger beside those of {@linkcode MANIFEST}; `webhook` and `more` are YAML flow mappings. */
export function triggerYaml(
  name: string,
  options: { webhook?: string; condition?: string; more?: string; project?: string } = {},
): string {
  const { webhook = "secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256" } = options;
  const filter = options.condition === undefined
    ? ""
    : `, filter: {condition: ${JSON.stringify(options.condition)}}`;
  return `
---
kind: Trigger
metadata: {name: ${name}${options.project === undefined ? "" : `, project: ${options.project}`}}
spec:
  event: {source: webhook, webhook: {${webhook}}${filter}}
  action: {workflow: ci, workspace: repo}
  ${options.more ?? ""}
`;
}
