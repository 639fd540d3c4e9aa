/**
 * A persistent `/bin/sh` that answers one line for each line it is sent, so that shell builtins
 * cost no process. Questions are sent together and answered in order. A shell that is killed (a
 * step may run `killall sh`) is replaced, and its unanswered questions are sent again.
 *
 * @module
 */

/** Answers questions until it is disposed. */
export interface ShellCoprocess extends AsyncDisposable {
  /** The answer to one line; a function makes the line anew whenever it is sent. */
  ask(line: string | (() => string)): Promise<string>;
}

interface Question {
  readonly line: string | (() => string);
  readonly resolve: (answer: string) => void;
  readonly reject: (error: Error) => void;
  /** How many shells have ended without answering it. */
  lost: number;
}

/**
 * Shells that may end without answering a question, so that a step that kills every shell cannot
 * keep it open for ever.
 */
const MAX_LOST = 3;

/**
 * Starts a shell that runs `script`: a loop that reads a line and prints its answer. Each shell is
 * sent `firstLines` before anything else: what the one before it knew.
 */
export function startShellCoprocess(
  script: string,
  firstLines: () => readonly string[] = () => [],
): ShellCoprocess {
  let closing = false;
  let shell: Shell | undefined = start();

  function start(): Shell {
    const started = new Shell(script, takeUp);
    for (const line of firstLines()) {
      // Not sent again: the next shell has first lines of its own.
      started.put({ line, resolve() {}, reject() {}, lost: MAX_LOST });
    }
    return started;
  }

  /** Where none can be started now, the next question starts it; once this closes, nothing does. */
  function restart(): Error | undefined {
    try {
      if (!closing) shell ??= start();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  function put(question: Question): void {
    const fault = restart();
    if (fault === undefined) shell?.put(question);
    else question.reject(fault);
  }

  /** Sends the unanswered questions of a shell to a new one. */
  function takeUp(open: readonly Question[]): void {
    shell = undefined;
    restart();
    for (const question of open) {
      if (closing || ++question.lost >= MAX_LOST) {
        question.reject(new Error("The shell that handles processes has ended"));
      } else {
        put(question);
      }
    }
  }

  return {
    ask(line) {
      return new Promise((resolve, reject) => put({ line, resolve, reject, lost: 0 }));
    },
    async [Symbol.asyncDispose]() {
      await shell?.idle();
      closing = true;
      await shell?.close();
    },
  };
}

/** One shell process. */
class Shell {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #open: Question[] = [];
  #unsent = "";
  #sending: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(script: string, onEnd: (open: readonly Question[]) => void) {
    this.#child = new Deno.Command("/bin/sh", {
      args: ["-c", script],
      cwd: "/", // the directory of this process may be closed to its user, as after sudo -u
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
      clearEnv: true,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      detached: true, // a Ctrl-C at the terminal is for the daemon, which still needs this shell
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reading = this.#read().then(async () => {
      await this.#writer.close().catch(() => {});
      await this.#child.status;
      onEnd(this.#open.splice(0));
      this.#onIdle?.();
    });
  }

  put(question: Question): void {
    this.#open.push(question);
    const { line } = question;
    this.#unsent += `${typeof line === "string" ? line : line()}\n`;
    this.#sending ??= Promise.resolve().then(() => this.#send());
  }

  /** Resolves when every question is answered. */
  async idle(): Promise<void> {
    if (this.#open.length === 0) return;
    await new Promise<void>((resolve) => this.#onIdle = resolve);
  }

  async close(): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#reading;
  }

  /** Sends all questions of one turn of the event loop in one write. */
  async #send(): Promise<void> {
    while (this.#unsent !== "") {
      const text = this.#unsent;
      this.#unsent = "";
      // the shell has ended
      await this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
    }
    this.#sending = undefined;
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.#child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#open.shift()?.resolve(line);
      if (this.#open.length === 0) this.#onIdle?.();
    }
  }
}
