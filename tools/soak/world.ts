/**
 * What every actor of a soak works with: sending a request and calling the control plane, each with
 * the outcomes that are allowed while daemons start and end.
 *
 * @module
 */

import type { AttachedName, CallName, Input, Output } from "../../src/api/operations.ts";
import { AppError, type ErrorCode } from "../../src/base/errors.ts";
import { type Answer, type Send } from "../../tests/helpers/daemon.ts";
import { signGithub } from "../../tests/helpers/github.ts";
import type { Journal } from "./journal.ts";
import type { Living } from "./lives.ts";
import type { Random } from "../../tests/helpers/random.ts";
import { FIRST_KEY, SECRET, type Site } from "./site.ts";
import { Switch } from "./switch.ts";

/** Most pending tasks; above it no actor adds more. */
const MOST_PENDING = 250;

/** A request to a trigger, signed like GitHub's. */
export interface Shot {
  /** Name of the trigger. */
  readonly trigger: string;
  readonly body: string;
  /** Id of the delivery; sending it again with the same body is a repetition. */
  readonly delivery?: string;
  /** The secret of the signature. */
  readonly secret?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further options of the request. */
  readonly send?: Pick<Send, "method" | "chunked">;
}

/** The answer to a shot. */
export interface Hit {
  /** The HTTP status; after 200 also the `status` of the body, as in `200 accepted`. */
  readonly outcome: string;
  readonly answer: Answer;
}

export class World {
  readonly site: Site;
  readonly lives: Living;
  readonly journal: Journal;
  /** Secret of the trigger `rotated`. */
  readonly key = new Switch(FIRST_KEY);
  /** Whether the trigger `paused` is suspended. */
  readonly paused = new Switch(false);
  /** Whether the store of the trigger `toggled` exists. */
  readonly store = new Switch<"there" | "gone">("there");
  /** Whether the plugin policy can be read. */
  readonly policy = new Switch<"good" | "broken">("good");
  /** Whether the file of roles can be read. */
  readonly roles = new Switch<"good" | "broken">("good");
  /** Aborts when the actors are to stop. */
  readonly stop: AbortSignal;
  #pending = 0;
  #marks = 0;
  #revisions = 0;

  constructor(parts: { site: Site; lives: Living; journal: Journal; stop: AbortSignal }) {
    this.site = parts.site;
    this.lives = parts.lives;
    this.journal = parts.journal;
    this.stop = parts.stop;
  }

  /** Waits for about `aboutMs`, and longer while too many tasks are pending. */
  async breathe(random: Random, aboutMs: number): Promise<void> {
    do {
      await new Promise((resolve) => setTimeout(resolve, random.next() * 2 * aboutMs));
    } while (this.crowded && !this.stop.aborted);
  }

  /** Whether too many tasks are pending. */
  get crowded(): boolean {
    return this.#pending > MOST_PENDING;
  }

  /** Reads how many tasks are pending. */
  async look(): Promise<void> {
    const status = await this.call("status", {});
    if (status !== undefined) this.#pending = status.queue.pending;
  }

  /** Sends a signed request; `undefined` if the daemon ended before it answered. */
  async shoot(shot: Shot, allowed: readonly string[]): Promise<Hit | undefined> {
    const { trigger, body, headers = {}, delivery = crypto.randomUUID(), secret = SECRET } = shot;
    const mark = this.mark();
    const signed = {
      "content-type": "application/json",
      "x-github-delivery": delivery,
      "x-hub-signature-256": signGithub(secret, body),
      "x-soak": mark,
      ...headers,
    };
    const { method = "POST" } = shot.send ?? {};
    const content = method === "GET" ? {} : { body };
    const answer = await this.send(`/webhook/${trigger}`, {
      ...shot.send,
      headers: signed,
      ...content,
    });
    return answer === undefined ? undefined : this.judge({ answer, mark, what: trigger }, allowed);
  }

  /** A new mark for the header `x-soak` of a request. */
  mark(): string {
    return `m${++this.#marks}`;
  }

  /** A number that no earlier apply had. */
  nextRevision(): number {
    return ++this.#revisions;
  }

  /** Records an answer. An outcome that is neither in `allowed` nor 503 is a fault. */
  judge(
    { answer, mark, what }: { answer: Answer; mark: string; what: string },
    allowed: readonly string[],
  ): Hit {
    const { status, json } = answer;
    const outcome = status === 200 ? `200 ${json["status"]}` : String(status);
    this.journal.count(`${what}: ${outcome}`);
    if (outcome === "200 accepted" && typeof json["delivery_id"] === "string") {
      const ids = json["task_ids"] ?? [json["task_id"]];
      this.journal.promised.push({
        mark,
        delivery: json["delivery_id"],
        tasks: (ids as unknown[]).map(String),
      });
    } else this.journal.withoutTask.add(mark);
    if (!allowed.includes(outcome) && outcome !== "503") {
      this.journal.fault(`${what} was answered ${outcome}, not ${allowed.join(" or ")}`);
    }
    return { outcome, answer };
  }

  /** Sends a request to a running daemon; `undefined` if the daemon ended before it answered. */
  async send(path: string, send: Send): Promise<Answer | undefined> {
    const daemon = await this.lives.now();
    const ended = this.lives.ended;
    try {
      return await daemon.send(path, send);
    } catch (error) {
      this.#excuse(ended, `a request to ${path}`, error);
      return undefined;
    }
  }

  /**
   * Calls an operation; `undefined` when it was refused with an allowed code, or had no answer.
   */
  async call<Name extends Exclude<CallName, AttachedName>>(
    name: Name,
    input: Input<Name>,
    mayFail: readonly ErrorCode[] = [],
  ): Promise<Output<Name> | undefined> {
    await this.lives.now();
    const [ended, roles] = [this.lives.ended, this.roles.watch()];
    try {
      return await this.lives.client.call(name, input);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.journal.count(`${name}: ${error.code}`);
      if (error.code === "unreachable") this.#excuse(ended, name, error);
      else if (error.code === "forbidden" && roles() !== "good") return undefined;
      else if (error.code !== "overloaded" && !mayFail.includes(error.code)) {
        this.journal.fault(`${name} failed: ${error.code}: ${error.message}`);
      }
      return undefined;
    }
  }

  /** A missing answer is a fault, unless a daemon ended meanwhile. */
  #excuse(endedBefore: number, what: string, error: unknown): void {
    this.journal.count("not answered");
    if (this.lives.ended === endedBefore) {
      this.journal.fault(`${what} got no answer from a daemon that lives: ${error}`);
    }
  }
}
