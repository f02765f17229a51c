import { stringify } from 'yaml';
import { count } from '../domain/formats';
import type { CampaignRow } from '../store/campaign/campaigns';
import { exportedTables } from './tables';

/** A table of the data set, with the rows of its splits. */
export type HubConfig = { name: string; splits: Record<string, number> };

export type HubCard = {
  campaign: Pick<CampaignRow, 'name' | 'recipe' | 'environment' | 'seed' | 'status' | 'specHash' | 'spec'>;
  contentHash: string;
  /** Licence of the environment's tasks; null if it is not known. */
  license: string | null;
  configs: readonly HubConfig[];
};

/** Meaning of the tables that are no table of the database. */
const examples: Record<string, string> = {
  'trl-sft': "demonstrations that trained the target agent, in TRL's conversational format",
  'trl-dpo': "preference pairs that trained the target agent, in TRL's conversational format",
};

/** Upper bounds of the hub's classes of sizes, in rows. */
const sizes: readonly (readonly [number, string])[] = [
  [1e3, 'n<1K'],
  [1e4, '1K<n<10K'],
  [1e5, '10K<n<100K'],
  [1e6, '100K<n<1M'],
  [1e7, '1M<n<10M'],
  [1e8, '10M<n<100M'],
];

/** Returns the card of a data set of the Hugging Face hub: a YAML header for its viewer, and Markdown for people. */
export function hubCard(card: HubCard): string {
  return `---\n${stringify(header(card), { lineWidth: 0 })}---\n\n${body(card)}`;
}

function header({ campaign, license, configs }: HubCard): object {
  const rows = configs.flatMap(({ splits }) => Object.values(splits)).reduce((sum, n) => sum + n, 0);
  return {
    pretty_name: `coevolve campaign ${campaign.name}`,
    // The hub knows a list of licences; the tasks of an environment may have several.
    license: 'other',
    license_name: 'see-card',
    ...(license !== null && { license_details: license }),
    tags: ['agent', 'trajectories', 'coevolve'],
    size_categories: [sizes.find(([bound]) => rows < bound)?.[1] ?? 'n>100M'],
    configs: configs.map(({ name, splits }) => ({
      config_name: name,
      ...(name === 'attempts' && { default: true }),
      data_files: Object.keys(splits).map((split) => ({ split, path: `data/${name}/${split}-*.parquet` })),
    })),
  };
}

const body = ({ campaign, contentHash, license, configs }: HubCard): string => `# ${campaign.name}

Tasks, attempts and training data of the coevolve campaign \`${campaign.name}\`: recipe \`${campaign.recipe}\` in the environment
\`${campaign.environment}\`, seed ${campaign.seed}, ${campaign.status}.

## Licence

${license ?? 'The licence of the tasks was not known to the export. State it here before you publish this folder.'}

## Tables

| config | split | rows | one row is |
| --- | --- | --- | --- |
${configs.flatMap(({ name, splits }) => Object.entries(splits).map(([split, rows]) => row(name, split, rows))).join('\n')}

The split \`heldout\` has the tasks on which the campaign was evaluated, and the attempts at them: do not train on it.
Each column has its description in the metadata of the Parquet field.

## Provenance

- sha256 of the spec: \`${campaign.specHash}\`
- content hash, which every run of a deterministic spec repeats: \`${contentHash}\`
- \`provenance.json\` has the spec, the version of the code and the sha256 of every file.
`;

function row(name: string, split: string, rows: number): string {
  const meaning = exportedTables.find((table) => table.name === name)?.row ?? examples[name] ?? '';
  return `| \`${name}\` | ${split} | ${count(rows)} | ${meaning} |`;
}
