/**
 * The last lines that a step printed, on the screen of its task.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { defined } from "../../../../src/base/defined.ts";
import type { LogText } from "../../../../src/api/task_operations.ts";
import { call, Refusal } from "../../data/api.ts";
import { LineText } from "../../parts/log_line.tsx";
import { Link } from "../../parts/link.tsx";
import { Problem } from "../../parts/problem.tsx";

/** Interval of reading the lines of a running step. */
const AGAIN_MS = 2000;

/** The last lines of a step, or of the whole task; read again while `running`, and when it ends. */
export function LastLines(
  { task, step, raw, running, count = 15 }: {
    readonly task: string;
    readonly step?: string | undefined;
    /** Whether to show what agents printed, before svc made lines of it. */
    readonly raw?: boolean | undefined;
    readonly running: boolean;
    readonly count?: number;
  },
) {
  const lines = useSignal<readonly LogText[] | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    let timer: number | undefined;
    const stream = raw === true ? "raw" as const : undefined;
    const input = { id: task, limit: count, ...defined({ step, stream }) };
    const read = async () => {
      try {
        const page = document.hidden && lines.peek() !== undefined
          ? undefined
          : await call("task.log.read", input, stop.signal);
        if (stop.signal.aborted) return;
        if (page !== undefined) [lines.value, error.value] = [page.lines.slice(-count), undefined];
      } catch (thrown) {
        if (stop.signal.aborted) return;
        if (thrown instanceof Refusal) error.value = thrown;
      }
      if (running) timer = setTimeout(() => void read(), AGAIN_MS);
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [task, step, raw, running, count]);
  const filters = defined({ step, raw: raw === true ? "1" : undefined });
  const whole = step === undefined ? "The whole log" : `The log of ${step}`;
  return (
    <div class="last-lines">
      {error.value !== undefined && <Problem error={error.value} />}
      {lines.value?.length === 0 && (
        <p class="empty">
          {raw === true
            ? "Nothing: only an Agent with output: claude or similar prints events."
            : "No output."}
        </p>
      )}
      {lines.value !== undefined && lines.value.length > 0 && (
        <pre class="output" tabindex={0} aria-label={`Last lines of ${step ?? "the task"}`}>
          {lines.value.map(({ offset, n, stream, text, cut }) => (
            <span key={`${offset}/${n}`} class={`line ${stream}`}>
              <LineText text={text} cut={cut} />{"\n"}
            </span>
          ))}
        </pre>
      )}
      <p>
        <Link to={["task", task, "log"]} filters={filters}>{whole}</Link>
      </p>
    </div>
  );
}
