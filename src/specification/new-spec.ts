import { stringify } from 'yaml';
import { isSection } from '../input/merge';
import { isReinforcement, recipes, synthesizes, type RecipeName } from '../domain/campaign/recipe';
import { campaignSpecSchema } from './campaign-spec';
import { resolveSpec } from './read-spec';
import { editorSchema, type JsonSchema } from './spec-schema';
import { withChange, type SpecChange } from './spec-layers';
import { usedSettings } from './used-settings';

export type NewSpec = {
  name: string;
  recipe: RecipeName;
  environment: string;
  /** Values that the environment determines, merged over the required keys. */
  changes?: readonly SpecChange[];
};

/**
 * Returns the text of a spec for its author to edit: the required keys, and every other setting that the recipe reads as a
 * comment with its default.
 *
 * @param heading comment lines at the top, without `#`
 */
export function newSpecText(request: NewSpec, heading: readonly string[]): string {
  const given = keysOf(request);
  const resolved = resolveSpec(given, 'the new spec');
  const { name, seed, environment, recipe, ...others } = usedSettings(resolved);
  const required = { name, seed, environment, recipe };
  const { properties } = editorSchema(campaignSpecSchema, { defaults: false });
  const sections = Object.entries({ ...required, ...others }).map(([key, settings]) =>
    topText({ key, settings, given: given[key], schema: properties?.[key] as JsonSchema }),
  );
  const comment = heading.map((line) => `# ${line}\n`).join('');
  const models = synthesizes(resolved) ? modelSections : '';
  return `${comment}${sections.join('')}${models}`;
}

/** Sizes and rates that suit the embedded policy; the defaults of reinforcement learning come from the paper. */
function keysOf({ name, recipe, environment, changes = [] }: NewSpec): Record<string, unknown> {
  const given = changes.reduce<unknown>(withChange, usualKeys(name, recipe, environment));
  return given as Record<string, unknown>;
}

function usualKeys(name: string, recipe: RecipeName, environment: string): Record<string, unknown> {
  const required = { name, seed: 7, environment: { name: environment }, recipe };
  if (!isReinforcement(recipes[recipe])) return required;
  const [{ method }] = recipes[recipe].training as readonly [{ method: string }];
  const rollouts = { attempts: 8, maxTokens: 64, tasksPerStep: 48, stepsPerIteration: 10 };
  return { ...required, rollouts, training: { [method]: { learningRate: 3e-4 } } };
}

/** Example of the sections that a campaign without language models does not have. */
const modelSections = `
# -- Language models that explore, write tasks and judge them; without this section the environment's generator writes tasks.
# llm:
#   models: # reflector, abstractor and judge default to the explorer's model
#     explorer:
#       provider: somewhere # a name in the file of COEVOLVE_LLM_PROVIDERS
#       model: large-1 # the provider's name of the model
#       price: { inputPerMillion: 0.4, outputPerMillion: 1.6 } # US dollars; 0 for a server of your own

# -- Limits on the spending; at a limit the campaign parks until \`coevolve budget raise\`.
# budget:
#   llmTokens: 1000000 # tokens of language models
#   usd: 4 # US dollars for language models and GPUs
`;

/** Formats a top-level setting below its description; name and seed need none. */
const topText = ({ schema: { description, ...schema }, ...setting }: Setting & { schema: JsonSchema }): string =>
  (setting.key === 'name' || setting.key === 'seed' ? '' : `\n# -- ${description}\n`) +
  sectionText({ ...setting, schema });

type Setting = { key: string; settings: unknown; given: unknown; schema: JsonSchema | undefined; start?: string };

/**
 * Formats given values as they are and the others as comments, each beside its explanation. A comment keeps the
 * indentation of its key, and `start` is the beginning of each line of the section around it.
 */
function sectionText({ key, settings, given, schema, start = '' }: Setting): string {
  const own = given === undefined && !start.includes('#') ? `${start}# ` : start;
  const note = schema?.description ? ` # ${schema.description}` : '';
  if (!isSection(settings) || !schema?.properties) {
    const [first, ...others] = stringify({ [key]: settings }, { lineWidth: 0 })
      .trimEnd()
      .split('\n');
    return [`${first}${note}`, ...others].map((line) => `${own}${line}\n`).join('');
  }
  const inner = Object.entries(settings).map(([name, value]) =>
    sectionText({
      key: name,
      settings: value,
      given: isSection(given) ? given[name] : undefined,
      schema: schema.properties![name] as JsonSchema,
      start: `${own}  `,
    }),
  );
  return `${own}${key}:${note}\n${inner.join('')}`;
}
