/**
 * Search: a pasted id goes straight to its screen; other words find triggers, workflows and secrets
 * by name, deliveries by reason and trigger, tasks by trigger.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { DeliveryRecord, TaskRecord } from "../../../src/api/records.ts";
import { toRefusal, useAnswer } from "../data/answer.ts";
import type { Refusal } from "../data/api.ts";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { go, href, query } from "../route.ts";
import { findIds, type FoundId } from "./search/find_id.ts";

/** Most records of each type. */
const MOST = 20;

/** The part of a resource that this screen shows. */
interface Named {
  readonly metadata: { readonly name: string; readonly project?: string };
}

/** The screen of the search for the text in the address. */
export function SearchPage() {
  const text = (query.value.get("q") ?? "").trim();
  const ids = useIds(text);
  if (text === "") {
    return (
      <>
        <h1>Search</h1>
        <p>
          Enter the id of any record, or a part of it, to open it. Words find triggers, workflows
          and secrets by name, deliveries by their reason, and tasks by trigger.
        </p>
      </>
    );
  }
  if (ids.found === undefined && ids.error === undefined) return <h1>Search</h1>;
  return (
    <>
      <h1>
        Search: <Text value={text} cell />
      </h1>
      {ids.error !== undefined && <Problem error={ids.error} />}
      <Ids found={ids.found ?? []} />
      <Words key={text} text={text} hasIds={(ids.found ?? []).length > 0} />
    </>
  );
}

/** The records that a text names; if there is only one, goes to its screen. */
function useIds(text: string) {
  const found = useSignal<{ readonly of: string; readonly all: readonly FoundId[] } | undefined>(
    undefined,
  );
  const error = useSignal<Refusal | undefined>(undefined);
  useEffect(() => {
    const own = new AbortController();
    error.value = undefined;
    findIds(text, own.signal).then((all) => {
      const [first, second] = all;
      if (own.signal.aborted) return;
      if (first !== undefined && second === undefined) {
        return go(href(first.type.to(first.id)), { replace: true });
      }
      found.value = { of: text, all };
    }, (thrown) => {
      if (!own.signal.aborted) error.value = toRefusal(thrown);
    });
    return () => own.abort();
  }, [text]);
  return {
    found: found.value?.of === text ? found.value.all : undefined,
    error: error.value,
  };
}

function Ids({ found }: { readonly found: readonly FoundId[] }) {
  return (
    <Hits title="Ids" count={found.length}>
      {found.map(({ type, id, about }) => (
        <li key={type.name + id}>
          <Link to={type.to(id)}>
            {type.label} <code>{id}</code>
          </Link>{" "}
          <span class="faint">
            <Text value={about} cell />
          </span>
        </li>
      ))}
    </Hits>
  );
}

function Words({ text, hasIds }: { readonly text: string; readonly hasIds: boolean }) {
  const kinds = {
    triggers: useAnswer("get", { what: "triggers" }),
    workflows: useAnswer("get", { what: "workflows" }),
    secrets: useAnswer("get", { what: "secretstores" }),
  };
  const byReason = useAnswer("get", { what: "deliveries", reason: text, limit: MOST });
  const named = (of: keyof typeof kinds) =>
    ((kinds[of].value?.items ?? []) as unknown as readonly Named[])
      .filter(({ metadata: { name } }) => name.toLowerCase().includes(text.toLowerCase()));
  const triggers = named("triggers");
  const trigger = triggers.find(({ metadata }) => metadata.name === text) ?? triggers[0];
  const of = trigger === undefined
    ? undefined
    : { trigger: trigger.metadata.name, ...projectOf(trigger), limit: MOST };
  const byTrigger = useAnswer("get", of === undefined ? undefined : { what: "deliveries", ...of });
  const tasks = useAnswer("get", of === undefined ? undefined : { what: "tasks", ...of });
  const answers = [...Object.values(kinds), byReason, byTrigger, tasks];
  const isLoading = answers.some(({ loading }) => loading);
  const error = answers.find((one) => one.error !== undefined)?.error;
  const [reasons, deliveries] = [byReason, byTrigger].map(({ value }) =>
    (value?.items ?? []) as unknown as readonly DeliveryRecord[]
  );
  const tasksOf = (tasks.value?.items ?? []) as unknown as readonly TaskRecord[];
  const isEmpty = !hasIds && !isLoading && error === undefined &&
    [triggers, named("workflows"), named("secrets"), reasons ?? []].every(({ length }) =>
      length === 0
    );
  const name = trigger?.metadata.name ?? "";
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      {isEmpty && (
        <p class="empty">
          No name and no reason matches. To find an id, enter its beginning, or at least the last
          four characters of its end.
        </p>
      )}
      <Resources title="Triggers" at="trigger" found={triggers} />
      <Resources title="Workflows" at="resource" kind="workflow" found={named("workflows")} />
      <Resources title="Secrets" at="secret" found={named("secrets")} />
      <Hits
        title="Deliveries whose reason contains it"
        count={reasons?.length ?? 0}
        all={<Link to={["deliveries"]} filters={{ reason: text }}>Show all</Link>}
      >
        {(reasons ?? []).map((one) => <DeliveryHit key={one.id} delivery={one} />)}
      </Hits>
      <Hits
        title={`Deliveries to ${name}`}
        count={deliveries?.length ?? 0}
        all={<Link to={["deliveries"]} filters={{ trigger: name }}>Show all</Link>}
      >
        {(deliveries ?? []).map((one) => <DeliveryHit key={one.id} delivery={one} />)}
      </Hits>
      <Hits
        title={`Tasks of ${name}`}
        count={tasksOf.length}
        all={<Link to={["tasks"]} filters={{ trigger: name }}>Show all</Link>}
      >
        {tasksOf.map(({ id, state, created_at, workflow }) => (
          <li key={id}>
            <Chip word={state} /> <Link to={["task", id]}>{workflow}</Link>{" "}
            <span class="faint">
              <Ago at={created_at} />
            </span>
          </li>
        ))}
      </Hits>
      <Command line="svc get deliveries --reason TEXT" />
    </>
  );
}

function projectOf({ metadata: { project } }: Named) {
  return project === undefined ? {} : { project };
}

function Resources({ title, at, kind, found }: {
  readonly title: string;
  readonly at: string;
  readonly kind?: string;
  readonly found: readonly Named[];
}) {
  return (
    <Hits title={title} count={found.length}>
      {found.slice(0, MOST).map(({ metadata: { name, project = "" } }) => (
        <li key={`${project}/${name}`}>
          <Link to={[at, ...(kind === undefined ? [] : [kind]), project, name]}>{name}</Link>{" "}
          <span class="faint">{project}</span>
        </li>
      ))}
    </Hits>
  );
}

function DeliveryHit({ delivery: { id, outcome, trigger, reason, received_at } }: {
  readonly delivery: DeliveryRecord;
}) {
  return (
    <li>
      <Chip word={outcome} /> <Link to={["delivery", id]}>{trigger}</Link>{" "}
      <span class="faint">
        <Ago at={received_at} />
      </span>{" "}
      <Text value={reason} cell />
    </li>
  );
}

/** The matches of a type of record; nothing if there are none. */
function Hits({ title, count, all, children }: {
  readonly title: string;
  readonly count: number;
  /** The list with all matches, if only the newest may be shown here. */
  readonly all?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  if (count === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul class="plain">{children}</ul>
      {count >= MOST && all}
    </section>
  );
}
