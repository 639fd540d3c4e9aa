/**
 * The report as a picture for the docs: a bar for every figure with a target, where 1 is the
 * target, and accepts beside those of the pipeline without a store. Plain SVG, readable on light
 * and dark backgrounds.
 *
 * @module
 */

import { machineLine } from "./machine.ts";
import { conditionsLine, headroom, type Report, type Result, shown, wantedText } from "./report.ts";
import { median } from "./stats.ts";

const WIDTH = 860;
const LABEL = 270;
const ROW = 22;
const RIGHT = 180;
/** The greatest ratio that a bar shows; longer bars are cut off. */
const MOST = 3;

export function chartOf(report: Report): string {
  const rates = report.results.filter(({ scenario, unit, median }) =>
    scenario === "accepts" && unit === "/s" && !Number.isNaN(median)
  );
  const targets = report.results.filter((result) => !Number.isNaN(headroom(result)));
  const parts: string[] = [];
  let y = 24;
  const heading = (text: string) => {
    parts.push(`<text x="8" y="${y}" class="h">${escape(text)}</text>`);
    y += 14;
  };
  if (rates.length > 0) {
    const compared = report.baseline !== undefined;
    heading(`Requests a second${compared ? " (line: before)" : ""}`);
    const most = Math.max(...rates.flatMap((rate) => [rate.median, median(rate.before ?? [0])]));
    for (const rate of rates) {
      parts.push(
        bar(y, { label: rate.name, part: rate.median / most, text: shown(rate.median, "/s") }),
      );
      if (rate.before !== undefined) {
        const x = at(median(rate.before) / most);
        parts.push(`<line x1="${x}" x2="${x}" y1="${y}" y2="${y + ROW - 3}" class="b"/>`);
      }
      y += ROW;
    }
    y += 26;
  }
  if (targets.length > 0) {
    heading("Figures with a target; the line is the target, beyond it is better");
    const top = y;
    for (const result of targets) {
      parts.push(bar(y, {
        label: result.name,
        part: Math.min(headroom(result), MOST) / MOST,
        text: `${
          result.change === undefined
            ? shown(result.median, result.unit)
            : shown(median(result.ratio ?? []), "×")
        }  (${wantedText(result)})`,
        tone: tone(result),
      }));
      y += ROW;
    }
    const x = at(1 / MOST);
    parts.push(`<line x1="${x}" x2="${x}" y1="${top - 2}" y2="${y}" class="t"/>`);
    y += 18;
  }
  parts.push(`<text x="8" y="${y}" class="s">${escape(machineLine(report.machine))}</text>`);
  parts.push(
    `<text x="8" y="${y + 16}" class="s">${escape(conditionsLine(report))}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${
    y + 28
  }" viewBox="0 0 ${WIDTH} ${y + 28}" role="img" aria-label="Figures of the bench">
<style>
text { font: 12px system-ui, sans-serif; fill: #57606a }
.h { font-weight: 600; font-size: 13px }
.s { font-size: 11px }
.t { stroke: #8b949e; stroke-width: 1.5; stroke-dasharray: 3 3 }
.b { stroke: #d4a72c; stroke-width: 3 }
</style>
${parts.join("\n")}
</svg>
`;
}

/** The end of a bar whose length is this share of the longest bar. */
function at(part: number): string {
  return (LABEL + part * (WIDTH - LABEL - RIGHT)).toFixed(1);
}

function tone({ ok }: Result): string {
  return ok === true ? "#2da44e" : "#cf222e";
}

function bar(
  y: number,
  { label, part, text, tone = "#4078c0" }: {
    label: string;
    part: number;
    text: string;
    tone?: string;
  },
): string {
  const width = Math.max(1, part * (WIDTH - LABEL - RIGHT));
  return [
    `<text x="${LABEL - 8}" y="${y + 13}" text-anchor="end">${escape(label)}</text>`,
    `<rect x="${LABEL}" y="${y + 2}" width="${width.toFixed(1)}" height="${
      ROW - 7
    }" rx="2" fill="${tone}"/>`,
    `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + 13}">${escape(text)}</text>`,
  ].join("\n");
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
