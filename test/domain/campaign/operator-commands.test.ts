import {
  campaignCommands,
  controlAfter,
  decisionSince,
  type CampaignCommand,
  type Control,
} from '../../../src/domain/campaign/operator-commands';
import type { CampaignState } from '../../../src/domain/campaign/progress';
import { stateOf } from '../../workflows/scripted-activities';

const none: Control = { paused: false, resumes: 0, skips: 0, stops: 0 };
const commands: CampaignCommand[] = Object.values(campaignCommands);
const operator = { actor: 'ada' };

function parkedIn(phase: CampaignState['progress']['phase']): CampaignState {
  const state = stateOf('demo', 'eto', 2);
  return { ...state, status: 'parked', progress: { ...state.progress, iteration: 1, phase, parked: 'a reason' } };
}

test('every command has a message that running workflows know', () => {
  expect(Object.fromEntries(Object.entries(campaignCommands).map(([name, { message }]) => [name, message]))).toEqual({
    pause: 'pause',
    resume: 'resume',
    retry: 'retry',
    skip: 'skip',
    stop: 'stopAfterIteration',
    abort: 'abort',
  });
});

test('a command that decides on a parked phase ends the parking of the state, any other keeps it', () => {
  for (const command of commands) {
    const change = command.apply(parkedIn('detect'), operator);
    expect([command.message, change?.progress?.parked === null]).toEqual([command.message, Boolean(command.decision)]);
  }
});

test('the iteration reads the decision of a command from the control, and none from a pause', () => {
  for (const command of commands)
    expect(decisionSince(none, controlAfter(none, command))).toBe(command.decision ?? null);
  expect(controlAfter(none, campaignCommands.pause)).toEqual({ ...none, paused: true });
  expect(controlAfter({ ...none, paused: true }, campaignCommands.resume)).toEqual({ ...none, resumes: 1 });
});

test('a skip is rejected unless a phase is parked that the iteration can do without', () => {
  const refusalOf = (state: CampaignState) => campaignCommands.skip.refusal(state);
  expect(refusalOf(parkedIn('detect'))).toBeNull();
  expect(refusalOf(parkedIn('rollout'))).toEqual({
    code: 'NotSkippable',
    message: expect.stringContaining('needs phase rollout'),
  });
  expect(refusalOf(stateOf('demo', 'eto', 2))?.message).toContain('only a parked phase can be skipped');
  expect(refusalOf({ ...parkedIn('detect'), abortedBy: 'ada' })?.message).toContain('no phase can be skipped');
});
