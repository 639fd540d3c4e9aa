/**
 * The log of a task of any length: its lines by step, a search in the daemon, new lines while the
 * task runs, and a download.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TaskRecord } from "../../../src/api/records.ts";
import { toRefusal } from "../data/answer.ts";
import type { Refusal } from "../data/api.ts";
import { useKeys } from "../keys.ts";
import { useLatest, useWatch } from "../data/live.ts";
import { LogControl, type LogPart } from "./log/control.ts";
import { downloadLog } from "./log/download.ts";
import { LogView } from "./log/view.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { narrow } from "../parts/narrow.ts";
import { Problem } from "../parts/problem.tsx";
import { go, href, query, setQuery } from "../route.ts";

/** Limits of the held lines: some screens of lines, and a limit of characters. */
const LIMITS = { lines: 20_000, characters: 12_000_000, page: 1000 };
/** Limits for wrapped lines: fewer, because all of them are in the page. */
const WRAPPED_LIMITS = { lines: 2000, characters: 1_000_000, page: 500 };

/** The screen of the log of a task. */
export function LogPage({ id }: { readonly id: string }) {
  const { value: task, error } = useLatest(
    { task: id },
    (update) => "task" in update ? update.task as unknown as TaskRecord : undefined,
  );
  useEffect(() => {
    if (task === undefined || task.id === id) return;
    go(href(["task", task.id, "log"]) + location.search, { replace: true });
  }, [task?.id]);
  if (error !== undefined && task === undefined) {
    return (
      <>
        <h1>Log of {id}</h1>
        <Problem error={error} />
      </>
    );
  }
  if (task === undefined) return <p class="empty">…</p>;
  return <Log task={task} />;
}

function Log({ task }: { readonly task: TaskRecord }) {
  const { id, state, workflow, steps } = task;
  const step = query.value.get("step") ?? "";
  const searched = query.value.get("find") ?? "";
  const usual = narrow.value ? "1" : ""; // unless the address sets it
  const wrap = (query.value.get("wrap") ?? usual) === "1";
  const isOver = task.finished_at !== null;
  const part = partOf(step, query.value.get("raw") === "1");
  const setWrap = () => setQuery({ wrap: wrap ? "0" : "1" });
  const control = useControl(id, part, wrap);
  const text = useSignal(searched);
  const field = useRef<HTMLInputElement>(null);
  useFollowing(control, { id, part, isOver });

  const find = (back: boolean) => {
    const wanted = text.value;
    if (wanted === "") return field.current?.focus();
    setQuery({ find: wanted });
    void control.search(wanted, back);
  };
  const failed = steps.find((one) => one.state === "failed")?.id;
  const failedHere = step === "" || failed === step ? failed : undefined;
  useKeys([
    { key: "f", help: "Search in the log", act: () => field.current?.focus() },
    { key: "n", help: "Next match", act: () => find(false) },
    { key: "N", help: "Previous match", act: () => find(true) },
    ...part.raw ? [] : [
      { key: "e", help: "First error", act: () => void control.toError(failedHere) },
    ],
    { key: "g", help: "First line", act: () => void control.toStart() },
    { key: "G", help: "Last line", act: () => void control.toEnd() },
    { key: "w", help: "Toggle line wrapping", act: setWrap },
  ]);
  const filters: Record<string, string> = {};
  for (
    const [name, value] of [["step", step], ["find", searched], [
      "wrap",
      query.value.get("wrap") ?? "",
    ], ["raw", part.raw ? "1" : ""]]
  ) {
    if (name !== undefined && value) filters[name] = value;
  }
  return (
    <article class="log-page">
      <div class="title">
        <h1>
          Log of <Link to={["task", id]}>{workflow}</Link>
        </h1>
        <Chip word={state} />
        <Told control={control} isOver={isOver} />
      </div>
      <div class="tools">
        <label>
          <span class="unseen">Step</span>
          <select
            value={step}
            onChange={({ currentTarget: { value } }) => setQuery({ step: value, line: "" })}
          >
            <option value="">All steps</option>
            {steps.map((one) => <option key={one.id} value={one.id}>{one.id} ({one.state})
            </option>)}
          </select>
        </label>
        <form
          role="search"
          aria-label="Search this log"
          onSubmit={(event) => {
            event.preventDefault();
            find(false);
          }}
        >
          <input
            ref={field}
            type="search"
            aria-label="Search in the log"
            placeholder="Find  ( f )"
            value={text.value}
            onInput={({ currentTarget: { value } }) => {
              text.value = value;
              control.told.value = "";
              if (value === "") setQuery({ find: "" });
            }}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !event.shiftKey) return;
              event.preventDefault();
              find(true);
            }}
          />
          <button type="submit" aria-label="Next match" title="Next ( n )">↓</button>
          <button
            type="button"
            aria-label="Previous match"
            title="Previous ( N )"
            onClick={() => find(true)}
          >
            ↑
          </button>
        </form>
        <span class="choice">
          {part.raw === undefined && (
            <button
              type="button"
              onClick={() => void control.toError(failedHere)}
              title="( e )"
            >
              First error
            </button>
          )}
          <button type="button" onClick={() => void control.toStart()} title="( g )">Top</button>
          <button type="button" onClick={() => void control.toEnd()} title="( G )">End</button>
        </span>
        <label>
          <input
            type="checkbox"
            checked={wrap}
            onChange={setWrap}
          />{" "}
          Wrap
        </label>
        {(part.raw !== undefined || steps.some(({ outputs }) => "agent" in outputs)) && (
          <label title="What agents printed, before svc made lines of it">
            <input
              type="checkbox"
              checked={part.raw}
              onChange={() => setQuery({ raw: part.raw ? "" : "1", line: "" })}
            />{" "}
            As agents printed it
          </label>
        )}
        <Download id={id} part={part} />
      </div>
      {control.error.value !== undefined && <Problem error={control.error.value} />}
      <Place control={control} />
      <LogView
        control={control}
        wrap={wrap}
        searched={searched}
        steps={step === "" && steps.length > 1}
        task={id}
        filters={filters}
      />
      <Command
        line={`svc task logs ${id}${step === "" ? "" : ` --step ${step}`}${
          part.raw ? " --raw" : ""
        }${isOver ? "" : " --follow"}`}
      />
    </article>
  );
}

