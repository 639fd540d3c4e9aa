/**
 * A sender that behaves like Slack: posts and replies in threads, two kinds of events for a post,
 * and the same event again with a new signature if there was no answer.
 *
 * @module
 */

import { type Message, slackHeaders, slackMessage } from "../../tests/helpers/slack.ts";
import type { Random } from "../../tests/helpers/random.ts";
import type { World } from "./world.ts";

/** Threads that replies go to. */
const MOST_THREADS = 5;

export class Chat {
  readonly #threads: string[] = [];
  #posts = 0;

  /** Posts a message; some messages are sent twice, as Slack does after a timeout. */
  async send(world: World, random: Random): Promise<void> {
    const ts = `17${String(random.between(0, 99_999_999)).padStart(8, "0")}.${
      String(++this.#posts).padStart(6, "0")
    }`;
    const reply = this.#threads.length > 0 && random.chance(0.6);
    const thread = reply ? { thread: random.pick(this.#threads) } : {};
    const message: Message = { text: `post ${this.#posts} $(touch PWN)`, ts, ...thread };
    const id = await this.#deliver(world, message);
    if (id === undefined) return;
    if (!reply) this.#threads.push(ts);
    if (this.#threads.length > MOST_THREADS) this.#threads.shift();
    if (random.chance(0.3)) await this.#deliver(world, message);
    if (random.chance(0.1)) await this.#deliver(world, { ...message, type: "app_mention" });
  }

  /** Sends an event until it is answered; returns the id of its source event. */
  async #deliver(world: World, message: Message): Promise<string | undefined> {
    const { journal } = world;
    const body = slackMessage(message);
    const { event_id: external } = JSON.parse(body) as { event_id: string };
    for (let attempt = 0; !world.stop.aborted; attempt++) {
      const retry = attempt === 0 ? {} : { "x-slack-retry-num": String(attempt) };
      const headers = { ...slackHeaders(body), ...retry, "x-soak": world.mark() };
      const answer = await world.send("/source/slack/default/chat", { headers, body });
      if (answer === undefined || answer.status === 503) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        continue;
      }
      const { status, json } = answer;
      journal.count(`chat: ${status} ${json["status"]}`);
      const id = String(json["source_event_id"]);
      const known = journal.chat.get(external);
      if (status !== 200) journal.fault(`Slack was answered ${status}`);
      else if (known !== undefined && known !== id) {
        journal.fault(`event ${external} of Slack was answered ${id}, and ${known} before`);
      } else journal.chat.set(external, id);
      return status === 200 ? id : undefined;
    }
    return undefined;
  }
}

/** Sends an event with a wrong or an outdated signature. */
export async function sendForgedChat(world: World, random: Random): Promise<void> {
  const body = slackMessage({ text: "forged", ts: `1600000000.${random.between(100000, 999999)}` });
  const old = String(Math.floor(Date.now() / 1000) - 400);
  const headers = random.chance(0.5)
    ? slackHeaders(body, { secret: "not the signing secret of anybody" })
    : slackHeaders(body, { time: old });
  const answer = await world.send("/source/slack/default/chat", { headers, body });
  if (answer === undefined || answer.status === 503) return;
  world.journal.count(`forged chat: ${answer.status}`);
  if (answer.status !== 401) world.journal.fault(`A forged event was answered ${answer.status}`);
}
