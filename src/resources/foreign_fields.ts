/**
 * Names of fields in GitHub Actions, Kubernetes and other tools, and their names here.
 *
 * @module
 */

/** Names of fields here, by their name elsewhere; the first that is known in its place is meant. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  "if": ["when"],
  "name": ["id"],
  "with": ["env"],
  "environment": ["env"],
  "command": ["run"],
  "cmd": ["run"],
  "script": ["run"],
  "depends_on": ["needs"],
  "depends-on": ["needs"],
  "dependsOn": ["needs"],
  "continue-on-error": ["continueOnError"],
  "working-directory": ["workdir"],
  "workingDirectory": ["workdir"],
  "cwd": ["workdir"],
  "timeout-minutes": ["timeout"],
  "timeoutSeconds": ["timeout"],
  "retries": ["retry"],
  "sleep": ["waitFor"],
  "wait": ["waitFor"],
  "suspend": ["approval", "waitFor"],
  "manual": ["approval"],
  "loop": ["repeat"],
  "while": ["repeat"],
  "jobs": ["steps"],
  "inputs": ["with"],
  "for_each": ["forEach"],
  "matrix": ["forEach"],
  "max-parallel": ["maxParallel"],
  "on": ["event"],
  "post": ["finally"],
  "always": ["finally"],
  "namespace": ["project"],
  "stringData": ["data"],
  "secretRef": ["secret"],
  "secretName": ["fromRef", "store"],
  "cron": ["schedule"],
};

/** The part of a document in which a field belongs. */
const UNDER: Readonly<Record<string, string>> = {
  name: "metadata",
  project: "metadata",
  namespace: "metadata",
  labels: "metadata",
  annotations: "metadata",
  steps: "spec",
  finally: "spec",
  event: "spec",
  action: "spec",
  data: "spec",
  path: "spec",
  command: "spec",
};

/** Advice for the unknown field `name` in a place whose fields are `known`. */
export function hintAt(name: string, known: readonly string[]): string | undefined {
  const part = own(UNDER, name);
  if (part !== undefined && known.includes("metadata") && known.includes("spec")) {
    return `it belongs under "${part}"`;
  }
  if (name === "uses" && known.includes("agent")) {
    return 'a step has "run" (a shell line) or "agent" (the name of an Agent)';
  }
  if (name === "repeat" && known.includes("run")) {
    return 'which stands among the "steps" of a Workflow, not in another "repeat" or under "finally"';
  }
  if (name === "on" && known.includes("steps")) return "a Trigger says when a Workflow runs";
  const called = own(CALLED, name)?.find((one) => known.includes(one));
  return called === undefined ? undefined : `did you mean "${called}"?`;
}

function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
