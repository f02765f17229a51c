/**
 * True in `npm run test:all`. `npm test` proves each promise once; here it is repeated at more positions, with more kills
 * and with more random cases.
 */
export const runsAll = process.env['TEST_ALL'] === '1';

/** A test of `npm run test:all` alone. Another test, in `npm test` too, must prove the same promise at a smaller size. */
export const testOfAll = runsAll ? test : test.skip;

/** Tests of `npm run test:all` alone, with the hooks that they share. */
export const describeOfAll = runsAll ? describe : describe.skip;
