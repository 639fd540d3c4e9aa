/**
 * What is refused before a database is used: each against a real server, in one sentence that says
 * what to do.
 *
 * @module
 */

import { doesNotMatch, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { AppError } from "../../../src/base/errors.ts";
import { Connections } from "../../../src/store/postgres/database/connections.ts";
import { openPostgresStore, type PostgresOptions } from "../../../src/store/postgres/open_store.ts";
import { NO_OPENSSL } from "../../helpers/certificate.ts";
import { skippable } from "../../helpers/requirements.ts";
import { startPooler } from "../../helpers/pooler.ts";
import { postgresTest } from "../../helpers/postgres.ts";
import { freePort, type PrivateServer, startPostgres } from "../../helpers/postgres_server.ts";
import { tempDir } from "../../helpers/temp_dir.ts";
import { until } from "../../helpers/until.ts";

type Options = Partial<PostgresOptions>;

async function open(url: string, options: Options = {}): Promise<void> {
  const owner = { node: "n", run: "r" };
  await using _store = await openPostgresStore({ url, owner, clock: systemClock, ...options });
}

/** The refusal of a database; `undefined` when it is opened. */
async function refusalOf(url: string, options?: Options): Promise<AppError | undefined> {
  try {
    await open(url, options);
    return undefined;
  } catch (error) {
    ok(error instanceof AppError, `no bug: ${error}`);
    return error;
  }
}

async function refused(url: string, sentence: RegExp, options?: Options): Promise<void> {
  const error = await refusalOf(url, options);
  match(error?.message ?? "it was opened", sentence);
  equal(error?.code, "refused");
}

/** A key and certificates of an authority and of "localhost", in the directory of the data. */
const CERTIFICATES = `
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt
  openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr
  echo subjectAltName=DNS:localhost >names
  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt
  chmod 600 server.key`;

async function prepare(server: PrivateServer): Promise<void> {
  await server.sql((db) =>
    db.exec(`CREATE ROLE anna LOGIN PASSWORD 'right'; CREATE ROLE bert LOGIN;
      CREATE ROLE carl LOGIN`)
  );
  for (const name of ["mine", "theirs", "other", "narrow"]) {
    const encoding = name === "narrow" ? "SQL_ASCII" : "UTF8";
    await server.sql((db) =>
      db.exec(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}'
        LOCALE_PROVIDER libc LOCALE 'C'`)
    );
  }
  await server.shell(`printf '%s\\n' 'local all all trust' \\
    'host all anna 127.0.0.1/32 scram-sha-256' 'host all svc,bert 127.0.0.1/32 trust' >pg_hba.conf`);
  await server.sql((db) =>
    db.exec("GRANT CREATE ON DATABASE mine TO anna; SELECT pg_reload_conf()")
  );
}

const OTHER_SERVER = "a server that is not the one that was meant";

const STEPS: { readonly [name: string]: (server: PrivateServer) => Promise<void> } = {
  async "a wrong password, and none"({ port }) {
    await using dir = await tempDir();
    const PGPASSFILE = `${dir.path}/passwords`;
    const env = (name: string) => name === "PGPASSFILE" ? PGPASSFILE : undefined;
    const at = (password: string) => `postgres://anna${password}@127.0.0.1:${port}/mine`;
    const error = await refusalOf(at(":mistyped"));
    match(error?.message ?? "", /refuses the password of user "anna"/);
    equal(error?.code, "refused");
    doesNotMatch(Deno.inspect(error), /mistyped/);
    await refused(at(""), /asks for a password.*127\.0\.0\.1:\d+:mine:anna:PASSWORD.*passwords"/, {
      env,
    });
    await Deno.writeTextFile(PGPASSFILE, `# a\n127.0.0.1:*:mine:anna:right\n`, { mode: 0o644 });
    await refused(at(""), /open to others: run "chmod 600/, { env });
    await Deno.chmod(PGPASSFILE, 0o600);
    await open(at(""), { env });
    await open(at(":right"));
  },

  async "a user, a database and a server that are not there"({ port, url }) {
    await refused(url("mine", "nobody"), /does not let user "nobody" in .*: make the user/);
    await refused(`postgres://eve@127.0.0.1:${port}/mine`, /allow it in pg_hba\.conf/);
    await refused(url("none"), /has no database "none": make it with "createdb none"/);
    for (
      const away of [`postgres://a@127.0.0.1:${freePort()}/d`, "postgres:///d?host=/none&user=a"]
    ) {
      const error = await refusalOf(away);
      equal(error?.code, "overloaded");
      match(error?.message ?? "", /cannot be reached now .*: check that it runs/);
    }
  },

  async "a user who may make nothing"({ sql, url }) {
    await refused(url("theirs", "bert"), /'GRANT CREATE ON DATABASE "theirs" TO "bert"'/);
    await sql((db) => db.exec(`GRANT CREATE ON DATABASE theirs TO bert`));
    await open(url("theirs", "bert"));
    await sql((db) => db.exec(`REVOKE CREATE ON DATABASE theirs FROM bert`));
    await open(url("theirs", "bert"));
    const error = await refusalOf(url("theirs", "carl"));
    const [, grant = ""] = /: run '(.*)' as its owner$/.exec(error?.message ?? "") ?? [];
    match(grant, /^GRANT USAGE ON SCHEMA svc, svc_jobs TO "carl"; GRANT SELECT, /);
    await using admin = new Connections({
      url: url("theirs"),
      owner: { node: "t", run: "t" },
      max: 1,
    });
    await admin.use((db) => db.exec(grant));
    await open(url("theirs", "carl"));
    await admin.use((db) => db.exec("UPDATE about SET functions = 'older'"));
    await refused(
      url("theirs", "carl"),
      /of another version of svc, and user "carl" does not own it: run .*"svc init" once/,
    );
    await open(url("theirs", "bert"));
    await open(url("theirs", "carl"));
    await admin.use((db) => db.exec("UPDATE svc_jobs.version SET version = version - 1"));
    await refused(url("theirs", "carl"), /of another version of svc, .* does not own it/);
  },

  async "settings with which deliveries are lost"({ set, url }) {
    for (const name of ["fsync", "full_page_writes"]) {
      await set(name, "off");
      await refused(url("mine"), new RegExp(`runs with ${name} = off.*: set ${name} = on`));
      await set(name, "on");
    }
  },

  async "an encoding that has not every character"({ url }) {
    await refused(url("narrow"), /encoding SQL_ASCII: make one with "createdb --encoding=UTF8/);
  },

  async "clocks that differ"({ url }) {
    const by = (ms: number) => ({ ...systemClock, now: () => systemClock.now() + ms });
    await refused(url("mine"), /behind this machine's: set both by NTP/, { clock: by(75_000) });
    await refused(url("mine"), /ahead of this machine's/, { clock: by(-75_000) });
    const warnings: string[] = [];
    const onWarning = (text: string) => void warnings.push(text);
    await open(url("mine"), { clock: by(10_000), onWarning });
    equal(warnings.length, 1);
    match(warnings[0] ?? "", /clock .* 10\.\d s behind/);
  },

  async "the key of another database"({ url }) {
    await open(url("other"));
    await open(url("other"), { keyId: "aaaa" });
    await open(url("other"), { keyId: "aaaa" });
    await refused(url("other"), /sealed with key aaaa, .* is bbbb: copy that file/, {
      keyId: "bbbb",
    });
  },

  async "another version of svc"({ url }) {
    const owner = { node: "m", run: "m" };
    await using others = new Connections({ url: url("other"), owner, max: 1 });
    const inOther = (statements: string) => others.use((db) => db.exec(statements));
    await inOther(`UPDATE about SET functions = 'others';
      INSERT INTO nodes (id, name, run, lease_until, started_at, judges_from)
        VALUES ('m', 'attic', 'm', now() + interval '1 h', 0, now())`);
    await refused(
      url("other"),
      /Another version of svc has a lease .*, as node "attic": stop it, .* in \d{4} s/,
    );
    await inOther("UPDATE nodes SET lease_until = now()");
    await open(url("other"));
    await inOther("UPDATE about SET version = 99");
    await refused(
      url("other"),
      /newer svc \(schema 99, this one knows \d+\): install that version/,
    );
  },

  async "a pooler that lends sessions for a transaction"({ port, url }) {
    const socket = `${new URL(url()).searchParams.get("host")}/.s.PGSQL.${port}`;
    const through = (at: number) => `postgres://svc@127.0.0.1:${at}/mine`;
    for (
      const options of [
        { lends: "transaction" },
        { lends: "transaction", inTurn: true },
        { lends: "statement" },
      ] as const
    ) {
      await using pooler = startPooler({ socket, ...options });
      await refused(through(pooler.port), /a pooler that lends .*: give PostgreSQL's own address/);
    }
    await using pooler = startPooler({ socket, lends: "session" });
    await open(through(pooler.port));
  },

  async [OTHER_SERVER]({ port, set, shell, sql }) {
    const at = (host: string, mode: string) =>
      `postgres://svc@${host}:${port}/mine?sslmode=${mode}`;
    await refused(at("127.0.0.1", "require"), /does not encrypt connections: set "ssl = on"/);
    await shell(CERTIFICATES);
    await set("ssl", "on");
    await using dir = await tempDir();
    const authority = `${dir.path}/ca.crt`;
    await Deno.writeTextFile(
      authority,
      await sql(async (db) =>
        String((await db.get("SELECT pg_read_file('ca.crt') AS text"))?.["text"])
      ),
    );
    const trusting = (url: string) => `${url}&sslrootcert=${authority}`;
    await refused(
      at("localhost", "verify-full"),
      /certificate .* is not trusted .*sslrootcert=FILE/,
    );
    await open(trusting(at("localhost", "verify-full")));
    await refused(
      trusting(at("127.0.0.1", "verify-full")),
      /certificate .* not for this name .*: write a name that it has into the address/,
    );
    await open(trusting(at("127.0.0.1", "verify-ca")));
    await refused(at("127.0.0.1", "verify-ca"), /certificate .* is not trusted/);
    await open(at("127.0.0.1", "require"));
    await refused(
      `${at("localhost", "verify-full")}&sslrootcert=/none`,
      /Cannot read the certificate/,
    );
  },

  async "a replica"({ shell, sql, url }) {
    const programs = await sql(async (db) =>
      String((await db.get("SELECT setting FROM pg_config WHERE name = 'BINDIR'"))?.["setting"])
    );
    await shell(`touch standby.signal
      setsid sh -c '${programs}/pg_ctl -D . -m fast -s restart' >/dev/null 2>&1 &`);
    const error = await until("a replica", async () => {
      const found = await refusalOf(url("mine"));
      return found?.code === "refused" ? found : undefined;
    });
    match(error.message, /is a replica, which takes no writes: give the primary's address/);
  },
};

postgresTest("an unreliable database is refused", async (t) => {
  await using server = await startPostgres();
  await prepare(server);
  for (const [name, body] of Object.entries(STEPS)) {
    const reason = name === OTHER_SERVER ? NO_OPENSSL : undefined;
    await t.step({ ...skippable(name, reason), fn: () => body(server) });
  }
});
