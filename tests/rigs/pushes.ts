/**
 * Signed pushes to all daemons of a cluster, by senders who do as a load balancer does: what was not
 * answered, or with 503, is sent again to another daemon, as the same delivery.
 *
 * @module
 */

import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { PATIENCE_MS } from "../helpers/until.ts";
import type { Cluster } from "./cluster.ts";

const SECRET = "the secret that GitHub signs with";

/** The store of the secret, and what a trigger says to have pushes signed with it. */
export const SIGNING: readonly [store: Manifest, webhook: Record<string, unknown>] = [
  secretStore("github", { webhook_secret: SECRET }),
  { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" },
];

/** A push of this id. */
export function signedPush(id: string): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ ref: "refs/heads/main", after: id });
  return { headers: { ...githubHeaders(SECRET, body, "push"), "x-github-delivery": id }, body };
}

/** Senders who go on sending. */
const SENDERS = 3;
/** Longest pause of one of them. */
const PAUSE_MS = 600;
/** How long one waits for an answer: a daemon that stands still gives none. */
const ANSWER_MS = 5000;
/** Part of the pushes that are sent again although they were answered. */
const REPEATED = 0.2;

/** Pushes to the trigger `beat`. */
export class Pushes {
  /** The tasks that the answers to each push named, by its id; of one that was stored. */
  readonly stored = new Map<string, Set<string>>();
  /** How often what was answered: a status, or `none`. */
  readonly answers: Record<string, number> = {};
  /** Answers that may not be given. */
  readonly faults: string[] = [];
  readonly #cluster: Cluster;
  readonly #senders: Promise<void>[];
  #isOver = false;

  /** Begins to send. */
  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#senders = Array.from({ length: SENDERS }, () => this.#send());
  }

  /** Sends so many at once; resolves when each is stored. */
  async burst(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#push()));
  }

  /** Sends no more; resolves when all that were sent are stored. */
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
    const patience = new AbortController(); // until the status: a body that is broken off leaks
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
