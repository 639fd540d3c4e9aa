/**
 * The details of a step: its result, outputs, last lines and actions.
 *
 * @module
 */

import type { TaskRecord } from "../../../../src/api/records.ts";
import { shortDuration } from "../../../../src/base/duration.ts";
import { Chip } from "../../parts/chip.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago, Took } from "../../parts/time.tsx";
import { LastLines } from "./last_lines.tsx";
import { Outputs } from "./outputs.tsx";
import { RetryAction } from "./retry_action.tsx";
import type { Step } from "./steps.ts";

/** The panel that opens when a step is picked. */
export function StepPanel({ task, step }: { readonly task: TaskRecord; readonly step: Step }) {
  const { id, state, record } = step;
  const hasOutputs = Object.keys(record?.outputs ?? {}).length > 0;
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
          <LastLines task={task.id} step={id} running={state === "running"} />
        )}
        <div>
          <Facts of={factsOf(step)} />
          {hasOutputs && <Outputs steps={[step]} label={`Outputs of ${id}`} />}
        </div>
      </div>
      <RetryAction task={task} from={id} isFailed={state === "failed"} />
    </section>
  );
}

function factsOf({ record, plan, needs }: Step): Parameters<typeof Facts>[0]["of"] {
  const limit = plan?.timeout_secs ?? null;
  const more = [plan?.finally ? "always runs" : "", plan?.continue_on_error ? "may fail" : ""];
  const kind = plan?.kind === "agent" ? `agent ${plan.agent ?? ""}` : "shell";
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
    "Exit code": record?.exit_code ?? undefined,
    "Failure": record?.failure,
  };
}
