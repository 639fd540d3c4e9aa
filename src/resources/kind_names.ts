/**
 * Facts about the built-in kinds, apart from their definitions: the command line needs only these,
 * and loading the definitions, with schemas, CEL and platforms, takes longer than `svc get`.
 *
 * @module
 */

/** The names of one kind for `svc get`, all in lower case, and whether it lives outside projects. */
interface Names {
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly global: boolean;
}

/** By the kind as it is written in `kind:`, in the order `svc get` and the docs list them. */
export const KIND_NAMES = {
  Trigger: { plural: "triggers", shortNames: ["tr"], global: false },
  Workflow: { plural: "workflows", shortNames: ["wf"], global: false },
  Agent: { plural: "agents", shortNames: ["ag"], global: false },
  StepTemplate: { plural: "steptemplates", shortNames: ["st"], global: false },
  Workspace: { plural: "workspaces", shortNames: ["ws"], global: false },
  Sandbox: { plural: "sandboxes", shortNames: ["sb"], global: false },
  SecretStore: { plural: "secretstores", shortNames: ["secret", "secrets", "ss"], global: false },
  Connection: { plural: "connections", shortNames: ["conn"], global: false },
  Notification: { plural: "notifications", shortNames: ["notif"], global: false },
  Person: { plural: "persons", shortNames: ["people"], global: true },
  CustomResourceDefinition: {
    plural: "customresourcedefinitions",
    shortNames: ["crd", "crds"],
    global: true,
  },
  Project: { plural: "projects", shortNames: ["proj"], global: true },
} as const satisfies Readonly<Record<string, Names>>;

/** A built-in kind as it is written in `kind:`. */
export type KindName = keyof typeof KIND_NAMES;
