/**
 * What went wrong, one line for everything of one cause: where a sender tries again all night, it is
 * one trouble and not five hundred.
 *
 * @module
 */

import { Link } from "../../parts/link.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";

/** Something that went wrong. */
export interface Wrong {
  /** What it was: a workflow, a trigger. */
  readonly what: string;
  /** What brought it, as in "from nightly"; empty when there is no more to say. */
  readonly of: string;
  readonly why: string;
  /** Screen of this one. */
  readonly to: readonly string[];
  /** RFC 3339. */
  readonly at: string;
  /** The same for all of one cause. */
  readonly key: string;
}

/** Everything of one cause: the latest, and how many there were. */
export interface Trouble {
  readonly latest: Wrong;
  readonly count: number;
}

/** Groups what went wrong by its cause, the latest first; `items` are newest first. */
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

/** The list; nothing when there is none. */
export function Troubles({ troubles }: { readonly troubles: readonly Trouble[] }) {
  if (troubles.length === 0) return null;
  return (
    <ul class="troubles">
      {troubles.slice(0, SHOWN).map(({ latest, count }) => (
        <li key={latest.key}>
          <span class="head">
            <Link to={latest.to}>{latest.what}</Link>
            {latest.of !== "" && <span class="faint">{latest.of}</span>}
            {count > 1 && <span class="count">{count} times</span>}
            <span class="faint when">
              <Ago at={latest.at} />
            </span>
          </span>
          <span class="why">
            <Text value={latest.why} cell />
          </span>
        </li>
      ))}
      {troubles.length > SHOWN && <li class="faint">{troubles.length - SHOWN} other causes</li>}
    </ul>
  );
}
