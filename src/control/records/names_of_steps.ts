/**
 * Records of steps, found by the names `TASK.STEP`, which stand in the place of ids.
 *
 * @module
 */

/** A record of a step. */
interface OfStep {
  readonly taskId: string;
  readonly step: string;
}

/** Most records of one task that are searched for that of a step. */
const MOST_OF_TASK = 1000;

/** The name of the record of a step. */
export function nameOfStep({ taskId, step }: OfStep): string {
  return `${taskId}.${step}`;
}

/** The records with a name, of those that `list` gives of a task. */
export async function findOfStep<Found extends OfStep>(
  name: string,
  list: (query: { readonly taskId: string; readonly limit: number }) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const [taskId = ""] = name.split(".");
  return (await list({ taskId, limit: MOST_OF_TASK })).filter((one) => nameOfStep(one) === name);
}
