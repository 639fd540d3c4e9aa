/**
 * A task: first its state and reason, then its steps, and the last lines of a failed step. The
 * screen is kept up to date until the task ends.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { TaskRecord } from "../../../src/api/records.ts";
import type { WaitLookView } from "../../../src/api/wait_operations.ts";
import { useAnswer } from "../data/answer.ts";
import { call, Refusal } from "../data/api.ts";
import { useLatest } from "../data/live.ts";
import type { Message } from "../data/messages.ts";
import { useRecords } from "../data/records.ts";
import { Action } from "../parts/action.tsx";
import { By } from "../parts/by.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { HeldMessages } from "../parts/held.tsx";
import { Link } from "../parts/link.tsx";
import { narrow } from "../parts/narrow.ts";
import { Problem } from "../parts/problem.tsx";
import { Text } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago, Took } from "../parts/time.tsx";
import { go, href, path, query, setQuery } from "../route.ts";
import { Chain } from "./task/chain.tsx";
import { Gantt } from "./task/gantt.tsx";
import { Graph } from "./task/graph.tsx";
import { Inbox } from "./task/inbox.tsx";
import { LastLines } from "./task/last_lines.tsx";
import { Outputs } from "./task/outputs.tsx";
import { RetryAction } from "./task/retry_action.tsx";
import { StepPanel } from "./task/step_panel.tsx";
import { type Plan, type Step, stepsOf, stepToShow } from "./task/steps.ts";

/** Most steps that are drawn as a graph: a larger graph is not readable. */
const MOST_DRAWN = 60;

/** The screen of a task; `id` may be a part of its id, or `latest`. */
export function TaskPage({ id }: { readonly id: string }) {
  const { value, error } = useLatest(
    { task: id },
    (update) => "task" in update ? update.task as unknown as TaskRecord : undefined,
  );
  const task = value;
  useEffect(() => {
    // `id` was a part of an id or "latest": the address gets the whole id.
    if (task === undefined || task.id === id) return;
    go(href(["task", task.id, ...path.value.slice(2)]) + location.search, { replace: true });
  }, [task?.id]);
  if (error !== undefined && task === undefined) return <NoTask id={id} error={error} />;
  if (task === undefined) return <p class="empty">…</p>;
  return <Task task={task} />;
}

function NoTask({ id, error }: { readonly id: string; readonly error: Refusal }) {
  return (
    <>
      <h1>Task {id}</h1>
      <Problem error={error} />
      <p>
        <Link to={["tasks"]}>Back to tasks</Link>
      </p>
    </>
  );
}

function Task({ task }: { readonly task: TaskRecord }) {
  const { plan, loading } = usePlan(task);
  const steps = stepsOf(task, plan);
  const wanted = query.value.get("step") ?? "";
  const failed = steps.find(({ state }) => state === "failed");
  const picked = steps.find(({ id }) => id === wanted) ?? stepToShow(steps);
  const { id, state, reason } = task;
  const isOver = task.finished_at !== null;
  const reasons = [...new Set([reason, task.cancel_reason ?? ""])].filter((one) => one !== "");
  return (
    <article class="task">
      <Title text={titleOf(task, failed)} back={["tasks", "Tasks"]}>
        <Chip word={state} /> <span>{whenOf(task)}</span>
        {task.trigger !== "" && (
          <span>
            trigger <Link to={["trigger", task.project, task.trigger]}>{task.trigger}</Link>
          </span>
        )}
        <code>{id}</code>
      </Title>
      {reasons.length > 0 && (
        <div class={state === "failed" ? "verdict bad" : "verdict"}>
          {reasons.map((one) => (
            <p key={one} class="reason">
              <Text value={one} />
            </p>
          ))}
        </div>
      )}
      <div class="actions">
        <Link to={["task", id, "log"]} class="button">Log</Link>
        <RetryAction task={task} />
        {!isOver && <CancelAction task={task} />}
      </div>
      <Waits task={id} steps={steps} />
      <HeldOf task={id} />
      {steps.length > 0 && (
        <Steps
          steps={steps}
          task={task}
          loading={loading}
          picked={picked?.id ?? ""}
          pick={(step) => setQuery({ step: step === wanted ? "" : step })}
        />
      )}
      {picked === undefined
        ? task.started_at !== null && (
          <section aria-labelledby="last-title">
            <h2 id="last-title">Last lines</h2>
            <LastLines task={id} running={!isOver} />
          </section>
        )
        : <StepPanel key={picked.id} task={task} step={picked} />}
      <AllOutputs steps={steps} picked={picked} />
      <section aria-labelledby="about-title">
        <h2 id="about-title">About</h2>
        <About task={task} />
      </section>
      <Chain task={task} />
      <Inbox task={task} />
      <Command line={isOver ? `svc describe task ${id}` : `svc task logs ${id} --follow`} />
    </article>
  );
}

