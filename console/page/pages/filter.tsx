/**
 * Try a filter: a condition beside a stored delivery, and the outcomes that it would have given the
 * deliveries of a span, updated while it is typed. Nothing is stored, started or applied.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { defined } from "../../../src/base/defined.ts";
import { shortDuration } from "../../../src/base/duration.ts";
import { useAnswer } from "../data/answer.ts";
import { keyOf } from "../data/resources.ts";
import type { Trigger } from "../data/triggers.ts";
import { Command } from "../parts/command.tsx";
import { Field } from "../parts/field.tsx";
import { spanText } from "../parts/filters.tsx";
import { Problem } from "../parts/problem.tsx";
import { whyNot } from "../parts/rights.ts";
import { go, href, path, query, setQuery } from "../route.ts";
import { ApplyIt } from "./filter/apply.tsx";
import { type Trial, useBacktest } from "./filter/backtest.ts";
import { Fault } from "./filter/fault.tsx";
import { Changed, ROWS, Sums } from "./filter/outcomes.tsx";
import { OnSample } from "./filter/on_sample.tsx";
import { Sample, useSamples } from "./filter/sample.tsx";

const SPANS = ["3600", "86400", "604800", "2592000"];
const WEEK = "604800";

/** The screen for trying a condition of a trigger. */
export function FilterPage() {
  const { value: listing, error } = useAnswer("get", { what: "triggers" });
  if (error !== undefined) return <Problem error={error} />;
  if (listing === undefined) return <h1>Try a filter</h1>;
  const triggers = listing.items as unknown as readonly Trigger[];
  const [, project, name] = path.value;
  const found = name === undefined
    ? triggers[0]
    : triggers.find(({ metadata }) => metadata.name === name && metadata.project === project);
  return (
    <>
      <h1>Try a filter</h1>
      <p class="faint">
        What would another condition have done with past deliveries? This stores, starts and applies
        nothing.
      </p>
      <Choices triggers={triggers} chosen={found} />
      {found === undefined
        ? (
          <p class="empty">
            {triggers.length === 0 ? "There is no trigger yet." : "No such trigger."}
          </p>
        )
        : <Workbench key={keyOf(found)} trigger={found} />}
    </>
  );
}

function Choices({ triggers, chosen }: {
  readonly triggers: readonly Trigger[];
  readonly chosen: Trigger | undefined;
}) {
  const projects = new Set(triggers.map(({ metadata }) => metadata.project));
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <Field label="Trigger">
        <select
          value={chosen === undefined ? "" : keyOf(chosen)}
          onChange={({ currentTarget: { value } }) => {
            const since_secs = query.value.get("since_secs") ?? WEEK;
            go(href(["filter", ...value.split("/")], { since_secs }));
          }}
        >
          {chosen === undefined && <option value="">choose one</option>}
          {triggers.map((one) => (
            <option key={keyOf(one)} value={keyOf(one)}>
              {projects.size > 1 ? keyOf(one) : one.metadata.name}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Time range">
        <select
          value={query.value.get("since_secs") ?? WEEK}
          onChange={({ currentTarget }) => setQuery({ since_secs: currentTarget.value })}
        >
          {SPANS.map((secs) => <option key={secs} value={secs}>{spanText(Number(secs))}</option>)}
        </select>
      </Field>
    </form>
  );
}

function Workbench({ trigger }: { readonly trigger: Trigger }) {
  const { name, project = "" } = trigger.metadata;
  const applied = trigger.spec.event.filter?.condition ?? "";
  const typed = useSignal(query.value.get("condition") ?? applied);
  const condition = typed.value;
  const [most, again] = [useSignal(ROWS), useSignal(0)];
  const area = useRef<HTMLTextAreaElement>(null);
  const given = query.value.get("since_secs") ?? WEEK;
  const secs = SPANS.includes(given) ? Number(given) : Number(WEEK);
  const reason = whyNot("operator");
  const trial = useMemo<Trial>(() => ({
    name,
    project,
    since_secs: secs,
    ...defined({ filter: condition.trim() === "" ? undefined : condition }),
  }), [name, project, secs, condition]);
  const run = useBacktest(reason === undefined ? trial : undefined, again.value);
  const change = (text: string) => {
    typed.value = text;
    setQuery({ condition: text === applied ? "" : text });
  };
  const insert = (expression: string) => {
    const [from, to] = [area.current?.selectionStart, area.current?.selectionEnd];
    const [start, end] = [from ?? condition.length, to ?? condition.length];
    change(condition.slice(0, start) + expression + condition.slice(end));
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(start + expression.length, start + expression.length);
    });
  };
  useEffect(() => {
    most.value = ROWS;
  }, [JSON.stringify(trial)]);
  const span = `the last ${shortDuration(secs * 1000)}`;
  const kept = useSamples(name, project);
  const chosen = query.value.get("delivery") ?? kept[0]?.id;
  const same = condition === applied;
  return (
    <>
      <div class="workbench">
        <div class="side">
          <Field label="Condition, in CEL">
            <textarea
              ref={area}
              rows={5}
              spellcheck={false}
              autocapitalize="off"
              autocomplete="off"
              value={condition}
              placeholder='payload.ref == "refs/heads/main"'
              onInput={({ currentTarget }) => change(currentTarget.value)}
            />
          </Field>
          <div class="actions">
            <span class="faint">
              {same
                ? applied === ""
                  ? "The trigger has no condition."
                  : "This is the applied condition."
                : "Not applied: this is a trial."}
            </span>
            {!same && (
              <button type="button" class="small" onClick={() => change(applied)}>
                Back to the applied condition
              </button>
            )}
          </div>
          {reason !== undefined && <p class="faint">{reason}.</p>}
          {run.error !== undefined && (
            <>
              <Fault
                error={run.error}
                condition={condition}
                show={(index) => {
                  area.current?.focus();
                  area.current?.setSelectionRange(index, index + 1);
                }}
              />
              {run.error.status !== 400 && (
                <button type="button" onClick={() => again.value++}>Try again</button>
              )}
            </>
          )}
          <Sums run={run} span={span} />
          {chosen !== undefined && reason === undefined && (
            <OnSample
              key={chosen}
              trigger={name}
              project={project}
              delivery={chosen}
              condition={condition}
            />
          )}
        </div>
        <Sample
          kept={kept}
          id={chosen}
          choose={(id) => setQuery({ delivery: id })}
          insert={insert}
        />
      </div>
      <Changed
        run={run}
        most={most.value}
        more={() => most.value += ROWS}
        picked={chosen}
        pick={(id) => setQuery({ delivery: id })}
      />
      {!same && condition.trim() !== "" && run.error === undefined && (
        <ApplyIt trigger={name} project={project} condition={condition} />
      )}
      <Command
        line={`svc trigger backtest ${name} -p ${project} --since ${shortDuration(secs * 1000)}${
          same ? "" : " --filter CONDITION"
        }`}
      />
    </>
  );
}
