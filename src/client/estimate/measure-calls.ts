import type { Config } from '../../config';
import { readProviders, type Providers } from '../../llm/providers';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { CallSpeeds } from '../../specification/estimate-models';
import { listCallSeconds } from '../../store/training/measured-speeds';
import { withConnections } from '../connections';

/** Returns how long earlier calls to the spec's models took on this stack, and the concurrent calls of their providers. */
export async function measureCalls(config: Config, { llm }: CampaignSpec): Promise<CallSpeeds> {
  const concurrency = new Map([...providersOf(config)].map(([name, provider]) => [name, provider.concurrency]));
  const asked = Object.entries(llm?.models ?? {}).flatMap(([purpose, used]) =>
    used ? [{ purpose, provider: used.provider, model: used.model }] : [],
  );
  if (!config.databaseUrl || asked.length === 0) return { measured: {}, concurrency };
  const found = await withConnections(({ pool }) => listCallSeconds(pool, asked), config).catch(() => []);
  return { measured: Object.fromEntries(found.map(({ purpose, ...speed }) => [purpose, speed])), concurrency };
}

/** The check of the spec names the mistakes of the file. */
function providersOf(config: Config): Providers {
  try {
    return readProviders(config);
  } catch {
    return new Map();
  }
}
