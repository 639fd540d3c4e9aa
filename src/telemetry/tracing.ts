/**
 * Spans for the OpenTelemetry support of the runtime (`OTEL_DENO=true`); the only importer of its
 * API. Attributes are names, ids and states: no payload, no output, no reason, no secret.
 *
 * @module
 */

import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { defined } from "../base/defined.ts";
import { VERSION } from "../base/version.ts";

/** A span that has started. */
export interface TraceSpan {
  /** W3C `traceparent` for its child spans. */
  readonly traceparent: string;
  note(attributes: SpanAttributes): void;
  /** Ends the span at `at`, in milliseconds since the epoch; now when absent. */
  end(how: { readonly failed: boolean; readonly at?: number }): void;
}

/** Attributes of a span; undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** How a span starts. */
export interface SpanStart {
  /** From a closed list. */
  readonly name: string;
  /** Milliseconds since the epoch; now when absent. */
  readonly at?: number;
  /** `traceparent` of the parent span, or `none`; the span of the present request when absent. */
  readonly parent?: string;
  readonly attributes: SpanAttributes;
}

/** Starts a span, which the caller has to end. */
export type StartSpan = (start: SpanStart) => TraceSpan;

/** Starts spans where the runtime collects them; `undefined` where it does not. */
export function findTracing(): StartSpan | undefined {
  const tracer = trace.getTracer("svc", VERSION);
  const probe = tracer.startSpan("svc start");
  const collected = probe.isRecording();
  probe.end();
  if (!collected) return undefined;
  return ({ name, at, parent, attributes }) => {
    const within = parent === undefined || parent === "none" ? context.active() : contextOf(parent);
    const options = {
      attributes: { ...attributes },
      root: parent === "none",
      ...defined({ startTime: at }),
    };
    const span = tracer.startSpan(name, options, within);
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
      note: (more) => void span.setAttributes({ ...more }),
      end(how) {
        if (how.failed) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(how.at);
      },
    };
  };
}

/** The context of a span that may have ended long ago, or in an earlier run of the daemon. */
function contextOf(traceparent: string) {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  const remote = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(context.active(), remote);
}
