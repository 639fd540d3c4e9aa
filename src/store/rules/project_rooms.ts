/**
 * Which ready tasks a claim may take of projects with a limit (`maxParallel`): each that runs occupies room
 * in its project, and gives it back when it ends, waits, or is put back.
 *
 * @module
 */

import type { ProjectRoom } from "../pause_records.ts";

/** Whether no more tasks of the project may start. */
export function isFull({ max, running }: ProjectRoom): boolean {
  return running >= max;
}

/** The room that one claim can still give. Projects without a limit have any amount. */
export class ProjectRooms {
  readonly #free: Map<string, number>;

  constructor(rooms: readonly ProjectRoom[]) {
    this.#free = new Map(
      rooms.map(({ project, max, running }) => [project, Math.max(0, max - running)]),
    );
  }

  /** How many more tasks of a project may start; `Infinity` without a limit. */
  of(project: string): number {
    return this.#free.get(project) ?? Infinity;
  }

  /** Those with a limit. */
  limited(): (readonly [project: string, free: number])[] {
    return [...this.#free];
  }

  /** The projects of which no more may. */
  full(): string[] {
    return [...this.#free.keys()].filter((project) => this.of(project) === 0);
  }

  /** Gives room to those of these tasks that have some, the first ones first; returns these. */
  take<Task extends { readonly project: string }>(tasks: readonly Task[]): Task[] {
    return tasks.filter(({ project }) => {
      const free = this.of(project);
      if (free === 0) return false;
      if (free !== Infinity) this.#free.set(project, free - 1);
      return true;
    });
  }
}
