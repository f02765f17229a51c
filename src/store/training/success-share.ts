/**
 * SQL of the share of the attempts of a group that solve their task, in [0, 1]; `isSuccess` of the domain decides.
 *
 * @param reward column of the rewards; attempts without one are left out
 */
export const successShare = (reward: string): string => `avg((${reward} >= 1)::integer)::float8`;