function partOf(step: string, isRaw: boolean): LogPart {
  return { ...step === "" ? {} : { step }, ...isRaw ? { raw: true } : {} };
}

/** The state of a log; a new one for another part of it or another way to show lines. */
function useControl(id: string, part: LogPart, wrap: boolean): LogControl {
  const which = JSON.stringify(part);
  const control = useMemo(
    () => new LogControl(id, part, wrap ? WRAPPED_LIMITS : LIMITS),
    [id, which, wrap],
  );
  const shown = useRef<{ readonly which: string; readonly control: LogControl } | undefined>(
    undefined,
  );
  useEffect(() => {
    const before = shown.current;
    shown.current = { which, control };
    const line = query.peek().get("line") ?? "";
    void (before?.which === which
      ? control.toPlace(before.control)
      : /^[0-9]+\.[0-9]+$/.test(line)
      ? control.toLine(line)
      : control.toEnd());
    return () => control.end();
  }, [control]);
  return control;
}

/** Watches for new lines while the task runs, and reads once more when it has ended. */
function useFollowing(control: LogControl, { id, part, isOver }: {
  readonly id: string;
  readonly part: LogPart;
  readonly isOver: boolean;
}): void {
  // A task that has ended before the screen was opened prints nothing more.
  const follows = useRef(!isOver).current;
  useWatch(follows ? { log: id, ...part } : undefined, (update) => {
    if ("lines" in update) newest.current.hear(update);
  });
  const newest = useRef(control);
  newest.current = control;
  useEffect(() => void control.refresh(), [control, isOver]);
}

/** The work under way, beside the title. */
function Told({ control, isOver }: { readonly control: LogControl; readonly isOver: boolean }) {
  const { busy, told, following, version } = control;
  void version.value;
  const empty = control.window.lines.length === 0 ? "No output" : "";
  const idle = isOver ? empty : following.value ? "● following" : "○ not following: press G";
  return <span role="status" class="faint">{busy.value || told.value || idle}</span>;
}

/** The position of the visible lines in a log that is too long to be held whole. */
function Place({ control }: { readonly control: LogControl }) {
  const { window, version } = control;
  void version.value;
  if (window.atStart && window.atEnd) return null;
  const { size, start, end } = window;
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  return (
    <label class="place faint">
      Held: {megabytes(start)} to {megabytes(end)} of {megabytes(size)}
      <input
        type="range"
        min={0}
        max={1000}
        value={Math.round(start / Math.max(1, size - (end - start)) * 1000)}
        aria-label="Position in the log"
        onChange={({ currentTarget: { value } }) =>
          void (value === "0"
            ? control.toStart()
            : value === "1000"
            ? control.toEnd()
            : control.toOffset(Math.round(Number(value) / 1000 * size)))}
      />
    </label>
  );
}

function Download({ id, part }: { readonly id: string; readonly part: LogPart }) {
  const running = useSignal<AbortController | undefined>(undefined);
  const bytes = useSignal(0);
  const error = useSignal<Refusal | undefined>(undefined);
  const begin = async () => {
    const own = running.value = new AbortController();
    [bytes.value, error.value] = [0, undefined];
    try {
      await downloadLog(id, part, {
        progress: (so) => bytes.value = so,
        signal: own.signal,
      });
    } catch (thrown) {
      error.value = toRefusal(thrown);
    }
    running.value = undefined;
  };
  useEffect(() => () => running.peek()?.abort(), []);
  return (
    <>
      {running.value === undefined
        ? <button type="button" onClick={() => void begin()}>Download</button>
        : (
          <button type="button" onClick={() => running.value?.abort()}>
            {(bytes.value / 1e6).toFixed(0)} MB, stop
          </button>
        )}
      {error.value !== undefined && <Problem error={error.value} />}
    </>
  );
}
