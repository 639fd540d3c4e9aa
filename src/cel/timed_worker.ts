/**
 * A Worker that answers one question at a time and is given up when an answer takes too long. It
 * starts with the first question, and again with the first after its end. A Worker that is given up
 * ends when it next waits, and not before: every question has to end by itself.
 *
 * @module
 */

/** The outcome of a question. */
export type Outcome<Answer> =
  | { readonly is: "answered"; readonly answer: Answer }
  /** It took too long, and the Worker has been given up. */
  | { readonly is: "late" }
  /** The Worker ended by itself. */
  | { readonly is: "failed"; readonly message: string }
  /** The Worker is no longer needed. */
  | { readonly is: "closed" };

/** A Worker whose first message reports that it is ready, and each later one answers a question. */
export class TimedWorker<Question, Answer> implements Disposable {
  readonly #start: () => Worker;
  #worker: Worker | undefined;
  #giveUp = (_outcome: Outcome<Answer>) => {};
  #closed = false;

  /** Starts its Worker with `start` at the first question. */
  constructor(start: () => Worker) {
    this.#start = start;
  }

  /**
   * Asks a question; only one may be open at a time. Starting takes longer than most deadlines, so
   * the time counts from the Worker's first message.
   *
   * @throws {Error} when the Worker does not start.
   */
  ask(question: Question, deadlineMs: number): Promise<Outcome<Answer>> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<Answer>>();
    if (this.#closed) return Promise.resolve({ is: "closed" });
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.#giveUp = (outcome) => {
      clearTimeout(timer);
      this.rest();
      resolve(outcome);
    };
    const fresh = this.#worker === undefined;
    const worker = this.#worker ??= this.#start();
    worker.onerror = (event) => {
      event.preventDefault();
      if (timer === undefined) reject(new Error(`A Worker did not start: ${event.message}`));
      this.#giveUp({ is: "failed", message: event.message });
    };
    const put = () => {
      timer = setTimeout(() => this.#giveUp({ is: "late" }), deadlineMs);
      worker.onmessage = (event: MessageEvent<Answer>) => {
        clearTimeout(timer);
        resolve({ is: "answered", answer: event.data });
      };
      worker.postMessage(question);
    };
    if (fresh) worker.onmessage = put;
    else put();
    return promise;
  }

  /**
   * Ends the Worker until the next question, to free its memory; only while no question is open.
   */
  rest(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Ends the Worker; an open question has the outcome `closed`. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#giveUp({ is: "closed" });
    this.rest();
  }
}
