import type { Content } from '../../page/html';
import type { ExperimentReport } from './report';

export type ExperimentSection = {
  /** Anchor of the section in the page. */
  id: string;
  title: string;
  /** Returns the body, or null to leave the section out of the page. */
  render: (report: ExperimentReport) => Content;
};

export const defineSection = (section: ExperimentSection): ExperimentSection => section;
