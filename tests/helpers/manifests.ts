/**
 * Manifests of tests, as values: YAML takes JSON.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly project?: string };
  readonly spec: Record<string, unknown>;
}

/** Several documents as one text. */
export function toText(documents: readonly Manifest[]): string {
  return documents.map((document) => JSON.stringify(document, null, 2)).join("\n---\n");
}

export function secretStore(name: string, data: Record<string, string>): Manifest {
  return { kind: "SecretStore", metadata: { name }, spec: { data } };
}

/** A kind `Hook` with plugins. */
export function hookKind(...plugins: readonly Record<string, unknown>[]): Manifest {
  return {
    kind: "CustomResourceDefinition",
    metadata: { name: "hooks.example.com" },
    spec: {
      kind: "Hook",
      plural: "hooks",
      group: "example.com",
      plugins,
      versions: [{ name: "v1", schema: { type: "object" } }],
    },
  };
}

/** A Workflow of shell lines, their steps called `s1`, `s2`, … */
export function workflow(name: string, ...lines: readonly string[]): Manifest {
  const steps = lines.map((run, index) => ({ id: `s${index + 1}`, run }));
  return { kind: "Workflow", metadata: { name }, spec: { steps } };
}

export interface TriggerOptions {
  /** `spec.event.webhook`; GitHub's header and the SecretStore `github` when absent. */
  readonly webhook?: Record<string, unknown>;
  readonly condition?: string;
  readonly suspend?: boolean;
  /** Workflow; `record` when absent. */
  readonly workflow?: string;
  /** Workspace; `default` when absent. */
  readonly workspace?: string;
  readonly project?: string;
}

/** A webhook Trigger in the workspace `default`. */
export function trigger(name: string, options: TriggerOptions = {}): Manifest {
  const { condition, suspend, project } = options;
  const signed = { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" };
  return {
    kind: "Trigger",
    metadata: { name, ...defined({ project }) },
    spec: {
      event: {
        source: "webhook",
        webhook: options.webhook ?? signed,
        ...(condition === undefined ? {} : { filter: { condition } }),
      },
      ...defined({ suspend }),
      action: { workflow: options.workflow ?? "record", workspace: options.workspace ?? "default" },
    },
  };
}

/** A Connection `tidepool` to a repository at a stand-in of GitHub, with its token, and the secret of webhooks. */
export function gitHubConnection(
  { api, repository, token, secret, allow }: {
    readonly api: string;
    readonly repository: string;
    readonly token: string;
    readonly secret: string;
    readonly allow?: Record<string, unknown> | undefined;
  },
): Manifest[] {
  const github = {
    repository,
    api,
    token: { fromSecret: { store: "tidepool", key: "token" } },
  };
  return [
    secretStore("tidepool", { token }),
    secretStore("github", { secret }),
    {
      kind: "Connection",
      metadata: { name: "tidepool" },
      spec: { github, ...allow === undefined ? {} : { allow } },
    },
  ];
}
