/**
 * Runs a request through a trigger without storing or starting anything: a sample that the daemon
 * signs as the sender would.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import type { DeliveryRecord } from "../../../../src/api/records.ts";
import type { Output } from "../../../../src/api/operations.ts";
import { toRefusal } from "../../data/answer.ts";
import { call, type Refusal } from "../../data/api.ts";
import { Badge } from "../../parts/badge.tsx";
import { Command } from "../../parts/command.tsx";
import { PayloadField } from "../../parts/payload.tsx";
import { Problem } from "../../parts/problem.tsx";
import { whyNot } from "../../parts/rights.ts";
import { Text } from "../../parts/text.tsx";
import { named, type Trigger } from "../../data/triggers.ts";

/** Events are words such as `pull_request`. */
const EVENT = /^[\w.:-]*$/;

/** The form. */
export function TestForm(
  { trigger, last }: { readonly trigger: Trigger; readonly last: DeliveryRecord | undefined },
) {
  const { metadata: { project = "", name }, spec: { event: { webhook } } } = trigger;
  const body = useSignal("{}");
  const event = useSignal("");
  const result = useSignal<Output<"trigger.test"> | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  const busy = useSignal(false);
  const isSigned = webhook?.secret !== undefined;
  const why = whyNot("operator");
  const run = async () => {
    [busy.value, result.value, error.value] = [true, undefined, undefined];
    try {
      result.value = await call(
        "trigger.test",
        Object.assign(
          { name, project, body: new TextEncoder().encode(body.value).toBase64() },
          isSigned ? { sign: true } : {},
          event.value === "" ? {} : { event: event.value },
        ),
      );
    } catch (thrown) {
      error.value = toRefusal(thrown);
    } finally {
      busy.value = false;
    }
  };
  const eventFlag = EVENT.test(event.value) && event.value !== "" ? ` --event ${event.value}` : "";
  return (
    <section class="panel" aria-label="Test it">
      <h2>Test it</h2>
      <p class="faint">
        {isSigned
          ? "The daemon signs this body as the sender would and runs it through every stage."
          : "The daemon runs this body through every stage."} Nothing is stored or started.
      </p>
      <PayloadField value={body} label="Body" delivery={last?.id} />
      {webhook !== undefined && (
        <label class="field">
          Event, where the platform names it in a header
          <input
            type="text"
            value={event.value}
            placeholder="pull_request"
            onInput={({ currentTarget }) => event.value = currentTarget.value}
          />
        </label>
      )}
      <p>
        <button
          type="button"
          aria-disabled={why === undefined ? undefined : "true"}
          title={why}
          onClick={why === undefined ? run : undefined}
          disabled={busy.value}
        >
          {busy.value ? "…" : "Test"}
        </button>
        {why !== undefined && <span class="why">{why}</span>}
      </p>
      {error.value !== undefined && <Problem error={error.value} />}
      {result.value !== undefined && <Result result={result.value} />}
      <Command
        line={`svc trigger test ${named(trigger)} -f body.json${
          isSigned ? " --sign" : ""
        }${eventFlag}`}
      />
    </section>
  );
}

function Result({ result: { would, stages } }: { readonly result: Output<"trigger.test"> }) {
  return (
    <div role="status">
      <p>
        It would be <Badge word={would} />
      </p>
      <div class="scroll-x">
        <table>
          <tbody>
            {stages.map(({ stage, result }, at) => (
              <tr key={at}>
                <th scope="row">{stage}</th>
                <td>
                  <Text value={result} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
