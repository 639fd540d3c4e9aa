/**
 * The state of a log on the screen: its position, its loaded lines and its search. The view renders
 * it, and reports when the edge of the held lines comes near.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { defined } from "../../../../src/base/defined.ts";
import type { LogText } from "../../../../src/api/task_operations.ts";
import { toRefusal } from "../../data/answer.ts";
import { call, type Refusal } from "../../data/api.ts";
import { findInFile, findText, hasText, type LineFilter } from "./find.ts";
import { lineName, type LogRange, LogWindow, type WindowLimits } from "./window.ts";

/** The position of the view after a change; `undefined` leaves the view where it is. */
export type Target =
  | { readonly line: string }
  | { readonly top: string }
  | "start"
  | "end"
  | undefined;

/** Least number of lines that fill a screen. */
const SCREEN_LINES = 200;

/** The part of a log that is shown. */
export interface LogPart {
  /** A single step; all steps when absent. */
  readonly step?: string;
  /** What agents printed, before svc made lines of it. */
  readonly raw?: true;
}

/** The log of a task, of a single step or of all steps. */
export class LogControl {
  readonly window: LogWindow;
  /** Counts changes of the window. */
  readonly version = signal(0);
  /** A text about the work under way; empty if there is none. */
  readonly busy = signal("Reading…");
  readonly error = signal<Refusal | undefined>(undefined);
  /** Name of the line that was found or linked to. */
  readonly current = signal("");
  /** The result of a search as a text. */
  readonly told = signal("");
  /** Whether the view moves on to new lines as they arrive. */
  readonly following = signal(false);
  target: Target = "end";
  /** The first visible line, set by the view. */
  top = "";
  readonly #id: string;
  readonly #part: LogPart;
  #searching = new AbortController();
  #extending = false;
  /** Byte up to which the stream has sent lines. */
  #heardTo: number | undefined;
  readonly #ended = new AbortController();

  /** Makes an empty log; the first lines are read later. */
  constructor(id: string, part: LogPart, limits: WindowLimits) {
    [this.#id, this.#part] = [id, part];
    this.window = new LogWindow((range) => this.#read(range), limits);
  }

  /** Aborts the work under way. */
  end(): void {
    this.#ended.abort();
    this.#searching.abort();
  }

  /** Goes to the first line. */
  async toStart(): Promise<void> {
    this.following.value = false;
    await this.#replace("start", async () => {
      if (!this.window.atStart || this.window.lines.length === 0) await this.window.toStart();
    });
  }

