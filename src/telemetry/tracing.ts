/**
 * Spans, handed to the OpenTelemetry support of the runtime (`OTEL_DENO=true`); the only importer
 * of its API. Attributes are names, ids and states: no payload, no output, no reason, no secret.
 *
 * @module
 */

import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { VERSION } from "../base/version.ts";

/** Something that takes time. */
export interface TraceSpan {
  /** Names it to its parts, as a W3C `traceparent`. */
  readonly traceparent: string;
  /** Adds to what is known of it. */
  note(attributes: SpanAttributes): void;
  /** It is over, now or at a time in milliseconds since the epoch. */
  end(how: { readonly failed: boolean; readonly at?: number }): void;
}

/** What is known of a span; what is undefined is left out. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** How a span begins. */
export interface SpanStart {
  /** What it is about; one of a few. */
  readonly name: string;
  /** When it began, in milliseconds since the epoch; now when absent. */
  readonly at?: number;
  /**
   * Span it is a part of, as a `traceparent`, or `none`; that of the request under way when absent.
   */
  readonly parent?: string;
  /** What is known of it. */
  readonly attributes: SpanAttributes;
}

/** Begins a span. */
export type StartSpan = (start: SpanStart) => TraceSpan;

/** Begins spans where the runtime collects them; `undefined` where it does not. */
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
      ...(at === undefined ? {} : { startTime: at }),
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

/** The place of a span that may have ended long ago, or in an earlier run of the daemon. */
function contextOf(traceparent: string) {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  const remote = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(context.active(), remote);
}
