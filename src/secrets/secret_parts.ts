/**
 * The secrets inside a secret. Many values are documents (an address with a token in it, the JSON file
 * of a service account, lines of `NAME=value`), and a program prints only the part that it uses. Common
 * words of such documents (`services`, `webhook`, a host) are no secrets, and hiding them would make
 * every log unreadable.
 *
 * @module
 */

import { findBase64, findText, utf8 } from "../base/bytes.ts";

/** Shorter values are not hidden: they are words of any text, and output would become unreadable. */
export const MIN_BYTES = 6;

/** A part that no name marks as a secret is hidden only if it is this long, which words are not. */
export const MIN_PIECE_BYTES = 16;

/** Numbers with fewer digits are not hidden: they are sizes, dates or counts elsewhere. */
const MIN_DIGITS = 9;

/** Depth to which documents in documents, such as JSON in base64 in JSON, are read. */
const MAX_DEPTH = 4;

/** Common words of paths, queries and settings. */
const COMMON = new Set(
  `access account accounts action actions admin alert alerts always api apis app apps async auth
  authorize aws azure bearer basic bot bots branch build builds callback cert certs channel channels
  chat check checks client com comment comments commit commits connector connectors create
  credential credentials data default delete deliveries delivery deploy dev development disabled
  discord dispatch dispatches edge email enabled endpoint endpoints event events external false feed
  file files form format forms function functions general get git gitea github gitlab google graph
  graphql group groups guild guilds health hook hooks html http https id inbound incoming index info
  ingest input install instance integration integrations internal invoke issue issues item items job
  jobs json key keys latest level line list local log login logs mail main markdown master member
  members message messages metadata metrics microsoft monitor msg name namespace never new node none
  notification notifications notify oauth org organization organizations orgs outgoing page pages
  password payload ping pipeline pipelines plain plugin plugins post prefer private prod production
  project projects proxy public publish pull push query queue queues raw read refresh release
  releases repo repos repositories repository request require required resource resources rest robot
  robots root rpc run runs schema script scripts search secret secrets send server service services
  session settings sign slack sms source staging start state status stream sub subscribe sync system
  task tasks team teams telegram test testing tests text thread threads ticket tickets token tokens
  topic topics tracker trigger triggers true type update updates upload uploads url user users
  version view web webhook webhooks websocket workflow workflows workspace workspaces write www xml`
    .split(/\s+/),
);

/** Words in the place of a password, in addresses whose user is the token. */
const NO_PASSWORD = /^x-(oauth-basic|access-token)$/;

/** Names of variables, members and parameters whose value is always a secret. */
const SECRET_NAME =
  /secret|token(?!s|iz)|authorization|passw|passphrase|pwd|credential|bearer|cookie|headers$|jwt|signature|private|(^|[^a-z])(access|api|auth|master|signing)?keys?(?![a-z])|(^|[^a-z])(pass|pat|auth|sas|sig|dsn)([^a-z]|$)/i;

/** Whether `name` says that its value is secret, as `API_KEY` and `clientSecret` do. */
export function namesSecret(name: string): boolean {
  return SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
}

/** Whether `text` is so specific that any output with it reveals the secret. */
export function isTelling(text: string): boolean {
  if (utf8(text).length < MIN_BYTES) return false;
  if (/^[0-9]+$/.test(text)) return text.length >= MIN_DIGITS;
  return !isCommon(text);
}

/**
 * Whether `text` looks random: long, without blanks, with letters and digits, and neither a path nor an
 * option of a command line.
 */
export function looksRandom(text: string): boolean {
  return utf8(text).length >= MIN_PIECE_BYTES && /^(?![-/.~@])[!-~]+$/.test(text) &&
    /[0-9]/.test(text) && /[A-Za-z]/.test(text) && !/[,;]/.test(text) && isTelling(text);
}

/** The parts of `value` that are secrets, without `value` itself. */
export function secretParts(value: string): ReadonlySet<string> {
  const parts = new Set<string>();
  collect(value.trim(), MAX_DEPTH, parts);
  return parts;
}

function collect(text: string, depth: number, parts: Set<string>): void {
  if (depth === 0 || utf8(text).length < MIN_BYTES) return;
  const url = findUrl(text);
  if (url !== undefined) return urlParts(url).forEach((part) => parts.add(part));
  const json = findJson(text);
  if (json !== undefined) return collectMembers(json, "", depth, parts);
  const decoded = findEncodedText(text);
  if (decoded !== undefined) {
    parts.add(decoded);
    collect(decoded.trim(), depth - 1, parts);
  }
  for (const line of text.split("\n").map((one) => one.trim())) {
    const members = findJson(line);
    if (members === undefined) collectFromLine(line, depth, parts);
    else collectMembers(members, "", depth, parts);
  }
}

/** The strings of a JSON value; `name` is the member that holds it. */
function collectMembers(value: unknown, name: string, depth: number, parts: Set<string>): void {
  if (typeof value === "string") return collectNamed(name, value, depth, parts);
  if (typeof value !== "object" || value === null) return;
  for (const [key, one] of Object.entries(value)) {
    collectMembers(one, Array.isArray(value) ? name : key, depth, parts);
  }
}

