/**
 * Problems that need a person, a line for each cause: the 500 attempts of a sender in a night are a
 * single trouble.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import type { Refusal } from "../../data/api.ts";
import { Link } from "../../parts/link.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";

/** A failure, a refusal or another problem. */
export interface Wrong {
  /** The workflow, trigger or other thing with the problem. */
  readonly what: string;
  /** The origin, as in "from nightly"; empty if there is none to show. */
  readonly of: string;
  readonly why: ComponentChildren;
  /** The screen of the problem; absent if it has none. */
  readonly to?: readonly string[];
  /** RFC 3339; `null` if the problem is a state and not an event. */
  readonly at: string | null;
  /** The key of the cause, by which problems are grouped. */
  readonly key: string;
}

/** All problems of a cause: the latest one, and their number. */
export interface Trouble {
  readonly latest: Wrong;
  readonly count: number;
}

/** Groups problems by cause, the latest first; `items` are newest first. */
export function troublesOf<Item>(
  items: readonly Item[],
  read: (item: Item) => Wrong,
): readonly Trouble[] {
  const groups = new Map<string, { latest: Wrong; count: number }>();
  for (const item of items) {
    const wrong = read(item);
    const group = groups.get(wrong.key);
    if (group === undefined) groups.set(wrong.key, { latest: wrong, count: 1 });
    else group.count++;
  }
  return [...groups.values()];
}

const SHOWN = 8;

/** A section of troubles; nothing if there are none. */
export function Troubles({ title, troubles, error, count, all }: {
  readonly title: string;
  readonly troubles: readonly Trouble[];
  readonly error?: Refusal | undefined;
  /** The number to show; the sum of the counts if absent. */
  readonly count?: string;
  /** A link to the list of all. */
  readonly all?: ComponentChildren;
}) {
  if (troubles.length === 0 && error === undefined) return null;
  const sum = String(troubles.reduce((all, one) => all + one.count, 0));
  return (
    <section class="troubles" aria-label={title}>
      <div class="title-row">
        <h3>
          {title}
          {troubles.length > 0 && <span class="count">{count ?? sum}</span>}
        </h3>
        {all}
      </div>
      {error !== undefined && <Problem error={error} />}
      {troubles.length > 0 && (
        <ul>
          {troubles.slice(0, SHOWN).map((one) => <Line key={one.latest.key} trouble={one} />)}
          {troubles.length > SHOWN && <li class="faint">{troubles.length - SHOWN} other causes</li>}
        </ul>
      )}
    </section>
  );
}

/** A trouble, or anything else that is listed like one, as an item of a list. */
export function Line({ trouble: { latest, count } }: { readonly trouble: Trouble }) {
  return (
    <li>
      <span class="what">
        {latest.to === undefined
          ? (
            <code>
              <Text value={latest.what} cell />
            </code>
          )
          : (
            <Link to={latest.to}>
              <Text value={latest.what} cell />
            </Link>
          )}
        {latest.of !== "" && <span class="faint">{latest.of}</span>}
      </span>
      <span class="why">
        {typeof latest.why === "string" ? <Text value={latest.why} cell /> : latest.why}
      </span>
      <span class="times">{count > 1 && <span class="count">{count} times</span>}</span>
      <span class="faint when">{latest.at !== null && <Ago at={latest.at} bare />}</span>
    </li>
  );
}
