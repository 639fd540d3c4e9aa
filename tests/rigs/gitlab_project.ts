/**
 * A project of the fake GitLab, through the interface of forges.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import type { ApiAccess } from "../../src/connections/api/api_call.ts";
import type { ForgeRepository } from "../../src/connections/api/forge.ts";
import type { Connection } from "../../src/connections/find_connection.ts";
import { GITLAB } from "../../src/connections/gitlab/forge.ts";
import { type FakeGitLab, GITLAB_PROJECT, GITLAB_TOKEN } from "../fakes/gitlab.ts";

/** How a fake is reached. */
export function gitLabAccess({ url }: Pick<FakeGitLab, "url">, token?: string): ApiAccess {
  return { api: url, token: () => token ?? GITLAB_TOKEN.token, clock: systemClock };
}

/** The project of a fake that has one, or that with a path. */
export function gitLabProject(
  fake: Pick<FakeGitLab, "url">,
  { repository = GITLAB_PROJECT, token }: { repository?: string; token?: string } = {},
): ForgeRepository {
  const access = gitLabAccess(fake, token);
  return GITLAB.open({
    connection: { spec: {} } as Connection, // GitLab needs nothing of it
    repository,
    call: (call) => GITLAB.call(access, call),
    clock: systemClock,
  });
}
