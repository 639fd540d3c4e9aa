/**
 * Plugins in the webhook pipeline: interceptors authenticate instead of the built-in check, and
 * transformers turn a payload into another.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { AppError, unauthorized } from "../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import type { CrdSpec, PluginSpec, PluginType } from "../resources/custom_resource_definition.ts";
import { type PluginHost, type PluginResult, runPlugin } from "./run_plugin.ts";

/** The part of a delivery that plugins of the pipeline see. */
export interface PluginDelivery {
  readonly project: string;
  readonly trigger: string;
  readonly deliveryId: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Exact bytes: the body, or the output of the transformer before. */
  readonly body: Uint8Array;
}

/** Largest body that fits into one environment variable with room to spare (E2BIG at 131,072). */
const MAX_BODY_VARIABLE = 120_000;
/** Output of an interceptor is discarded, but read, so that it does not block. */
const MAX_INTERCEPTOR_OUTPUT = 1024;

/** The plugins of a type, in order. */
export function pluginsOf(crd: CrdSpec, type: PluginType): readonly PluginSpec[] {
  return (crd.plugins ?? []).filter((plugin) => plugin.type === type);
}

/**
 * Runs every interceptor, in order; all have to accept the delivery.
 *
 * @throws {AppError} `unauthorized` when one does not; `invalid` when two headers would become one
 * variable; `overloaded`.
 */
export async function intercept(
  crd: CrdSpec,
  delivery: PluginDelivery,
  host: PluginHost,
): Promise<void> {
  for (const plugin of pluginsOf(crd, "interceptor")) {
    const env = variables(plugin, delivery);
    if (env === undefined) {
      throw unauthorized(
        `the body does not fit WEBHOOK_BODY exactly: give plugin "${plugin.name}" input: file or stdin`,
      );
    }
    const result = await run(crd, plugin, {
      delivery,
      env,
      host,
      maxOutputBytes: MAX_INTERCEPTOR_OUTPUT,
    });
    if (result.result !== "ok") throw unauthorized(result.reason);
  }
}

/** A payload that a transformer printed. */
export interface TransformedPayload {
  readonly payload: JsonObject;
  /** Exact bytes as printed. */
  readonly bytes: Uint8Array;
}

/**
 * Runs each transformer on the output of the previous one; `undefined` when there is none.
 *
 * @throws {AppError} `plugin_failed` when one fails or does not print one JSON object;
 * `overloaded`.
 */
export async function transformPayload(
  crd: CrdSpec,
  delivery: PluginDelivery,
  host: PluginHost,
): Promise<TransformedPayload | undefined> {
  let last: TransformedPayload | undefined;
  for (const plugin of pluginsOf(crd, "transformer")) {
    const input = { ...delivery, body: last?.bytes ?? delivery.body };
    // A body that fits no variable is still in the file and on standard input.
    const env = variables(plugin, input) ?? headerVariables(input.headers);
    const maxOutputBytes = host.maxPayloadBytes;
    const result = await run(crd, plugin, { delivery: input, env, host, maxOutputBytes });
    if (result.result !== "ok") throw failure(result.reason);
    last = { payload: toObject(result.output, plugin), bytes: result.output };
  }
  return last;
}

function run(
  crd: CrdSpec,
  plugin: PluginSpec,
  { delivery, env, host, maxOutputBytes }: {
    delivery: PluginDelivery;
    env: Readonly<Record<string, string>>;
    host: PluginHost;
    maxOutputBytes: number;
  },
): Promise<PluginResult> {
  return runPlugin({
    crdKind: crd.kind,
    name: plugin.name,
    type: plugin.type,
    phase: plugin.phase ?? "",
    command: plugin.command,
    ...defined({ timeout: plugin.timeout }),
    project: delivery.project,
    trigger: delivery.trigger,
    deliveryId: delivery.deliveryId,
    env,
    input: delivery.body,
    fileVariable: "WEBHOOK_BODY_FILE",
    maxOutputBytes,
  }, host);
}

/**
 * The variables of a phase; `undefined` when the body fits no variable and the plugin reads it from
 * there.
 */
function variables(
  plugin: PluginSpec,
  delivery: PluginDelivery,
): Record<string, string> | undefined {
  const env = headerVariables(delivery.headers);
  const text = delivery.body.length <= MAX_BODY_VARIABLE ? findText(delivery.body) : undefined;
  if (text !== undefined && !text.includes("\0")) return { ...env, WEBHOOK_BODY: text };
  return plugin.input === "file" || plugin.input === "stdin" ? env : undefined;
}

function headerVariables(headers: Readonly<Record<string, string>>): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const variable = `WEBHOOK_HEADER_${name.toUpperCase().replaceAll("-", "_")}`;
    if (Object.hasOwn(env, variable)) {
      const reason = `two headers would become the one variable ${variable}`;
      throw new AppError("invalid", "Two headers would become one variable", { reason });
    }
    env[variable] = value;
  }
  return env;
}

function toObject(output: Uint8Array, plugin: PluginSpec): JsonObject {
  const text = findText(output);
  try {
    const value = parseJson(text ?? "");
    if (isJsonObject(value)) return value;
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
  }
  throw failure(`transformer "${plugin.name}" did not print one JSON object`);
}

function failure(reason: string): AppError {
  return new AppError("plugin_failed", "The payload could not be transformed", { reason });
}
