/**
 * What the key that verified an event says about it: each Connection to a forge has a key of its own,
 * and can speak for nothing that it is not to. Pure over the catalog.
 *
 * @module
 */

import { FORGE_WORDS, type ForgeName } from "../base/forge_names.ts";
import { isRepository } from "../base/github_names.ts";
import { isProject } from "../base/gitlab_names.ts";
import { isJsonObject, textIn } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import {
  apiUrlOf,
  connectedTo,
  type ConnectionSpec,
  forgeNameOf,
} from "../resources/connection.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import { coversRepository } from "./find_connection.ts";
import { FORGES_BY_NAME } from "./forges.ts";

const IS_NAME: Readonly<Record<ForgeName, (text: string) => boolean>> = {
  github: isRepository,
  gitlab: isProject,
};

/** The part of an event that is read here. */
export interface VerifiedEvent {
  readonly trigger: { readonly resource: Resource<TriggerSpec> };
  readonly payload: unknown;
  /** `secret` is the key that verified the event; absent if none did. */
  readonly delivery: { readonly secret?: { readonly key: string } | undefined };
}

/**
 * Why an event starts nothing: the key of a Connection verified it, and it names a repository that this
 * Connection is not to. A forge does not vouch for that: GitLab signs what the maintainers of a project
 * write into the template of its webhook. `undefined` for any other event; nothing tells which
 * repositories a key covers that has not the name of a Connection, nor those of an App, whose payloads
 * GitHub alone writes.
 */
export function whyBeyondKey(
  { trigger: { resource }, payload, delivery: { secret } }: VerifiedEvent,
  catalog: Catalog,
): string | undefined {
  if (secret === undefined || !isJsonObject(payload)) return undefined;
  const find = (name: string) => catalog.find<ConnectionSpec>("Connection", resource.project, name);
  const found = find(secret.key);
  const forge = found === undefined ? undefined : forgeNameOf(found.spec);
  if (found === undefined || forge === undefined) return undefined;
  const { name, spec } = found;
  const verified = `the key of Connection "${name}" verified it, which is to ${connectedTo(spec)}`;
  for (const { name: of, words, nameIn } of Object.values(FORGES_BY_NAME)) {
    const named = nameIn(payload);
    if (named === undefined) continue;
    if (of !== forge) {
      return `the event is one of ${words.title}, but ${verified} at ${FORGE_WORDS[forge].title}`;
    }
    if (spec.github?.app !== undefined) continue;
    const repository = textIn(named);
    if (!IS_NAME[forge](repository)) return `the event names no repository, and ${verified}`;
    if (coversRepository(spec, repository)) continue;
    return `the event is of ${repository}, but ${verified}. If it was renamed or moved, write its new ` +
      `name into the Connection: svc edit connection ${name}. If it is another one, connect it: ` +
      `svc connect ${forge} ${repository}`;
  }
  const through = find(resource.spec.event.webhook?.connection ?? name);
  // The same name at another server is another repository.
  if (through === undefined || forgeNameOf(through.spec) === undefined) return undefined;
  const [api, other] = [apiUrlOf(spec), apiUrlOf(through.spec)];
  if (api === other) return undefined;
  return `${verified} at ${api}, but the trigger answers through "${through.name}" at ${other}`;
}
