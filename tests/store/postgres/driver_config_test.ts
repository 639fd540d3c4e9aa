import { ok, rejects } from "node:assert/strict";
import { parseDatabaseUrl } from "../../../src/store/postgres/database/database_url.ts";
import { toDriverConfig } from "../../../src/store/postgres/database/driver_config.ts";
import { NOT_ROOT, skippable } from "../../helpers/requirements.ts";
import { tempDir } from "../../helpers/temp_dir.ts";

/** The configuration with three files of these modes. */
async function configure(modes: { root?: number; cert?: number; key?: number }, owner?: number) {
  await using dir = await tempDir();
  const files = await Promise.all((["root", "cert", "key"] as const).map(async (name) => {
    const path = await dir.write(name, name);
    await Deno.chmod(path, modes[name] ?? 0o600);
    if (owner !== undefined && name === "root") await Deno.chown(path, owner, owner);
    return `ssl${name === "root" ? "rootcert" : name}=${path}`;
  }));
  return toDriverConfig(
    parseDatabaseUrl(`postgres://a@db.internal/d?${files.join("&")}`),
    () => undefined,
  );
}

Deno.test("certificates may be read by all, a key by nobody else", async () => {
  ok((await configure({ root: 0o644, cert: 0o644 })).ssl !== false);
  await rejects(configure({ key: 0o644 }), {
    code: "refused",
    message: /key" is open to others: chmod/,
  });
  await rejects(configure({ root: 0o666 }), {
    code: "refused",
    message: /root" can be written by others/,
  });
  await rejects(configure({ cert: 0o660 }), {
    code: "refused",
    message: /cert" can be written by its group/,
  });
});

Deno.test({
  ...skippable("a certificate of somebody else vouches for nobody", NOT_ROOT),
  async fn() {
    await rejects(configure({}, 65_534), {
      code: "refused",
      message: /root" belongs to user 65534/,
    });
    ok((await configure({ key: 0o640 })).ssl !== false, "root's group may read a key");
  },
});
