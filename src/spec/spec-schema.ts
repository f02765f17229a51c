import { z } from 'zod';
import { campaignSpecSchema } from './campaign-spec';

/**
 * Returns the JSON Schema of a spec as its author writes it, for editors. Rules between keys, and the defaults that
 * depend on the recipe, are not part of it; `coevolve start --dry-run` checks them.
 */
export const specJsonSchema = (): z.core.JSONSchema.BaseSchema => ({
  title: 'campaign spec of coevolve; docs/spec.md explains every field',
  ...z.toJSONSchema(campaignSpecSchema, {
    io: 'input',
    override({ jsonSchema }) {
      // zod's range of every integer
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      delete jsonSchema.propertyNames; // a YAML file with other than text as keys is rejected before
    },
  }),
});
