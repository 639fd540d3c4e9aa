/**
 * The names of projects and groups at GitLab. They become parts of paths in calls that carry a token, so
 * none may change the path, as `..` does.
 *
 * @module
 */

const PART = "(?!\\.{1,2}(?:/|$))[A-Za-z0-9_.][A-Za-z0-9_.-]{0,254}";
/** Most parts of a name: GitLab nests groups twenty deep. */
const MOST_PARTS = 20;

/** Regular expression of a project as `GROUP/…/PROJECT`. */
export const PROJECT_PATTERN = `^${PART}(?:/${PART}){1,${MOST_PARTS - 1}}$`;
/** Regular expression of a group, which may be in other groups. */
export const GROUP_PATTERN = `^${PART}(?:/${PART}){0,${MOST_PARTS - 2}}$`;

const PROJECT = new RegExp(PROJECT_PATTERN);
const GROUP = new RegExp(GROUP_PATTERN);

/** Whether a text is `GROUP/…/PROJECT`. */
export function isProject(text: string): boolean {
  return PROJECT.test(text);
}

/** Whether a text can be the name of a group with those that it is in. */
export function isGroup(text: string): boolean {
  return GROUP.test(text);
}

/** Events that a webhook can send, and their switches in the API. */
export const HOOK_EVENTS: ReadonlyMap<string, string> = new Map([
  ["push", "push_events"],
  ["tag_push", "tag_push_events"],
  ["issue", "issues_events"],
  ["note", "note_events"],
  ["merge_request", "merge_requests_events"],
  ["pipeline", "pipeline_events"],
  ["job", "job_events"],
  ["release", "releases_events"],
  ["deployment", "deployment_events"],
  ["wiki_page", "wiki_page_events"],
  ["emoji", "emoji_events"],
  ["confidential_issue", "confidential_issues_events"],
  ["confidential_note", "confidential_note_events"],
]);

/** Events of GitLab that the triggers of the package take. */
export const PACKAGE_EVENTS = ["push", "merge_request", "note", "release"] as const;
