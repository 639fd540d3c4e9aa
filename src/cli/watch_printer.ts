/**
 * Prints the news of a watch as they come: rows under headings that are printed once, or one JSON
 * object, YAML document or name a line.
 *
 * @module
 */

import type { WatchLine } from "../api/resource_operations.ts";
import type { Io } from "./io.ts";
import type { Format } from "./print.ts";
import { fit, formatRow, widthsOf } from "./table.ts";
import { printable } from "./terminal_text.ts";
import { textWidthFor } from "./text_width.ts";

/** Columns that change by themselves; a row that differs in nothing else is not news. */
const TIMES = new Set(["AGE", "DURATION", "LEASE"]);
/** Length of the longest state, for which columns have room from the start. */
const STATE_WIDTH = 9;

/** Prints the lines of a watched list: rows on a terminal and elsewhere, or one object a line. */
export class WatchPrinter {
  readonly #io: Io;
  readonly #format: Format;
  /** The row of each item as it was last printed, without its times. */
  readonly #rows = new Map<string, string>();
  #widths: number[] | undefined;
  /** Columns that are printed; a watch does not change its headings. */
  #shown: number[] | undefined;

  constructor(io: Io, format: Format) {
    this.#io = io;
    this.#format = format;
  }

  /** Prints the changes of a line. */
  async print(line: WatchLine): Promise<void> {
    const { items, names } = line;
    switch (this.#format) {
      case "json":
        return this.#io.out(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
      case "yaml": {
        const { toYaml } = await import("../resources/manifest.ts");
        return this.#io.out(items.map((item) => `---\n${toYaml(item)}`).join(""));
      }
      case "name":
        return this.#io.out(names.map((name) => `${name}\n`).join(""));
      default:
        await this.#printRows(line);
        for (const name of line.deleted) this.#io.err(`${name} deleted\n`);
    }
  }

  async #printRows({ columns, items, names, rows }: WatchLine): Promise<void> {
    const shown = this.#shown ??
      columns.flatMap((column, at) => this.#format === "wide" || !column.wide ? [at] : []);
    const pick = (cells: readonly string[]) => shown.map((at) => printable(cells[at] ?? ""));
    const picked = shown.flatMap((at) => columns[at] ?? []);
    const headers = picked.map(({ header }) => header);
    const fresh = rows.map(pick).filter((cells, at) => {
      const key = `${names[at]}\n${projectOf(items[at])}`;
      const what = cells.filter((_, column) => !TIMES.has(headers[column] ?? "")).join("\n");
      if (this.#rows.get(key) === what) return false;
      this.#rows.set(key, what);
      return true;
    });
    if (fresh.length === 0) return;
    this.#shown = shown;
    const lines = this.#widths === undefined ? [headers, ...fresh] : fresh;
    const least = this.#widths ?? headers.map((header) => header === "STATE" ? STATE_WIDTH : 0);
    const width = await textWidthFor(fresh.flat());
    this.#widths = widthsOf(picked, fresh, width).map((most, at) => Math.max(most, least[at] ?? 0));
    const room = this.#format === "wide" ? undefined : this.#io.columns;
    const widths = fit(picked, this.#widths, { room });
    this.#io.out(lines.map((cells) => formatRow(cells, picked, { width, widths, room })).join(""));
  }
}

/** Resources of several projects may have the same name. */
function projectOf(item: Readonly<Record<string, unknown>> | undefined): string {
  return (item?.["metadata"] as { project?: string } | undefined)?.project ?? "";
}
