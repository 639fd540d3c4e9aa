/**
 * A delivery: first its outcome and what would change it, then all its stages.
 *
 * @module
 */

import type { Explanation, ShownDelivery } from "../../../src/api/delivery_operations.ts";
import type { DeliveryRecord } from "../../../src/api/records.ts";
import { type Signal, useSignal } from "@preact/signals";
import { type Answer, useAnswer } from "../data/answer.ts";
import { stream } from "../data/api.ts";
import { titleOf } from "../data/deliveries.ts";
import { Action } from "../parts/action.tsx";
import { By } from "../parts/by.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { whyNot } from "../parts/rights.ts";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago } from "../parts/time.tsx";
import { query, setQuery } from "../route.ts";
import { Compare } from "./delivery/compare.tsx";
import { ConditionParts } from "./delivery/condition_parts.tsx";
import { Edit } from "./delivery/edit.tsx";
import { Related } from "./delivery/related.tsx";
import { Request } from "./delivery/request.tsx";
import { Stages } from "./delivery/stages.tsx";
import { verdictOf } from "./delivery/verdict.ts";
import { VerdictBox } from "./delivery/verdict_box.tsx";

/** The screen of a delivery. */
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
  return <Delivery found={found} sent={sent} />;
}

function Delivery({ found, sent }: {
  readonly found: Explanation;
  /** Id of the delivery that this screen sent as a repetition. */
  readonly sent: Signal<string>;
}) {
  const { delivery } = found;
  const { id, project, trigger } = delivery;
  const mayRead = whyNot("operator") === undefined;
  const shown = useAnswer("delivery.show", mayRead ? { id } : undefined);
  const other = query.value.get("with");
  return (
    <>
      <Title text={titleOf(delivery)} back={["deliveries", "Deliveries"]}>
        <Chip word={delivery.outcome} />
        {delivery.event !== null && <Text value={delivery.event} cell />}
        <Ago at={delivery.received_at} />
        {trigger !== "" && (
          <span>
            trigger <Link to={["trigger", project, trigger]}>{trigger}</Link>
          </span>
        )}
        <code>{id}</code>
      </Title>
      <VerdictBox verdict={verdictOf(found)} />
      <Actions delivery={delivery} shown={shown} sent={sent} />
      {query.value.get("edit") === "1" && shown.value !== undefined && (
        <Edit key={id} shown={shown.value} />
      )}
      {other !== null && shown.value !== undefined && (
        <Compare shown={shown.value} other={other === "choose" ? "" : other} />
      )}
      <Related delivery={delivery} again={sent.value} />
      <Events found={found} />
      <div class="two">
        <section>
          <h2>Request</h2>
          <Facts of={factsOf(found)} />
        </section>
        <section>
          <h2>Stages</h2>
          <Stages stages={found.stages} total={delivery.duration_ms} />
        </section>
      </div>
      <Request id={id} shown={shown} />
      <Command line={`svc delivery explain ${id}`} />
    </>
  );
}

function Actions({ delivery, shown, sent }: {
  readonly delivery: DeliveryRecord;
  readonly shown: Answer<ShownDelivery>;
  readonly sent: Signal<string>;
}) {
  const { id, outcome, via, trigger, project } = delivery;
  const isRefused = outcome === "rejected";
  // Sending again is not the likeliest action for a delivery that would be refused again.
  const { value: trial } = useAnswer(
    "trigger.test",
    isRefused && shown.value !== undefined && via !== "chat"
      ? { name: trigger, project, delivery: id }
      : undefined,
  );
  const isKept = shown.error?.code !== "not_found";
  const again = isRefused && trial?.would === "rejected";
  const isNext = trigger !== "" && (isRefused ? trial !== undefined && !again : true);
  const send = (
    <Action
      key="send" // the key keeps the element when the answer to the trial moves it
      label="Send again"
      question={(isRefused
        ? "svc authenticates its sender again, with the current keys"
        : "It goes through the current trigger, counts as authenticated and never as a duplicate") +
        ". If it is accepted, a task starts."}
      command={`svc delivery redeliver ${id}`}
      why={whyNotAgain(outcome, via, isKept)}
      note={again ? "It would be rejected again now" : undefined}
      primary={isNext}
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
  );
  const isChat = via === "chat";
  return (
    <div class="actions">
      {isNext && send}
      {shown.value !== undefined && (
        <>
          {!isChat && trigger !== "" && (
            <button
              type="button"
              onClick={() => setQuery({ edit: "1" })}
            >
              Edit and try
            </button>
          )}
          <button type="button" onClick={() => setQuery({ with: "choose" })}>Compare</button>
        </>
      )}
      {!isChat && trigger !== "" && (
        <Link to={["filter", project, trigger]} filters={{ delivery: id }} class="button">
          Try another filter
        </Link>
      )}
      {!isNext && send}
      {sent.value !== "" && <Link to={["delivery", sent.value]}>Open the new delivery</Link>}
    </div>
  );
}

function whyNotAgain(outcome: string, via: string, isKept: boolean): string | undefined {
  if (via === "chat") return "Route a chat event again from its thread";
  if (outcome === "handshake") return "A handshake starts nothing";
  if (!isKept) return "svc did not keep its request";
  return undefined;
}

function factsOf({ delivery, authentication, source_event_id }: Explanation) {
  const { received_at, remote, status, source, duration_ms, body_bytes, by } = delivery;
  return {
    "Asked for by": by && <By called={by} />,
    "Arrived": (
      <>
        <Ago at={received_at} />
        {remote !== "" && (
          <>
            {" from "}
            <code>{remote}</code>
          </>
        )}
      </>
    ),
    "Answered": status === null
      ? `no request: ${source}`
      : `${status}, after ${Math.round(duration_ms)} ms`,
    "Sender": (
      <>
        <Text value={authentication} />
        {delivery.secret_store !== null && (
          <>
            {" "}
            (<Link to={["secret", delivery.project, delivery.secret_store]}>
              {delivery.secret_store}
            </Link>)
          </>
        )}
      </>
    ),
    "Body": `${body_bytes.toLocaleString("en")} bytes`,
    "Source event": source_event_id === undefined ? undefined : <code>{source_event_id}</code>,
  };
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
      {condition !== undefined && !reached && <p class="faint">It was not evaluated.</p>}
      {not_evaluated !== undefined && <p class="faint">Its parts are not shown: {not_evaluated}.
      </p>}
      {events.map((event, index) => (
        <section key={index}>
          {!isOne && (
            <h3>
              Event {index + 1}: <Chip word={event.outcome} /> <Text value={event.reason} />{" "}
              {event.task_id !== null && <Link to={["task", event.task_id]}>its task</Link>}
            </h3>
          )}
          {event.parts.length > 0 && <ConditionParts parts={event.parts} />}
        </section>
      ))}
    </>
  );
}
