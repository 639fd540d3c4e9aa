/**
 * Sends messages to the fake GitHub, see `forge_sending.ts`.
 *
 * @module
 */

import type { MessageKind } from "../../src/outbox/message_kind.ts";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { forgeSending, type ForgeSendingRig, kindAt } from "./forge_sending.ts";

/** The repository of these messages. */
export const REPOSITORY = "brightwater/tidepool";

/** Sends through one kind. */
export interface GitHubSendingRig extends ForgeSendingRig {
  readonly fake: FakeGitHub;
  /** The calls that write since the last time, such as `POST /repos/…`, without the repository. */
  written(): readonly string[];
}

/** The kind for GitHub, of those that do the same at each forge. */
export function atGitHub(kinds: readonly MessageKind[]): MessageKind {
  return kindAt("github", kinds);
}

/** A rig for one kind, over a fake GitHub of the test, or one of its own. */
export async function githubSending(
  kinds: readonly MessageKind[],
  given?: FakeGitHub,
): Promise<GitHubSendingRig> {
  const fake = given ?? fakeGitHub();
  const rig = await forgeSending(atGitHub(kinds), {
    connection: {
      github: {
        repository: REPOSITORY,
        api: fake.url,
        token: { fromSecret: { store: "tidepool", key: "token" } },
      },
    },
    repository: REPOSITORY,
    token: TOKEN.token,
  });
  let seen = 0;
  return {
    ...rig,
    fake,
    written() {
      const calls = fake.calls.slice(seen).filter(({ method }) => method !== "GET");
      seen = fake.calls.length;
      return calls.map(({ method, path }) =>
        `${method} ${path.replace(`/repos/${REPOSITORY}`, "")}`
      );
    },
    async [Symbol.asyncDispose]() {
      if (given === undefined) await fake[Symbol.asyncDispose]();
      await rig[Symbol.asyncDispose]();
    },
  };
}
