/**
 * What the screens about deliveries are tested with: a daemon to which GitHub has sent this and that.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";

/** The secret that both sides know. */
const SECRET = "a-shared-secret";

/** The condition of the trigger `push`. */
export const CONDITION = 'payload.ref == "refs/heads/main" && payload.created == false';

/** A daemon with the trigger `push`, and a trigger `open` without a condition. */
export async function startWithPush(): Promise<TestDaemon> {
  const daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(
    secretStore("github", { webhook: SECRET }),
    workflow("record", "true"),
    trigger("push", {
      condition: CONDITION,
      webhook: {
        secret: { fromRef: "github" },
        scheme: "github",
        recordRejected: true,
      },
    }),
    trigger("open"),
  );
  return daemon;
}

/** A push as GitHub tells of one. */
export function push(branch: string, number = 1): Record<string, unknown> {
  return {
    ref: `refs/heads/${branch}`,
    created: false,
    number: 9007199254740993n,
    head_commit: { id: `c${number}`, message: "Mend the login", author: { name: "Ada" } },
    commits: [{ id: `c${number}`, added: ["login.ts"], removed: [] }],
  };
}

/** How to send one. */
export interface SendPush {
  readonly trigger?: string;
  readonly secret?: string;
  /** `X-GitHub-Delivery`; a new one when absent. */
  readonly delivery?: string;
}

/** Sends a push; gives the id of its delivery. */
export async function sendPush(
  daemon: TestDaemon,
  payload: Readonly<Record<string, unknown>>,
  { trigger = "push", secret = SECRET, delivery }: SendPush = {},
): Promise<string> {
  const body = JSON.stringify(
    payload,
    (_name, value) => typeof value === "bigint" ? rawJSON(String(value)) : value,
  );
  const headers = githubHeaders(secret, body, "push");
  if (delivery !== undefined) headers["x-github-delivery"] = delivery;
  const answer = await daemon.send(`/webhook/${trigger}`, { headers, body });
  equal(answer.status, secret === SECRET ? 200 : 401, answer.text);
  return await newestId(daemon);
}

/** The types do not know it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

async function newestId(daemon: TestDaemon): Promise<string> {
  using client = daemon.client();
  const { items } = await client.call("get", { what: "deliveries", limit: 1 });
  return String(items[0]?.["id"]);
}