/** Collects the value of `name`, unless it is an address without a secret. */
function collectNamed(name: string, value: string, depth: number, parts: Set<string>): void {
  const before = parts.size;
  collect(value.trim(), depth - 1, parts);
  const isUrl = findUrl(value) !== undefined;
  const isPublic = isUrl && parts.size === before;
  const least = namesSecret(name) ? MIN_BYTES : MIN_PIECE_BYTES;
  if (!isPublic && utf8(value).length >= least && isTelling(value)) parts.add(value);
  // Lists of headers have percent escapes, and their receivers show the text without escapes.
  const plain = isUrl ? value : unescaped(value);
  if (plain !== value && depth > 0) collectNamed(name, plain, depth - 1, parts);
  const credentials = /^(?:Basic|Bearer|Digest|Token|ApiKey)[ \t]+(\S+)$/i.exec(value)?.[1];
  if (credentials !== undefined) collectNamed(name, credentials, depth, parts);
}

const ASSIGNED =
  /(?<![\w.-])([A-Za-z_][\w.-]*)["']?[ \t]*[=:][ \t]*(?:"([^"]*)"|'([^']*)'|([^\s"',;&]+))/g;

/** Collects `NAME=value` and `name: value` of settings, random words, and `user:password`. */
function collectFromLine(line: string, depth: number, parts: Set<string>): void {
  for (const [, name = "", double, single, bare] of line.matchAll(ASSIGNED)) {
    collectNamed(name, double ?? single ?? bare ?? "", depth, parts);
  }
  const whole = /^[A-Za-z_][\w.-]*[ \t]*=[ \t]*(\S.*)$/.exec(line.replace(/^export[ \t]+/, ""))
    ?.[1];
  if (whole !== undefined && utf8(whole).length >= MIN_PIECE_BYTES) parts.add(whole);
  const words = line.split(/[\s"'`,;<>(){}[\]]+/).filter((word) => word !== "");
  if (words.length > 1) {
    for (const [at, word] of words.entries()) {
      if (findUrl(word) !== undefined) collect(word, depth - 1, parts);
      else if (looksRandom(word) || namesSecret(words[at - 1] ?? "") && isTelling(word)) {
        parts.add(word);
      }
    }
    return;
  }
  // `user:password`, and lines of password files, whose password is the last field.
  const password = /^[^:=\s]+:(.+)$/.exec(line)?.[1] ?? "";
  for (const one of [password, password.slice(password.lastIndexOf(":") + 1)]) {
    if (isTelling(one)) parts.add(one);
  }
}

function findUrl(text: string): URL | undefined {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\/\S+$/.test(text) ? URL.parse(text) ?? undefined : undefined;
}

function findJson(text: string): unknown {
  if (!/^[{["]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text that `text` is the base64 of. */
function findEncodedText(text: string): string | undefined {
  const plain = text.replaceAll(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (plain.length < MIN_PIECE_BYTES || !/^[A-Za-z0-9+/]+={0,2}$/.test(plain)) return undefined;
  const bare = plain.replace(/=+$/, "");
  const bytes = findBase64(bare + "=".repeat((4 - bare.length % 4) % 4));
  const decoded = bytes === undefined ? undefined : findText(bytes);
  return decoded === undefined || /(?![\t\r\n])\p{Cc}/u.test(decoded) ? undefined : decoded;
}

/**
 * The parts of an address that give access: user and password; or, for a web address without them, its
 * path and query, as a whole and in parts. Words in a path before its last segment are no secrets.
 */
function urlParts({ protocol, username, password, pathname, search, hash }: URL): string[] {
  const parts: string[] = [];
  if (!NO_PASSWORD.test(password)) parts.push(password);
  if (isTelling(username) && !isWord(username)) parts.push(username);
  const isWeb = /^(http|ws)s?:$/.test(protocol) && username === "" && password === "";
  const segments = isWeb ? pathname.split("/") : [];
  let isLast = true;
  for (const segment of segments.toReversed().filter((one) => isTelling(unescaped(one)))) {
    if (isLast || !isWord(segment)) parts.push(segment);
    isLast = false;
  }
  const fields = `${search.slice(1)}&${hash.slice(1)}`.split("&");
  for (const field of fields) {
    const at = field.indexOf("=");
    const [name, value] = [field.slice(0, Math.max(at, 0)), field.slice(at + 1)];
    if (!isTelling(unescaped(value))) continue;
    if (namesSecret(name) || (isWeb && (parts.length === 0 || !isWord(value)))) parts.push(value);
  }
  const [hasPath, hasQuery] = [segments, fields].map((all) =>
    all.some((one) => !isCommon(unescaped(one)))
  );
  if (isWeb && hasPath) parts.push(pathname.replace(/\/+$/, ""));
  if (isWeb && hasQuery) parts.push(pathname + search, search.slice(1), hash.slice(1));
  return parts.flatMap((part) => [part, unescaped(part), unescaped(part.replaceAll("+", " "))])
    .filter((part) => utf8(part).length >= MIN_BYTES);
}

/** `text` without percent escapes; as it is, if they are not valid. */
export function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether `text` is spelled like a word, which a sentence may contain by chance. */
function isWord(text: string): boolean {
  return text.length < MIN_PIECE_BYTES && /^([A-Za-z]?[a-z]*|[A-Z]*)$/.test(text);
}

/** Whether `text` consists of common words: `sendMessage`, `oauth2/v1`. */
function isCommon(text: string): boolean {
  const words = text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/);
  const rest = words.filter((word) =>
    !COMMON.has(word.replace(/[0-9]{1,2}$/, "")) && !/^[vx]?[0-9]{1,4}$/.test(word)
  );
  return rest.every((word) => word.length < 3) && rest.length <= words.length / 2 ||
    text.length < 3;
}
