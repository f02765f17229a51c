import type { DescribedView } from '../store/reporting/describe-views';
import type { Api } from './request/context';
import type { Resource } from './resources/resource';

type Document = ReturnType<Api['getOpenAPI31Document']>;

/** Returns the OpenAPI document; the descriptions of rows and columns are the comments in the database. */
export function documentOf(api: Api, resources: readonly Resource[], views: readonly DescribedView[]): Document {
  const document = api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'coevolve',
      version: '1',
      description: 'Campaigns that evolve an LLM agent and its training data. docs/api.md has an introduction.',
    },
    security: [{ token: [] }],
  });
  for (const { name, view } of resources) {
    const described = views.find((one) => one.name === view);
    const schema = document.components?.schemas?.[name] as RowSchema | undefined;
    if (!described || !schema) continue;
    schema.description = described.comment;
    for (const column of described.columns) {
      const property = schema.properties?.[column.name];
      if (property) property.description = column.comment;
    }
  }
  return document;
}

type RowSchema = { description?: string; properties?: Record<string, { description?: string }> };
