/**
 * How a record stands: a state, an outcome or a result. A sign and the word, so that no colour is
 * needed.
 *
 * @module
 */

const SIGNS: Readonly<Record<string, readonly [sign: string, tone: string]>> = {
  accepted: ["✓", "good"],
  succeeded: ["✓", "good"],
  handshake: ["⇄", "plain"],
  filtered: ["▽", "plain"],
  skipped: ["–", "plain"],
  duplicate: ["=", "plain"],
  pending: ["◷", "waiting"],
  running: ["▶", "busy"],
  failed: ["✗", "bad"],
  rejected: ["✗", "bad"],
  cancelled: ["■", "plain"],
  ok: ["✓", "good"],
  done: ["✓", "good"],
  sent: ["✓", "good"],
  routed: ["✓", "good"],
  allowed: ["✓", "good"],
  ignored: ["–", "plain"],
  dropped: ["■", "plain"],
  interrupted: ["■", "plain"],
  received: ["◷", "waiting"],
  routing: ["▶", "busy"],
  started: ["▶", "busy"],
  connecting: ["◷", "waiting"],
  audit_warning: ["!", "waiting"],
  needs_attention: ["!", "bad"],
  denied: ["✗", "bad"],
  timeout: ["✗", "bad"],
};

/** A word with its sign and colour; unknown words are plain. */
export function Badge({ word }: { readonly word: string }) {
  const [sign, tone] = SIGNS[word] ?? ["·", "plain"];
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{sign}</span> {word.replaceAll("_", " ")}
    </span>
  );
}
