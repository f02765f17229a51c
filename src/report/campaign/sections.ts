import { attemptsSection } from './attempts';
import { failuresSection } from './failures';
import { heldOutSection } from './held-out';
import { judgeSection } from './judge';
import { lineageSection } from './lineage';
import { modelsSection } from './models';
import { pairsSection } from './pairs';
import { definitionsSection } from './definitions';
import { reportedSetsSection } from './reported-sets';
import { signalsSection } from './signals';
import { stepsSection } from './steps';
import { taskPoolSection } from './task-pool';
import { timeAndCostSection } from './time-and-cost';
import { trainingCurvesSection } from './training-curves';
import { trainingRunsSection } from './training-runs';

/** The sections of the report below its header, in the order of the page. */
export const sections = [
  reportedSetsSection,
  heldOutSection,
  stepsSection,
  failuresSection,
  signalsSection,
  taskPoolSection,
  modelsSection,
  judgeSection,
  pairsSection,
  timeAndCostSection,
  trainingRunsSection,
  trainingCurvesSection,
  attemptsSection,
  lineageSection,
  definitionsSection,
] as const;
