/**
 * One delivery: first what happened and what would change it, then every stage of it.
 *
 * @module
 */

import type { Explanation } from "../../../src/api/delivery_operations.ts";
import type { DeliveryRecord } from "../../../src/api/records.ts";
import { type Signal, useSignal } from "@preact/signals";
import { useAnswer } from "../data/answer.ts";
import { stream } from "../data/api.ts";
import { Action } from "../parts/action.tsx";
import { Badge } from "../parts/badge.tsx";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { ConditionParts } from "./delivery/condition_parts.tsx";
import { Related } from "./delivery/related.tsx";
import { Request } from "./delivery/request.tsx";
import { Stages } from "./delivery/stages.tsx";
import { verdictOf } from "./delivery/verdict.ts";
import { VerdictBox } from "./delivery/verdict_box.tsx";

/** The screen. */
export function DeliveryPage({ id }: { readonly id: string }) {
  const { value: found, error } = useAnswer("delivery.explain", { id });
  const sent = useSignal("");
  if (error !== undefined) {
    return (
      <>
        <h1>Delivery</h1>
        <Problem error={error} />
      </>
    );
  }
  if (found === undefined) return <h1>Delivery</h1>;
  const { delivery } = found;
  return (
    <>
      <div class="title">
        <h1>
          <Badge word={delivery.outcome} /> Delivery to{" "}
          <Link to={["trigger", delivery.project, delivery.trigger]}>{delivery.trigger}</Link>
        </h1>
        <p class="faint">
          <code>{delivery.id}</code>
        </p>
      </div>
      <VerdictBox verdict={verdictOf(found)} />
      <Actions delivery={delivery} sent={sent} />
      <Related delivery={delivery} again={sent.value} />
      <Events found={found} />
      <div class="two">
        <section>
          <h2>Request</h2>
          <Facts found={found} />
        </section>
        <section>
          <h2>Stages</h2>
          <Stages stages={found.stages} total={delivery.duration_ms} />
        </section>
      </div>
      <Request id={delivery.id} />
      <Command line={`svc delivery explain ${delivery.id}`} />
    </>
  );
}

function Actions({ delivery: { id, outcome, via, trigger, project }, sent }: {
  readonly delivery: DeliveryRecord;
  /** Id of the delivery that was made of it here. */
  readonly sent: Signal<string>;
}) {
  return (
    <div class="actions">
      <Action
        label="Send again"
        question={(outcome === "rejected"
          ? "Its sender is checked again, with the keys of now"
          : "It goes through the trigger as it is now, counts as authenticated, and is no duplicate") +
          ". Where it is accepted, a task starts."}
        command={`svc delivery redeliver ${id}`}
        why={whyNotAgain(outcome, via)}
        act={async () => {
          for await (
            const line of stream("delivery.redeliver", { id }, new AbortController().signal)
          ) {
            if ("total" in line) continue;
            if (line.error !== undefined) throw new Error(line.error);
            sent.value = line.new_delivery_id ?? "";
            return `Sent again: ${line.outcome}`;
          }
          return "Nothing was sent";
        }}
      />
      {sent.value !== "" && <Link to={["delivery", sent.value]}>To the new delivery</Link>}
      {via !== "chat" && (
        <Link to={["filter", project, trigger]} filters={{ delivery: id }} class="button">
          Try another filter
        </Link>
      )}
    </div>
  );
}

function whyNotAgain(outcome: string, via: string): string | undefined {
  if (via === "chat") return "An event of a chat is replayed from its thread";
  if (outcome === "handshake") return "It is a handshake, which starts nothing";
  return undefined;
}

function Facts({ found: { delivery, authentication, source_event_id } }: {
  readonly found: Explanation;
}) {
  return (
    <dl class="facts">
      <dt>Arrived</dt>
      <dd>
        <Ago at={delivery.received_at} />
        {delivery.remote !== "" && (
          <>
            {" from "}
            <code>{delivery.remote}</code>
          </>
        )}
      </dd>
      <dt>Answered</dt>
      <dd>
        {delivery.status === null
          ? `no request: ${delivery.source}`
          : `${delivery.status}, after ${Math.round(delivery.duration_ms)} ms`}
      </dd>
      <dt>Sender</dt>
      <dd>
        <Text value={authentication} />
        {delivery.secret_store !== null && (
          <>
            {" "}
            (<Link to={["secret", delivery.project, delivery.secret_store]}>
              {delivery.secret_store}
            </Link>)
          </>
        )}
      </dd>
      <dt>Body</dt>
      <dd>{delivery.body_bytes.toLocaleString("en")} bytes</dd>
      {source_event_id !== undefined && [
        <dt key="event">Source event</dt>,
        <dd key="id">
          <code>{source_event_id}</code>
        </dd>,
      ]}
    </dl>
  );
}

function Events({ found: { events, condition, not_evaluated } }: {
  readonly found: Explanation;
}) {
  const isOne = events.length === 1;
  if (condition === undefined && isOne) return null;
  const reached = not_evaluated !== undefined || events.some(({ parts }) => parts.length > 0);
  return (
    <>
      <h2>{isOne ? "Condition" : `${events.length} events`}</h2>
      {condition !== undefined && <TextBlock value={condition} label="Condition" />}
      {condition !== undefined && !reached && <p class="faint">It was not reached.</p>}
      {not_evaluated !== undefined && <p class="faint">Not taken apart: {not_evaluated}.</p>}
      {events.map((event, index) => (
        <section key={index}>
          {!isOne && (
            <h3>
              Event {index + 1}: <Badge word={event.outcome} /> <Text value={event.reason} />{" "}
              {event.task_id !== null && <Link to={["task", event.task_id]}>its task</Link>}
            </h3>
          )}
          {event.parts.length > 0 && <ConditionParts parts={event.parts} />}
        </section>
      ))}
    </>
  );
}
