/**
 * Filters of a list. The query of the address holds them, and the daemon applies them.
 *
 * @module
 */

import { shortDuration } from "../../../src/base/duration.ts";
import { query, setQuery } from "../route.ts";
import { wordOf } from "./chip.tsx";
import { Field } from "./field.tsx";

/** A filter: it sets the field of the operation that has the same name. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** The values to choose from; any text if absent. */
  readonly choices?: readonly string[];
  /** Whether the daemon takes a number. */
  readonly number?: true;
}

/** The filter for the time span of a list, in seconds before now. */
export const TIME_RANGE: FilterField = {
  name: "since_secs",
  label: "Time range",
  choices: ["900", "3600", "86400", "604800", "2592000"],
};

/** The filters of the address, as input of an operation and as flags of the command. */
export function filtersOf(
  fields: readonly FilterField[],
): { readonly input: Readonly<Record<string, string | number>>; readonly flags: string } {
  const input: Record<string, string | number> = {};
  let flags = "";
  for (const { name, number } of fields) {
    const value = query.value.get(name);
    if (value === null || value === "") continue;
    const [unit] = /_(?:secs|ms)$/.exec(name) ?? [];
    const isNumber = number === true || unit !== undefined;
    if (isNumber && !/^[0-9]{1,9}$/.test(value)) continue;
    input[name] = isNumber ? Number(value) : value;
    const flag = name.replace(unit ?? "", "").replaceAll("_", "-");
    flags += ` --${flag} ${quoted(unit === undefined ? value : shortTime(Number(value), unit))}`;
  }
  return { input, flags };
}

/** A choice of {@linkcode TIME_RANGE}, in words. */
export function spanText(secs: number): string {
  const [count, unit] = secs < 3600
    ? [secs / 60, "minute"]
    : secs < 172_800
    ? [secs / 3600, "hour"]
    : [secs / 86_400, "day"];
  return `last ${count === 1 ? unit : `${count} ${unit}s`}`;
}

function shortTime(value: number, unit: string): string {
  return unit === "_ms" ? `${value}ms` : shortDuration(value * 1000);
}

/** A value as a word of a shell; `…` if plain quotes do not suffice. */
function quoted(value: string): string {
  if (/^[\w.:@/][\w.:@/-]*$/.test(value)) return value;
  return /^[\w.][\w .,:;@/()=+"-]*$/.test(value) ? `'${value}'` : "…";
}

/** A form with a control for each filter, filled from the address. */
export function Filters({ fields }: { readonly fields: readonly FilterField[] }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {fields.map(({ name, label, choices }) => {
        const value = query.value.get(name) ?? "";
        return (
          <Field key={name} label={label}>
            {choices === undefined
              ? (
                <input
                  type="search"
                  value={value}
                  onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
                />
              )
              : (
                <select
                  value={value}
                  onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
                >
                  <option value="">any</option>
                  {choices.map((choice) => (
                    <option key={choice} value={choice}>
                      {name.endsWith("_secs") ? spanText(Number(choice)) : wordOf(choice)}
                    </option>
                  ))}
                </select>
              )}
          </Field>
        );
      })}
    </form>
  );
}
