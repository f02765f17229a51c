import { condition, getExternalWorkflowHandle, log, setHandler } from '@temporalio/workflow';
import type { Control } from '../../domain/campaign/operator-commands';
import { controlSignal } from './messages';

export type ControlHandler = {
  /** The newest control that the parent workflow sent. */
  latest(): Control;
  /** Resolves while the campaign is not paused. */
  unpaused(): Promise<void>;
  /** Sends the pause that holds now and every later control to a running child; returns the function that stops this. */
  forwardTo(childId: string): () => void;
};

/** Receives the campaign's control signals in a child workflow and forwards them to its own children. */
export function handleControl(): ControlHandler {
  const children = new Set<string>();
  let latest: Control = { paused: false, resumes: 0, skips: 0, stops: 0 };
  setHandler(controlSignal, async (control) => {
    latest = control;
    await Promise.all([...children].map((id) => sendControl(id, control)));
  });
  return {
    latest: () => latest,
    unpaused: () => condition(() => !latest.paused),
    forwardTo(childId) {
      children.add(childId);
      if (latest.paused) void sendControl(childId, latest); // the pause came before the child had started
      return () => children.delete(childId);
    },
  };
}

/** Sends a control to a child. A child that has just ended needs none, so this failure is only logged. */
export async function sendControl(childId: string, control: Control): Promise<void> {
  try {
    await getExternalWorkflowHandle(childId).signal(controlSignal, control);
  } catch (error) {
    log.info('control signal failed: the child has ended', { childId, ...control, error: String(error) });
  }
}
