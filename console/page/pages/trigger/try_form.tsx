/**
 * Sends a written payload through a trigger: as a test, which stores and starts nothing, or for
 * real.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { defined } from "../../../../src/base/defined.ts";
import type { ShownDelivery } from "../../../../src/api/delivery_operations.ts";
import type { Output } from "../../../../src/api/operations.ts";
import type { Fired } from "../../../../src/api/trigger_operations.ts";
import { toRefusal } from "../../data/answer.ts";
import { call, type Refusal } from "../../data/api.ts";
import { eventHeader, eventOf } from "../../../../src/platforms/event_header.ts";
import { named, type Trigger } from "../../data/triggers.ts";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { Chip } from "../../parts/chip.tsx";
import { Command } from "../../parts/command.tsx";
import { Field } from "../../parts/field.tsx";
import { Link } from "../../parts/link.tsx";
import { editable, payloadFault, PayloadField } from "../../parts/payload.tsx";
import { Problem } from "../../parts/problem.tsx";
import { whyNot } from "../../parts/rights.ts";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { go, href } from "../../route.ts";
import { ConditionParts } from "../delivery/condition_parts.tsx";

/** Headers that are set anew for each request, or that belong to a certain body. */
const OWN = ["host", "connection", "content-length", "content-encoding", "transfer-encoding"];
/** Words such as `pull_request`, which need no quotes in a shell. */
const PLAIN = /^[\w.:-]+$/;

/** The form, with a first payload or with a button to copy the payload of a stored delivery. */
export function TryForm({ trigger, from, last }: {
  readonly trigger: Trigger;
  /** The delivery whose payload and headers the form starts with. */
  readonly from?: ShownDelivery;
  /** Id of the delivery whose payload can be copied. */
  readonly last?: string | undefined;
}) {
  const { metadata: { project = "", name }, spec: { event: { webhook }, action } } = trigger;
  const payload = useSignal(from === undefined ? "{}" : editable(from) ?? "");
  const given = useSignal(from === undefined ? {} : headersOf(from));
  const event = useSignal(eventOf(given.peek()));
  const fired = useSignal<Fired | undefined>(undefined);
  const trial = useTrial();
  const isSigned = webhook?.secret !== undefined;

  const take = (shown: ShownDelivery) => {
    given.value = headersOf(shown);
    event.value = eventOf(given.value);
  };
  /** The headers to send, with the header for the event of the field. */
  const headers = () => {
    const name = eventHeader(Object.keys(given.value));
    return name === undefined ? given.value : { ...given.value, [name]: event.value };
  };
  const test = () =>
    trial.run({
      name,
      project,
      body: new TextEncoder().encode(payload.value).toBase64(),
      headers: headers(),
      ...defined({
        sign: isSigned ? true : undefined,
        event: eventHeader(Object.keys(given.value)) === undefined
          ? event.value || undefined
          : undefined,
      }),
    });
  const fire = async () => {
    const result = await call("trigger.fire", {
      name,
      project,
      payload: payload.value,
      headers: headers(),
    });
    fired.value = result;
    if (result.task_id === null) return "";
    go(href(["task", result.task_id]));
    return "It was fired";
  };
  const eventFlag = PLAIN.test(event.value) ? ` --event ${event.value}` : "";
  return (
    <>
      <PayloadField value={payload} label="Payload" delivery={last} take={take} />
      {webhook !== undefined && (
        <Field label="Event, if the platform names it in a header">
          <input
            type="text"
            value={event.value}
            placeholder="pull_request"
            onInput={({ currentTarget }) => event.value = currentTarget.value}
          />
        </Field>
      )}
      <div class="actions">
        <Button act={() => void test()} why={whyNot("operator")} busy={trial.busy} primary>
          {trial.busy ? "…" : "Test"}
        </Button>
        <Action
          label="Fire"
          question={`This is not a test: an event of ${name} that passes starts a task of ${action.workflow}. ` +
            "It needs no signature; filter, suspension and limits apply."}
          command={`svc trigger fire ${named(trigger)} -f payload.json`}
          act={fire}
          why={payloadFault(payload.value)}
        />
      </div>
      <p class="faint">
        {isSigned ? "Test signs the payload as the sender would and runs" : "Test runs"}{" "}
        it through every stage, but stores and starts nothing. Fire sends it for real, without a
        signature.
      </p>
      {trial.error !== undefined && <Problem error={trial.error} />}
      {trial.result !== undefined && <Result result={trial.result} />}
      {fired.value !== undefined && fired.value.task_id === null && (
        <p role="status">
          Fired: <Chip word={fired.value.outcome} /> <Text value={fired.value.reason} cell />{" "}
          <Link to={["delivery", fired.value.delivery_id]}>Its delivery</Link>
        </p>
      )}
      <Command
        line={`svc trigger test ${named(trigger)} -f body.json${
          isSigned ? " --sign" : ""
        }${eventFlag}`}
      />
    </>
  );
}

/**
 * The headers that can be sent again: without those that the daemon hides, and those of another
 * body.
 */
function headersOf({ headers }: ShownDelivery): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => value !== "***" && !OWN.includes(name)),
  );
}

type Trial = Output<"trigger.test">;

function useTrial() {
  const result = useSignal<Trial | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  const busy = useSignal(false);
  const run = async (input: Parameters<typeof call<"trigger.test">>[1]) => {
    [busy.value, result.value, error.value] = [true, undefined, undefined];
    try {
      result.value = await call("trigger.test", input);
    } catch (thrown) {
      error.value = toRefusal(thrown);
    } finally {
      busy.value = false;
    }
  };
  return { result: result.value, error: error.value, busy: busy.value, run };
}

const STAGES: readonly Column<Trial["stages"][number]>[] = [
  { header: "Stage", whole: true, heads: true, cell: ({ stage }) => stage },
  { header: "Result", cell: ({ result }) => <Text value={result} /> },
];

function Result({ result: { would, stages, parts } }: { readonly result: Trial }) {
  return (
    <div role="status">
      <p>
        It would be <Chip word={would} />
      </p>
      <Table items={stages} columns={STAGES} id={(_, at) => at} label="Stages of the test" />
      {parts.length > 0 && <ConditionParts parts={parts} />}
    </div>
  );
}
