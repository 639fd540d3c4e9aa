/**
 * `report.github.pull` and `report.gitlab.pull` of a trigger: the pull at the end of a task that has
 * succeeded. svc packs the change with the same command as a step would, as the last process of the task,
 * in the sandbox that its steps had. If that fails, the task has succeeded none the less, and people hear
 * why.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { FORGE_WORDS, type ForgeName, FORGES } from "../../base/forge_names.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import { END_OF_TASK } from "../../resources/may.ts";
import type { ForgeReport } from "../../resources/report.ts";
import { NO_SANDBOX } from "../../resources/sandbox.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { CancellationScope } from "../cancellation_scope.ts";
import type { StepLog } from "../log/task_log.ts";
import type { Plan, PlannedStep } from "../plan.ts";
import { fitsVariable } from "../step/step_env.ts";
import { attemptStep } from "./attempt_step.ts";
import type { TaskContext, TaskRun } from "./task_context.ts";

/** A pull that a trigger reports, and where. */
interface PullReport {
  readonly forge: ForgeName;
  readonly pull: NonNullable<ForgeReport["pull"]>;
}

/** Longest time for packing the change and handing it over. */
const TIMEOUT = "10m";
/** Most characters of the text: more than a pull can have goes into no variable. */
const MAX_TEXT = 30_000;
/** Most characters of what the command said that are kept. */
const MAX_SAID = 2000;

/**
 * The pull that the trigger of a task reports; `undefined` for none. Where it reports one at each
 * forge, that of the event counts; the command refuses what does not fit the event.
 */
export async function pullReportOf(
  { claimed: { task }, host }: Pick<TaskRun, "claimed" | "host">,
): Promise<PullReport | undefined> {
  const trigger = host.catalog.find<TriggerSpec>("Trigger", task.project, task.trigger);
  const all = FORGES.flatMap((forge) => {
    const pull = trigger?.spec.report?.[forge]?.pull;
    return pull === undefined ? [] : [{ forge, pull }];
  });
  if (all.length < 2) return all[0];
  const from = await host.forgeOf?.(task);
  return all.find(({ forge }) => forge === from) ?? all[0];
}

/**
 * Makes the pull of a task. Whether it is done: `false` if the daemon stops before.
 */
export async function reportPull(
  context: TaskContext,
  report: PullReport,
  cancellation: CancellationScope,
): Promise<boolean> {
  const why = await whyNoPull(context, report, cancellation);
  if (why === "stopped") return false;
  if (why !== undefined) {
    const { host, claimed: { task } } = context;
    const { pull } = FORGE_WORDS[report.forge];
    await host.unanswered?.(task, `there is no ${pull}: ${host.secrets.redact(why)}`);
  }
  return true;
}

/** Why no pull was made, or that the daemon stops; `undefined` when it was handed over. */
async function whyNoPull(
  context: TaskContext,
  report: PullReport,
  cancellation: CancellationScope,
): Promise<"stopped" | string | undefined> {
  const scope = context.scopeFor({ state: "succeeded", goal: context.goal });
  let variables: Record<string, string>;
  try {
    const { pull } = report;
    const fill = async (text: string) =>
      await renderTemplate(compileTemplate(text), scope, context.evaluator);
    variables = {
      SVC_PULL_TITLE: variable(await fill(pull.title)),
      SVC_PULL_BODY: variable(await fill(pull.body ?? "")),
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "overloaded") throw error;
    return error.message;
  }
  const log = new ToldLog(context.log.step(END_OF_TASK));
  const { plan } = context;
  const step = stepOf(plan, report);
  const position = plan.steps.length + (plan.finally ?? []).length;
  const { state, reason } = await attemptStep({ step, position }, {
    context: { ...context, variables: { ...context.variables, ...variables } },
    cancellation,
    number: 1,
    log,
    reading: context.inbox.of(undefined),
    onStart: () => {},
  });
  if (state === "succeeded") return undefined;
  return state === "pending" ? "stopped" : log.said || reason;
}

/** The command as a step of the plan, with the sandbox of the steps before it. */
function stepOf({ steps }: Plan, { forge, pull: { key, base, all } }: PullReport): PlannedStep {
  const command = `svc ${forge} ${FORGE_WORDS[forge].pullCommand} create`;
  const options = [
    ...all === true ? ["--all"] : [],
    ...key === undefined ? [] : [`--key='${key}'`],
    ...base === undefined ? [] : [`--base='${base.replaceAll("'", "")}'`],
  ];
  const held = steps.filter(({ sandbox }) => sandbox !== undefined && sandbox !== NO_SANDBOX);
  // What a step in a sandbox has left in the directory must not meet git outside of one.
  const sandbox = (held.findLast(({ agent }) => agent !== undefined) ?? held.at(-1))?.sandbox;
  return {
    id: END_OF_TASK,
    run: `printf '%s' "$SVC_PULL_BODY" | ${command} ${options.join(" ")} ` +
      '--title="$SVC_PULL_TITLE" --body=-',
    timeout: TIMEOUT,
    ...sandbox === undefined ? {} : { sandbox },
  };
}

/** A text that a variable can hold. */
function variable(text: string): string {
  const shown = text.toWellFormed().replaceAll("\0", "");
  return fitsVariable(shown) ? shown : shown.slice(0, MAX_TEXT).toWellFormed();
}

/** A log that keeps the end of what a process said on standard error. */
class ToldLog implements StepLog {
  readonly #log: StepLog;
  readonly #decoder = new TextDecoder();
  #said = "";

  constructor(log: StepLog) {
    this.#log = log;
  }

  /** The last line, without `error: `. */
  get said(): string {
    const lines = this.#said.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    return (lines.at(-1) ?? "").replace(/^error: /, "");
  }

  write(...[stream, chunk]: Parameters<StepLog["write"]>): Promise<void> {
    if (stream === "err") {
      const text = this.#decoder.decode(chunk.slice(), { stream: true });
      this.#said = (this.#said + text).slice(-MAX_SAID);
    }
    return this.#log.write(stream, chunk);
  }

  note(text: string): Promise<void> {
    return this.#log.note(text);
  }

  end(): Promise<void> {
    return this.#log.end();
  }
}
