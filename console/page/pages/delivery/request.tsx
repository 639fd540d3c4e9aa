/**
 * The request as it arrived: headers, and the body as a tree or as text.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ShownDelivery } from "../../../../src/api/delivery_operations.ts";
import { type Answer, toRefusal } from "../../data/answer.ts";
import { call, type Refusal } from "../../data/api.ts";
import { Command } from "../../parts/command.tsx";
import { download } from "../../parts/download.ts";
import { Facts } from "../../parts/facts.tsx";
import { JsonTree } from "../../parts/json_tree.tsx";
import { findJson } from "../../parts/json_value.ts";
import { Problem } from "../../parts/problem.tsx";
import { whyNot } from "../../parts/rights.ts";
import { Text, TextBlock } from "../../parts/text.tsx";

/** Headers and body of a delivery. */
export function Request({ id, shown: { value, error } }: {
  readonly id: string;
  /** The answer of `delivery.show`. */
  readonly shown: Answer<ShownDelivery>;
}) {
  const reason = whyNot("operator");
  return (
    <>
      <h2>What arrived</h2>
      {reason !== undefined && <p class="faint">{reason}.</p>}
      {error !== undefined && (error.code === "not_found"
        ? <p class="faint">{error.message}</p>
        : <Problem error={error} />)}
      {value !== undefined && (
        <>
          <p>
            <code>
              {value.method} <Text value={value.url ?? ""} />
            </code>
          </p>
          <Headers headers={value.headers} />
          <Body shown={value} />
          <Command line={`svc delivery show ${id}`} />
        </>
      )}
    </>
  );
}

function Headers({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  const all = Object.entries(headers);
  if (all.length === 0) return null;
  return (
    <details open={all.length <= 12}>
      <summary>
        <h3>{all.length} headers</h3>
      </summary>
      <Facts
        look="mono"
        of={Object.fromEntries(all.map(([name, value]) => [name, shownHeader(value)]))}
      />
    </details>
  );
}

function shownHeader(value: string) {
  return value === "***"
    ? <span class="faint" title="Anyone who reads it could send requests as the sender">***</span>
    : <Text value={value} />;
}

function Body({ shown }: { readonly shown: ShownDelivery }) {
  const { body: text, body_bytes, truncated } = shown;
  const isText = shown.body_encoding === "text";
  const json = useMemo(
    () => isText && !truncated ? findJson(text) : undefined,
    [text, isText, truncated],
  );
  const raw = useSignal(false);
  const bytes = body_bytes.toLocaleString("en");
  return (
    <>
      <div class="title-row">
        <h3>
          Body <span class="faint">{bytes} bytes</span>
        </h3>
        {json !== undefined && (
          <span class="choice" role="group" aria-label="How the body is shown">
            <button type="button" aria-pressed={!raw.value} onClick={() => raw.value = false}>
              Tree
            </button>
            <button type="button" aria-pressed={raw.value} onClick={() => raw.value = true}>
              Text
            </button>
          </span>
        )}
        {body_bytes > 0 && <Download shown={shown} />}
      </div>
      {!isText && <p class="faint">Not text: shown as base64.</p>}
      {truncated && (
        <p class="faint">Only the beginning is shown: download the body for the rest.</p>
      )}
      {json !== undefined && !raw.value
        ? <JsonTree value={json} label="Body" />
        : text !== "" && <TextBlock value={text} label="Body as text" />}
    </>
  );
}

/** Saves the whole body as a file. */
function Download({ shown: { delivery: { id } } }: { readonly shown: ShownDelivery }) {
  const error = useSignal<Refusal | undefined>(undefined);
  const keep = async () => {
    error.value = undefined;
    try {
      const { body, body_encoding } = await call("delivery.show", { id, whole: true });
      const bytes = body_encoding === "text" ? body : Uint8Array.fromBase64(body);
      download(`delivery-${id}.txt`, bytes);
    } catch (thrown) {
      error.value = toRefusal(thrown);
    }
  };
  return (
    <>
      <button type="button" class="small" onClick={keep}>Download</button>
      {error.value !== undefined && <Problem error={error.value} />}
    </>
  );
}
