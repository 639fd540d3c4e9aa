/**
 * Names of resources, and values in them, that are needed where no schema is: loading one takes longer
 * than most commands.
 *
 * @module
 */

/** Names of resources and projects. */
export const NAME_PATTERN = "^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$";

/** Keys of outputs and ids of steps: usable in CEL as `steps.<id>.outputs.<key>`. */
export const KEY_PATTERN = "^[A-Za-z_][A-Za-z0-9_-]{0,62}$";

/** Name of the workspace that exists from `svc init` on. */
export const DEFAULT_WORKSPACE = "default";

/** Shown in place of every secret value. In a manifest it keeps the stored value. */
export const MASK = "***";

/** Which steps have to be in a sandbox, whatever manifests say: all, or those of workflows with agents. */
export const REQUIRED_SANDBOXES = ["none", "agents", "all"] as const;

/** One of {@linkcode REQUIRED_SANDBOXES}. */
export type RequiredSandbox = typeof REQUIRED_SANDBOXES[number];

/** Base URL of Slack's Web API. */
export const SLACK_API_URL = "https://slack.com/api";

/**
 * The default name of a Connection: the name of the repository or organization, in lower case.
 */
export function defaultConnectionName(to: string): string {
  const name = to.slice(to.lastIndexOf("/") + 1).toLowerCase();
  return name.replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, "") || "github";
}
