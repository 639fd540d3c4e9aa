/**
 * Fence around a fault of the runtime: where Deno's HTTP server is ended by a real AbortSignal after
 * its socket has closed, its event listener throws. Nothing can catch that, and the process ends.
 *
 * Checked with Deno 2.7.11 and 2.9.6. `docs/decisions/0001-accept-loop.md` says what else keeps the
 * server from ending, and `tests/http/serve_test.ts` ends servers in each state.
 *
 * @module
 */

/** Takes the place of an AbortSignal. It calls the server's listener itself, and can catch its error. */
export class StopSignal {
  #listener: ((event: object) => void) | undefined;

  /** The part of an AbortSignal that Deno's server uses. */
  get signal(): AbortSignal {
    const substitute = {
      aborted: false,
      addEventListener: (_type: string, listener: (event: object) => void) => {
        this.#listener = listener;
      },
      removeEventListener() {},
    };
    return substitute as unknown as AbortSignal;
  }

  /** Stops the server at once; does nothing when the server has ended already. */
  fire(): void {
    try {
      this.#listener?.({});
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }
}
