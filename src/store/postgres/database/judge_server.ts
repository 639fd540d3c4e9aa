/**
 * Decides from the settings that a server reports whether it can be trusted with deliveries.
 *
 * @module
 */

/** The version and settings that a server reports. */
export interface ServerFacts {
  /** Where it is, in words. */
  readonly at: string;
  readonly user: string;
  readonly database: string;
  /** Such as 150018. */
  readonly version: number;
  /** `on` where what is committed survives a crash. */
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly isReplica: boolean;
  readonly encoding: string;
  readonly hasSchema: boolean;
  /** Whether the user may make the schema, or use every table in it where it is there. */
  readonly mayUse: boolean;
  /** By how much its clock is ahead of this machine's, in milliseconds. */
  readonly aheadMs: number;
}

/** The judgement on a server. */
export interface ServerVerdict {
  /** Why it cannot be used, and what to do; absent where it can. */
  readonly refusal?: string;
  /** What an operator should correct. */
  readonly warning?: string;
}

const OLDEST_MAJOR = 15;
/** Difference of clocks above which signatures with a time are refused or accepted too long. */
const MOST_SKEW_MS = 60_000;
/** Above it, dates of rows look odd. */
const REPORTED_SKEW_MS = 2000;

/** Databases that speak as PostgreSQL does and lack what is relied on, by what `version()` says. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/cockroach/i, "CockroachDB"],
  [/-YB-|yugabyte/i, "YugabyteDB"],
  [/redshift/i, "Amazon Redshift"],
];

/** Why what calls itself so cannot be used; `undefined` when it is PostgreSQL. */
export function judgeProduct(version: string, at: string): string | undefined {
  const other = OTHERS.find(([pattern]) => pattern.test(version));
  if (other === undefined) return undefined;
  return `The database at ${at} is ${
    other[1]
  }: svc needs PostgreSQL ${OLDEST_MAJOR} or newer itself`;
}

/** Whether the server can be used. */
export function judgeServer(facts: ServerFacts): ServerVerdict {
  const { at, user, database } = facts;
  const server = `PostgreSQL at ${at}`;
  const major = Math.floor(facts.version / 10_000);
  if (major < OLDEST_MAJOR) {
    return { refusal: `${server} is version ${major}: svc needs ${OLDEST_MAJOR} or newer` };
  }
  if (facts.isReplica) {
    return { refusal: `${server} is a replica, which takes no writes: give the primary's address` };
  }
  for (
    const [name, value] of [["fsync", facts.fsync], ["full_page_writes", facts.fullPageWrites]]
  ) {
    if (value === "on") continue;
    const why = "and would lose deliveries when its machine fails";
    return { refusal: `${server} runs with ${name} = ${value}, ${why}: set ${name} = on` };
  }
  if (facts.encoding !== "UTF8") {
    const remedy = `make one with "createdb --encoding=UTF8 --template=template0 NAME"`;
    return { refusal: `Database "${database}" has the encoding ${facts.encoding}: ${remedy}` };
  }
  if (!facts.mayUse) {
    const what = facts.hasSchema ? "use every table of svc" : "make the schema svc";
    const grant = facts.hasSchema
      ? `GRANT USAGE ON SCHEMA svc, svc_jobs TO "${user}"; ` +
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA svc, svc_jobs TO "${user}"`
      : `GRANT CREATE ON DATABASE "${database}" TO "${user}"`;
    return {
      refusal:
        `User "${user}" may not ${what} in database "${database}": run '${grant}' as its owner`,
    };
  }
  const fault = clockFault(at, facts.aheadMs);
  if (fault === undefined) return {};
  return Math.abs(facts.aheadMs) > MOST_SKEW_MS ? { refusal: fault } : { warning: fault };
}

/** What is wrong with the clocks; `undefined` while they agree well enough. */
export function clockFault(at: string, aheadMs: number): string | undefined {
  const skew = Math.abs(aheadMs);
  if (skew <= REPORTED_SKEW_MS) return undefined;
  return `The clock of PostgreSQL at ${at} is ${(skew / 1000).toFixed(1)} s ` +
    `${aheadMs > 0 ? "ahead of" : "behind"} this machine's: set both by NTP`;
}