  /** Goes to the last line. */
  async toEnd(): Promise<void> {
    await this.#replace("end", async () => {
      if (this.window.atEnd && this.window.lines.length > 0) await this.window.extendDown();
      else await this.window.toEnd();
    });
  }

  /** Goes to a byte of the file. */
  async toOffset(offset: number): Promise<void> {
    this.following.value = false;
    await this.#replace("start", async () => {
      await this.window.around(offset);
      const line = this.window.lines.find((one) => one.offset >= offset);
      if (line !== undefined) this.target = { top: lineName(line) };
    });
  }

  /** Goes to a line, given by its name. */
  async toLine(name: string): Promise<void> {
    this.following.value = false;
    this.current.value = name;
    await this.#replace({ line: name }, async () => {
      if (this.window.lines.some((line) => lineName(line) === name)) return;
      await this.window.around(Number.parseInt(name) || 0);
    });
  }

  /** Takes the position of another view of the same log. */
  async toPlace({ top, current, following }: LogControl): Promise<void> {
    if (following.value || top === "") return await this.toEnd();
    this.current.value = current.value;
    await this.toOffset(Number.parseInt(top));
  }

  /** Reads on at an edge that the view is near, unless a read is under way. */
  async extend(up: boolean): Promise<void> {
    if (this.#extending || (up ? this.window.atStart : this.window.atEnd)) return;
    this.#extending = true;
    await this.#attempt("", async () => {
      const before = this.window.lines.length;
      do {
        await (up ? this.window.extendUp() : this.window.extendDown());
      } while (
        this.window.lines.length === before && !(up ? this.window.atStart : this.window.atEnd) &&
        !this.#ended.signal.aborted
      );
    });
    this.#extending = false;
    this.#catchUp();
  }

  /** Takes lines of the stream, which follow the lines sent before. */
  hear({ lines, end }: { readonly lines: readonly LogText[]; readonly end: number }): void {
    const from = this.#heardTo;
    this.#heardTo = end;
    if (this.#isRead()) return this.window.leaveEnd();
    if (from === undefined || this.#isAtWork() || !this.window.hear({ lines, from, end })) {
      return void this.refresh();
    }
    this.#grown();
  }

  /**
   * Reads the lines that were written since, and that the stream did not send or this log could not
   * take.
   */
  async refresh(): Promise<void> {
    if (this.#isAtWork() || !this.window.atEnd) return;
    if (this.#isRead()) return this.window.leaveEnd();
    this.#extending = true;
    const { end } = this.window;
    try {
      do await this.window.extendDown(); while (!this.window.atEnd && this.following.value);
      if (this.window.end !== end) this.#grown();
    } catch (thrown) {
      if (!this.#ended.signal.aborted) this.error.value = toRefusal(thrown);
    }
    this.#extending = false;
    this.#catchUp();
  }

  /** Whether more lines would push visible lines out of the window. */
  #isRead(): boolean {
    return !this.following.value && this.window.isFull;
  }

  #isAtWork(): boolean {
    return this.#extending || this.busy.value !== "";
  }

  #grown(): void {
    if (this.following.value) this.target = "end";
    this.version.value++;
  }

  /** Reads the lines that the stream sent while another read was under way. */
  #catchUp(): void {
    if (this.error.value !== undefined || this.#ended.signal.aborted) return;
    if ((this.#heardTo ?? 0) > this.window.end) void this.refresh();
  }

  /** Goes to the next or the previous line with a text. */
  async search(text: string, back: boolean): Promise<void> {
    const { signal, progress } = this.#beginSearch();
    const from = this.#searchedFrom(back);
    await this.#attempt("Searching…", async () => {
      const read = (range: LogRange) => this.#read(range);
      const found = await findText(this.window, read, {
        text,
        back,
        signal,
        progress,
        current: from,
      });
      if (signal.aborted) return;
      await this.#show(found?.line);
      this.told.value = found === undefined
        ? "No match"
        : this.#countOf(found.line, text) + (found.around ? ", wrapped around" : "");
    });
  }

  /** Goes to the first line about an error: of the failed step, else of any step. */
  async toError(failed: string | undefined): Promise<void> {
    const { signal, progress } = this.#beginSearch();
    const wanted: readonly LineFilter[] = failed === undefined
      ? [{ stream: "err" }]
      : [{ stream: "err", step: failed }, { stream: "svc", step: failed }];
    await this.#attempt("Searching…", async () => {
      let found: LogText | undefined;
      for (const one of wanted) {
        const way = { from: 0, back: false, signal, progress };
        found ??= await findInFile((range) => this.#read(range), one, way);
      }
      if (signal.aborted) return;
      await this.#show(found);
      this.told.value = found === undefined ? "No error found" : "";
    });
  }

  /** The line from which a search begins: the last match, else the first line on the screen. */
  #searchedFrom(back: boolean): string {
    const { lines } = this.window;
    if (lines.some((line) => lineName(line) === this.current.value)) return this.current.value;
    if (back) return this.top;
    // The top line may itself be a match.
    const before = lines[lines.findIndex((line) => lineName(line) === this.top) - 1];
    return before === undefined ? "" : lineName(before);
  }

  async #show(line: LogText | undefined): Promise<void> {
    if (line === undefined) return;
    this.following.value = false;
    const name = lineName(line);
    if (!this.window.lines.some((one) => lineName(one) === name)) {
      await this.window.around(line.offset);
    }
    [this.current.value, this.target] = [name, { line: name }];
  }

  /** The number of the match and of all matches, if all lines are held. */
  #countOf(line: LogText, text: string): string {
    const { atStart, atEnd, lines } = this.window;
    if (!atStart || !atEnd) return "Found";
    const all = lines.filter((one) => hasText(one, text));
    const at = all.findIndex((one) => lineName(one) === lineName(line));
    return `${at + 1} of ${all.length}`;
  }

  #beginSearch() {
    this.#searching.abort();
    const { signal } = this.#searching = new AbortController();
    this.told.value = "";
    const progress = (at: number) => {
      const share = Math.round(at / Math.max(1, this.window.size) * 100);
      this.busy.value = `Searching… ${Math.min(100, share)} %`;
    };
    return { signal, progress };
  }

  async #replace(target: Target, work: () => Promise<void>): Promise<void> {
    await this.#attempt("Reading…", async () => {
      this.target = target;
      await work();
      await this.#fill();
    });
  }

  /** Reads on until a screen is full: a portion may have no line of a step that printed little. */
  async #fill(): Promise<void> {
    const { window } = this;
    while (window.lines.length < SCREEN_LINES && !this.#ended.signal.aborted) {
      if (!window.atEnd) await window.extendDown();
      else if (!window.atStart) await window.extendUp();
      else break;
    }
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    this.busy.value = what;
    this.error.value = undefined;
    try {
      await work();
    } catch (thrown) {
      if (!this.#ended.signal.aborted) this.error.value = toRefusal(thrown);
    }
    this.busy.value = "";
    this.version.value++;
    this.#catchUp();
  }

  #read(range: LogRange) {
    const { step, raw } = this.#part;
    const input = { id: this.#id, ...defined({ step, stream: raw && "raw" as const }), ...range };
    return call("task.log.read", input, this.#ended.signal);
  }
}
