/**
 * `svc token create`.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { ROLES } from "../../base/roles.ts";
import { systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { AppError } from "../../base/errors.ts";
import { idFactory } from "../../base/ids.ts";
import { lockDataDir } from "../../base/lock.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
} from "../command.ts";
import { DURATION, type OptionDefinition } from "../option.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../json_text.ts";

const OPTIONS = [
  {
    flags: "--role <role>",
    help: "highest role of its bearer (default: that of its Person, else read_only)",
    choices: ROLES,
  },
  {
    flags: "--person <name>",
    help: "Person that it is for: it acts in this name, with at most the role of the Person",
    complete: "person",
  },
  {
    flags: "--gateway",
    help: "for svc console serve: it acts for the Person that each request names, never for itself",
  },
  { flags: "--ttl <duration>", value: DURATION, help: "how long it is valid", fallback: "30d" },
  { flags: "--name <text>", help: "what it is for", fallback: "unnamed" },
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Creates a bearer token for the control plane and prints it, once: only its hash is " +
    "stored. Needs the role admin; with the daemon stopped, the owner of the data directory " +
    "can create the first.",
  options: OPTIONS,
  examples: [
    "svc token create --role operator --ttl 30d --name laptop",
    "svc token create --person ada --name laptop",
    "svc token create --gateway --role operator --name console",
    "SVC_TOKEN=$(svc token create --role admin --ttl 1h) svc apply -f crd.yaml",
  ],
  async run(context) {
    const { role, person, ttl, name } = context.options;
    const gateway = context.options.gateway || undefined;
    const input = { ttl_secs: ttl, name, ...defined({ role, person, gateway }) };
    const made = await create(input, context);
    if (context.options.output === "json") {
      return context.io.out(jsonText(made));
    }
    context.io.out(`${made.token}\n`);
    const whose = made.gateway === true
      ? " for a gateway,"
      : made.person === undefined
      ? ""
      : ` for ${made.person},`;
    context.io.err(
      `Token ${made.id}${whose} of role ${made.role} until ${made.expires_at}. It is not shown again\n`,
    );
  },
});

type NewToken = Output<"token.create">;

async function create(
  input: Input<"token.create">,
  context: Context<typeof OPTIONS>,
): Promise<NewToken> {
  using client = context.client();
  try {
    return await client.call("token.create", input);
  } catch (error) {
    const remote = context.options.server ?? context.io.env("SVC_SERVER");
    if (!(error instanceof AppError) || error.code !== "unreachable" || remote) throw error;
    return await createOffline(input, context.dir(), context.io);
  }
}

/** Creates the token in the data directory itself, while no daemon runs on it. */
async function createOffline(
  { role, person, gateway, ttl_secs: ttlSecs, name }: Input<"token.create">,
  dir: DataDir,
  { env, err }: Pick<Io, "env" | "err">,
): Promise<NewToken> {
  const { keepToken, newToken } = await import("../../auth/tokens.ts");
  const { Catalog } = await import("../../resources/catalog.ts");
  const { checkStorage } = await import("../../storage/check_storage.ts");
  const { openStorage } = await import("../../storage/open_storage.ts");
  const clock = systemClock;
  using _lock = await lockDataDir(dir, clock);
  await checkStorage(dir);
  const newId = idFactory(clock);
  await using storage = await openStorage(dir, {
    env,
    run: newId(),
    clock,
    onNote: (text) => err(`note: ${text}\n`),
  });
  const catalog = new Catalog(await storage.store.loadResources());
  const asked = { ttlSecs, name, ...defined({ role, person, gateway }) };
  const made = newToken(asked, { clock, newId, catalog });
  await keepToken(made, storage.store);
  return made.shown;
}
