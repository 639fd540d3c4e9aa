/**
 * The parts that turn events into tasks: the webhook pipeline, the sources without requests, and the
 * router of chat events.
 *
 * @module
 */

import { answerByClick } from "../control/approvals/answer_by_click.ts";
import { ParallelDisposer } from "../base/parallel_disposer.ts";
import { BodyBudget } from "../http/body_budget.ts";
import { Certificates } from "../http/certificates.ts";
import { keepBodyTimer } from "../http/read_body.ts";
import { get, visit } from "../http/send.ts";
import { Triggers } from "../intake/admission/triggers.ts";
import { SlackSockets } from "../intake/slack_sockets.ts";
import { SlackRouter } from "../intake/slack/router.ts";
import { startSources } from "../intake/sources.ts";
import type { WebhookHost } from "../intake/webhook.ts";
import type { PluginHost } from "../plugins/run_plugin.ts";
import { Planner } from "../tasks/plan.ts";
import { AbandonedChildren } from "../tasks/run/abandoned_children.ts";
import { ChildEnds } from "../tasks/run/child_ends.ts";
import type { DaemonConfig } from "./config.ts";
import type { Execution } from "./execution.ts";
import type { State } from "./state.ts";

/** The parts that accept events. */
export interface Intake extends AsyncDisposable {
  /** The parts that receive requests. */
  readonly pipeline: State & Pick<WebhookHost, PipelinePart | "bodies" | "limits">;
  /** Socket Mode, which brings events of Slack without an address. */
  readonly sockets: SlackSockets;
}

type PipelinePart = "plugins" | "triggers" | "planner" | "findCertificate" | "visit";

/** The parts of a daemon before its servers open. */
export interface DaemonParts {
  readonly config: DaemonConfig;
  readonly state: State;
  readonly execution: Execution;
  readonly intake: Intake;
}

/** Longest time a body may take to arrive. */
const BODY_DEADLINE_MS = 30_000;

/**
 * Starts the router and the sources; each continues where the previous run of the daemon stopped.
 */
export function openIntake(
  config: DaemonConfig,
  state: State,
  { plugins, inboxes, answers, notifier, outbox, startAudited }: Execution,
): Intake {
  const busy = new ParallelDisposer();
  const limits = { maxBytes: config.settings.maxBody, deadlineMs: BODY_DEADLINE_MS };
  const bodyTimer = keepBodyTimer(limits);
  const pipeline = {
    ...withPipeline(state, plugins),
    bodies: new BodyBudget(config.maxInflightBytes),
    limits,
  };
  const answering = { ...state, outbox, startAudited };
  busy.use(new SlackRouter({ ...pipeline, inboxes, answerClick: answerByClick(answering) }));
  const sockets = busy.use(new SlackSockets(pipeline));
  busy.use(new AbandonedChildren(state));
  const children = busy.use(new ChildEnds(state));
  busy.use(startSources({
    ...pipeline,
    answerEnd: async (task) => {
      if (task.rootId === "") {
        return [...await answers.atEnd(task), ...await notifier.atEnd(task)];
      }
      await children.over(task.id); // people hear of the task at the top
      return [];
    },
  }));
  return {
    pipeline,
    sockets,
    async [Symbol.asyncDispose]() {
      using _timer = bodyTimer;
      await busy[Symbol.asyncDispose]();
    },
  };
}

/** Adds to a state the parts that the pipeline needs. */
export function withPipeline<Given extends Pick<State, "catalog" | "clock">>(
  state: Given,
  plugins: PluginHost,
): Given & Pick<WebhookHost, PipelinePart> {
  const { catalog, clock } = state;
  const certificates = new Certificates((url) => get(url, clock), clock);
  return {
    ...state,
    plugins,
    triggers: new Triggers(catalog),
    planner: new Planner(catalog),
    findCertificate: (url) => certificates.find(url),
    visit: (url) => visit(url, clock),
  };
}
