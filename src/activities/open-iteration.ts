import { recipes, type Recipe, type RecipeName } from '../domain/recipe';
import type { Services } from './services';

/** Opens an iteration, or finds it open, and says what its recipe asks for. */
export const openIteration =
  ({ store }: Services) =>
  async (input: {
    campaignId: number;
    iteration: number;
    recipe: string;
  }): Promise<{ epoch: number; recipe: Recipe }> => ({
    epoch: await store.iterations.open(input.campaignId, input.iteration),
    recipe: recipes[input.recipe as RecipeName],
  });
