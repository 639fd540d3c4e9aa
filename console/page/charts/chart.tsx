/**
 * A chart with its legend, and the same figures as a table.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { shortDuration } from "../../../src/base/duration.ts";
import { type Column, Table } from "../parts/table.tsx";
import { type Figures, filledIntervals, isEmpty, isSparse, summary } from "./figures.ts";
import type { Drawn, Look } from "./plot.ts";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** A chart, its legend, and a table with the same figures. */
export function Chart({ title, note, form: usual, figures, nothing }: {
  readonly title: string;
  /** The meaning of a value of the chart. */
  readonly note: string;
  readonly form: Look["form"];
  readonly figures: Figures;
  /** The text of a chart without figures. */
  readonly nothing: string;
}) {
  const { series, times, stepMs, unit } = figures;
  const pointed = useSignal<number | undefined>(undefined);
  const open = useSignal(false);
  const legend = useRef<HTMLUListElement>(null);
  const at = pointed.value === undefined ? undefined : times[pointed.value];
  const sums = usual === "bars";
  const form = sums || !isSparse(figures) ? usual : "columns";
  const isFilled = form === "bars" || form === "columns";
  const last = times.findLast((_, index) => series.some(({ values }) => values[index] !== null));
  const rest = sums
    ? `${note}, ${series.reduce((all, one) => all + (summary(one.values, true) ?? 0), 0)} in total`
    : last === undefined
    ? note
    : `${note}, last ${CLOCK.format(last)}`;
  const valueOf = (values: Figures["series"][number]["values"]) =>
    shown(
      pointed.value === undefined ? summary(values, sums) : values[pointed.value] ?? null,
      unit,
    );
  if (isEmpty(figures)) {
    return (
      <figure class="chart empty panel">
        <figcaption>
          <h3>{title}</h3>
        </figcaption>
        <p class="faint">{nothing}</p>
      </figure>
    );
  }
  return (
    <figure class="chart panel">
      <figcaption>
        <h3>{title}</h3>
        <span class="faint">
          {at === undefined ? rest : `${CLOCK.format(at)}–${CLOCK.format(at + stepMs)}`}
        </span>
      </figcaption>
      <ul class="legend" ref={legend}>
        {series.map(({ label, tone, values, about }, index) => (
          <li key={label} title={about}>
            <span class={`swatch ${tone} ${isFilled ? "bar" : `line${index}`}`} /> {label}{" "}
            <strong>{valueOf(values)}</strong>
          </li>
        ))}
      </ul>
      <Plot
        form={form}
        figures={figures}
        legend={legend}
        point={(index) => pointed.value = index}
      />
      <details onToggle={({ currentTarget }) => open.value = currentTarget.open}>
        <summary>{title} as a table</summary>
        {open.value && <FiguresTable title={title} figures={figures} />}
      </details>
    </figure>
  );
}

function Plot({ form, figures, legend, point }: {
  readonly form: Look["form"];
  readonly figures: Figures;
  /** The legend; its signs have the colours of the series. */
  readonly legend: { readonly current: HTMLElement | null };
  readonly point: (index: number | undefined) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | undefined>(undefined);
  const latest = useRef(figures);
  latest.current = figures;
  const labels = figures.series.map(({ label }) => label).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let over = false;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const redraw = async () => {
      const { draw } = await import("./plot.ts");
      if (over) return;
      drawn.current?.remove();
      const look = lookOf(element, { form, legend: legend.current });
      drawn.current = draw(element, { figures: latest.current, look, point });
    };
    void redraw();
    dark.addEventListener("change", redraw);
    const resized = new ResizeObserver(() => drawn.current?.resize(element.clientWidth));
    resized.observe(element);
    return () => {
      over = true;
      dark.removeEventListener("change", redraw);
      resized.disconnect();
      drawn.current?.remove();
      drawn.current = undefined;
    };
  }, [form, labels]);
  useEffect(() => drawn.current?.update(figures), [figures]);
  return <div class="plot" ref={place} aria-hidden="true" />;
}

/** Colours and font of the current style, light or dark. */
function lookOf(
  place: HTMLElement,
  { form, legend }: { readonly form: Look["form"]; readonly legend: HTMLElement | null },
): Look {
  const { color, borderTopColor, fontFamily } = getComputedStyle(place);
  const signs = legend?.querySelectorAll(".swatch") ?? [];
  return {
    form,
    colours: [...signs].map((sign) => getComputedStyle(sign).color),
    text: color,
    grid: borderTopColor,
    font: `12px ${fontFamily}`,
  };
}

function FiguresTable({ title, figures }: { readonly title: string; readonly figures: Figures }) {
  const { series, unit, stepMs } = figures;
  const rows = filledIntervals(figures);
  if (rows.length === 0) return <p class="faint">Nothing in this time range.</p>;
  const columns: readonly Column<typeof rows[number]>[] = [
    {
      header: "From",
      heads: true,
      cell: ({ at }) => <time dateTime={new Date(at).toISOString()}>{CLOCK.format(at)}</time>,
    },
    ...series.map(({ label }, index): Column<typeof rows[number]> => ({
      header: label,
      number: true,
      cell: ({ values }) => shown(values[index] ?? null, unit),
    })),
  ];
  return (
    <div class="figures" tabindex={0} role="region" aria-label={`${title} as figures`}>
      <Table
        items={rows}
        columns={columns}
        id={({ at }) => at}
        caption={`Each ${shortDuration(stepMs)} with data, newest first`}
      />
    </div>
  );
}

function shown(value: number | null, unit: Figures["unit"]): string {
  if (value === null) return "—";
  if (unit === "count") return value.toLocaleString();
  return value < 10 ? `${Math.round(value * 10) / 10}ms` : shortDuration(value);
}
