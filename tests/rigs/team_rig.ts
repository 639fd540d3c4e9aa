/**
 * A daemon over TLS and the console of its team, by default behind a proxy that the test plays.
 *
 * @module
 */

import { makePair } from "../helpers/certificate.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import type { Program } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { type ServedConsole, type ServedOptions, serveTeamConsole } from "./served_console.ts";

/** The secret that the proxy sends, or that a client of a provider has. */
export const SECRET = "s3cret-of-the-proxy";
const LOGIN = `login:
  - name: proxy
    header: {header: X-Forwarded-User, secretHeader: X-Svc-Secret, secretFile: secret}
`;
/** The Person of the rig. */
export const ada = (role: string, is = "header:ada", groups: readonly string[] = []) => ({
  kind: "Person",
  metadata: { name: "ada" },
  spec: { role, is: [is], groups },
});

/** A daemon over TLS with a person ada, and the console of its team. */
export interface TeamRig extends AsyncDisposable {
  readonly daemon: TestDaemon;
  readonly served: ServedConsole;
  /** The token of the console. */
  readonly token: string;
}

/** How its console is started; `login` is the text of the file, in whose directory is `secret`. */
export async function teamRig(
  program: Program,
  { login = LOGIN, env = {}, ...options }: Partial<ServedOptions> = {},
): Promise<TeamRig> {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  await makePair(dir.path, "control");
  const daemon = opening.use(
    await startDaemon(program, {
      args: [
        "--control-bind",
        "127.0.0.1:0",
        "--control-tls-cert",
        `${dir.path}/control.crt`,
        "--control-tls-key",
        `${dir.path}/control.key`,
      ],
    }),
  );
  await daemon.apply(ada("operator"));
  const made = await daemon.svc([
    "token",
    "create",
    "--gateway",
    "--role",
    "operator",
    "--name",
    "console",
  ]);
  const token = made.stdout.trim();
  await Deno.writeTextFile(`${dir.path}/login.yaml`, login);
  await Deno.writeTextFile(`${dir.path}/secret`, `${SECRET}\n`);
  const served = opening.use(
    await serveTeamConsole(program, {
      ...options,
      login: `${dir.path}/login.yaml`,
      env: {
        ...env,
        SVC_TOKEN: token,
        SVC_SERVER: daemon.controlUrl,
        SVC_CA_FILE: `${dir.path}/control.crt`,
      },
    }),
  );
  const open = opening.move();
  return { daemon, served, token, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
