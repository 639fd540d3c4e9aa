/**
 * Prints the `install.sh` of a release: that of the sources, with the address of the releases and the
 * public keys that sign them in it: `install_script.ts URL SSH_KEY P256_KEY`.
 *
 * @module
 */

/** What a release knows of itself; each is empty where there is none. */
export interface ReleaseFacts {
  /** Address of the releases, without a slash at its end. */
  readonly url: string;
  /** As `ssh-keygen -y` prints it, with its comment or without. */
  readonly sshKey: string;
  /** PEM. */
  readonly p256Key: string;
}

/** The text of the script. */
export async function installScript({ url, sshKey, p256Key }: ReleaseFacts): Promise<string> {
  const source = await Deno.readTextFile(new URL("../install.sh", import.meta.url));
  const [type = "", key = ""] = sshKey.split(" ");
  const values = [
    ["RELEASES_URL", url],
    ["SSH_KEY", `${type} ${key}`.trim()],
    ["P256_KEY", p256Key.trim()],
  ] as const;
  return values.reduce((text, [name, value]) => {
    const lines = text.split("\n");
    if (lines.filter((line) => line === `${name}=''`).length !== 1) {
      throw new Error(`install.sh has not one line ${name}=''`);
    }
    if (value.includes("'")) throw new Error(`${name} has a quote in it: ${value}`);
    return lines.map((line) => line === `${name}=''` ? `${name}='${value}'` : line).join("\n");
  }, source);
}

if (import.meta.main) {
  const [url = "", sshKey = "", p256Key = ""] = Deno.args;
  const text = await installScript({ url, sshKey, p256Key });
  await Deno.stdout.write(new TextEncoder().encode(text));
}
