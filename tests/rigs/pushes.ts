/**
 * Sends signed pushes to all daemons of a cluster as a load balancer does: a push without an
 * answer, or answered 503, goes to another daemon as the same delivery.
 *
 * @module
 */

import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { PATIENCE_MS } from "../helpers/until.ts";
import type { Cluster } from "./cluster.ts";

const SECRET = "the secret that GitHub signs with";

/** A SecretStore, and the `webhook` block of a trigger that takes pushes signed with it. */
export const SIGNING: readonly [store: Manifest, webhook: Record<string, unknown>] = [
  secretStore("github", { webhook_secret: SECRET }),
  { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" },
];

/** Headers and body of a push with this id. */
export function signedPush(id: string): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ ref: "refs/heads/main", after: id });
  return { headers: { ...githubHeaders(SECRET, body, "push"), "x-github-delivery": id }, body };
}

/** Senders that send all the time. */
const SENDERS = 3;
/** Longest pause between two pushes of a sender. */
const PAUSE_MS = 600;
/** How long a sender waits for an answer: a stopped daemon gives none. */
const ANSWER_MS = 5000;
/** Share of answered pushes that are sent again. */
const REPEATED = 0.2;

/** Pushes to the trigger `beat`. */
export class Pushes {
  /** Ids of the tasks that the answers named, by the id of the push. */
  readonly stored = new Map<string, Set<string>>();
  /** Number of answers by status; `none` for no answer. */
  readonly answers: Record<string, number> = {};
  /** Answers that no push may get. */
  readonly faults: string[] = [];
  readonly #cluster: Cluster;
  readonly #senders: Promise<void>[];
  #isOver = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#senders = Array.from({ length: SENDERS }, () => this.#send());
  }

  /** Sends `count` pushes at once; resolves when each is stored. */
  async burst(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#push()));
  }

  /** Ends the senders; resolves when every push is stored. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#senders);
  }

  async #send(): Promise<void> {
    while (!this.#isOver) {
      await this.#push();
      await pause(Math.random() * PAUSE_MS);
    }
  }

  async #push(): Promise<void> {
    const id = crypto.randomUUID();
    const { headers, body } = signedPush(id);
    const request = { method: "POST", headers, body: new TextEncoder().encode(body) };
    let at = Math.floor(Math.random() * this.#cluster.daemons.length);
    for (const since = Date.now(); !await this.#try(at++, id, request);) {
      if (Date.now() - since > PATIENCE_MS) {
        return void this.faults.push(`push ${id} was not stored`);
      }
      await pause(100);
    }
    if (Math.random() < REPEATED) await this.#try(at, id, request);
  }

  /** Sends a push to one daemon; whether it is stored. */
  async #try(at: number, id: string, request: RequestInit): Promise<boolean> {
    const { daemons } = this.#cluster;
    const url = `${daemons[at % daemons.length]?.url}/webhook/beat`;
    const patience = new AbortController(); // only until the status: a body cut off leaks
    const timer = setTimeout(() => patience.abort(), ANSWER_MS);
    const answer = await fetch(url, { ...request, signal: patience.signal })
      .finally(() => clearTimeout(timer))
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => ({ status: "none", text: "" }));
    this.answers[answer.status] = (this.answers[answer.status] ?? 0) + 1;
    if (answer.status !== 200) {
      if (answer.status !== 503 && answer.status !== "none") this.#fault(id, answer);
      return false;
    }
    const { status, task_id: task } = JSON.parse(answer.text);
    if (status !== "accepted" && status !== "duplicate") this.#fault(id, answer);
    this.stored.set(id, (this.stored.get(id) ?? new Set()).add(String(task)));
    return true;
  }

  #fault(id: string, { status, text }: { readonly status: unknown; readonly text: string }): void {
    this.faults.push(`push ${id} was answered ${status} ${text}`);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
