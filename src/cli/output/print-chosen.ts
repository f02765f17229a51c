import type { ChosenDefault } from '../../client/fit/environment-defaults';
import { printMessage } from './output';
import { chosenLine } from './running-text';

/** Prints a default that the environment of a spec determines. */
export const printChosen = (environment: string, one: ChosenDefault): void =>
  printMessage(chosenLine(environment, one));
