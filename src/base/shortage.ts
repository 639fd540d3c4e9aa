/**
 * Shortages of a machine, such as a full disk. An operation that fails for one may succeed later.
 *
 * @module
 */

/** The shortage of the machine and its remedy, by the code of the system error. */
const SENTENCES: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full: make room on it",
  EDQUOT: "the disk quota is used up: make room, or raise the quota",
  EIO: "the disk cannot be read or written: look at the kernel's log (dmesg)",
  EROFS: "the file system is mounted read-only: look at the kernel's log (dmesg) for why",
  EMFILE:
    "svc has no file descriptors left: raise its limit (LimitNOFILE under systemd, ulimit -n in a shell)",
  ENFILE: "the machine has no file descriptors left: raise the sysctl fs.file-max",
  EAGAIN:
    "no more processes can be started: raise the limit (TasksMax under systemd, ulimit -u in a shell)",
  ENOMEM: "the machine has no memory left",
};

/** The codes of the same errors, by the words of the C library at the end of programs' messages. */
const TEXTS: Readonly<Record<string, string>> = {
  "No space left on device": "ENOSPC",
  "Disk quota exceeded": "EDQUOT",
  "Input/output error": "EIO",
  "Read-only file system": "EROFS",
  "Too many open files": "EMFILE",
  "Too many open files in system": "ENFILE",
  "Resource temporarily unavailable": "EAGAIN",
  "Cannot fork": "EAGAIN",
  "Cannot allocate memory": "ENOMEM",
};

/** The shortage that an error reports; `undefined` for other errors. */
export function findShortage(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    if ("code" in one && Object.hasOwn(SENTENCES, String(one.code))) {
      return SENTENCES[String(one.code)];
    }
  }
  return undefined;
}

/** The same, according to a program's standard error in the locale `C`. */
export function findShortageIn(text: string): string | undefined {
  for (const line of text.trimEnd().split("\n")) {
    const end = Object.keys(TEXTS).find((known) => line.endsWith(known));
    if (end !== undefined) return SENTENCES[TEXTS[end] ?? ""];
  }
  return undefined;
}
