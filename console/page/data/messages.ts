/**
 * Messages of the outbox as the daemon shows them.
 *
 * @module
 */

/** A message of the outbox. */
export interface Message {
  readonly id: string;
  readonly project: string;
  readonly connection: string | null;
  readonly kind: string;
  readonly target: Readonly<Record<string, unknown>>;
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly task_id: string | null;
  readonly state: string;
  readonly tries: number;
  readonly next_at: string | null;
  readonly held_until: string | null;
  readonly uncertain_since: string | null;
  readonly external_id: string | null;
  readonly reason: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The target of a message in a few words, made of the values of its fields. */
export function destination({ target }: Pick<Message, "target">): string {
  const { repository, number, ...rest } = target;
  const others = Object.values(rest).filter((value) => value !== "").map((value) =>
    typeof value === "object" ? JSON.stringify(value) : String(value)
  );
  if (typeof repository !== "string") return others.join(" ");
  return [number === undefined ? repository : `${repository}#${String(number)}`, ...others]
    .join(" ");
}

/** How much a message changes, as in "3 files, +41 \u22127"; empty for one that changes no files. */
export function changeText({ body: { files, added, removed } }: Pick<Message, "body">): string {
  if (typeof files !== "number") return "";
  return `${files === 1 ? "1 file" : `${files} files`}, +${String(added)} \u2212${String(removed)}`;
}
