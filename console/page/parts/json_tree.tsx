/**
 * JSON as a tree: a node renders its members when a click opens it. A value can be picked.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { type JsonValue, membersOf, type Place, plainText } from "./json_value.ts";
import { cut as cutTo, printable } from "./printable.ts";

/** Longest text that is shown without a click. */
const LONG = 300;
/** Most members that are shown without a click. */
const MANY = 200;
/** Depth down to which objects and lists are open at first. */
const OPEN_DEPTH = 2;
/** Most members of an object or a list that is open at first. */
const OPEN_MEMBERS = 30;

interface NodeProps {
  readonly value: JsonValue;
  readonly place: Place;
  /** Called with the place of a clicked value; without it, values are not buttons. */
  readonly pick?: ((place: Place) => void) | undefined;
}

/** Shows a value as a tree whose objects and lists open on a click. */
export function JsonTree({ value, pick, label }: {
  readonly value: JsonValue;
  readonly pick?: ((place: Place) => void) | undefined;
  /** The label of the tree for screen readers. */
  readonly label: string;
}) {
  return (
    <div class="json" role="group" aria-label={label}>
      <Node value={value} place={[]} pick={pick} />
    </div>
  );
}

function Node({ value, place, pick }: NodeProps) {
  const members = membersOf(value);
  const name = place.at(-1);
  const shown = name === undefined
    ? undefined
    : <span class="name">{printable(String(name))}</span>;
  if (members === undefined) {
    return (
      <div class="leaf">
        {shown}
        <Leaf value={value} place={place} pick={pick} />
      </div>
    );
  }
  return <Branch name={shown} {...{ value, place, pick, members }} />;
}

function Branch({ name, value, place, pick, members }: NodeProps & {
  readonly name: preact.JSX.Element | undefined;
  readonly members: NonNullable<ReturnType<typeof membersOf>>;
}) {
  const open = useSignal(
    place.length === 0 || (place.length < OPEN_DEPTH && members.length <= OPEN_MEMBERS),
  );
  const most = useSignal(MANY);
  const count = Array.isArray(value) ? `[ ${members.length} ]` : `{ ${members.length} }`;
  return (
    <details
      open={open.value}
      onToggle={({ currentTarget }) => open.value = currentTarget.open}
    >
      <summary>
        {name} <span class="faint">{count}</span>
      </summary>
      {open.value &&
        members.slice(0, most.value).map(([member, one]) => (
          <Node key={member} value={one} place={[...place, member]} pick={pick} />
        ))}
      {open.value && members.length > most.value && (
        <button
          type="button"
          class="small"
          onClick={() => most.value += MANY}
        >
          {Math.min(MANY, members.length - most.value)} more
        </button>
      )}
    </details>
  );
}

function Leaf({ value, place, pick }: NodeProps) {
  const whole = useSignal(false);
  const text = plainText(value);
  const cut = !whole.value && text.length > LONG;
  const kind = `value ${typeof value === "object" ? "number" : typeof value}`;
  const shown = printable(cut ? `${cutTo(text, LONG)}…` : text);
  return (
    <>
      {pick === undefined
        ? <span class={value === null ? "value null" : kind}>{shown}</span>
        : (
          <button
            type="button"
            class={value === null ? "value null" : kind}
            title="Insert it into the condition"
            onClick={() => pick(place)}
          >
            {shown}
          </button>
        )}
      {cut && (
        <button type="button" class="small" onClick={() => whole.value = true}>
          All {text.length.toLocaleString("en")} characters
        </button>
      )}
    </>
  );
}
