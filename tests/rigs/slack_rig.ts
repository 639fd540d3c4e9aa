/**
 * The Slack source without a socket, over a real store and a manual clock: requests go in, and a
 * real router routes the events.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";
import { BodyBudget } from "../../src/http/body_budget.ts";
import { receiveSlackEvent } from "../../src/intake/slack.ts";
import { type RouterHost, SlackRouter } from "../../src/intake/slack/router.ts";
import type { RoutingResult, SourceEvent } from "../../src/store/source_event_records.ts";
import type { Task } from "../../src/store/task_records.ts";
import { Inboxes } from "../../src/tasks/step/inbox.ts";
import { until } from "../helpers/until.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import type { SlackHost } from "../../src/intake/slack.ts";
import { BASE, type SourceRig, sourceRig } from "./source_rig.ts";

/** A trigger of Slack; `more` is YAML flow. */
export function slackTrigger(
  name: string,
  options: { webhook?: string; condition?: string; more?: string } = {},
): string {
  const { webhook = "", condition, more = "" } = options;
  const filter = condition === undefined
    ? ""
    : `, filter: {condition: ${JSON.stringify(condition)}}`;
  return `
---
kind: Trigger
metadata: {name: ${name}}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: slack}, scheme: slack${webhook}}${filter}}
  action: {workflow: ci, workspace: repo}
  ${more}
`;
}

/** A workflow, a workspace and the signing secret. */
export const SLACK_BASE = `${BASE}
---
kind: SecretStore
metadata: {name: slack}
spec: {data: {signing_secret: "${SLACK_SECRET}"}}
`;

/** The `ts` of the post that begins most threads of these tests. */
export const ROOT = "1700000000.000100";

/** The Slack source of one test. */
export interface SlackRig extends AsyncDisposable {
  /** Store, clock and resources. */
  readonly base: SourceRig;
  /** Results of the router, each with its event. */
  readonly told: (RoutingResult & { readonly event: string })[];
  /** Sends a body to the trigger `chat`, or to another one. */
  post(body: string, options?: { trigger?: string; type?: string }): Promise<Response>;
  /** Sends a message; returns the id of its event. */
  say(
    text: string,
    ts: string,
    more?: Partial<Parameters<typeof slackMessage>[0]>,
  ): Promise<string>;
  /** Starts a router, with these members in place of the usual. */
  route(standIn?: Partial<RouterHost>): SlackRouter;
  /** Every event, oldest first. */
  events(): Promise<SourceEvent[]>;
  /** Waits until no event is due; returns every event. */
  settled(): Promise<SourceEvent[]>;
  /** State and reason of every settled event, by its text. */
  outcomes(): Promise<Record<string, string>>;
  /** Ends every ready task; returns them. */
  finish(state?: "succeeded" | "failed"): Promise<readonly Task[]>;
}

/** Makes the source; `route` starts a router. */
export async function slackRig(triggers: string): Promise<SlackRig> {
  const base = await sourceRig(SLACK_BASE + triggers);
  const { host, store, clock } = base;
  const told: (RoutingResult & { event: string })[] = [];
  host.events.on("sourceEventRouted", ({ id, routed }) => void told.push({ event: id, ...routed }));
  const routers: SlackRouter[] = [];
  const inboxes = new Inboxes(store, host.clock);
  const slackHost: SlackHost = {
    ...host,
    limits: { maxBytes: 1 << 20, deadlineMs: 5000 },
    bodies: new BodyBudget(128 << 20),
  };
  const events = async () => (await store.listSourceEvents({ limit: 1_000_000 })).toReversed();
  const rig: SlackRig = {
    base,
    told,
    events,
    async post(body, { trigger = "chat", type } = {}) {
      const time = String(Math.floor(clock.time / 1000));
      const headers = slackHeaders(body, { time, ...defined({ type }) });
      const request = new Request(`http://127.0.0.1/source/slack/default/${trigger}`, {
        method: "POST",
        headers,
        body: new TextEncoder().encode(body),
      });
      const target = {
        project: "default",
        trigger,
        path: `/source/slack/default/${trigger}`,
        remote: "192.0.2.7",
        headers: Object.fromEntries(request.headers),
      };
      return await receiveSlackEvent(request, target, slackHost);
    },
    async say(text, ts, more = {}) {
      clock.time++; // ids of one moment are in no order
      const response = await rig.post(slackMessage({ text, ts, ...more }));
      return String((await response.json())["source_event_id"]);
    },
    route(standIn = {}) {
      const answerClick = () => Promise.resolve({ taskId: "", reason: "nobody asked" });
      const router = new SlackRouter({ ...host, inboxes, answerClick, ...standIn });
      routers.push(router);
      return router;
    },
    settled: () =>
      until("the routing of every event", async () => {
        const all = await events();
        return all.every(({ state }) => state !== "received" && state !== "routing")
          ? all
          : undefined;
      }),
    async outcomes() {
      const all = await rig.settled();
      return Object.fromEntries(
        all.map(({ text, state, reason }) => [
          text,
          `${state}: ${reason.replaceAll(/[0-9A-HJKMNP-TV-Z]{26}/g, "ID")}`,
        ]),
      );
    },
    async finish(state = "succeeded") {
      const { tasks } = await store.claimTasks(1000, clock.time);
      for (const { task } of tasks) {
        await store.finishTask({ taskId: task.id, state, reason: "", now: clock.time });
      }
      return await base.tasks();
    },
    async [Symbol.asyncDispose]() {
      for (const router of routers) await router[Symbol.asyncDispose]();
      await base[Symbol.asyncDispose]();
    },
  };
  return rig;
}
