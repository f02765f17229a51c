import { fail, pass, type AdmissionRules, type Candidate, type Finding } from './candidate';

/** The stages that count: how many an aim and the whole pool may gain. `add` counts one that was admitted. */
export function createLimits({ quotaOf, growthCap }: AdmissionRules) {
  const perAim = new Map<string, number>();
  let total = 0;
  return {
    quota: ({ aim }: Candidate): Finding => within('quota', perAim.get(aim) ?? 0, quotaOf(aim)),
    growthCap: (): Finding => within('growth-cap', total, growthCap),
    add({ aim }: Candidate): void {
      perAim.set(aim, (perAim.get(aim) ?? 0) + 1);
      total += 1;
    },
  };
}

function within(limitName: string, admitted: number, limit: number | null): Finding {
  if (limit === null) return pass('no limit');
  return admitted < limit ? pass('room left', { admitted, limit }) : fail(limitName, { admitted, limit });
}
