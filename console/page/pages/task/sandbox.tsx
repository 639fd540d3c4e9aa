/**
 * The sandbox of a step in words, and what the step reached from it.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  firstNote,
  mayBeBare,
  sandboxesOf,
  sandboxFacts,
  whyBare,
} from "../../../../src/api/sandbox_words.ts";
import type { ReachedHostView, TaskRecord } from "../../../../src/api/records.ts";
import { sizeText } from "../../../../src/base/size.ts";
import { call } from "../../data/api.ts";
import { Facts } from "../../parts/facts.tsx";
import { Link } from "../../parts/link.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import type { Step } from "./steps.ts";

/** The sandbox of a step, or the sandbox with each of its agents where these differ. */
export function Sandbox({ task, step }: { readonly task: TaskRecord; readonly step: Step }) {
  const bare = useBare(task, step);
  if (step.plan === undefined) return null;
  return sandboxesOf(step.plan).map(({ agent, sandbox }) => {
    const [which, ...rules] = sandboxFacts(sandbox, bare);
    const name = typeof sandbox === "object" ? sandbox?.name ?? null : null;
    const facts = [which, ...rules].flatMap((fact) => {
      if (fact === undefined) return [];
      const [label, texts] = fact;
      const shown = fact === which && name !== null
        ? <Link to={["resource", "sandbox", task.project, name]}>{name}</Link>
        : texts.map((text) => (
          <div key={text}>
            <Text value={text} />
          </div>
        ));
      return [[TITLES[label] ?? label, shown] as const];
    });
    return (
      <section key={agent} aria-label={agent === null ? "Sandbox" : `Sandbox with ${agent}`}>
        {agent !== null && <h3>With {agent}</h3>}
        <Facts of={Object.fromEntries(facts)} />
      </section>
    );
  });
}

/** The names of facts as this page writes them. */
const TITLES: Readonly<Record<string, string>> = {
  sandbox: "Sandbox",
  reads: "Reads",
  writes: "Writes",
  network: "Network",
  limits: "Limits",
  nested: "Nested",
};

/** Why a step runs without its default sandbox; `undefined` where it has one, or that is not known yet. */
function useBare({ id }: TaskRecord, { id: step, plan, record }: Step): string | undefined {
  const found = useSignal<string | undefined>(undefined);
  const at = record?.started_at ?? null;
  const asks = plan !== undefined && mayBeBare(plan);
  useEffect(() => {
    if (!asks || at === null) return;
    const stop = new AbortController();
    call("task.log.read", { id, step, ...firstNote(at) }, stop.signal)
      .then(({ lines: [line] }) => found.value = line && whyBare(line), () => {});
    return () => stop.abort();
  }, [id, step, at, asks]);
  return found.value;
}

const HOSTS: readonly Column<ReachedHostView>[] = [
  { header: "Host", heads: true, cell: ({ host }) => <Text value={host} cell /> },
  { header: "Requests", number: true, cell: ({ requests }) => requests },
  {
    header: "Refused",
    number: true,
    cell: ({ refused }) => refused === 0 ? 0 : <span class="reason bad">{refused}</span>,
  },
  { header: "Sent", number: true, narrow: "gone", cell: (host) => sizeText(host.sent_bytes) },
  {
    header: "Received",
    number: true,
    narrow: "gone",
    cell: (host) => sizeText(host.received_bytes),
  },
  {
    header: "Tokens",
    whole: true,
    cell: ({ tokens_in: sent, tokens_out: received }) =>
      [sent, received].filter((one) => one !== undefined).join("/"),
  },
];

/** The hosts that a step reached or was refused; nothing where its network has no rules. */
export function Hosts({ step: { id, record } }: { readonly step: Step }) {
  const hosts = record?.network ?? [];
  if (hosts.length === 0) return null;
  return (
    <Table
      items={hosts}
      columns={HOSTS}
      id={({ host }, index) => `${index} ${host}`}
      label={`Hosts of ${id}`}
    />
  );
}
