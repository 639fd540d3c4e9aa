/**
 * The names of repositories and organizations at GitHub, Gitea and Forgejo, of events, and of the states
 * of check runs. The former become parts of paths in calls that carry a token, so none may change the
 * path, as `..` does.
 *
 * @module
 */

const NAME = "[A-Za-z0-9_.-]{1,100}";

/** Regular expression of a repository as `OWNER/NAME`. */
export const REPOSITORY_PATTERN = `^(?!\\.{1,2}/)${NAME}/(?!\\.{1,2}$)${NAME}$`;
/** Pattern of the name of an organization. */
export const ORGANIZATION_PATTERN = `^(?!\\.{1,2}$)${NAME}$`;

const REPOSITORY = new RegExp(REPOSITORY_PATTERN);
const ORGANIZATION = new RegExp(ORGANIZATION_PATTERN);

/** Whether a text is `OWNER/NAME`. */
export function isRepository(text: string): boolean {
  return REPOSITORY.test(text);
}

/** Whether a text can be the name of an organization. */
export function isOrganization(text: string): boolean {
  return ORGANIZATION.test(text);
}

/** States that a check run can have. */
export const CHECK_STATUSES = ["queued", "in_progress", "completed"] as const;
/** Ends that a check run can have. */
export const CHECK_CONCLUSIONS = [
  "success",
  "failure",
  "neutral",
  "cancelled",
  "skipped",
  "timed_out",
  "action_required",
] as const;

/** Events of GitHub that the triggers of the package take. */
export const PACKAGE_EVENTS = ["push", "pull_request", "issue_comment", "release"] as const;
/** Events that the triggers of an agent take beside those. */
export const AGENT_EVENTS = ["issues", "check_suite", "status"] as const;
