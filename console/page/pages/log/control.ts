/**
 * What is done with a log on the screen: where it stands, what is loaded, what is looked for. The
 * view shows it, and says when the edge of what is held comes near.
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

/** Where the view is to stand after a change; `undefined`: where it is. */
export type Target =
  | { readonly line: string }
  | { readonly top: string }
  | "start"
  | "end"
  | undefined;

/** Fewer lines than this fill no screen. */
const SCREEN_LINES = 200;

/** A log, of one step or of all. */
export class LogControl {
  readonly window: LogWindow;
  /** Counts changes of the window. */
  readonly version = signal(0);
  /** What is being done, for people; empty when nothing is. */
  readonly busy = signal("Reading…");
  readonly error = signal<Refusal | undefined>(undefined);
  /** Name of the line that was found or linked to. */
  readonly current = signal("");
  /** What a search came to, for people. */
  readonly told = signal("");
  /** Whether what comes is shown as it comes. */
  readonly following = signal(false);
  target: Target = "end";
  /** The first line that can be seen; the view says so. */
  top = "";
  readonly #id: string;
  readonly #step: string;
  #searching = new AbortController();
  #extending = false;
  /** Byte up to which the stream has sent lines. */
  #heardTo: number | undefined;
  readonly #ended = new AbortController();

  /** Reads nothing yet. */
  constructor(id: string, step: string, limits: WindowLimits) {
    [this.#id, this.#step] = [id, step];
    this.window = new LogWindow((range) => this.#read(range), limits);
  }

  /** Gives up what is under way. */
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

  /** Goes to a place in the file. */
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

  /** Stands where another view of the same log stood. */
  async toPlace({ top, current, following }: LogControl): Promise<void> {
    if (following.value || top === "") return await this.toEnd();
    this.current.value = current.value;
    await this.toOffset(Number.parseInt(top));
  }

  /** Reads on where the view comes near the edge; nothing while that is under way. */
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

  /** Takes lines of the stream, which follow those that it sent before. */
  hear({ lines, end }: { readonly lines: readonly LogText[]; readonly end: number }): void {
    const from = this.#heardTo;
    this.#heardTo = end;
    if (this.#isRead()) return this.window.leaveEnd();
    if (from === undefined || this.#isAtWork() || !this.window.hear({ lines, from, end })) {
      return void this.refresh();
    }
    this.#grown();
  }

  /** Reads what was written since and was not sent, or could not be taken then. */
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

  /** Whether the screen shows lines that would have to be dropped for more. */
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

  /** Goes to the next line with a text, or to the previous one. */
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

  /** Goes to the first line that says what went wrong: of the step that failed, else of any. */
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
    // The line at the top may be one that is looked for.
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

  /** Which of how many, where all lines are held. */
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

  /** Reads on until a screen is full: of a step that printed little, a portion may hold nothing. */
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
    const input = { id: this.#id, ...defined({ step: this.#step || undefined }), ...range };
    return call("task.log.read", input, this.#ended.signal);
  }
}
