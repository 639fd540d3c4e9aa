/**
 * The file of `svc console serve --login`: the ways to log in, each with the values of its provider.
 *
 * @module
 */

import Type from "typebox";
import { dirname, resolve } from "node:path";
import { AppError } from "../../base/errors.ts";
import { fileFault } from "../../base/file_fault.ts";
import { readRegularText } from "../../base/regular_file.ts";
import { formatFinding, parseManifest } from "../../resources/manifest.ts";
import { errorAt, type Finding } from "../../resources/resource.ts";
import { compileSchema } from "../../resources/validate.ts";

const strict = { additionalProperties: false };
const HttpsUrl = Type.String({
  pattern: "^https://[^\\s#?]+$",
  title: "an address that begins with https:// and has no query",
});
const HeaderName = Type.String({
  pattern: "^[A-Za-z0-9-]{1,64}$",
  title: "the name of a header",
});
const Text = Type.String({ minLength: 1, maxLength: 1000, title: "a text that is not empty" });
const PATH = Type.String({ minLength: 1, title: "the path of a file" });
const ClientId = { clientId: Text };

/** Signatures by which a key that is public cannot be used to sign. */
export const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

const Assertion = Type.Object({
  header: HeaderName,
  issuer: HttpsUrl,
  audience: Text,
  jwks: HttpsUrl,
  algorithms: Type.Optional(Type.Array(Type.Enum([...ALGORITHMS]), { minItems: 1 })),
}, strict);
const ProxyHeader = Type.Object({
  header: HeaderName,
  secretHeader: Type.Optional(HeaderName),
  secretFile: Type.Optional(PATH),
}, strict);
const Oidc = Type.Object({
  issuer: HttpsUrl,
  ...ClientId,
  clientSecretFile: Type.Optional(PATH),
}, strict);
const GitHub = Type.Object({
  ...ClientId,
  clientSecretFile: PATH,
  host: Type.Optional(Type.String({ pattern: "^[a-z0-9.-]+(:[0-9]{1,5})?$", title: "a host" })),
}, strict);

const Way = Type.Object({
  name: Type.String({ pattern: "^[a-z0-9-]{1,32}$", title: "a name of a to z, 0 to 9 and -" }),
  assertion: Type.Optional(Assertion),
  header: Type.Optional(ProxyHeader),
  oidc: Type.Optional(Oidc),
  github: Type.Optional(GitHub),
}, strict);
const LoginFile = Type.Object({
  login: Type.Array(Way, { minItems: 1, maxItems: 16, title: "a list of ways to log in" }),
}, strict);
const schema = compileSchema(LoginFile);

const METHODS = ["assertion", "header", "oidc", "github"] as const;

/** The values of a proxy's signed assertion. */
export type AssertionValues = Type.Static<typeof Assertion>;
/** The values of a proxy's header; with the secret, where there is one. */
export type HeaderValues = Type.Static<typeof ProxyHeader> & { readonly secret?: string };
/** The values of a provider of OpenID Connect; with the secret, where there is one. */
export type OidcValues = Type.Static<typeof Oidc> & { readonly secret?: string };
/** The values of GitHub, with the secret. */
export type GitHubValues = Type.Static<typeof GitHub> & { readonly secret?: string };

/** One way to log in, as the file has it: exactly one of its methods. */
export interface WayValues {
  readonly name: string;
  readonly assertion?: AssertionValues;
  readonly header?: HeaderValues;
  readonly oidc?: OidcValues;
  readonly github?: GitHubValues;
}

/**
 * The ways to log in of the file at `path`, with the secrets in the files that it names.
 *
 * @throws {AppError} `refused` when a file cannot be read; `invalid` with every mistake and its place.
 */
export function readLoginFile(path: string): readonly WayValues[] {
  const { ways, wrong } = parseLogins(path, read(path));
  if (ways !== undefined) return ways.map((way) => withSecrets(way, dirname(path)));
  throw new AppError("invalid", `The file of logins is not valid:\n${wrong.join("\n")}`);
}

/** The ways to log in of a text without their secrets, or everything that is wrong with it. */
export function parseLogins(
  path: string,
  text: string,
): { readonly ways?: LoginValues["login"]; readonly wrong: readonly string[] } {
  const { documents: [document, second], errors, warnings } = parseManifest(path, text);
  const wrong = [...errors, ...warnings];
  if (second !== undefined) wrong.push(`${second.locate([])}: This is one document: remove "---"`);
  if (document === undefined && wrong.length === 0) wrong.push(`${path}: Missing field "login"`);
  if (document !== undefined) {
    const shaped = schema.check(document.value);
    const found = shaped.length > 0 ? shaped : contradictions(document.value as LoginValues);
    wrong.push(...found.map((finding) => formatFinding(document, finding)));
  }
  return wrong.length > 0 ? { wrong } : { wrong, ways: (document?.value as LoginValues).login };
}

type LoginValues = Type.Static<typeof LoginFile>;

function contradictions({ login }: LoginValues): Finding[] {
  return login.flatMap((way, index) => {
    const at = (...path: string[]) => ["login", index, ...path];
    const found: Finding[] = [];
    const named = METHODS.filter((method) => way[method] !== undefined);
    if (named.length !== 1) {
      found.push(errorAt(at(), `Expected one of ${METHODS.join(", ")}, found ${named.length}`));
    }
    if (login.findIndex(({ name }) => name === way.name) < index) {
      found.push(errorAt(at("name"), `There is another "${way.name}" before`));
    }
    const { secretHeader, secretFile } = way.header ?? {};
    if ((secretHeader === undefined) !== (secretFile === undefined)) {
      found.push(errorAt(at("header"), "secretHeader and secretFile go together"));
    }
    if (secretHeader !== undefined && sameHeader(secretHeader, way.header?.header ?? "")) {
      found.push(errorAt(at("header", "secretHeader"), "This is the header of the name"));
    }
    return found;
  });
}

function sameHeader(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function withSecrets(way: LoginValues["login"][number], directory: string): WayValues {
  const secret = (path: string | undefined) =>
    path === undefined ? {} : { secret: readSecret(resolve(directory, path)) };
  const { name, assertion, header, oidc, github } = way;
  return {
    name,
    ...(assertion === undefined ? {} : { assertion }),
    ...(header === undefined ? {} : { header: { ...header, ...secret(header.secretFile) } }),
    ...(oidc === undefined ? {} : { oidc: { ...oidc, ...secret(oidc.clientSecretFile) } }),
    ...(github === undefined ? {} : { github: { ...github, ...secret(github.clientSecretFile) } }),
  };
}

/** A secret as its file has it, without the line break at its end. */
function readSecret(path: string): string {
  const secret = read(path).replace(/\r?\n$/, "");
  if (/^[\x21-\x7e]{8,1000}$/.test(secret)) return secret;
  throw new AppError("refused", `"${path}" holds no secret of 8 to 1000 characters without blanks`);
}

function read(path: string): string {
  try {
    return readRegularText(path);
  } catch (cause) {
    throw new AppError("refused", `Cannot read "${path}": ${fileFault(cause)}`, { cause });
  }
}
