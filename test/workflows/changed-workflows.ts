import { sleep } from '@temporalio/workflow';
import { iteration as current } from '../../src/workflows';

export { campaign, rollout, train } from '../../src/workflows';

/** An iteration as it must not be changed while campaigns run: one timer more than recorded. */
export async function iteration(input: Parameters<typeof current>[0]): ReturnType<typeof current> {
  await sleep('1 second');
  return current(input);
}
