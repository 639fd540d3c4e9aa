/**
 * Finds names in an expression that do not exist (functions, variables, types), and constant
 * patterns that do not compile. Only on apply: a stored expression runs as it is, and fails at the
 * wrong part.
 *
 * @module
 */

import { isCelError, parse, plan } from "@bufbuild/cel";
import { ENVIRONMENT, partsOfPattern } from "./environment.ts";
import { placeIn } from "./errors.ts";
import { type Call, findText, parseExpression, walk } from "./syntax_tree.ts";

/** A fault of an expression that compiles. */
export interface Fault extends UnplacedFault {
  /** `column 3`, or `line 2, column 3`. */
  readonly place: string;
}

interface UnplacedFault {
  /** The fault, in words that follow the place. */
  readonly message: string;
  /** The unknown name, and the known ones. */
  readonly unknown?: { readonly name: string; readonly known: readonly string[] };
}

/** Macros of loops, which the parser expands. A macro that is still a call has wrong arguments. */
const MACROS: Readonly<Record<string, string>> = {
  has: "has(VALUE.field)",
  all: "LIST.all(x, CONDITION)",
  exists: "LIST.exists(x, CONDITION)",
  exists_one: "LIST.exists_one(x, CONDITION)",
  existsOne: "LIST.existsOne(x, CONDITION)",
  filter: "LIST.filter(x, CONDITION)",
  map: "LIST.map(x, VALUE)",
};

const NAME = /^[A-Za-z_][\w.]*$/;

/** Names of all functions that an expression can call, with the loops. */
export const FUNCTIONS: readonly string[] = [
  ...new Set([...ENVIRONMENT.funcs].map((one) => one.name).filter((name) => NAME.test(name))),
  ...Object.keys(MACROS),
].sort();

/** Finds faults of an expression that compiles and may use `variables` and `payload_<field>`. */
export function findFaults(source: string, variables: readonly string[]): Fault[] {
  const { expr, sourceInfo } = parseExpression(source);
  const faults: (Fault & { offset: number })[] = [];
  const add = (id: bigint, name: string, fault: UnplacedFault) => {
    // The parser's position of a method is its dot.
    const start = sourceInfo?.positions[String(id)] ?? 0;
    const offset = Math.max(start, source.indexOf(name, start));
    faults.push({ ...fault, offset, place: placeIn(source, offset) });
  };
  walk(expr, {
    variable([name], { id }) {
      if (name.startsWith("payload_") || variables.includes(name)) return;
      const unknown = { name, known: variables };
      add(id, name, { message: `there is no variable "${name}"`, unknown });
    },
    call(call, { id }) {
      const fault = findCallFault(call);
      if (fault !== undefined) add(id, call.name, fault);
    },
    message(type, { id }) {
      if (ENVIRONMENT.registry.getMessage(type) !== undefined) return;
      add(id, type, { message: `there is no type "${type}"` });
    },
  });
  return faults.sort((a, b) => a.offset - b.offset).map(({ offset: _, ...fault }) => fault);
}

function findCallFault(call: Call): UnplacedFault | undefined {
  const { name, target, args } = call;
  if (!NAME.test(name)) return undefined; // an operator
  const overloads = [...ENVIRONMENT.funcs.find(name) ?? []];
  if (overloads.length === 0) {
    if (Object.hasOwn(MACROS, name)) return { message: `"${name}" is written ${MACROS[name]}` };
    return { message: `there is no function "${name}"`, unknown: { name, known: FUNCTIONS } };
  }
  const alike = overloads.filter((one) => (one.target === undefined) === (target === undefined));
  if (alike.length === 0) {
    const form = target === undefined ? `VALUE.${name}(…)` : `${name}(…)`;
    return { message: `"${name}" is written ${form}` };
  }
  const counts = [...new Set(alike.map((one) => one.arguments.length))].sort();
  if (!counts.includes(args.length)) {
    const most = counts.at(-1) === 1 ? "argument" : "arguments";
    return { message: `"${name}" takes ${counts.join(" or ")} ${most}, found ${args.length}` };
  }
  const pattern = name === "matches" ? findText(args.at(-1)) : undefined;
  const message = pattern === undefined ? undefined : findPatternFault(pattern);
  return message === undefined ? undefined : { message };
}

/** Most parts of a pattern that is compiled here; 100,000 take a second. */
const MAX_PARTS = 20_000;

const tryPattern = plan(ENVIRONMENT, parse('"".matches(pattern)'));

/**
 * The error of a constant pattern that does not compile. A pattern that expands to too many parts
 * is refused when it runs.
 */
function findPatternFault(pattern: string): string | undefined {
  if (partsOfPattern(pattern) > MAX_PARTS) return undefined;
  const result = tryPattern({ pattern });
  return isCelError(result) ? `the pattern does not compile: ${result.message}` : undefined;
}
