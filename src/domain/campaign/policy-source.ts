/** Origins of a policy that no campaign trains: a stored policy, and a language model of a provider. */
export const isOnlyEvaluated = (policy: { source: string } | undefined): boolean =>
  policy?.source === 'stored' || policy?.source === 'provider';
