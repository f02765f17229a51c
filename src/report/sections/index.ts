import { attemptsSection } from './attempts/section';
import { failuresSection } from './failures/section';
import { heldOutSection } from './held-out/section';
import { judgeSection } from './judge/section';
import { lineageSection } from './lineage/section';
import { modelsSection } from './models/section';
import { pairsSection } from './pairs/section';
import { readingSection } from './reading/section';
import { reportedSetsSection } from './reported-sets/section';
import { signalsSection } from './signals/section';
import { stepsSection } from './steps/section';
import { taskPoolSection } from './task-pool/section';
import { timeAndCostSection } from './time-and-cost/section';
import { trainingCurvesSection } from './training-curves/section';
import { trainingRunsSection } from './training-runs/section';

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
  readingSection,
] as const;
