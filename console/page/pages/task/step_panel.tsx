/**
 * The details of a step: its result, outputs, last lines, what its agent told, its sandbox, and actions.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { AGENT_OUTPUTS, agentFacts, agentNames } from "../../../../src/api/agent_words.ts";
import type { TaskRecord } from "../../../../src/api/records.ts";
import { shortDuration } from "../../../../src/base/duration.ts";
import { By } from "../../parts/by.tsx";
import { Chip } from "../../parts/chip.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Link } from "../../parts/link.tsx";
import { Text, TextBlock } from "../../parts/text.tsx";
import { Ago, Took } from "../../parts/time.tsx";
import { SessionTasks } from "./chain.tsx";
import { LastLines } from "./last_lines.tsx";
import { Outputs } from "./outputs.tsx";
import { RetryAction } from "./retry_action.tsx";
import { Hosts, Sandbox } from "./sandbox.tsx";
import type { Step } from "./steps.ts";

/** The panel that opens when a step is picked. */
export function StepPanel({ task, step }: { readonly task: TaskRecord; readonly step: Step }) {
  const { id, state, record, plan } = step;
  const isAgent = plan?.kind === "agent";
  const raw = useSignal(false);
  const { result } = record?.outputs ?? {};
  return (
    <section class="panel" aria-labelledby="step-title">
      <h2 id="step-title">
        Step <code>{id}</code> <Chip word={state} />
      </h2>
      {record !== undefined && record.reason !== "" && (
        <p class={state === "failed" ? "reason bad" : "reason"}>
          <Text value={record.reason} />
        </p>
      )}
      <div class="step-details">
        {typeof record?.started_at === "string" && (
          <div>
            {isAgent && (
              <div class="choice" role="group" aria-label="How the log is shown">
                <button
                  type="button"
                  aria-pressed={!raw.value}
                  onClick={() => raw.value = false}
                >
                  Log
                </button>
                <button type="button" aria-pressed={raw.value} onClick={() => raw.value = true}>
                  As the agent printed it
                </button>
              </div>
            )}
            <LastLines
              task={task.id}
              step={id}
              raw={isAgent && raw.value}
              running={state === "running"}
            />
          </div>
        )}
        <div>
          <Facts of={{ ...factsOf(step), ...answersOf(step, task.id) }} />
          <Outputs
            steps={[step]}
            label={`Outputs of ${id}`}
            without={isAgent ? ["result", ...AGENT_OUTPUTS] : []}
          />
        </div>
      </div>
      {isAgent && typeof result === "string" && (
        <>
          <h3>Result</h3>
          <TextBlock value={result} label={`Result of ${id}`} />
        </>
      )}
      {record?.session !== undefined && <SessionTasks session={record.session} task={task} />}
      <Sandbox task={task} step={step} />
      <Hosts step={step} />
      <RetryAction task={task} from={id} isFailed={state === "failed"} />
    </section>
  );
}

/** Where the answers to an approval that is over are. */
function answersOf({ id, state, record, plan }: Step, task: string) {
  const { by } = record?.outputs ?? {};
  if (plan?.kind !== "approval" || state === "waiting" || typeof by !== "string") return {};
  return {
    "Answered by": by === "" ? undefined : <By called={by} />,
    "Approval": <Link to={["approvals", task, id]}>the question and its answers</Link>,
  };
}

function factsOf({ record, plan, needs }: Step): Parameters<typeof Facts>[0]["of"] {
  const limit = plan?.timeout_secs ?? null;
  const more = [plan?.finally ? "always runs" : "", plan?.continue_on_error ? "may fail" : ""];
  const isAgent = plan?.kind === "agent";
  const kind = isAgent ? `agent ${agentNames(plan)}` : plan?.kind === "run" ? "shell" : plan?.kind;
  const told = isAgent ? agentFacts(record?.outputs ?? {}) : undefined;
  const said = (text: string | undefined) =>
    (text ?? "") === "" ? undefined : <Text value={text ?? ""} />;
  return {
    "Kind": plan && [kind, ...more].filter((one) => one !== "").join(", "),
    "Waits for": needs.length === 0 ? undefined : needs.join(", "),
    "Only when": typeof plan?.when !== "string" ? undefined : <code>{plan.when}</code>,
    "Started": typeof record?.started_at !== "string" ? undefined : <Ago at={record.started_at} />,
    "Took": typeof record?.started_at !== "string" ? undefined : (
      <>
        <Took from={record.started_at} to={record.finished_at} />
        {limit === null ? "" : ` of at most ${shortDuration(limit * 1000)}`}
      </>
    ),
    "Attempt": (plan?.attempts ?? 1) > 1 && record !== undefined
      ? `${record.attempt} of ${plan?.attempts}`
      : undefined,
    "Agent": isAgent && plan.fallbacks.length > 0 ? said(told?.agent) : undefined,
    "Tokens": said(told?.tokens),
    "Cost": said(told?.cost),
    "Session": said(record?.session),
    "Exit code": record?.exit_code ?? undefined,
    "Failure": record?.failure,
  };
}
