import type { ExperimentSection } from '../model/section';
import { armsSection } from './arms/section';
import { categoriesSection } from './categories/section';
import { contrastsSection } from './contrasts/section';
import { costSection } from './cost/section';
import { curvesSection } from './curves/section';
import { poolSection } from './pool/section';
import { powerSection } from './power/section';
import { amendmentsSection, differencesSection, manifestSection } from './promise/section';
import { seedsSection } from './seeds/section';
import { tasksSection } from './tasks/section';

/** The sections below the header, in the order of the page. */
export const experimentSections: readonly ExperimentSection[] = [
  armsSection,
  contrastsSection,
  seedsSection,
  curvesSection,
  categoriesSection,
  poolSection,
  tasksSection,
  powerSection,
  costSection,
  amendmentsSection,
  differencesSection,
  manifestSection,
];
