/**
 * The names of the built-in kinds, apart from their definitions: the command line needs only names,
 * and loading the definitions, with schemas, CEL and platforms, takes longer than `svc get`.
 *
 * @module
 */

/** The names of one kind for `svc get`, all in lower case. */
interface Names {
  readonly plural: string;
  readonly shortNames: readonly string[];
}

/** By the kind as it is written in `kind:`, in the order `svc get` and the docs list them. */
export const KIND_NAMES = {
  Trigger: { plural: "triggers", shortNames: ["tr"] },
  Workflow: { plural: "workflows", shortNames: ["wf"] },
  Agent: { plural: "agents", shortNames: ["ag"] },
  StepTemplate: { plural: "steptemplates", shortNames: ["st"] },
  Workspace: { plural: "workspaces", shortNames: ["ws"] },
  SecretStore: { plural: "secretstores", shortNames: ["secret", "secrets", "ss"] },
  Connection: { plural: "connections", shortNames: ["conn"] },
  Notification: { plural: "notifications", shortNames: ["notif"] },
  CustomResourceDefinition: { plural: "customresourcedefinitions", shortNames: ["crd", "crds"] },
  Project: { plural: "projects", shortNames: ["proj"] },
} as const satisfies Readonly<Record<string, Names>>;

/** A built-in kind as it is written in `kind:`. */
export type KindName = keyof typeof KIND_NAMES;