/** The steps that wait, with what a person can do about each; nothing if none does. */
function Waits({ task, steps }: { readonly task: string; readonly steps: readonly Step[] }) {
  const waiting = steps.filter(({ state, plan }) => state === "waiting" && plan !== undefined);
  const isForEvents = waiting.some(({ plan }) => plan?.kind === "wait");
  const ids = waiting.map(({ id }) => id).join();
  const { value: looks } = useAnswer("task.waits", isForEvents ? { id: task } : undefined, ids);
  if (waiting.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="waits-title">
      <h2 id="waits-title">Waits</h2>
      <ul class="plain">
        {waiting.map(({ id, plan, record }) => (
          <li key={id}>
            Step <code>{id}</code> <Text value={record?.reason ?? ""} cell />{" "}
            {plan?.kind === "approval" || record?.reason.startsWith("asks ")
              ? <Link to={["approvals", task, id]} class="button">Answer</Link>
              : plan?.kind === "wait" && (
                <Command line={`svc task continue ${task} ${id} --reason "…"`} />
              )}
            {looks?.waits.filter(({ step }) => step === id).map((look) => (
              <Look key={look.trigger} look={look} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Which events came near to ending a wait, and why they did not. */
function Look({ look }: { readonly look: WaitLookView }) {
  const { trigger, trigger_deleted: isDeleted, looked, misses } = look;
  if (isDeleted) {
    return (
      <p>
        Trigger <code>{trigger}</code> was deleted, so no event ends this wait.
      </p>
    );
  }
  const newest = `of the ${looked} newest deliveries of trigger ${trigger}`;
  if (misses.length === 0) return <p class="faint">None {newest} came near.</p>;
  return (
    <>
      <p class="faint">Near misses {newest}:</p>
      <ul class="plain">
        {misses.map(({ delivery_id: id, received_at: at, why }) => (
          <li key={id}>
            <Link to={["deliveries", id]}>
              <Ago at={at} />
            </Link>{" "}
            <Text value={why} cell />
          </li>
        ))}
      </ul>
    </>
  );
}

/** What the task has asked for and a person has to send; nothing if there is nothing. */
function HeldOf({ task }: { readonly task: string }) {
  const { items } = useRecords<Message>({ what: "outbox", task, state: "held" });
  if (items.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="held-title">
      <h2 id="held-title">Waits for a person</h2>
      <HeldMessages messages={items} />
    </section>
  );
}

/** The result of the task in words. */
function titleOf({ state, readiness, workflow }: TaskRecord, failed?: Step): string {
  switch (state) {
    case "pending":
      return `${workflow} is ${
        readiness === undefined || readiness === "ready" ? "pending" : readiness
      }`;
    case "running":
    case "waiting":
      return `${workflow} is ${state}`;
    case "cancelled":
      return `${workflow} was cancelled`;
    default:
      return `${workflow} ${state}${
        state === "failed" && failed !== undefined ? ` at step ${failed.id}` : ""
      }`;
  }
}

/** The start and the duration of the task. */
function whenOf({ state, created_at, started_at, finished_at }: TaskRecord) {
  if (state === "pending") {
    return (
      <>
        created <Ago at={created_at} />
      </>
    );
  }
  const took = <Took from={started_at} to={finished_at} />;
  if (state === "running" || state === "waiting") return <>for {took}</>;
  return (
    <>
      <Ago at={finished_at} />
      {started_at !== null && <>, after {took}</>}
    </>
  );
}

function CancelAction({ task: { id, state } }: { readonly task: TaskRecord }) {
  return (
    <Action
      label="Cancel"
      question={state === "pending"
        ? "It ends before any step starts."
        : "svc asks running steps to stop and kills them after 5 seconds. Then the finally steps run."}
      command={`svc task cancel ${id}`}
      act={async () => {
        const { tasks: [done] } = await call("task.cancel", { ids: [id] });
        return {
          cancelled: "Cancelled",
          stopping: "It is stopping",
          ended: "It had already ended",
        }[
          done?.result ?? "ended"
        ];
      }}
    />
  );
}

function Steps(
  { steps, task, loading, picked, pick }: {
    readonly steps: readonly Step[];
    readonly task: TaskRecord;
    /** Whether the plan, which says the step that each step needs, has not arrived. */
    readonly loading: boolean;
    readonly picked: string;
    readonly pick: (id: string) => void;
  },
) {
  const usual = steps.length > MOST_DRAWN || narrow.value ? "time" : "graph";
  const view = query.value.get("view") ?? usual;
  const show = (name: string) => setQuery({ view: name === usual ? "" : name });
  return (
    <section aria-labelledby="steps-title">
      <div class="title-row">
        <h2 id="steps-title">Steps</h2>
        <div class="choice" role="group" aria-label="How the steps are shown">
          <button type="button" aria-pressed={view !== "time"} onClick={() => show("graph")}>
            Graph
          </button>
          <button type="button" aria-pressed={view === "time"} onClick={() => show("time")}>
            Time
          </button>
        </div>
      </div>
      {view === "time"
        ? <Gantt steps={steps} picked={picked} pick={pick} from={task.started_at} />
        : loading
        ? <p class="empty">Drawing…</p>
        : <Graph steps={steps} picked={picked} pick={pick} />}
    </section>
  );
}

function AllOutputs(
  { steps, picked }: { readonly steps: readonly Step[]; readonly picked?: Step | undefined },
) {
  const giving = steps.filter(({ record }) => Object.keys(record?.outputs ?? {}).length > 0);
  if (giving.length === 0 || giving.length === 1 && giving[0]?.id === picked?.id) return null;
  return (
    <section aria-labelledby="outputs-title">
      <h2 id="outputs-title">Outputs</h2>
      <Outputs steps={giving} named label="Outputs of every step" />
    </section>
  );
}

function About({ task }: { readonly task: TaskRecord }) {
  const linked = (to: "task" | "delivery", id: string | null) =>
    id === null ? undefined : (
      <Link to={[to, id]}>
        <code>{id}</code>
      </Link>
    );
  const directory = useDirectory(task);
  // The reason in words begins with who it was.
  const [, canceller] = /^cancelled by (.+?)(?:: |$)/.exec(task.cancel_reason ?? "") ?? [];
  return (
    <Facts
      of={{
        "Project": task.project,
        "Trigger": task.trigger === ""
          ? undefined
          : <Link to={["trigger", task.project, task.trigger]}>{task.trigger}</Link>,
        "Delivery": linked("delivery", task.delivery_id),
        "Retry of": linked("task", task.retry_of),
        "Retried by": task.retried_by && <By called={task.retried_by} />,
        "Cancelled by": canceller && <By called={canceller} />,
        "Conversation": task.conversation === undefined
          ? undefined
          : <Text value={task.conversation} cell />,
        "Unread messages": task.unread?.toString(),
        "Started by": linked("task", task.parent_id),
        "Workspace": task.workspace,
        "Directory": directory === undefined ? undefined : <code>{directory}</code>,
        "Created": <Ago at={task.created_at} />,
        "Started": task.started_at === null ? undefined : <Ago at={task.started_at} />,
        "Ended": task.finished_at === null ? undefined : <Ago at={task.finished_at} />,
        "Continued": task.restarts === 0
          ? undefined
          : `${task.restarts} times, after the daemon stopped`,
      }}
    />
  );
}

/** The plan of a task, which never changes; `undefined` until there is one. */
function usePlan(
  task: TaskRecord,
): { readonly plan: Plan | undefined; readonly loading: boolean } {
  const plan = useSignal<Plan | undefined>(undefined);
  const loading = useSignal(true);
  useEffect(() => {
    if (plan.peek()?.planned === true) return;
    const stop = new AbortController();
    // Without a plan, the screen shows the steps of the records.
    call("task.plan", { id: task.id }, stop.signal).then((found) => plan.value = found, () => {})
      .finally(() => {
        if (!stop.signal.aborted) loading.value = false;
      });
    return () => stop.abort();
  }, [task.id, task.state]);
  return { plan: plan.value, loading: loading.value };
}

/**
 * The directory of the task; unknown before the task starts, and after the directory is removed.
 */
function useDirectory(task: TaskRecord): string | undefined {
  const found = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (task.started_at === null) return;
    const stop = new AbortController();
    call("task.workspace", { id: task.id }, stop.signal)
      .then(({ path }) => found.value = path, () => found.value = undefined);
    return () => stop.abort();
  }, [task.id, task.state]);
  return found.value;
}
