import { sleep } from '@temporalio/workflow';
import { iteration as current } from '../../src/workflows';

export { campaign, rollout, train } from '../../src/workflows';

/** Iteration with an incompatible change: it has one timer more than the recorded histories. */
export async function iteration(input: Parameters<typeof current>[0]): ReturnType<typeof current> {
  await sleep('1 second');
  return current(input);
}
