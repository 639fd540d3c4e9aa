/**
 * The fields of a Connection.
 *
 * @module
 */

import Type from "typebox";
import { ORGANIZATION_PATTERN, REPOSITORY_PATTERN } from "../base/github_names.ts";
import { GROUP_PATTERN, PROJECT_PATTERN } from "../base/gitlab_names.ts";
import { FromSecret } from "./env.ts";
import { OUTPUTS } from "./may.ts";
import { Name } from "./metadata.ts";
import { Duration } from "./timeout.ts";

const CLOSED = { additionalProperties: false };

/** Base URL of an API; a slash at its end does not matter. */
const ApiUrl = Type.String({
  pattern: "^https?://[^\\s/?#]+[^\\s?#]*$",
  title: "an http(s) URL without a query",
});

const RepositoryName = Type.String({
  pattern: REPOSITORY_PATTERN,
  title: "a repository: OWNER/NAME",
});

/** A repository of either kind: a check of the Connection says which it takes. */
const TargetName = Type.String({
  pattern: `(?:${REPOSITORY_PATTERN})|(?:${PROJECT_PATTERN})`,
  title: "a repository: OWNER/NAME, at GitLab GROUP/PROJECT",
});

const Hook = Type.Object({
  endpoint: Name,
  id: Type.Integer({ minimum: 1 }),
}, CLOSED);

const GitHubApp = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  slug: Type.Optional(Type.String({
    pattern: "^[a-z0-9][a-z0-9-]{0,99}$",
    title: "the name of an app in its address",
  })),
  clientId: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9._-]{1,100}$" })),
  privateKey: FromSecret,
}, CLOSED);

const GitHub = Type.Object({
  repository: Type.Optional(RepositoryName),
  organization: Type.Optional(Type.String({
    pattern: ORGANIZATION_PATTERN,
    title: "the name of an organization",
  })),
  repositories: Type.Optional(Type.Array(RepositoryName, {
    minItems: 1,
    maxItems: 500,
    title: "a list of repositories: OWNER/NAME",
  })),
  api: Type.Optional(ApiUrl),
  token: Type.Optional(FromSecret),
  app: Type.Optional(GitHubApp),
  events: Type.Optional(Type.Enum(["push", "pull"])),
  hooks: Type.Optional(Type.Array(Hook)),
}, CLOSED);

const ProjectName = Type.String({
  pattern: PROJECT_PATTERN,
  title: "a project: GROUP/PROJECT",
});

const GitLabHook = Type.Object({
  endpoint: Name,
  id: Type.Integer({ minimum: 1 }),
  // Of a group whose GitLab has no webhooks of groups.
  project: Type.Optional(ProjectName),
}, CLOSED);

const GitLab = Type.Object({
  project: Type.Optional(ProjectName),
  group: Type.Optional(Type.String({
    pattern: GROUP_PATTERN,
    title: "the name of a group",
  })),
  api: Type.Optional(ApiUrl),
  token: FromSecret,
  hooks: Type.Optional(Type.Array(GitLabHook)),
}, CLOSED);

const Slack = Type.Object({
  botToken: FromSecret,
  appToken: Type.Optional(FromSecret),
  api: Type.Optional(ApiUrl),
  events: Type.Optional(Type.Enum(["push", "socket"])),
  endpoint: Type.Optional(Name),
}, CLOSED);

const Line = Type.Object({
  channelAccessToken: FromSecret,
  api: Type.Optional(ApiUrl),
  endpoint: Type.Optional(Name),
}, CLOSED);

/** Schema of `spec`. */
export const ConnectionSpec = Type.Object({
  github: Type.Optional(GitHub),
  gitlab: Type.Optional(GitLab),
  slack: Type.Optional(Slack),
  line: Type.Optional(Line),
  repair: Type.Optional(Type.Object({
    every: Type.Union([Type.Literal(0), Type.Literal("0"), Duration], {
      title: 'a duration such as "5m", or 0 for never',
    }),
  }, CLOSED)),
  allow: Type.Optional(Type.Object({
    targets: Type.Optional(Type.Array(TargetName)),
    outputs: Type.Optional(Type.Array(Type.Enum([...OUTPUTS]), {
      uniqueItems: true,
      title: "a list of outputs, such as [comment, pull]; [] stops all",
    })),
  }, CLOSED)),
}, CLOSED);

/** `spec` of a Connection: exactly one of its platforms is there. */
export type ConnectionSpec = Type.Static<typeof ConnectionSpec>;
/**
 * `spec.github`: with `token`, exactly one of `repository` and `organization`; with `app`, at most one
 * of `organization` and `repositories`, and without both every repository where it is installed.
 */
export type GitHubSpec = Type.Static<typeof GitHub>;
/** `spec.gitlab`: exactly one of `project` and `group`. */
export type GitLabSpec = Type.Static<typeof GitLab>;
/** `spec.github.app` as written by the user. */
export type GitHubAppSpec = Type.Static<typeof GitHubApp>;
